"""Rule-based players (§5). They see an Observation and a mask, never a State, and need no randomness."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules.cards import count_bits
from ..core.rules.trick_hand import marked_place
from .bots import endgame
from .bots.prospects import (
    NOTHING,
    Prospects,
    Reading,
    beaters_of,
    exchange_points,
    is_fresh_seven_led,
    mean_gain,
    read,
    scored_bits,
    trump_of,
    weigh_all,
)
from .groups import JACK_OF_DIAMONDS, QUEEN_OF_SPADES, points
from .observation import Observation
from .pack import beats, drawing
from .state import (
    ACE,
    BEZIQUE,
    BRISQUE_POINTS,
    BRISQUES,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    EXCHANGE_SEVEN,
    IN_BEZIQUE,
    MARRIAGE,
    NO_DECLARATION,
    NUM_CARDS,
    NUM_TYPES,
    SEQUENCE,
    SEVEN,
    TEN,
    Options,
    Reuse,
    SevenRule,
)

_HURRY = 4  # with so many tricks left in which to declare, a marriage no longer goes before its sequence
# Rule of thumb for the last eight tricks, in steps of rank:
_TRICK = 10  # a trick, and half a brisque
_LAST_TRUMP = 10  # keeping a trump


@kernel
def in_last_eight(options: Options, observation: Observation) -> bool:
    """Whether both hands are known."""
    return int(observation.trick) >= drawing(options) and not int(observation.declaring)


@kernel
def most_points_now(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The declaration that scores most, or NO_DECLARATION. Of equals the exchange of a seven, which only this trick
    allows."""
    trump, best, chosen = trump_of(observation), NOTHING, NO_DECLARATION
    if mask[EXCHANGE_SEVEN]:
        best, chosen = exchange_points(observation), EXCHANGE_SEVEN
    for action in range(DECLARE_SEVEN, NO_DECLARATION):
        if mask[action] and points(options, trump, action) > best:
            best, chosen = points(options, trump, action), action
    return chosen


