"""Rule-based players (§5). They see an Observation and a mask, never a State, and need no randomness."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.bezique import declarations, endgame
from backalley.envs.bezique.declarations import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    DOUBLE_BEZIQUE_POINTS,
    IN_BEZIQUE,
    IN_DOUBLE,
    JACK_OF_DIAMONDS,
    MARRIAGE,
    NO_DECLARATION,
    NUM_KINDS,
    QUEEN_OF_SPADES,
    SEQUENCE,
    Reuse,
)
from backalley.envs.bezique.pack import ACE, BRISQUES, DRAWING, HAND, NUM_CARDS, NUM_TYPES, SEVEN, TEN, beats
from backalley.envs.core.base import Bot
from backalley.envs.core.kernel import kernel

_NOTHING = -1
_HURRY = 4  # with so many tricks left in which to declare, a marriage no longer goes before its sequence


@kernel
def trump_of(observation: Any) -> int:
    """The suit of trumps."""
    return int(observation.trump[1]) + 2 * int(observation.trump[2]) + 3 * int(observation.trump[3])


@kernel
def shown(row: npt.NDArray[np.uint8]) -> int:
    """The type that a one-hot row shows, or -1."""
    for kind in range(NUM_TYPES):
        if row[kind]:
            return kind
    return _NOTHING


@kernel
def in_last_eight(observation: Any) -> bool:
    """Whether both hands are known."""
    return int(observation.trick) >= DRAWING and not int(observation.declaring)


@kernel
def slot_of(observation: Any, card: int) -> int:
    """Where the observation tells of a card of mine: of two copies the upper is the second."""
    return card & int(observation.hand[card >> 1, 1]) & 1


@kernel
def scored_bits(observation: Any, kind: int, slot: int) -> int:
    """The kinds in which a card of mine has scored, as bits."""
    bits = 0
    for column in range(NUM_KINDS):
        bits |= int(observation.scored[kind, slot, column]) << column
    return bits


@kernel
def best_declaration(options: Any, observation: Any, mask: npt.NDArray[np.int8]) -> int:
    """The declaration that scores most; but a marriage before its sequence and a bezique before the double while there is time for both,
    since the other way round bars them (§1.6). NO_DECLARATION if there is none."""
    trump, best, chosen = trump_of(observation), _NOTHING, NO_DECLARATION
    for action in range(DECLARE_SEVEN, NO_DECLARATION):
        if mask[action] and declarations.points(options, trump, action) > best:
            best, chosen = declarations.points(options, trump, action), action
    if options.reuse == Reuse.CLASS and int(observation.trick) < DRAWING - _HURRY:
        if chosen == DOUBLE_BEZIQUE and mask[BEZIQUE]:
            return BEZIQUE
        if SEQUENCE <= chosen < NO_DECLARATION and mask[chosen - SEQUENCE + MARRIAGE]:
            return chosen - SEQUENCE + MARRIAGE
    return chosen


@kernel
def table_worth(trump: int, kind: int) -> int:
    """What a card is worth keeping, by a fixed table."""
    rank = kind & 7
    if kind in (QUEEN_OF_SPADES, JACK_OF_DIAMONDS):
        return 12
    if kind >> 3 == trump:
        return 9 if rank >= 3 or rank == SEVEN else 4
    return (0, 0, 1, 2, 3, 5, 6, 8)[rank]


class Outlook(NamedTuple):
    """What cards are good for in declarations, in points."""

    worth: npt.NDArray[np.float64]
    """What giving up a card of mine would cost [32, 2]."""
    gain: npt.NDArray[np.float64]
    """What another card of a type would add [32]."""
    unseen: npt.NDArray[np.int64]
    """How many cards of a type I cannot place [32]."""
    total: int
    """How many these are."""
    ready: float
    """The best declaration that I hold complete."""


@kernel
def shown_of_opponent(observation: Any, kind: int) -> int:
    """How many cards of a type I know the opponent to hold."""
    return int(observation.opponent_hand[kind]) + int(observation.opponent_laid[kind, 0]) + int(observation.opponent_laid[kind, 1])


@kernel
def count_unseen(observation: Any, unseen: npt.NDArray[np.int64]) -> int:
    """How many cards of each type may be in the stock or the opponent's hand for all I know; gives their sum."""
    total = 0
    for kind in range(NUM_TYPES):
        mine = int(observation.hand[kind, 0]) + int(observation.hand[kind, 1])
        others = shown_of_opponent(observation, kind)
        table = int(observation.gone[kind]) + int(observation.turn_up[kind]) + int(observation.top[kind]) + int(observation.led[kind])
        unseen[kind] = 2 - mine - others - table
        total += int(unseen[kind])
    return total


