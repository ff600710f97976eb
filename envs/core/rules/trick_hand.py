"""The table of a trick game: every seat holds cards and plays one to each trick.

A game's State inherits `TrickHand`, and its Options have `num_players` and `first_dealer`. This file moves cards from
hands to tricks and ends tricks. Each game defines what may be bid, led and followed, what a play tells about the hand,
and what a trick is worth.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel, passing
from . import tricks
from .options import Option, OptionError, option
from .record import field
from .tricks import NO_TRUMP

RANDOM_DEALER = -1
"""Value of `first_dealer` that draws the dealer at random."""
SCORE_UNIT = 128
"""An observation of bytes shows a score as two numbers: the score divided by this, rounded down, and the remainder."""
LEAST_SCORE, MOST_SCORE = -128 * SCORE_UNIT, 128 * SCORE_UNIT - 1
"""The scores that two signed bytes can hold."""

# ----------------------------------------------------------------------------------------------------------------------
# Who deals first


class TrickHandOptions(Protocol):
    """The options that all trick games have."""

    @property
    def num_players(self) -> int: ...
    @property
    def first_dealer(self) -> int: ...


def first_dealer(most_players: int) -> Option:
    """Return the option `first_dealer` for a table of at most that many players."""
    return option("who deals the first hand", low=RANDOM_DEALER, high=most_players - 1, words={"random": RANDOM_DEALER})


def check_first_dealer(game: str, options: TrickHandOptions) -> None:
    """Raise OptionError for a first dealer who has no seat."""
    if options.first_dealer >= options.num_players:
        raise OptionError(
            f"{game} option first_dealer is {options.first_dealer}; with {options.num_players} players it takes "
            f"0..{options.num_players - 1} or 'random'."
        )


def num_start_outcomes(options: TrickHandOptions) -> int:
    """Return the number of start outcomes: the seats if the first dealer is drawn, else 1."""
    return options.num_players if options.first_dealer == RANDOM_DEALER else 1


@kernel
def dealer_of(first_dealer: int, start_outcome: int) -> int:
    """Return who deals the first hand: the seat agreed on, or the one drawn."""
    return start_outcome if first_dealer == RANDOM_DEALER else first_dealer


# ----------------------------------------------------------------------------------------------------------------------
# Seats


@kernel
def left_of(seat: int, seats: int) -> int:
    """Return the seat to the left of another."""
    return seat + 1 if seat + 1 < seats else 0


@kernel
def offset_of(seat: int, who: int, seats: int) -> int:
    """Return how many places to the left of `seat` another sits."""
    return who - seat if who >= seat else who - seat + seats


# ----------------------------------------------------------------------------------------------------------------------
# The table


def per_seat(options: TrickHandOptions) -> tuple[int]:
    """Return the shape of a field with one number for each seat."""
    return (options.num_players,)


class TrickHand:
    """The fields that a State of a trick game begins with; the game's own come after them, at least one.

    Numba takes a record that begins with *all* fields of another for a subtype of it, and may run the kernels compiled
    for the other; so no table is a bare TrickHand. All numbers are signed: kernels subtract them from each other.
    """

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    dealer: int = field("i1", doc="who dealt this hand")
    hand_index: int = field("i1", doc="hands finished before this one")
    trump: int = field("i1", doc="the trump suit: 0..3, 4 for none")
    leader: int = field("i1", doc="who led, or is to lead, this trick")
    in_trick: int = field("i1", doc="cards in this trick")
    best: int = field("i1", doc="which of them wins so far, in order of play")
    finished: int = field("i1", doc="tricks of this hand that are finished")
    reward: npt.NDArray[np.float32] = field("f4", per_seat, "what each seat gained by the latest action")
    trick: npt.NDArray[np.int8] = field("i1", per_seat, "the cards of this trick in order of play")
    hand: npt.NDArray[np.int64] = field("i8", per_seat, "each seat's cards, as a set")
    played: npt.NDArray[np.int64] = field("i8", per_seat, "the cards that each seat has played in this hand, as a set")
    may_hold: npt.NDArray[np.int64] = field(
        "i8", per_seat, "what each seat's plays leave possible in its hand, as a set"
    )


@passing
def clear_hand(state: TrickHand, pack: int) -> None:
    """Take up all cards of the last hand; in the next, any seat may hold any card of the pack (a set)."""
    state.trump = NO_TRUMP
    state.leader = 0
    state.in_trick = 0
    state.best = 0
    state.finished = 0
    state.trick[:] = 0
    state.hand[:] = 0
    state.played[:] = 0
    state.may_hold[:] = pack


@passing
def deal_hands(state: TrickHand, deck: npt.NDArray[Any], size: int, packet: int) -> int:
    """Deal `size` cards to each seat from the dealer's left, `packet` at a time; return how many have been dealt."""
    seats, index = state.hand.shape[0], 0
    for _ in range(size // packet):
        seat = int(state.dealer)
        for _ in range(seats):
            seat = left_of(seat, seats)
            for _ in range(packet):
                state.hand[seat] |= 1 << int(deck[index])
                index += 1
    return index


@passing
def lead(state: TrickHand, seat: int, card: int) -> None:
    """Play the first card of a trick, which is the best so far."""
    state.best = 0
    lay(state, seat, card)


@passing
def follow(state: TrickHand, seat: int, card: int, possible: int, joker: int) -> None:
    """Play a further card of a trick. `possible` is the set of cards that the seat may still hold after this play;
    `joker` is as in `tricks.strength`."""
    state.may_hold[seat] &= possible
    if tricks.beats(card, int(state.trick[state.best]), int(state.trump), joker):
        state.best = state.in_trick
    lay(state, seat, card)


@passing
def lay(state: TrickHand, seat: int, card: int) -> None:
    """Move a card from a hand to the trick."""
    state.trick[state.in_trick] = card
    state.in_trick += 1
    state.hand[seat] &= ~(1 << card)
    state.played[seat] |= 1 << card


@passing
def finish_trick(state: TrickHand) -> int:
    """Take up a complete trick; whoever played its best card leads the next. Return that seat."""
    seats = state.trick.shape[0]
    winner = int(state.leader) + int(state.best)
    if winner >= seats:
        winner -= seats
    state.trick[:] = 0
    state.leader = winner
    state.seat = winner
    state.in_trick = 0
    state.best = 0
    state.finished += 1
    return winner


# ----------------------------------------------------------------------------------------------------------------------
# What a seat knows, and how it is shown


@passing
def unseen_cards(state: TrickHand, seat: int, pack: int) -> int:
    """Return the cards of the pack (a set) that a seat neither holds nor has seen played."""
    unseen = pack & ~int(state.hand[seat])
    for who in range(state.played.shape[0]):
        unseen &= ~int(state.played[who])
    return unseen


@kernel
def mark_cards(held: int, out: npt.NDArray[Any]) -> None:
    """Write 1 for each card of a set."""
    while held != 0:
        out[tricks.lowest_card(held)] = 1
        held &= held - 1


@kernel
def mark_voids(possible: int, trump: int, out: npt.NDArray[Any]) -> None:
    """Write 1 for each suit of which a seat has no card, given the set of cards it may hold: C, D, H, S and, if there
    is a fifth place, the jokers' own suit where no suit is trump."""
    for suit in range(out.shape[0]):
        there = suit < NO_TRUMP or trump == NO_TRUMP
        out[suit] = int(there and possible & tricks.suit_set(suit, trump) == 0)


@kernel
def marked_cards(row: npt.NDArray[Any]) -> int:
    """Return the cards that a row of an observation marks, as a set."""
    found = 0
    for card in range(row.shape[0]):
        if row[card] != 0:
            found |= 1 << card
    return found


@kernel
def marked_place(row: npt.NDArray[Any]) -> int:
    """Return the first place that a row of an observation marks, or -1."""
    for place in range(row.shape[0]):
        if row[place] != 0:
            return place
    return -1
