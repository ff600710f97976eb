"""Random numbers inside kernels: one 64-bit SplitMix64 stream for each table, which the engine keeps beside the states.

A stream is a number. Every function takes it and returns it advanced, so nothing is global and the order of threads
cannot matter. Compiled functions return it to Python as an int: outside kernels, wrap it in `np.uint64` before passing
it on. Source of the constants: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel, wrapping

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
S13, S16, S17, S21 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21)
S43, S47, S48, S51 = np.uint64(43), np.uint64(47), np.uint64(48), np.uint64(51)
LOW_32 = np.uint64(0xFFFFFFFF)


@wrapping
def mix(word: np.uint64) -> np.uint64:
    """Return a 64-bit word, thoroughly scrambled (one to one)."""
    word = (word ^ (word >> S30)) * MIX_1
    word = (word ^ (word >> S27)) * MIX_2
    return word ^ (word >> S31)


@wrapping
def advance(stream: np.uint64) -> np.uint64:
    """Return the next position of a stream; `mix` of it is the random word."""
    return stream + GAMMA


@wrapping
def fork(key: np.uint64, number: int) -> np.uint64:
    """Return a new stream for each (key, number). It is one to one: from the result the key can be found again, so it
    is for what nobody is handed (see `hashed`)."""
    return mix(mix(key + GAMMA) ^ (np.uint64(number) * GAMMA + MIX_1))


@wrapping
def sip_round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four words after one round of SipHash."""
    v0 += v1
    v2 += v3
    v1 = ((v1 << S13) | (v1 >> S51)) ^ v0
    v3 = ((v3 << S16) | (v3 >> S48)) ^ v2
    v0 = (v0 << S32) | (v0 >> S32)
    v2 += v1
    v0 += v3
    v1 = ((v1 << S17) | (v1 >> S47)) ^ v2
    v3 = ((v3 << S21) | (v3 >> S43)) ^ v0
    v2 = (v2 << S32) | (v2 >> S32)
    return v0, v1, v2, v3


@wrapping
def hashed(key: np.uint64, other_key: np.uint64, first: int, second: int) -> np.uint64:
    """Return SipHash-2-4 of two 64-bit words under a key of two (Aumasson and Bernstein, "SipHash: a fast short-input
    PRF", 2012). Unlike `fork`, it cannot be undone: who knows results learns neither the key nor other results. So
    whatever is handed to a seat and follows from what it may not know goes through it."""
    v0, v1 = key ^ np.uint64(0x736F6D6570736575), other_key ^ np.uint64(0x646F72616E646F6D)
    v2, v3 = key ^ np.uint64(0x6C7967656E657261), other_key ^ np.uint64(0x7465646279746573)
    for word in (np.uint64(first), np.uint64(second), np.uint64(16 << 56)):  # the last holds the length in bytes
        v3 ^= word
        for _ in range(2):
            v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    for _ in range(4):
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@wrapping
def below(stream: np.uint64, bound: int) -> tuple[np.uint64, int]:
    """Return the stream advanced and an unbiased integer in `range(bound)`, `1 <= bound < 2**32` (Lemire 2019:
    multiply, reject rarely)."""
    size = np.uint64(bound)
    stream = stream + GAMMA
    wide = (mix(stream) >> S32) * size
    if (wide & LOW_32) < size:  # the rejection bound is below this; the division it takes is rarely needed
        floor = np.uint64((2**32 - bound) % bound)
        while (wide & LOW_32) < floor:
            stream = stream + GAMMA
            wide = (mix(stream) >> S32) * size
    return stream, np.int64(wide >> S32)  # type: ignore[return-value]  # an int to those who count with it


@kernel
def shuffle(stream: np.uint64, cards: npt.NDArray[Any], count: int) -> np.uint64:
    """Shuffle the first `count` entries of `cards` in place (Fisher-Yates); return the advanced stream."""
    for last in range(count - 1, 0, -1):
        stream, other = below(stream, last + 1)
        kept = cards[last]
        cards[last] = cards[other]
        cards[other] = kept
    return stream


@kernel
def draw(stream: np.uint64, cards: npt.NDArray[Any], size: int, count: int) -> np.uint64:
    """Put a uniformly drawn, ordered sample of the `size` entries of `cards` into the first `count` places, in place;
    the others stay, except those swapped out. Return the advanced stream."""
    for index in range(count):
        stream, other = below(stream, size - index)
        kept = cards[index]
        cards[index] = cards[index + other]
        cards[index + other] = kept
    return stream


def stream_of(seed: int) -> np.uint64:
    """Return the stream of a seed (by NumPy's SeedSequence, so that neighbouring seeds have nothing in common)."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
