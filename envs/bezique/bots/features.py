"""What a learned policy weighs an action by: numbers of the action itself, which mean the same for suits that may
change their names.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.cards import count_bits
from ...core.rules.feature_rows import Numbers, start_row
from .. import groups
from ..bot import PLANNER, SHARP, fought_for, keeping, table_worth, winning_gain
from ..groups import JACK_OF_DIAMONDS, QUEEN_OF_SPADES
from ..observation import Observation
from ..pack import beats, drawing
from ..state import (
    ALL_TYPES,
    BRISQUES,
    DECLARE_SEVEN,
    DRAWING,
    HAND,
    MARRIAGE,
    NO_DECLARATION,
    NUM_CARDS,
    NUM_KINDS,
    NUM_TYPES,
    RANKS,
    SEVEN,
    SUITS,
    Options,
)
from .prospects import (
    NOTHING,
    USES,
    Prospects,
    Reading,
    beaters_of,
    chance_to_draw,
    mean_gain,
    read,
    scored_bits,
    use_of,
    weigh_all,
    weigh_uses,
)

OF_TABLE, OF_CARD, OF_DECLARATION = 46, 60, 14
CARD = OF_TABLE
DECLARATION = CARD + OF_CARD
FEATURES = DECLARATION + OF_DECLARATION
"""How many numbers an action has: those that all actions at a decision share, then those of a card, of which the last
six are not used, or of a declaration."""
FEW, POINTS = 4.0, 50.0
"""What counts and points are divided by: a network learns best from numbers near 1."""


@kernel
def action_features(options: Options, observation: Observation, mask: npt.NDArray[np.int8], out: Numbers) -> None:
    """Write the numbers of each legal action to its row of `out` [A, FEATURES]."""
    reading, first = read(options, observation, 1.0), -1
    trick = int(observation.trick)
    worth, gain, other = np.zeros((USES, NUM_CARDS)), np.zeros((USES, NUM_TYPES)), np.zeros((USES, NUM_CARDS))
    theirs = np.zeros((USES, NUM_TYPES))
    ready = weigh_uses(options, reading, worth, gain)
    known = their_reading(observation, reading)
    threat = weigh_uses(options, known, other, theirs)
    trusted = read(options, observation, SHARP.likely)
    prospects = weigh_all(options, trusted, trick)
    early = 0.5 - trick / max(1, drawing(options))
    prize = winning_gain(trusted, prospects, early, SHARP)
    left = max(0, drawing(options) - trick)
    best, total = 0, 0
    for action in range(DECLARE_SEVEN, NO_DECLARATION):
        if mask[action]:
            best = max(best, groups.points(options, reading.trump, action))
            total += groups.points(options, reading.trump, action)
    for action in range(mask.shape[0]):
        if mask[action] == 0:
            continue
        row = start_row(out, action, first, CARD)
        if first < 0:
            first = action
            describe_table(observation, reading, left, row)
            describe_hopes(reading, known, gain, theirs, ready, threat, row)
            row[43], row[44], row[45] = prize / POINTS, early, mean_gain(trusted, prospects) / POINTS
        if action < NUM_CARDS:
            slot = int(action & 1 != 0 and mask[action ^ 1] != 0)
            index = entry_of(reading, action >> 1, slot)
            if index >= 0:
                describe_card(reading, index, worth, left, row)
                weigh_by_bots(options, trusted, prospects, index, early, prize, row)
        else:
            describe_declaration(options, action, reading, best, total, left, row)


@kernel
def entry_of(reading: Reading, kind: int, slot: int) -> int:
    """Which of `reading.mine` is the copy of a type that an observation shows in a slot, or -1."""
    for index in range(reading.held):
        if int(reading.mine[index]) & 63 == kind | slot << 5:
            return index
    return -1


@kernel
def their_reading(observation: Observation, reading: Reading) -> Reading:
    """What I know of the opponent's cards, as if these were mine."""
    mine, held = np.empty(HAND, np.int64), 0
    for kind in range(NUM_TYPES):
        for slot in range(2):
            if observation.opponent_laid[kind, slot] and held < HAND:
                mine[held] = kind | slot << 5 | scored_bits(observation.opponent_scored, kind, slot) << 6
                held += 1
        for slot in range(int(np.int64(observation.opponent_hand[kind]))):
            if held < HAND:
                mine[held] = kind | min(1, slot) << 5
                held += 1
    return Reading(
        reading.trump, reading.led, reading.top, mine, held, 0, HAND - held, reading.once, reading.twice,
        reading.total, reading.stock, reading.one, reading.two, reading.exchange, reading.seven_led,
    )  # fmt: skip


