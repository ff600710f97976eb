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
    """Return a new stream for each (key, number)."""
    return mix(mix(key + GAMMA) ^ (np.uint64(number) * GAMMA + MIX_1))


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
