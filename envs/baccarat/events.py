"""What the seats of baccarat learn besides the actions that they see, and the cards yet to be drawn.

Cards are shown by their values, as observations show them. The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE
from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, all_but, tell
from .bets import DUST, has_purses, money
from .coup import cards_used, place_value, two_cards, value
from .observation import seen_places
from .state import (
    BANK,
    BANKER_TURN,
    BETTING,
    COUP,
    DRAW,
    NUM_LEVELS,
    PLAYER,
    PLAYER_TURN,
    SHOWN,
    STAND,
    Mode,
    Options,
    Reshuffle,
    State,
    most_coups,
    num_seats,
)

PLAYER_HAS, BANKER_HAS, PLAYER_DRAWS, BANKER_DRAWS, PLAYER_STANDS, TOTAL, TURNED_UP, WINNER, BET = range(OWN, OWN + 9)
HAS_MANY, HAS, OWES = range(BET + 1, BET + 4)
HAND_BY_HAND = (0, 2, 1, 3, 4, 5)
"""A coup's places in the order in which its cards are shown: the Player's two, the Banker's two, third cards."""
MANY = 30_000
"""Units that are distinguished from the rest, since an event's number is small."""
_BETS = (
    "nothing",
    *(f"{side} level {level}" for level in range(1, NUM_LEVELS + 1) for side in ("PLAYER", "BANK", "TIE")),
)
KINDS = (
    Kind(
        "Player has",
        "A seat sees the two cards of the Player hand, in a choice or at the coup's end (§1.5, §4).",
        "value",
    ),
    Kind("Banker has", "A seat sees the two cards of the Banker hand, in the same way (§1.5, §4).", "value"),
    Kind("Player draws", "The Player's third card is turned up (§1.3).", "value"),
    Kind("Banker draws", "The Banker's third card is turned up (§1.3).", "value"),
    Kind(
        "Player stands", "Everybody learns, in chemin de fer, that the Player stands, by rule or not (§1.3).", "nothing"
    ),
    Kind("total", "The Banker of chemin de fer learns the total of the hand, and not the cards (§2.1)."),
    Kind("turned up", "Cards of coups from a shoe that naturals ended before the latest, in order of value (§2.4)."),
    Kind(
        "winner",
        "Everybody learns who wins the coup, or the latest of several (§1.4).",
        words=("Player", "Banker", "tie"),
    ),
    Kind("had bet", "The others learn a bet of this coup once all bets lie open (§2.3).", words=_BETS),
    Kind("has many", f"What a seat with a purse has or owes, in times of {MANY:,} units, where it is as much (§2.5)."),
    Kind("has", "What a seat with a purse has now, the rest of it, in whole units (§2.5)."),
    Kind("owes", "What a bank could not pay, in the same way (§2.5)."),
)


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.3, §2.4: in chemin de fer coups are opened at once; naturals end them."""
    if options.mode != Mode.CHEMIN:
        return
    finished, dealt = state.seat == CHANCE or state.phase == SHOWN, 0
    for points in range(10):
        dealt += int(state.exposed[points])
    if finished or dealt > 0:
        tell_ended(options, state, state, True, log)
    if not finished:
        tell_choice(options, state, log)


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """§1.3: bets lie open, hands are looked at, coups end."""
    if state.phase == BETTING and state.coup == before.coup:
        return
    seats = state.units.shape[0]
    if before.phase == BETTING and state.phase != BETTING and not options.bets_public and seats > 1:
        for who in range(seats):
            tell(log, all_but(who), BET, who, int(state.bets[who]))
    if state.coup == before.coup:
        if state.phase == BANKER_TURN:
            third = 1 << 4 if state.player_drew else 0
            for seat in range(seats):
                tell_places(state, seat, third, log)
            tell_standing(options, state, log)
        elif state.phase == PLAYER_TURN:
            for seat in range(seats):
                tell_places(state, seat, seen_places(options, state, seat), log)
        return
    tell_ended(options, before, state, False, log)
    if has_purses(options):
        tell_money(options, before, state, log)
    if options.mode == Mode.CHEMIN and state.seat != CHANCE and state.phase != SHOWN:
        tell_choice(options, state, log)


@kernel
def tell_choice(options: Options, state: State, log: Log) -> None:
    """§2.1: in chemin de fer a coup comes to a choice; each side looks at its hand, or is shown its total."""
    for seat in range(2):
        seen = seen_places(options, state, seat)
        if not (seen >> seat) & 1:
            tell(log, seat, TOTAL, seat, two_cards(state, seat))
        tell_places(state, seat, seen, log)
    tell_standing(options, state, log)


@kernel
def tell_standing(options: Options, state: State, log: Log) -> None:
    """§1.3: in chemin de fer the Banker cannot tell whether the Player had a choice, neither by what they are shown
    nor by its order."""
    if options.mode == Mode.CHEMIN and state.phase == BANKER_TURN and not state.player_drew:
        tell(log, EVERYBODY, PLAYER_STANDS, NOBODY, 0)


def secret(options: Options, action: int) -> bool:
    """§1.3: in chemin de fer the others see a third card or none, and not whether the Player was asked."""
    return options.mode == Mode.CHEMIN and action in (STAND, DRAW)


@kernel
def kind_of(place: int, player_drew: int) -> int:
    """The kind of event that tells of the card in one of a coup's six places."""
    if place < 4:
        return PLAYER_HAS if place % 2 == 0 else BANKER_HAS
    return PLAYER_DRAWS if place == 4 and player_drew == 1 else BANKER_DRAWS