@kernel
def describe_table(observation: Observation, reading: Reading, left: int, out: Numbers) -> None:
    """Write what all actions at a decision share of the table as a whole."""
    trump, led, top = reading.trump, reading.led, reading.top
    declaring = int(np.int64(observation.declaring))
    out[0], out[1], out[2] = declaring, int(declaring == 0 and led == NOTHING), left / DRAWING
    out[3], out[4] = 1.0 / (1.0 + left), reading.closed / HAND
    if led != NOTHING:
        out[5], out[6] = int(led >> 3 == trump), BRISQUES >> led & 1
        out[7], out[8] = (led & 7) / RANKS, int(reading.seven_led)
    if top != NOTHING:
        out[9], out[10] = 1.0, int(top >> 3 == trump)
        out[11], out[12] = BRISQUES >> top & 1, (top & 7) / RANKS
        out[13] = table_worth(trump, top) / 12.0
        out[14] = int(top in (QUEEN_OF_SPADES, JACK_OF_DIAMONDS))
    suited, trumps, brisques, laid, longest = 0xFF << 8 * trump, 0, 0, 0, 0
    for index in range(reading.held):
        card = int(reading.mine[index])
        trumps += suited >> (card & 31) & 1
        brisques += BRISQUES >> (card & 31) & 1
        laid += int(card >> 6 != 0)
    for suit in range(SUITS):
        count = 0
        for index in range(reading.held):
            count += int((int(reading.mine[index]) & 31) >> 3 == suit)
        longest = max(longest, count)
    out[15], out[16], out[17], out[18] = trumps / FEW, brisques / FEW, laid / FEW, longest / FEW
    unseen = count_bits(reading.once & suited) + count_bits(reading.twice & suited)
    out[19], out[20] = unseen / HAND, reading.total / 32.0
    out[21] = count_bits(reading.theirs & suited) / FEW
    turned = 8 * trump + SEVEN
    out[22] = int(np.int64(observation.turn_up[turned]))
    out[23] = (reading.once >> turned & 1) + (reading.twice >> turned & 1)


@kernel
def describe_hopes(
    reading: Reading, known: Reading, gain: npt.NDArray[Any], theirs: npt.NDArray[Any], ready: float, threat: float,
    out: Numbers,
) -> None:  # fmt: skip
    """Write what each side may still declare, and what the open card of the stock adds."""
    for use in range(USES):
        mine, its = 0.0, 0.0
        for kind in range(NUM_TYPES):
            mine += gain[use, kind]
            its += theirs[use, kind]
        out[24 + use], out[29 + use] = mine / (4 * POINTS), its / (4 * POINTS)
        if reading.top != NOTHING:
            out[34] += gain[use, reading.top] / POINTS
            out[35] += theirs[use, reading.top] / POINTS
    out[36], out[37] = ready / POINTS, threat / POINTS
    out[38], out[39] = int(ready > 0), int(threat > 0)
    for number in range(2):
        kind = QUEEN_OF_SPADES if number else JACK_OF_DIAMONDS
        out[40 + number] = ((reading.once >> kind & 1) + (reading.twice >> kind & 1)) / 2.0
    out[42] = known.held / HAND


