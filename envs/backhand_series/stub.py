"""What a card is worth, and how cards come off the stub."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..core.compile.kernel import kernel
from .state import ACE, PACK, TEN, HandState


@kernel
def value(card: int) -> int:
    """A card's value in a player's hand: ace 1, ten and court cards 10. §1.1"""
    rank = card % 13
    if rank == 12:
        return ACE
    return min(rank + 2, TEN)


@kernel
def take(state: HandState) -> int:
    """The next card of the stub. Nothing else looks at the stub."""
    card = int(state.deck[int(state.next_card)])
    state.next_card = int(state.next_card) + 1
    state.left[value(card) - 1] -= 1
    return card


@kernel
def stub_size(state: HandState) -> int:
    """How many cards the stub has."""
    size = 0
    for number in range(TEN):
        size += int(state.left[number])
    return size


@kernel
def open_deck(state: HandState, deck: npt.NDArray[Any]) -> None:
    """A fresh pack on the table, nothing dealt yet. §1.1"""
    for place in range(PACK):
        state.deck[place] = deck[place]
    state.next_card = 0
    for number in range(ACE, TEN):
        state.left[number - 1] = 4
    state.left[TEN - 1] = 16
