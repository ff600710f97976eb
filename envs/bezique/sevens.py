"""The seven of trumps: which one may be declared from the hand, which exchanged from the trick just won (§1.5)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import DECLARE_SEVEN, EXCHANGE_SEVEN, IN_SEVEN, NONE, Options, SevenRule, State


@kernel
def fresh_seven(state: State, seat: int) -> int:
    """A seat's seven of trumps that has not scored yet, of two the lower copy; NONE if it has none. §1.5"""
    for index in range(int(state.held[seat])):
        card = int(state.hand[seat, index])
        if card >> 1 == int(state.trump) * 8 and int(state.scored[card]) & IN_SEVEN == 0:
            return card
    return NONE


@kernel
def seven_in_trick(state: State) -> int:
    """The seven of trumps in the trick just won that has not scored yet, of two the lower copy; NONE if there is none.
    §1.5"""
    found = NONE
    for index in range(2):
        card = int(state.taken[index])
        if (
            card >> 1 == int(state.trump) * 8
            and int(state.scored[card]) & IN_SEVEN == 0
            and (found == NONE or card < found)
        ):
            found = card
    return found


@kernel
def taken_from_trick(options: Options, action: int) -> bool:
    """Whether a declaration of the seven is of one in the trick just won. §1.5"""
    return action == EXCHANGE_SEVEN or options.seven_rule == SevenRule.TRICK


@kernel
def seven_to_declare(options: Options, state: State, seat: int, action: int) -> int:
    """The seven of trumps that the winner of the trick may declare by an action, or NONE. §1.5"""
    return seven_in_trick(state) if taken_from_trick(options, action) else fresh_seven(state, seat)


@kernel
def can_exchange(options: Options, state: State) -> bool:
    """Whether the winner of a trick with a seven of trumps may exchange it beside declaring another from the hand:
    only for the card originally turned up, and a seven that was exchanged for that has scored. §1.5"""
    turn_up = int(state.turn_up)
    return options.seven_rule == SevenRule.BOTH and turn_up != NONE and int(state.scored[turn_up]) == 0


@kernel
def seen_by_both(options: Options, found: int) -> bool:
    """Whether among what may be declared (as `may_declare` gives it) is a seven of the trick, which both have seen.
    §4"""
    in_trick = 1 << (EXCHANGE_SEVEN - DECLARE_SEVEN) | int(options.seven_rule == SevenRule.TRICK)
    return found & in_trick != 0
