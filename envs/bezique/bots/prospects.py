"""What the cards of a hand are good for, as a bot reads it from an observation: declarations within reach, weighed by
chance (§5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.cards import count_bits
from ...core.rules.trick_hand import marked_place
from .. import groups
from ..declarations import eligible
from ..groups import JACK_OF_DIAMONDS, QUEEN_OF_SPADES
from ..observation import Observation
from ..pack import copies_of, drawing
from ..state import (
    ALL_TYPES,
    BEZIQUE,
    BRISQUE_POINTS,
    BRISQUES,
    DOUBLE_BEZIQUE,
    DOUBLE_BEZIQUE_POINTS,
    FOUR,
    HAND,
    IN_BEZIQUE,
    IN_SEVEN,
    MARRIAGE,
    NO_DECLARATION,
    NUM_CARDS,
    NUM_KINDS,
    NUM_TYPES,
    SEQUENCE,
    SEVEN_POINTS,
    Options,
    SevenRule,
    TurnUp,
)

NOTHING = -1
"""The type of a card that is not there."""
USES = 5
"""Ways in which cards are declared, but for sevens (`use_of`)."""
_AT_LEAST = 0.5  # the chance to get an open card that is next to be drawn


class Reading(NamedTuple):
    """An observation in the form that bots reckon with. Sets are sets of types."""

    trump: int
    led: int
    """The type of the card led, or NOTHING."""
    top: int
    """The type of the open card that the winner of the trick will draw, or NOTHING."""
    mine: npt.NDArray[np.int64]
    """My cards [8], as `type | slot << 5 | scored << 6`: of two copies the second has slot 1."""
    held: int
    """How many these are."""
    theirs: int
    """The types of which I know the opponent to hold a card."""
    closed: int
    """How many of the opponent's cards I do not know."""
    once: int
    """The types of which I cannot place one card, or two."""
    twice: int
    """The types of which I cannot place two."""
    total: int
    """How many cards I cannot place."""
    stock: int
    """Cards of the stock."""
    one: float
    """A rough chance that a card still comes to me of which I cannot place one copy."""
    two: float
    """The same for one of which I cannot place either."""
    exchange: int
    """What exchanging a seven of trumps in the trick to come brings (§1.5)."""
    seven_led: bool
    """Whether the card led is a seven that could be."""


@kernel
def trump_of(observation: Observation) -> int:
    """The suit of trumps."""
    return int(np.int64(observation.trump[1] + 2 * observation.trump[2] + 3 * observation.trump[3]))


@kernel
def read(options: Options, observation: Observation, likely: float) -> Reading:
    """An observation, read; chances to draw a card are multiplied by `likely`."""
    mine = np.empty(HAND, np.int64)
    held, known, theirs, once, twice = 0, 0, 0, 0, 0
    for kind in range(NUM_TYPES):
        for slot in range(2):
            if observation.hand[kind, slot]:
                mine[held] = kind | slot << 5 | scored_bits(observation.scored, kind, slot) << 6
                held += 1
        its = int(
            np.int64(
                observation.opponent_hand[kind]
                + observation.opponent_laid[kind, 0]
                + observation.opponent_laid[kind, 1]
            )
        )
        own = int(np.int64(observation.hand[kind, 0] + observation.hand[kind, 1]))
        table = int(
            np.int64(observation.gone[kind] + observation.turn_up[kind] + observation.top[kind] + observation.led[kind])
        )
        unseen = copies_of(options, kind) - own - its - table
        theirs |= int(its > 0) << kind
        once |= int(unseen > 0) << kind
        twice |= int(unseen > 1) << kind
        known += its
    total = count_bits(once) + count_bits(twice)
    stock = int(np.int64(observation.stock))
    one, two = chances(total, stock)
    top = marked_place(observation.top)
    if options.turn_up == TurnUp.TAKEN_FIRST and int(observation.trick) == 0:
        top = marked_place(observation.turn_up)
    return Reading(
        trump_of(observation),
        marked_place(observation.led),
        top,
        mine,
        held,
        theirs,
        max(options.cards_dealt - known, 0),
        once,
        twice,
        total,
        stock,
        likely * one,
        likely * two,
        exchange_points(observation),
        bool(exchange_points(observation) > 0 and is_fresh_seven_led(observation)),
    )