@kernel
def tell_places(state: State, seat: int, places: int, log: Log) -> None:
    """§1.5, §4: a seat sees the cards in these places of the present coup."""
    for place in HAND_BY_HAND:
        if (places >> place) & 1:
            tell(log, seat, kind_of(place, int(state.player_drew)), NOBODY, place_value(state, place))


@kernel
def tell_ended(options: Options, before: State, state: State, opened: bool, log: Log) -> None:
    """§1.3, §2.4: coups have ended since `before`, or since the deal that `opened` them; the latest is turned up, and
    of those before it the values."""
    for points in range(10 if options.reshuffle == Reshuffle.SHOE else 0):  # elsewhere all cards are mixed again
        earlier = int(state.exposed[points]) - counted_last(options, state, points)
        for _ in range(earlier if opened else earlier - int(before.exposed[points])):
            tell(log, EVERYBODY, TURNED_UP, NOBODY, points)
    if not opened and state.coup == before.coup + 1 and before.phase != BETTING:
        for seat in range(state.units.shape[0]):
            tell_finished(state, seat, seen_places(options, before, seat), log)
    else:
        tell_finished(state, EVERYBODY, 0, log)
    tell(log, EVERYBODY, WINNER, NOBODY, int(state.winner) - 1)


@kernel
def tell_finished(state: State, seat: int, known: int, log: Log) -> None:
    """§1.3: the cards of the coup that has just ended are turned up; a seat is shown those that it has not seen."""
    if state.phase == SHOWN:
        tell_places(state, seat, ((1 << cards_used(state)) - 1) & ~known, log)
        return
    drew = int(state.last_drew[PLAYER])
    used = 4 + drew + int(state.last_drew[BANK])
    for place in HAND_BY_HAND:
        if place < used and not (known >> place) & 1:
            tell(log, seat, kind_of(place, drew), NOBODY, value(int(state.last[place])))


@kernel
def counted_last(options: Options, state: State, points: int) -> int:
    """How many of the cards of a value that lie before the present coup are those of the coup before. §2.2"""
    if options.reshuffle != Reshuffle.SHOE or state.seat == CHANCE or state.phase == SHOWN:
        return 0
    found = 0
    for place in range(4 + int(state.last_drew[PLAYER]) + int(state.last_drew[BANK])):
        found += int(value(int(state.last[place])) == points)
    return found


@kernel
def tell_money(options: Options, before: State, state: State, log: Log) -> None:
    """§2.5: what a seat has, where it is not what it had."""
    for who in range(options.num_bettors):
        exact, had = money(options, state, who), money(options, before, who)
        units, owes = int(abs(exact) + DUST), exact < -DUST
        if units == int(abs(had) + DUST) and owes == (had < -DUST):
            continue
        if units >= MANY:
            tell(log, EVERYBODY, HAS_MANY, who, units // MANY)
        tell(log, EVERYBODY, OWES if owes else HAS, who, units % MANY)


@kernel
def stock(options: Options, state: State, out: npt.NDArray[np.int64]) -> int:
    """`GameType.stock`: the cards of the shoe, or those that this coup could come to, the next first. §2.2"""
    first = int(state.first) + (0 if state.phase == BETTING else cards_used(state))
    left: int = state.shoe.shape[0] - first
    for index in range(left):
        out[index] = state.shoe[first + index]
    return left


def most(options: Options) -> int:
    """An action that the others see in part (2 events), the bets, six cards for each seat, the end of a coup, and what
    seats have. In chemin de fer naturals can end any number of coups: each turns up four cards, has a winner, and two
    totals; the first, and the one that comes to a decision, two cards more."""
    seats = num_seats(options)
    coups = most_coups(options) + 1 if options.mode == Mode.CHEMIN else 1
    return 2 + options.num_bettors + COUP * seats + 2 * options.num_bettors + COUP + coups * (4 + 1 + 2) + 1


def length(options: Options) -> int:
    """Of each coup: the actions, others' bets, six cards, the same cards where a shoe goes on, the winner, a total or
    that the Player stood, and what seats have; and an action to turn up the last cards (§2.4)."""
    chemin, bettors = options.mode == Mode.CHEMIN, options.num_bettors
    actions = 2 if chemin else bettors + (options.mode == Mode.TABLE)
    bets = 0 if chemin or options.bets_public else bettors - 1
    turned_up = COUP if options.reshuffle == Reshuffle.SHOE else 0
    purses = 2 * bettors if options.purses[0] > 0 else 0
    return most_coups(options) * (actions + bets + COUP + turned_up + 1 + 2 * chemin + purses) + 1


EVENTS = Events(KINDS, deal=tell_deal, step=tell_step, secret=secret, most=most, length=length)
