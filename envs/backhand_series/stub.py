"""What a card is worth, and how cards come off the stub; the dealer hand: three show cards that a hand's draws are
paired with, §2."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..core.compile.kernel import kernel
from .state import ACE, PACK, SHOW_CARDS, TEN, DealerOptions, DealerState, HandState, Method, Verdict


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


@kernel
def deal_show_cards(state: DealerState) -> None:
    """Three show cards, dealt from right to left and used from left to right. §2.1"""
    for place in range(SHOW_CARDS - 1, -1, -1):
        state.show[place] = take(state)


@kernel
def dealer_total(shown: int, drawn: int, cap: bool) -> int:
    """The total of a show card and the drawn card paired with it, by their values; an ace counts 11, two aces 12
    (uncapped 22). §2.3"""
    total = shown + drawn
    if shown == ACE or drawn == ACE:
        total += 10
        if shown == drawn and not cap:
            total += 10
    return total


@kernel
def against_dealer(options: DealerOptions, state: DealerState, seat: int) -> None:
    """After a draw: the dealer total, who has the advantage and, where the hand has ended, its verdict. §2.2, §2.3,
    §2.4"""
    drawn = int(state.draws[seat])
    total = dealer_total(
        value(int(state.show[drawn - 1])), value(int(state.cards[seat, 1 + drawn])), options.dealer_total_cap
    )
    state.dealer_total[seat] = total
    lead = int(state.player_total[seat]) - total
    state.advantage[seat] = (lead > 0) - (lead < 0)
    if int(state.method[seat]) == Method.NONE:
        return
    if int(state.success[seat]) == 0 or (lead < 0 and int(state.method[seat]) != Method.FIVE_CARDS):
        state.verdict[seat] = Verdict.LOSS
    elif lead == 0 and int(state.method[seat]) != Method.FIVE_CARDS:
        state.verdict[seat] = Verdict.TIE
    else:
        state.verdict[seat] = Verdict.WIN