@kernel
def exchange_points(observation: Observation) -> int:
    """What exchanging a seven of trumps in a trick would bring now, its points and the turn-up where that is a brisque;
    0 where none can be. §1.5"""
    if not observation.can_exchange:
        return 0
    return SEVEN_POINTS + BRISQUE_POINTS * (BRISQUES >> marked_place(observation.turn_up) & 1)


@kernel
def is_fresh_seven_led(observation: Observation) -> bool:
    """Whether a seven of trumps is led that has not scored."""
    return marked_place(observation.led) == 8 * trump_of(observation) and not observation.led_scored


@kernel
def scored_bits(scored: npt.NDArray[np.uint8], kind: int, slot: int) -> int:
    """The kinds in which a card has scored, as bits, by either side's field of an observation."""
    bits = 0
    for column in range(NUM_KINDS):
        bits |= int(np.int64(scored[kind, slot, column])) << column
    return bits


@kernel
def chances(total: int, stock: int) -> tuple[float, float]:
    """`one` and `two` of a reading: half the stock comes to me."""
    if total == 0:
        return 0.0, 0.0
    missed = 1.0 - 0.5 * stock / (total + int(stock > 0))
    return 1.0 - missed, 1.0 - missed * missed


@kernel
def chance_to_draw(reading: Reading, kind: int) -> float:
    """A rough probability that a card of a type still comes to me."""
    if reading.total == 0:
        return 0.0
    chance = 0.0
    if reading.once >> kind & 1:
        chance = reading.two if reading.twice >> kind & 1 else reading.one
    return max(chance, _AT_LEAST) if kind == reading.top else chance


class Prospects(NamedTuple):
    """What cards are good for in declarations, in points."""

    worth: npt.NDArray[np.float64]
    """What giving up a card of mine would cost [64], at `2 * type + slot`."""
    gain: npt.NDArray[np.float64]
    """What another card of a type would add [32]."""
    ready: float
    """The best declaration that I hold complete."""


@kernel
def weigh_all(options: Options, reading: Reading, trick: int) -> Prospects:
    """Weigh every declaration within reach: its points times the chance to complete it. A card of it that I hold once
    is worth as much as would be lost without it; a card that is missing would gain as much as is lost for want of
    it."""
    worth, gain = np.zeros((1, NUM_CARDS)), np.zeros((1, NUM_TYPES))
    ready = weigh_uses(options, reading, worth, gain)
    if options.seven_rule == SevenRule.BOTH:
        ready = max(ready, weigh_sevens(reading, worth[0], gain[0]))
    left = drawing(options) - trick
    scale = 1.0 - 0.5**left if left > 0 else 0.0
    worth *= scale
    gain *= scale
    return Prospects(worth[0], gain[0], ready * scale)


@kernel
def use_of(action: int) -> int:
    """Which use of cards a declaration is: 0 marriages, then single and double beziques, fours, sequences."""
    if action >= SEQUENCE:
        return 4
    return 3 if action >= FOUR else action - BEZIQUE + 1 if action >= BEZIQUE else 0


@kernel
def weigh_uses(
    options: Options, reading: Reading, worth: npt.NDArray[np.float64], gain: npt.NDArray[np.float64]
) -> float:
    """Add every declaration within reach to `worth` [U, 64] and `gain` [U, 32], each use in its row where U is USES,
    all in one where it is 1; return the points of the best that is complete."""
    use, first, second, ready = 0, 0, 0, 0.0
    for action in range(MARRIAGE, NO_DECLARATION):
        if groups.kind_of(action) != use:
            use = groups.kind_of(action)
            first, second = fitting(options, reading, use)
        row = min(use_of(action), worth.shape[0] - 1)
        if action == DOUBLE_BEZIQUE:
            points = weigh_double(options, reading, worth[row], gain[row], first, second)
        else:
            value = groups.points(options, reading.trump, action)
            points = weigh(reading, worth[row], gain[row], first, second, action, value)
        ready = max(ready, points)
    return ready