@kernel
def describe_card(reading: Reading, index: int, worth: npt.NDArray[Any], left: int, out: Numbers) -> None:
    """Write the numbers of a card to play."""
    at, trump, led = CARD, reading.trump, reading.led
    entry = int(reading.mine[index])
    kind, slot, scored = entry & 31, entry >> 5 & 1, entry >> 6
    rank, trumps = kind & 7, int(kind >> 3 == trump)
    wins = int(led != NOTHING and beats(trump, 2 * led, 2 * kind))
    beaters = beaters_of(trump, kind)
    unseen = count_bits(reading.once & beaters) + count_bits(reading.twice & beaters)
    out[at + rank] = 1.0
    out[at + 8], out[at + 9], out[at + 10] = trumps, trumps * rank / RANKS, BRISQUES >> kind & 1
    out[at + 11], out[at + 12] = wins, wins * trumps
    out[at + 13] = int(kind == QUEEN_OF_SPADES)
    out[at + 14] = int(kind == JACK_OF_DIAMONDS)
    total = 0.0
    for use in range(USES):
        value = worth[use, 2 * kind + slot]
        out[at + 15 + use] = value / POINTS
        total += value
        out[at + 20 + use] = int(value > 0)
    out[at + 25], out[at + 26] = total / POINTS, total * left / (POINTS * DRAWING)
    for column in range(NUM_KINDS):
        out[at + 27 + column] = scored >> column & 1
    copies, cheaper, suit_length, beaten, higher, held = 0, 0, 0, 0, 0, 0
    for other in range(reading.held):
        its = int(reading.mine[other]) & 31
        copies += int(its == kind)
        held |= 1 << its
        suit_length += int(its >> 3 == kind >> 3)
        beaten += int(led != NOTHING and beats(trump, 2 * led, 2 * its))
        higher += int(its >> 3 == kind >> 3 and its > kind)
        cheaper += int(wins and beats(trump, 2 * led, 2 * its) and table_worth(trump, its) < table_worth(trump, kind))
    out[at + 33], out[at + 34] = copies - 1, ((reading.once >> kind & 1) + (reading.twice >> kind & 1)) / 2.0
    out[at + 35], out[at + 36] = suit_length / FEW, beaten / FEW
    out[at + 37], out[at + 38] = higher / FEW, cheaper / FEW
    out[at + 39], out[at + 40] = unseen / HAND, count_bits(reading.theirs & beaters) / FEW
    out[at + 41] = int(unseen == 0 and reading.theirs & beaters == 0)
    out[at + 42] = chance_to_draw(reading, kind)
    partner = 1 << (kind ^ 1) if rank in (4, 5) else 0  # the king for a queen, and the other way round
    out[at + 43] = int(held & partner != 0)
    out[at + 44] = count_bits(held & ALL_TYPES & (groups.FOUR_TYPES << rank)) / FEW
    out[at + 45] = count_bits(held & (0xF8 << 8 * (kind >> 3))) / 5.0
    out[at + 46] = table_worth(trump, kind) / 12.0


@kernel
def weigh_by_bots(
    options: Options, trusted: Reading, prospects: Prospects, index: int, early: float, prize: float, out: Numbers
) -> None:
    """Write what the card brings as `sharp` reckons, and by the numbers of `planner`."""
    at, entry = CARD + 47, int(trusted.mine[index])
    lost, stake = fought_for(trusted, entry, SHARP)
    cost = keeping(options, trusted, prospects, entry, early, SHARP)
    value = (1.0 - 2.0 * lost) * stake + (1.0 - lost) * prize - cost
    if trusted.led == NOTHING:
        value -= SHARP.lead_trump if (entry & 31) >> 3 == trusted.trump else 0.0
        value -= SHARP.lead_brisque if BRISQUES >> (entry & 31) & 1 else 0.0
    out[at], out[at + 1], out[at + 2] = lost, stake / POINTS, cost / POINTS
    out[at + 3], out[at + 4] = (1.0 - lost) * prize / POINTS, value / POINTS
    out[at + 5] = keeping(options, trusted, prospects, entry, early, PLANNER) / POINTS
    out[at + 6] = prospects.worth[2 * (entry & 31) + (entry >> 5 & 1)] / POINTS


@kernel
def describe_declaration(
    options: Options, action: int, reading: Reading, best: int, total: int, left: int, out: Numbers
) -> None:
    """Write the numbers of a declaration; `best` and `total` are points of all that may be declared now."""
    at = DECLARATION
    if action == NO_DECLARATION:
        out[at] = 1.0
        out[at + 1], out[at + 2] = best / POINTS, total / (2 * POINTS)
        return
    points = groups.points(options, reading.trump, action)
    out[at + 3], out[at + 4], out[at + 5] = points / POINTS, int(points == best), (best - points) / POINTS
    out[at + 6] = (total - points) / (2 * POINTS)
    if MARRIAGE <= action < NO_DECLARATION:
        out[at + 7 + use_of(action)] = 1.0
    else:
        out[at + 12] = 1.0
    out[at + 13] = left * points / (DRAWING * POINTS)