@kernel
def chance_to_draw(observation: Any, outlook: Outlook, kind: int) -> float:
    """A rough probability that a card of a type still comes to me."""
    if outlook.total == 0:
        return 0.0
    missed = 1.0 - 0.5 * int(observation.stock) / (outlook.total + int(observation.stock > 0))
    chance = 1.0 - missed ** int(outlook.unseen[kind])
    return max(chance, 0.5) if int(observation.top[kind]) else chance


@kernel
def look_out(options: Any, observation: Any) -> Outlook:
    """Weigh every declaration within reach: its points times the chance to complete it. A card of it that I hold once is worth as much as
    would be lost without it; a card that is missing would gain as much as is lost for want of it."""
    worth, gain, unseen = np.zeros((NUM_TYPES, 2)), np.zeros(NUM_TYPES), np.zeros(NUM_TYPES, np.int64)
    outlook = Outlook(worth, gain, unseen, count_unseen(observation, unseen), 0.0)
    trump, ready = trump_of(observation), 0.0
    left = DRAWING - int(observation.trick)
    for action in range(MARRIAGE, NO_DECLARATION):
        if action == DOUBLE_BEZIQUE:
            points = weigh_double(options, observation, outlook)
        else:
            points = weigh(options, observation, outlook, action, declarations.points(options, trump, action))
        ready = max(ready, points)
    scale = 1.0 - 0.5**left if left > 0 else 0.0
    worth *= scale
    gain *= scale
    return Outlook(worth, gain, unseen, outlook.total, ready * scale)


@kernel
def fitting(options: Any, observation: Any, kind: int, use: int) -> int:
    """Which copies of a type I hold fit to score in a kind of declaration: bit 0 the first, bit 1 the second."""
    fit = 0
    for slot in range(2):
        if int(observation.hand[kind, slot]) and declarations.eligible(options.reuse, scored_bits(observation, kind, slot), use):
            fit |= 1 << slot
    return fit


@kernel
def weigh(options: Any, observation: Any, outlook: Outlook, action: int, points: int) -> float:
    """Add one declaration to the outlook; gives its points if it is complete."""
    use, size = declarations.kind_of(action), declarations.members(action)
    whole, missing = 1.0, 0
    for index in range(size):
        kind = declarations.member(action, index)
        if fitting(options, observation, kind, use) == 0:
            whole *= chance_to_draw(observation, outlook, kind)
            missing += 1
    if whole == 0.0 or points == 0:
        return 0.0
    for index in range(size):
        kind = declarations.member(action, index)
        fit, chance = fitting(options, observation, kind, use), chance_to_draw(observation, outlook, kind)
        if fit == 0:
            outlook.gain[kind] += points * whole / chance * (1.0 - chance)
        elif fit < 3:
            outlook.worth[kind, fit - 1] += points * whole * (1.0 - chance)
    return float(points) if missing == 0 else 0.0


@kernel
def weigh_double(options: Any, observation: Any, outlook: Outlook) -> float:
    """The same for a double bezique, which needs both copies of both cards."""
    whole, missing, fresh = 1.0, 0, 0
    for kind in (JACK_OF_DIAMONDS, QUEEN_OF_SPADES):
        fit = fitting(options, observation, kind, IN_DOUBLE)
        absent = 2 - (fit & 1) - (fit >> 1)
        if absent > int(outlook.unseen[kind]) + int(observation.top[kind]):
            return 0.0
        missing += absent
        fresh += absent + int(fitting(options, observation, kind, IN_BEZIQUE) > 0)
        for _ in range(absent):
            whole *= 0.5 * int(observation.stock) / max(outlook.total, 1)
    if fresh == 0:
        return 0.0
    for kind in (JACK_OF_DIAMONDS, QUEEN_OF_SPADES):
        fit = fitting(options, observation, kind, IN_DOUBLE)
        for slot in range(2):
            if fit >> slot & 1:
                outlook.worth[kind, slot] += DOUBLE_BEZIQUE_POINTS * whole
        if fit != 3 and whole > 0.0:
            outlook.gain[kind] += DOUBLE_BEZIQUE_POINTS * whole * (2.0 * outlook.total / max(int(observation.stock), 1) - 1.0)
    return float(DOUBLE_BEZIQUE_POINTS) if missing == 0 else 0.0


class Weights(NamedTuple):
    """What `planner` weighs against declarations, in points; found by matches between variants (§5)."""

    brisque: float = 8.0
    """A brisque won rather than lost, on each side."""
    ready: float = 0.25
    """Share of a complete declaration's points for the chance to make it now."""
    top: float = 1.5
    """Share of what the open card adds over an average one."""
    spoil: float = 0.5
    """Keeping the open card from the opponent, by the fixed table."""
    reach: float = 1.0
    """What a declaration within reach counts."""
    deny: float = 2.0
    """Keeping the opponent from declaring."""
    ace: float = 8.0
    """Keeping a plain ace."""
    ten: float = 3.0
    """Keeping a plain ten."""
    trump: float = 12.0
    """Keeping a trump."""
    height: float = 1.5
    """Keeping a trump, for each step of rank."""
    plain: float = 0.15
    """Keeping a plain card, for each step of rank."""
    seven: float = 22.0
    """Keeping the seven of trumps while it can be exchanged."""
    eager: float = 0.7
    """The chance that an opponent who can take a brisque does."""
    idle: float = 0.5
    """The chance that an opponent who can take a worthless card does."""