@kernel
def fitting(options: Options, reading: Reading, use: int) -> tuple[int, int]:
    """The types of which I hold a first, and a second copy, fit to score in a kind of declaration: two sets."""
    first, second = 0, 0
    for index in range(reading.held):
        card = int(reading.mine[index])
        fit = int(eligible(options.reuse, card >> 6, use))
        first |= (fit & ~(card >> 5) & 1) << (card & NUM_TYPES - 1)
        second |= (fit & card >> 5 & 1) << (card & NUM_TYPES - 1)
    return first, second


@kernel
def weigh(
    reading: Reading,
    worth: npt.NDArray[np.float64],
    gain: npt.NDArray[np.float64],
    first: int,
    second: int,
    action: int,
    points: int,
) -> float:
    """Add one declaration to the prospects; gives its points if it is complete."""
    size, whole, missing = groups.members(action), 1.0, 0
    for index in range(size):
        kind = groups.member(action, index)
        if (first | second) >> kind & 1 == 0:
            whole *= chance_to_draw(reading, kind)
            missing += 1
    if whole == 0.0 or points == 0:
        return 0.0
    for index in range(size):
        kind = groups.member(action, index)
        chance = chance_to_draw(reading, kind)
        if (first | second) >> kind & 1 == 0:
            gain[kind] += points * whole / chance * (1.0 - chance)
        elif (first & second) >> kind & 1 == 0:
            worth[2 * kind + (second >> kind & 1)] += points * whole * (1.0 - chance)
    return float(points) if missing == 0 else 0.0


@kernel
def weigh_double(
    options: Options,
    reading: Reading,
    worth: npt.NDArray[np.float64],
    gain: npt.NDArray[np.float64],
    first: int,
    second: int,
) -> float:
    """The same for a double bezique, which needs both copies of both cards, and one at least fit for a single bezique
    (§1.6)."""
    single_first, single_second = fitting(options, reading, IN_BEZIQUE)
    whole, missing, fresh = 1.0, 0, 0
    for kind in (JACK_OF_DIAMONDS, QUEEN_OF_SPADES):
        absent = 2 - (first >> kind & 1) - (second >> kind & 1)
        if absent > (reading.once >> kind & 1) + (reading.twice >> kind & 1) + int(kind == reading.top):
            return 0.0
        missing += absent
        fresh += absent + ((single_first | single_second) >> kind & 1)
        for _ in range(absent):
            whole *= 0.5 * reading.stock / max(reading.total, 1)
    if fresh == 0:
        return 0.0
    for kind in (JACK_OF_DIAMONDS, QUEEN_OF_SPADES):
        for slot in range(2):
            if (second if slot else first) >> kind & 1:
                worth[2 * kind + slot] += DOUBLE_BEZIQUE_POINTS * whole
        if (first & second) >> kind & 1 == 0 and whole > 0.0:
            gain[kind] += DOUBLE_BEZIQUE_POINTS * whole * (2.0 * reading.total / max(reading.stock, 1) - 1.0)
    return float(DOUBLE_BEZIQUE_POINTS) if missing == 0 else 0.0


@kernel
def weigh_sevens(reading: Reading, worth: npt.NDArray[np.float64], gain: npt.NDArray[np.float64]) -> float:
    """The same for the sevens of trumps where each is declared from the hand and stays: those that have not scored, and
    another still to be drawn (§1.5)."""
    seven, ready = 8 * reading.trump, 0.0
    for index in range(reading.held):
        card = int(reading.mine[index])
        if card & NUM_TYPES - 1 == seven and card >> 6 & IN_SEVEN == 0:
            worth[2 * seven + (card >> 5 & 1)] += SEVEN_POINTS
            ready = float(SEVEN_POINTS)
    gain[seven] += SEVEN_POINTS * (1.0 - chance_to_draw(reading, seven))
    return ready


@kernel
def mean_gain(reading: Reading, prospects: Prospects) -> float:
    """What a card that nobody sees adds on average."""
    total = 0.0
    for kind in range(NUM_TYPES):
        total += ((reading.once >> kind & 1) + (reading.twice >> kind & 1)) * prospects.gain[kind]
    return total / max(reading.total, 1)


@kernel
def beaters_of(trump: int, kind: int) -> int:
    """The types that win against a card of a type which leads. §1.3"""
    higher = (0xFF << 8 * (kind >> 3)) & ~((1 << kind + 1) - 1)
    return higher if kind >> 3 == trump else higher | (0xFF << 8 * trump) & ALL_TYPES