@kernel
def best_declaration(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The declaration that scores most; but while there is time for both, a marriage before its sequence and one
    bezique before the double, since the other way round bars them (§1.6). NO_DECLARATION if there is none."""
    chosen = most_points_now(options, observation, mask)
    if options.reuse == Reuse.CLASS and int(observation.trick) < drawing(options) - _HURRY:
        if chosen == DOUBLE_BEZIQUE and mask[BEZIQUE] and not in_single_bezique(observation):
            return BEZIQUE
        if SEQUENCE <= chosen < NO_DECLARATION and mask[chosen - SEQUENCE + MARRIAGE]:
            return chosen - SEQUENCE + MARRIAGE
    return chosen


@kernel
def in_single_bezique(observation: Observation) -> bool:
    """Whether one of my cards has scored in a bezique: a second would bar the double (§1.6)."""
    scored = 0
    for slot in range(2):
        scored |= scored_bits(observation.scored, QUEEN_OF_SPADES, slot)
        scored |= scored_bits(observation.scored, JACK_OF_DIAMONDS, slot)
    return scored & IN_BEZIQUE != 0


@kernel
def table_worth(trump: int, kind: int) -> int:
    """What a card is worth keeping, by a fixed table."""
    rank = kind & 7
    if kind in (QUEEN_OF_SPADES, JACK_OF_DIAMONDS):
        return 12
    if kind >> 3 == trump:
        return 9 if rank >= 3 or rank == SEVEN else 4
    return (0, 0, 1, 2, 3, 5, 6, 8)[rank]


class Style(NamedTuple):
    """What `planner` and `sharp` weigh against declarations, in points. What is `early` is added in full at the first
    trick, not at all halfway to the last eight, and taken off at the end."""

    brisque: float  # one won rather than lost, on each side
    ready: float  # share of a complete declaration's points for the chance to make it now
    win: float  # winning a trick: the opponent cannot declare, but one has to lead
    win_early: float
    top_card: float  # share of what the open card adds over an average one
    spoil: float  # keeping the open card from the opponent, by the fixed table
    spoil_trump: float  # and if it is a trump
    likely: float  # by which the chance to draw a card is multiplied
    reach: float  # what a declaration within reach counts
    reach_early: float
    ace: float  # keeping a plain ace
    ten: float  # a plain ten
    plain_rank: float  # a plain card, for each step of rank
    trump: float  # a trump
    trump_early: float
    trump_rank: float  # a trump, for each step of rank
    trump_brisque: float  # an ace or ten of trumps
    seven: float  # the seven of trumps while it can be exchanged
    lead_trump: float  # what leading a trump costs
    lead_brisque: float  # or a brisque
    eager: float  # the chance that an opponent who can take a brisque does
    idle: float  # or a worthless card


# Found by matches between variants (§5).
PLANNER = Style(
    brisque=8.0,
    ready=0.25,
    win=2.0,
    win_early=0.0,
    top_card=1.5,
    spoil=0.5,
    spoil_trump=0.0,
    likely=1.0,
    reach=1.0,
    reach_early=0.0,
    ace=8.0,
    ten=3.0,
    plain_rank=0.15,
    trump=12.0,
    trump_early=0.0,
    trump_rank=1.5,
    trump_brisque=0.0,
    seven=22.0,
    lead_trump=0.0,
    lead_brisque=0.0,
    eager=0.7,
    idle=0.5,
)
# Found by an evolution strategy (CMA-ES) for the mean of gains against `planner` (0.7), `early` and `greedy` (0.15
# each), then rounded.
SHARP = Style(
    brisque=5.0,
    ready=0.17,
    win=-14.5,
    win_early=-18.7,
    top_card=0.85,
    spoil=1.7,
    spoil_trump=17.4,
    likely=0.44,
    reach=0.62,
    reach_early=-0.93,
    ace=8.5,
    ten=3.1,
    plain_rank=0.63,
    trump=7.5,
    trump_early=-10.7,
    trump_rank=1.5,
    trump_brisque=9.5,
    seven=10.9,
    lead_trump=-5.7,
    lead_brisque=-8.8,
    eager=1.0,
    idle=0.57,
)


@kernel
def keeping(options: Options, reading: Reading, prospects: Prospects, card: int, early: float, style: Style) -> float:
    """What giving up a card of mine (an entry of `reading.mine`) costs."""
    kind, slot, scored = card & NUM_TYPES - 1, card >> 5 & 1, card >> 6
    rank = kind & 7
    cost: float = (style.reach + style.reach_early * early) * prospects.worth[2 * kind + slot]
    if kind >> 3 != reading.trump:
        return cost + style.plain_rank * rank + (style.ace if rank == ACE else style.ten if rank == TEN else 0.0)
    if rank == SEVEN and scored == 0 and options.seven_rule != SevenRule.BOTH:
        cost += style.seven  # under `both` it is among the declarations
    if BRISQUES >> kind & 1:
        cost += style.trump_brisque
    return cost + style.trump + style.trump_early * early + style.trump_rank * rank


@kernel
def winning_gain(reading: Reading, prospects: Prospects, early: float, style: Style) -> float:
    """What winning the next trick is worth beside its brisques: a declaration, the open card, the opponent's
    silence."""
    value, top = style.ready * prospects.ready + style.win + style.win_early * early, reading.top
    if top != NOTHING and reading.total > 0:
        spoiled = style.spoil * table_worth(reading.trump, top)
        spoiled += style.spoil_trump if top >> 3 == reading.trump else 0.0
        value += style.top_card * (prospects.gain[top] - mean_gain(reading, prospects)) + spoiled
    return value


@kernel
def taken_by_opponent(reading: Reading, kind: int, style: Style) -> float:
    """A rough chance that the opponent takes a card that I lead: that they can, by what they are known to hold and by
    what is unseen, and that they want to."""
    wanted = style.eager if BRISQUES >> kind & 1 else style.idle
    beaters = beaters_of(reading.trump, kind)
    if reading.theirs & beaters:
        return wanted
    if reading.total == 0:
        return 0.0
    unseen = count_bits(reading.once & beaters) + count_bits(reading.twice & beaters)
    return wanted * (1.0 - (1.0 - unseen / reading.total) ** reading.closed)


@kernel
def fought_for(reading: Reading, card: int, style: Style) -> tuple[float, float]:
    """The chance that a trick is lost to which I play a card (an entry of `reading.mine`), and what is at stake in it:
    its brisques, and the exchange of a seven (§1.5)."""
    kind, brisques = card & NUM_TYPES - 1, BRISQUES >> (card & NUM_TYPES - 1) & 1
    if reading.led == NOTHING:
        lost = taken_by_opponent(reading, kind, style)
    else:
        brisques += BRISQUES >> reading.led & 1
        lost = 0.0 if beats(reading.trump, 2 * reading.led, 2 * kind) else 1.0
    stake: float = style.brisque * brisques
    if reading.seven_led or (kind == 8 * reading.trump and card >> 6 == 0):
        stake += reading.exchange
    return lost, stake


@kernel
def choose_card(options: Options, observation: Observation, mask: npt.NDArray[np.int8], style: Style) -> int:
    """The card to play while there is a stock."""
    reading = read(options, observation, style.likely)
    prospects = weigh_all(options, reading, int(observation.trick))
    early = 0.5 - int(observation.trick) / drawing(options)
    prize = winning_gain(reading, prospects, early, style)
    best, chosen = -1e9, NOTHING
    for index in range(reading.held):
        entry = int(reading.mine[index])
        kind = entry & NUM_TYPES - 1
        card = played_as(mask, kind, entry >> 5 & 1)
        if card == NOTHING:
            continue
        lost, stake = fought_for(reading, entry, style)
        value = (1.0 - 2.0 * lost) * stake + (1.0 - lost) * prize
        value -= keeping(options, reading, prospects, entry, early, style)
        if reading.led == NOTHING:
            value -= style.lead_trump if kind >> 3 == reading.trump else 0.0
            value -= style.lead_brisque if BRISQUES >> kind & 1 else 0.0
        if value > best:
            best, chosen = value, card
    return chosen


@kernel
def played_as(mask: npt.NDArray[np.int8], kind: int, slot: int) -> int:
    """The action that plays the copy of a type that an observation shows in a slot; NOTHING where that is no action of
    its own."""
    if slot == 1:
        return 2 * kind + 1 if mask[2 * kind + 1] else NOTHING
    return 2 * kind if mask[2 * kind] else 2 * kind + 1 if mask[2 * kind + 1] else NOTHING


# The last eight tricks


@kernel
def play_last(observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """A card for the last eight tricks without looking ahead: lead what cannot be beaten, brisques first, or else the
    least; take a trick with a brisque where that is safe, as cheaply as possible otherwise; give away as little as
    possible."""
    trump, led, theirs = trump_of(observation), marked_place(observation.led), 0
    for kind in range(NUM_TYPES):
        theirs |= int(observation.opponent_hand[kind] > 0) << kind
    best, chosen = -1e9, NOTHING
    for card in range(NUM_CARDS):
        if mask[card] == 0:
            continue
        kind = card >> 1
        brisques, won = BRISQUES >> kind & 1, theirs & beaters_of(trump, kind) == 0
        if led != NOTHING:
            brisques += BRISQUES >> led & 1
            won = beats(trump, 2 * led, card)
        value = (
            _TRICK * (1 + 2 * brisques if won else -2 * brisques)
            - (kind & 7)
            - (_LAST_TRUMP if kind >> 3 == trump else 0)
        )
        if value > best:
            best, chosen = value, card
    return chosen


# The bots


@kernel
def act_early(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Declare the most points at once, whatever that bars; take a trick while there is anything to declare, and
    brisques; otherwise throw what the table values least."""
    if mask[NO_DECLARATION]:
        return most_points_now(options, observation, mask)
    reading = read(options, observation, PLANNER.likely)
    prospects = weigh_all(options, reading, int(observation.trick))
    best, chosen = -1e9, NOTHING
    for index in range(reading.held):
        entry = int(reading.mine[index])
        kind, slot = entry & NUM_TYPES - 1, entry >> 5 & 1
        card = played_as(mask, kind, slot)
        if card == NOTHING:
            continue
        lost, stake = fought_for(reading, entry, PLANNER)
        value = (1.0 - lost) * (prospects.ready + stake) - 0.5 * lost * stake
        value -= table_worth(reading.trump, kind) + prospects.worth[2 * kind + slot]
        if value > best:
            best, chosen = value, card
    return chosen


@kernel
def act_greedy(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Declare at once, take brisques as cheaply as possible, otherwise throw what the table values least."""
    if mask[NO_DECLARATION]:
        return best_declaration(options, observation, mask)
    trump, led = trump_of(observation), marked_place(observation.led)
    exchange, seven_led = exchange_points(observation) // BRISQUE_POINTS, is_fresh_seven_led(observation)
    best, chosen = 1 << 10, NOTHING
    for card in range(NUM_CARDS):
        if mask[card] == 0:
            continue
        brisques = BRISQUES >> (card >> 1) & 1
        cost = table_worth(trump, card >> 1)
        if exchange and (seven_led or is_fresh_seven(observation, trump, mask, card)):
            brisques += exchange
        if led != NOTHING and beats(trump, 2 * led, card):
            cost -= 8 * (brisques + (BRISQUES >> led & 1))
        elif brisques:
            cost += 4
        if cost < best:
            best, chosen = cost, card
    return chosen


@kernel
def is_fresh_seven(observation: Observation, trump: int, mask: npt.NDArray[np.int8], card: int) -> bool:
    """Whether a card of mine that may be played is a seven of trumps that has not scored."""
    second = card & 1 and mask[card ^ 1]
    return card >> 1 == 8 * trump and observation.scored[card >> 1, int(second != 0), 0] == 0


@kernel
def by_rule(options: Options, observation: Observation, mask: npt.NDArray[np.int8], style: Style) -> int:
    """Declare at once, weigh each card by what it may still complete, play the last eight tricks by rule of thumb."""
    if mask[NO_DECLARATION]:
        return best_declaration(options, observation, mask)
    if in_last_eight(options, observation):
        return play_last(observation, mask)
    return choose_card(options, observation, mask, style)


@kernel
def to_the_end(options: Options, observation: Observation, mask: npt.NDArray[np.int8], style: Style) -> int:
    """The same, but solve the last eight tricks."""
    if in_last_eight(options, observation) and not mask[NO_DECLARATION]:
        return endgame.play(options, observation, mask)
    return by_rule(options, observation, mask, style)


@kernel
def act_planner(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The rules with the numbers of PLANNER."""
    return by_rule(options, observation, mask, PLANNER)


@kernel
def act_strong(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """As `planner`, but solve the last eight tricks."""
    return to_the_end(options, observation, mask, PLANNER)


@kernel
def act_quick_sharp(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """As `sharp`, but by rule of thumb in the last eight tricks."""
    return by_rule(options, observation, mask, SHARP)


@kernel
def act_sharp(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """As `strong`, with the numbers of SHARP."""
    return to_the_end(options, observation, mask, SHARP)


@kernel
def solves(options: Options, observation: Observation) -> bool:
    """Whether `strong` looks to the end, whoever is to play."""
    return in_last_eight(options, observation)


BOTS = (
    Bot(
        "greedy", act_greedy, "declares at once what scores most, takes brisques cheaply, keeps cards by a fixed table"
    ),
    Bot(
        "early",
        act_early,
        "declares any points at once, the most first, whatever that bars; takes tricks while it has any to declare",
    ),
    Bot(
        "sharp",
        act_sharp,
        "strong, with numbers found by playing against it",
        fast=False,
        solves=solves,
        quick=act_quick_sharp,
    ),
    Bot("planner", act_planner, "weighs cards by the declarations still within reach and the open top card"),
    Bot(
        "strong",
        act_strong,
        "planner, and plays the last eight tricks exactly, by alpha-beta",
        fast=False,
        solves=solves,
        quick=act_planner,
    ),
)