WEIGHTS = Weights()


@kernel
def keeping(observation: Any, outlook: Outlook, weights: Weights, trump: int, card: int) -> float:
    """What giving up a card of mine costs."""
    kind = card >> 1
    rank, slot = kind & 7, slot_of(observation, card)
    cost = weights.reach * outlook.worth[kind, slot]
    if kind >> 3 != trump:
        return cost + weights.plain * rank + (weights.ace if rank == ACE else weights.ten if rank == TEN else 0.0)
    if rank == SEVEN and scored_bits(observation, kind, slot) == 0:
        cost += weights.seven
    return cost + weights.trump + weights.height * rank


@kernel
def winning_gain(observation: Any, outlook: Outlook, weights: Weights, trump: int) -> float:
    """What winning the next trick is worth beside its brisques: a declaration, the open card, the opponent's silence."""
    value = weights.ready * outlook.ready + weights.deny
    top = shown(observation.top)
    if top != _NOTHING and outlook.total > 0:
        mean = 0.0
        for kind in range(NUM_TYPES):
            mean += int(outlook.unseen[kind]) * outlook.gain[kind]
        value += weights.top * (outlook.gain[top] - mean / outlook.total) + weights.spoil * table_worth(trump, top)
    return value


@kernel
def taken_by_opponent(observation: Any, outlook: Outlook, weights: Weights, trump: int, card: int) -> float:
    """A rough chance that the opponent takes a card that I lead: that he can, by what he is known to hold and by what is unseen, and
    that he wants to."""
    beaters, certain, shown_cards = 0, False, 0
    for kind in range(NUM_TYPES):
        held = shown_of_opponent(observation, kind)
        shown_cards += held
        if beats(trump, card, 2 * kind):
            beaters += int(outlook.unseen[kind])
            certain = certain or held > 0
    can = 1.0 if certain else 0.0
    if not certain and outlook.total > 0:
        can = 1.0 - (1.0 - beaters / outlook.total) ** max(HAND - shown_cards, 0)
    return can * (weights.eager if BRISQUES >> (card >> 1) & 1 else weights.idle)


@kernel
def choose_card(options: Any, observation: Any, mask: npt.NDArray[np.int8], weights: Weights) -> int:
    """The card to play while there is a stock."""
    trump, led = trump_of(observation), shown(observation.led)
    outlook = look_out(options, observation)
    prize = winning_gain(observation, outlook, weights, trump)
    best, chosen = -1e9, _NOTHING
    for card in range(NUM_CARDS):
        if mask[card] == 0:
            continue
        brisques = BRISQUES >> (card >> 1) & 1
        if led == _NOTHING:
            lost = taken_by_opponent(observation, outlook, weights, trump, card)
        else:
            brisques += BRISQUES >> led & 1
            lost = 0.0 if beats(trump, 2 * led, card) else 1.0
        value = (1.0 - 2.0 * lost) * weights.brisque * brisques + (1.0 - lost) * prize
        value -= keeping(observation, outlook, weights, trump, card)
        if value > best:
            best, chosen = value, card
    return chosen


@kernel
def act_planner(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Declare at once, weigh each card by what it may still complete, solve the last eight tricks."""
    if mask[NO_DECLARATION]:
        return best_declaration(options, observation, mask)
    if in_last_eight(observation):
        return endgame.play(options, observation, mask)
    return choose_card(options, observation, mask, WEIGHTS)


@kernel
def act_greedy(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Declare at once, take brisques as cheaply as possible, otherwise throw what the table values least."""
    if mask[NO_DECLARATION]:
        return best_declaration(options, observation, mask)
    trump, led = trump_of(observation), shown(observation.led)
    best, chosen = 1 << 10, _NOTHING
    for card in range(NUM_CARDS):
        if mask[card] == 0:
            continue
        brisques = BRISQUES >> (card >> 1) & 1
        cost = table_worth(trump, card >> 1)
        if led != _NOTHING and beats(trump, 2 * led, card):
            cost -= 8 * (brisques + (BRISQUES >> led & 1))
        elif brisques:
            cost += 4
        if cost < best:
            best, chosen = cost, card
    return chosen


BOTS = (
    Bot("greedy", act_greedy, "declares at once what scores most, takes brisques cheaply, keeps cards by a fixed table"),
    Bot(
        "planner",
        act_planner,
        "weighs cards by the declarations still within reach and the open top card; solves the last eight tricks by alpha-beta",
    ),
)
