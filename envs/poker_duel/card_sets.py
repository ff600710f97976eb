"""Sets of cards and of ranks, for the bots: the cards of an observation's row, the highest, so many of a rank, five.

A set of cards is the bits of one int64 (`suit * 13 + rank`), a set of ranks 13 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules.cards import count_bits
from ..core.rules.pokerhands import SUIT

TOP_RANK = np.array([max(0, ranks.bit_length() - 1) for ranks in range(SUIT + 1)], np.int64)
"""The highest rank of each set of ranks."""


@kernel
def held(row: npt.NDArray[Any]) -> int:
    """The set of cards of an observation's row."""
    found = 0
    for card in range(52):
        found |= int(row[card]) << card
    return found


@kernel
def highest(ranks: int) -> int:
    """The highest of a set of ranks, as a set; none of none."""
    return 1 << int(TOP_RANK[ranks]) if ranks != 0 else 0


@kernel
def several(members: int) -> bool:
    """Whether a set has two members or more."""
    return members & (members - 1) != 0


@kernel
def of_rank(cards: int, rank: int, count: int) -> int:
    """`count` cards of one rank (a set of one)."""
    same = cards & (rank | (rank << 13) | (rank << 26) | (rank << 39))
    found = 0
    for _ in range(count):
        found |= same & -same
        same &= same - 1
    return found


@kernel
def one_each(cards: int, ranks: int) -> int:
    """One card of each rank."""
    found = 0
    while ranks != 0:
        found |= of_rank(cards, ranks & -ranks, 1)
        ranks &= ranks - 1
    return found


@kernel
def from_short_suits(cards: int, ranks: int) -> int:
    """One card of each rank, in the suit that has the fewest cards, so that flushes stay whole."""
    sizes = 0
    for suit in range(4):
        sizes |= count_bits((cards >> (13 * suit)) & SUIT) << (8 * suit)
    found = 0
    while ranks != 0:
        rank = ranks & -ranks
        ranks &= ranks - 1
        fewest, chosen = 99, 0
        for suit in range(4):
            size = (sizes >> (8 * suit)) & 255
            if cards & (rank << (13 * suit)) != 0 and size < fewest:
                fewest, chosen = size, rank << (13 * suit)
        found |= chosen
    return found


@kernel
def kickers(cards: int, ranks: int, spare: int, count: int, low: bool) -> int:
    """One card each of `count` of `ranks`, from the top; or, with `low`, from the bottom, of the `spare` ranks where
    there are enough."""
    chosen = 0
    left = count
    if low:
        while left > 0 and spare != 0:
            chosen |= spare & -spare
            spare &= spare - 1
            left -= 1
        ranks &= ~chosen
    while left > 0 and ranks != 0:
        rank = ranks & -ranks if low else highest(ranks)
        chosen |= rank
        ranks &= ~rank
        left -= 1
    return one_each(cards, chosen)


@kernel
def is_five(cards: int) -> bool:
    """Whether a set has exactly five members."""
    for _ in range(4):
        cards &= cards - 1
    return cards != 0 and not several(cards)
