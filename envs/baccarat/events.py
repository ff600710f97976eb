"""What the seats of baccarat learn besides the actions that they see, and the cards yet to be drawn.

Cards are told by their values, as observations show them. The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE
from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, all_but, tell
from .bets import DUST, has_purses, money
from .coup import cards_used, place_value, two_cards
from .observation import seen_places
from .state import (
    BANKER_TURN,
    BETTING,
    COUP,
    NUM_LEVELS,
    SHOWN,
    Mode,
    Options,
    Reshuffle,
    State,
    most_coups,
    num_seats,
)

PLAYER_HAS, BANKER_HAS, PLAYER_DRAWS, BANKER_DRAWS, PLAYER_STANDS, TOTAL, TURNED_UP, WINNER, BET = range(OWN, OWN + 9)
HAS_MANY, HAS, OWES = range(BET + 1, BET + 4)
MANY = 30_000
"""Units that are told apart from the rest, since an event's number is small."""
_BETS = (
    "nothing",
    *(f"{side} level {level}" for level in range(1, NUM_LEVELS + 1) for side in ("PLAYER", "BANK", "TIE")),
)
KINDS = (
    Kind("Player has", "A seat sees the two cards of the Player hand, in the order of dealing (§1.5, §4)."),
    Kind("Banker has", "A seat sees the two cards of the Banker hand, in the order of dealing (§1.5, §4)."),
    Kind("Player draws", "The Player's third card is turned up (§1.3)."),
    Kind("Banker draws", "The Banker's third card is turned up; not told with `decks` inf (§1.3)."),
    Kind("Player stands", "Everybody learns, in chemin de fer, that the Player stands by rule (§1.3).", "nothing"),
    Kind("total", "A side of chemin de fer learns the total of its hand, and not the cards (§2.1, §2.4)."),
    Kind("turned up", "The cards of coups that are over, where more are dealt from the shoe, by value (§2.2, §4)."),
    Kind(
        "winner",
        "Everybody learns who wins the coup, or the latest of several (§1.4).",
        words=("Player", "Banker", "tie"),
    ),
    Kind("had bet", "The others learn a bet of this coup once all bets lie open (§2.3).", words=_BETS),
    Kind(
        "has many", f"What a seat with a purse has or owes, in times of {MANY:,} units, where it is as much (§2.5)."
    ),
    Kind("has", "What a seat with a purse has now, the rest of it, in whole units (§2.5)."),
    Kind("owes", "What a bank could not pay, in the same way (§2.5)."),
)


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.3, §2.4: in chemin de fer coups are opened at once; naturals end them."""
    if state.phase == BETTING and options.mode != Mode.CHEMIN:
        return
    turned_up = 0
    for points in range(10):
        turned_up += int(state.exposed[points])
        for _ in range(int(state.exposed[points])):
            tell(log, EVERYBODY, TURNED_UP, NOBODY, points)
    if turned_up > 0 or state.phase == SHOWN or state.seat == CHANCE:
        tell(log, EVERYBODY, WINNER, NOBODY, int(state.winner) - 1)
    for seat in range(2):
        # A coup that ended in this deal, with another deal to follow, is over before anybody looks at a hand.
        seen = 0 if state.seat == CHANCE else seen_places(options, state, seat)
        tell_places(options, state, seat, seen, log)
        if not (seen >> seat) & 1:
            tell(log, seat, TOTAL, seat, two_cards(state, seat))
    if state.phase == BANKER_TURN and state.seat != CHANCE and not state.player_drew:
        tell(log, EVERYBODY, PLAYER_STANDS, NOBODY, 0)


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """§1.3: bets lie open, hands are looked at, coups end."""
    if state.phase == BETTING and state.coup == before.coup:
        return
    if before.phase == BETTING and state.phase != BETTING and not options.bets_public:
        for who in range(options.num_bettors):
            if options.num_bettors > 1:
                tell(log, all_but(who), BET, who, int(state.bets[who]))
    if state.coup != before.coup:
        for points in range(10):
            for _ in range(int(state.exposed[points]) - int(before.exposed[points])):
                tell(log, EVERYBODY, TURNED_UP, NOBODY, points)
        tell(log, EVERYBODY, WINNER, NOBODY, int(state.winner) - 1)
        if has_purses(options):
            tell_money(options, before, state, log)
    same = state.first == before.first
    for seat in range(state.units.shape[0]):
        seen = seen_places(options, state, seat)
        tell_places(options, state, seat, seen & ~seen_places(options, before, seat) if same else seen, log)
        if options.mode == Mode.CHEMIN and not same and not (seen >> seat) & 1:
            tell(log, seat, TOTAL, seat, two_cards(state, seat))
    if state.phase == BANKER_TURN and not same and not state.player_drew:
        tell(log, EVERYBODY, PLAYER_STANDS, NOBODY, 0)


@kernel
def tell_places(options: Options, state: State, seat: int, places: int, log: Log) -> None:
    """§1.5, §4: a seat sees the cards in these of the coup's six places."""
    drew = int(state.player_drew)
    for place in range(COUP):
        if not (places >> place) & 1:
            continue
        kind = PLAYER_HAS if place % 2 == 0 else BANKER_HAS
        if place >= 4:
            kind = PLAYER_DRAWS if place == 4 and drew == 1 else BANKER_DRAWS
        if kind != BANKER_DRAWS or options.decks > 0:  # else observations show only who has won
            tell(log, seat, kind, NOBODY, place_value(state, place))


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
    left = state.shoe.shape[0] - first
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


EVENTS = Events(KINDS, deal=tell_deal, step=tell_step, most=most, length=length)
