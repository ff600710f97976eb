"""The pack of a cut-down game, §3.7: which cards it has, and whether they are enough for every deal;
and what the exact solver has to know: all lies open but the order of the stub."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..backhand_series import enumeration as series
from ..backhand_series.state import ACE, HAND_SIZE, LIMIT, PUSH_FROM, SHOW_CARDS, TEN
from ..backhand_series.stub import open_deck, stub_size, value
from ..core.compile.interfaces import Enumeration
from ..core.compile.kernel import kernel
from ..core.rules.options import OptionError
from .state import SUITS, Options, State

RANKS = 13
RANK_OF_ACE, RANK_OF_KING = 12, 11
HANDS = 2


def pack(options: Options) -> list[int]:
    """`GameType.pack`: the cards whose value and suit the pack has."""
    cards = range(RANKS * options.suits)
    return [card for card in cards if options.lowest <= value(card) <= options.highest]


def pack_size(options: Options) -> int:
    """`GameType.deck_size`."""
    return len(pack(options))


def check(options: Options) -> None:
    """Raise OptionError where a deal could use up the stub."""
    most = cards_needed(options)
    if pack_size(options) < most:
        raise OptionError(
            f"missouri_city options lowest, highest and suits are {options.lowest}, {options.highest} and "
            f"{options.suits}, which leave {pack_size(options)} cards; a deal may take {most}. Leave more, such as "
            "lowest=5, highest=7, suits=4."
        )


def cards_needed(options: Options) -> int:
    """A bound on the cards that a deal of this pack takes: the show cards; both hands, which come to 42 at most before
    their last cards; the aces, which may be replaced; two cards for each push, one of which makes 17 with the highest.
    """
    values = sorted(value(card) for card in pack(options))
    held = sum(sum(values[: count + 1]) <= HANDS * LIMIT for count in range(HANDS * (HAND_SIZE - 1)))
    to_push = [number for number in values if number + options.highest >= PUSH_FROM]
    return SHOW_CARDS + held + HANDS + values.count(ACE) + 2 * (len(to_push) // 2)


@kernel
def open_pack(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """A fresh pack on the table, nothing dealt yet. §3.7"""
    if options.lowest == ACE and options.highest == TEN and options.suits == SUITS:
        open_deck(state, deck)
    else:
        open_short_pack(options, state, deck)


@kernel
def open_short_pack(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """The same with a pack that lacks cards: the deck's numbers are places in the pack."""
    first = max(options.lowest, ACE + 1) - 2
    last = RANK_OF_KING if options.highest == TEN else options.highest - 2
    ranks = last - first + 1 + int(options.lowest == ACE)
    state.deck[:] = 0
    state.left[:] = 0
    for place in range(ranks * options.suits):
        number = int(deck[place])
        rank = first + number % ranks
        card = number // ranks * RANKS + (rank if rank <= last else RANK_OF_ACE)
        state.deck[place] = card
        state.left[value(card) - 1] += 1
    state.next_card = 0


@kernel
def deck(state: State) -> npt.NDArray[np.int8]:
    """The pack in the order of dealing, which may lack cards. §3.7"""
    return state.deck[: int(state.next_card) + stub_size(state)]


@kernel
def key(options: Options, state: State) -> int:
    """What the rest of a deal depends on."""
    return series.two_hands_key(state, bool(options.stand_pat))


ENUMERATION = Enumeration(deck, series.next_card, series.kind, key)
