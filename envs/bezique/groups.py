"""What a declaration is made of, and what it scores; which seven of trumps may be declared from the hand, which
exchanged from the trick just won (§1.5). Declarations are named by their action numbers."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import (
    ACE,
    BEZIQUE,
    BEZIQUE_POINTS,
    BRISQUE_POINTS,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    DOUBLE_BEZIQUE_POINTS,
    DRAWING,
    EXCHANGE_SEVEN,
    FOUR,
    FOUR_POINTS,
    FOUR_RANKS,
    IN_BEZIQUE,
    IN_DOUBLE,
    IN_FOUR,
    IN_MARRIAGE,
    IN_SEQUENCE,
    IN_SEVEN,
    JACK,
    KING,
    MARRIAGE,
    MARRIAGE_POINTS,
    NONE,
    NUM_BRISQUES,
    QUEEN,
    ROYAL_MARRIAGE_POINTS,
    ROYAL_SEQUENCE_POINTS,
    SEQUENCE,
    SEVEN_POINTS,
    TRICK_24,
    TRICK_24_POINTS,
    Options,
    Reuse,
    SevenRule,
    State,
    TurnUp,
)

QUEEN_OF_SPADES, JACK_OF_DIAMONDS = 3 * 8 + QUEEN, 1 * 8 + JACK
BEZIQUE_TYPES = 1 << QUEEN_OF_SPADES | 1 << JACK_OF_DIAMONDS
FOUR_TYPES = 0x01010101  # the sevens; shifted by a rank
JACKS, QUEENS = FOUR_TYPES << JACK, FOUR_TYPES << QUEEN
FOUR_CLUBS = 1 << JACK | 1 << QUEEN | 1 << KING | 1 << ACE


@kernel
def kind_of(action: int) -> int:
    """The kind that a declaration is of, as a bit of `scored`."""
    if action == EXCHANGE_SEVEN:
        return IN_SEVEN
    if action >= SEQUENCE:
        return IN_SEQUENCE
    if action >= FOUR:
        return IN_FOUR
    if action == DOUBLE_BEZIQUE:
        return IN_DOUBLE
    if action == BEZIQUE:
        return IN_BEZIQUE
    return IN_MARRIAGE if action >= MARRIAGE else IN_SEVEN


@kernel
def points(options: Options, trump: int, action: int) -> int:
    """What a declaration scores; `trump` is the suit of trumps. §1.5"""
    if action == EXCHANGE_SEVEN:
        return SEVEN_POINTS
    if action >= SEQUENCE:
        return ROYAL_SEQUENCE_POINTS if action - SEQUENCE == trump else int(options.plain_sequence)
    if action >= FOUR:
        return FOUR_POINTS[action - FOUR]
    if action == DOUBLE_BEZIQUE:
        return DOUBLE_BEZIQUE_POINTS
    if action == BEZIQUE:
        return BEZIQUE_POINTS
    if action >= MARRIAGE:
        return ROYAL_MARRIAGE_POINTS if action - MARRIAGE == trump else MARRIAGE_POINTS
    return SEVEN_POINTS


@kernel
def members(action: int) -> int:
    """How many types of card a declaration of `MARRIAGE` and above is made of."""
    return 5 if action >= SEQUENCE else 4 if action >= FOUR else 2


@kernel
def member(action: int, index: int) -> int:
    """The type of a declaration's card number `index`, in ascending order."""
    if action >= SEQUENCE:
        return (action - SEQUENCE) * 8 + JACK + index
    if action >= FOUR:
        return index * 8 + FOUR_RANKS[action - FOUR]
    if action >= BEZIQUE:
        return JACK_OF_DIAMONDS if index == 0 else QUEEN_OF_SPADES
    return (action - MARRIAGE) * 8 + QUEEN + index


@kernel
def pairs_of(types: int) -> int:
    """The queens of those suits of which a set of types has king and queen."""
    return types & types >> 1 & QUEENS


@kernel
def runs_of(types: int) -> int:
    """The jacks of those suits of which a set of types has a sequence."""
    return types & types >> 1 & types >> 2 & types >> 3 & types >> 4 & JACKS


@kernel
def quartets_of(types: int) -> int:
    """The jack, queen, king and ace of clubs, where a set of types has that rank in every suit."""
    return types & types >> 8 & types >> 16 & types >> 24 & FOUR_CLUBS


@kernel
def most_points(options: Options) -> int:
    """A bound on one seat's points in a deal. §3"""
    sequence = max(ROYAL_SEQUENCE_POINTS, options.plain_sequence)
    if options.reuse == Reuse.FREE:
        declared = DOUBLE_BEZIQUE_POINTS + (DRAWING - 1) * sequence
    else:
        marriages = 2 * (ROYAL_MARRIAGE_POINTS + 3 * MARRIAGE_POINTS)
        beziques = BEZIQUE_POINTS + DOUBLE_BEZIQUE_POINTS
        quartets = 2 * sum(FOUR_POINTS)
        declared = marriages + beziques + quartets + 2 * (ROYAL_SEQUENCE_POINTS + 3 * options.plain_sequence)
    sevens = (3 if options.turn_up == TurnUp.TAKEN_FIRST else 2) * SEVEN_POINTS
    last = TRICK_24_POINTS if options.last_trick == TRICK_24 else options.last_trick
    return int(declared + sevens + NUM_BRISQUES * BRISQUE_POINTS + last)


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
