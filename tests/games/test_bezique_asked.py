"""What a seat at Bezique concludes from whether the opponent was asked to declare, and that the determinizations drawn
for it agree (§4)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import comb, factorial
from typing import Any

import numpy as np
import pytest

from backalley.envs.bezique.declarations import may_declare
from backalley.envs.bezique.events import DEALT, DRAWS, STOCK_SHOWS, TURNS_UP
from backalley.envs.bezique.state import DECLARE_SEVEN, EXCHANGE_SEVEN, NO_DECLARATION, NONE, STOCK, SevenRule
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.testing.play import random_action
from tests.games.bezique import GAME, Reading, redrawn, table

OPTIONS: list[dict[str, Any]] = [
    {},
    {"stock_top_open": False},
    {"seven_is_declaration": False, "turn_up": "taken_first"},
    {"reuse": "free", "quartet": "any"},
    {"seven_rule": "trick", "plain_sequence": 0},
    {"seven_rule": "both", "seven_is_declaration": False},
]


class Watcher:
    """What everybody sees of the latest trick, with a second reading of the rules of declaring."""

    def __init__(self, given: dict[str, Any], seed: int) -> None:
        self.env = table(**given)
        self.env.reset(seed=seed)
        self.options, self.state = self.env.game.options, self.env.engine.batch.state[0]
        self.readings = [Reading(self.options), Reading(self.options)]
        self.asked: bool | None = None
        """Whether the winner was asked for a declaration, the last time; None: asked, and that is explained."""
        self.made: set[str] = set()
        """What was declared after the trick: "seven", "other"."""
        self.drew = NONE
        """The card that the winner drew, if all saw it."""
        self.led_unknown = False
        """Whether nobody else knew that the leader held the card led."""
        self.seven_in_trick = False
        """Whether a seven of the trick can be declared by its winner, whatever their hand is."""
        self.exchanged = False

    def hand(self, seat: int) -> list[int]:
        found: list[int] = self.state.hand[seat][: self.state.held[seat]].tolist()
        return found

    def step(self, action: int) -> None:
        """Play an action, watching."""
        state = self.state
        seat, trick, led, turn_up = int(state.seat), int(state.trick), int(state.led), int(state.turn_up)
        declaring, hand = bool(state.declaring), self.hand(seat)
        scored = set(np.flatnonzero(state.scored).tolist())
        if action < DECLARE_SEVEN and led == NONE:
            self.led_unknown = not state.scored[action] and not state.known[seat][action >> 1]
        if DECLARE_SEVEN < action < NO_DECLARATION:
            self.readings[seat].declare(action, hand, int(state.trump))
        before = [self.hand(0), self.hand(1)]
        self.env.step(action)
        if int(state.trick) == trick and not declaring:
            return
        if int(state.trick) > trick:
            self.made = set()
            sevens = [card for card in (led, action) if card >> 1 == 8 * int(state.trump)]
            if self.options.seven_rule == SevenRule.BOTH:
                there = turn_up != NONE and not self.exchanged
                sevens = [card for card in sevens if there and card not in scored]
            self.seven_in_trick = self.options.seven_rule != SevenRule.HAND and bool(sevens)
        elif action != NO_DECLARATION:
            self.made.add("seven" if action in (DECLARE_SEVEN, EXCHANGE_SEVEN) else "other")
            self.exchanged |= action == EXCHANGE_SEVEN
        if int(state.declaring) or action == NO_DECLARATION:
            self.asked = True
        else:
            self.asked = None if self.made and self.options.seven_is_declaration else False
        if self.seven_in_trick and "seven" not in self.made:
            self.asked = None  # perhaps for that seven
        if not int(state.declaring):
            winner = int(state.leader)
            to_hand = "seven" in self.made and self.options.seven_rule == SevenRule.HAND
            new = set(self.hand(winner)) - set(before[winner]) - ({turn_up} if to_hand else set())
            self.drew = new.pop() if new and (self.options.stock_top_open or turn_up in new) else NONE

    def laid(self) -> list[int]:
        """The cards that lay in front of the winner before drawing, one that was led since included."""
        led = [] if int(self.state.led) == NONE else [int(self.state.led)]
        return [card for card in self.hand(int(self.state.leader)) + led if self.state.scored[card]]

    def unknown(self, closed: list[int]) -> list[int]:
        """Of the types of the winner's closed cards, those that the loser does not know of."""
        known = np.repeat(np.arange(32), self.state.known[int(self.state.leader)]).tolist()
        return without(closed, known)

    def before_drawing(self, closed: list[int]) -> list[list[int]]:
        """The types of the closed cards that the winner may have held before drawing, who holds `closed` now: one list
        for each card that may be the one drawn."""
        if int(self.state.declaring):
            return [closed]
        led = int(self.state.led)
        played = [] if led == NONE or self.state.scored[led] else [led >> 1]
        if self.drew == NONE:
            drawn = self.unknown(closed) + played * self.led_unknown
        else:
            drawn = [self.drew >> 1]
        return [without(closed + played, [kind]) for kind in drawn]

    def could_declare(self, closed: list[int]) -> bool:
        """Whether the winner could declare with closed cards of these types, after what was declared already."""
        laid, trump, cards = self.laid(), int(self.state.trump), []
        for kind in closed:
            both = (2 * kind, 2 * kind + 1)
            closed_copies = (card for card in both if not self.state.scored[card] and not self.state.won[card])
            cards.append(next(card for card in closed_copies if card not in cards))
        reading = self.readings[int(self.state.leader)]
        found = "other" not in self.made and bool(reading.legal(laid + cards, trump))
        if "seven" not in self.made and self.options.seven_rule != SevenRule.TRICK:
            found |= any(card >> 1 == 8 * trump and not self.state.scored[card] & 1 for card in laid + cards)
        return found


def without(kinds: list[int], removed: list[int]) -> list[int]:
    """A list of types less those of another that are in it."""
    return sorted((Counter(kinds) - Counter(removed)).elements())


def closed_types(state: Any, seat: int) -> list[int]:
    """The types of a seat's cards that do not lie open, ascending."""
    return [int(card) >> 1 for card in state["hand"][seat, : state["held"][seat]] if not state["scored"][card]]


def watched(given: dict[str, Any], seeds: range) -> Iterator[Watcher]:
    """Positions of random play at which it tells something that the winner of the latest trick was asked or not."""
    random = np.random.default_rng(seeds.start)
    for seed in seeds:
        watcher = Watcher(given, seed)
        state = watcher.state
        while int(state.trick) < 24 or int(state.declaring):
            watcher.step(random_action(watcher.env, random))
            if (0 < int(state.trick) < 24 or int(state.declaring)) and watcher.asked is not None:
                yield watcher


@pytest.mark.parametrize("given", OPTIONS)
def test_worlds_agree_with_who_was_asked_to_declare(given: dict[str, Any]) -> None:
    """In every determinization the opponent could declare with the cards held before drawing if they were asked, and
    could not if they were not."""
    seen: Counter[Any] = Counter()
    for number, watcher in enumerate(watched(given, range(12))):
        if number % 4 and not watcher.asked:
            continue  # most are not
        state, winner = watcher.env.engine.batch.state.copy(), int(watcher.state.leader)
        keys = np.arange(5) + 10 * number
        determinizations = redrawn(watcher.env, state, 1 - winner, keys)
        assert redrawn(watcher.env, determinizations[:1], 1 - winner, keys).tobytes() == determinizations.tobytes(), (
            "a trace of the truth"
        )
        for determinization in determinizations:
            held = watcher.before_drawing(closed_types(determinization, winner))
            assert watcher.asked in map(watcher.could_declare, held)
        seen[watcher.asked, bool(watcher.state.declaring), int(watcher.state.led) != NONE] += 1
    assert len(seen) == 5, f"positions of some kind did not come up: {seen}"


CUT: dict[str, Any] = {"cards_dealt": 3, "lowest": "nine", "suits": 2, "copies": 1}
"""Twelve cards, each once: an action names its card, and every pack is as likely as any other."""


def same_as_told(env: AECEnv, deck: list[int], actions: list[int], seat: int, told: str) -> bool:
    """Whether with that pack the same actions are legal, and tell a seat the same."""
    env.reset(options={"decks": [deck], "start_outcome": 0})
    batch = env.engine.batch
    for action in actions:
        if not batch.mask[0, action]:
            return False
        env.step(action)
    return batch.seat[0] != OVER and env.position().information_state_string(seat) == told


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stock_top_open": False},
        {"reuse": "once", "turn_up": "taken_first"},
        {"seven_is_declaration": False, "lowest": "seven", "highest": "king"},
        {"seven_rule": "both", "reuse": "free", "lowest": "seven", "highest": "king"},
    ],
)
def test_worlds_are_even_over_all_packs_that_tell_the_seat_the_same(given: dict[str, Any]) -> None:
    """By the rules themselves: every order of the cards that a seat cannot place is dealt, and everything played again.
    Each redrawn world is as frequent as the packs are that lead there."""
    env, random, checked = AECEnv(GAME.bind(CUT | given), events=True), np.random.default_rng(5), 0
    size, number = env.game.deck_size, 4000
    for _ in range(4000):
        deck = random.permutation(size).tolist()
        env.reset(options={"decks": [deck], "start_outcome": 0})
        batch, actions = env.engine.batch, list[int]()
        for _ in range(int(random.integers(3, 8))):
            if batch.seat[0] != OVER:
                actions.append(random_action(env, random))
                env.step(actions[-1])
        seat, state = int(batch.seat[0]), batch.state.copy()
        if seat == OVER or not any(asked != NONE and asked >> 3 != seat for asked in state["asked"][0].tolist()):
            continue
        hidden = places_unseen(env, deck, seat)
        if not 3 <= len(hidden) <= 6:
            continue
        told = env.position().information_state_string(seat)
        worlds = redrawn(env, state, seat, np.arange(number))
        counts = Counter(shape(world, 1 - seat, env.game.options) for world in worlds)
        weights: Counter[Any] = Counter()
        for order in itertools.permutations(hidden):
            other = list(deck)
            for place, card in zip(hidden, order, strict=True):
                other[place] = deck[card]
            if same_as_told(env, other, actions, seat, told):
                weights[shape(batch.state[0], 1 - seat, env.game.options)] += 1
        assert not set(counts) - set(weights), "a world that no pack leads to"
        if weights.total() == factorial(len(hidden)) or len(weights) < 2:
            continue  # nothing was concluded
        expected = np.array(list(weights.values())) * number / weights.total()
        found = np.array([counts[key] for key in weights])
        square, freedom = ((found - expected) ** 2 / expected).sum(), len(weights) - 1
        spread = np.sqrt(2 * freedom + (1 / expected).sum())  # small cells have longer tails
        assert abs(square - freedom) < 5 * spread, f"{square:.0f} for {freedom} degrees of freedom"
        checked += 1
        if checked == 5:
            return
    raise AssertionError(f"only {checked} positions came up")


def places_unseen(env: AECEnv, deck: list[int], seat: int) -> list[int]:
    """The places of a pack whose cards a seat was not shown as they were dealt, turned up or drawn."""
    shown = {
        number
        for kind, _, number in env.events(f"player_{seat}").tolist()
        if kind in (DEALT, TURNS_UP, STOCK_SHOWS, DRAWS)
    }
    return [place for place, card in enumerate(deck) if env.game.pack[card] not in shown]


def shape(world: Any, winner: int, options: Any) -> tuple[Any, ...]:
    """The other's closed cards, and the stock that nobody sees."""
    first = STOCK - int(world["stock_left"]) + int(options.stock_top_open)
    return tuple(closed_types(world, winner)), tuple((world["stock"][first:] >> 1).tolist())


# --- earlier tricks, with the whole pack


@dataclass
class Unasked:
    """A trick after which its winner was not asked, so that they held no declaration before drawing, and what the other
    seat has seen of the winner's cards since. Cards are types."""

    after: Any
    """The state after it, the winner's card drawn."""
    drew: int
    played: Counter[int] = field(default_factory=Counter)
    drawn: Counter[int] = field(default_factory=Counter)
    """Openly, the card drawn after the trick itself among them."""
    drawn_unseen: int = 0

    def contradicts(self, hand: Counter[int], random: np.random.Generator) -> bool:
        """Whether with that hand now the winner could have declared, whichever of their cards they have drawn unseen
        since. Of many ways some are tried."""
        state, seat = self.after, int(self.after.leader)
        held = state.hand[seat][: state.held[seat]].tolist()
        laid = [card for card in held if state.scored[card]]
        known = Counter(np.repeat(np.arange(32), state.known[seat]).tolist()) - Counter([self.drew])
        types = Counter(card >> 1 for card in laid)
        others = sorted((hand + self.played - self.drawn - types - known).elements())
        ways = comb(len(others), self.drawn_unseen)
        unseen = (
            list(itertools.combinations(range(len(others)), self.drawn_unseen))
            if ways <= 20
            else [random.choice(len(others), self.drawn_unseen, replace=False) for _ in range(20)]
        )
        closed = ([*known.elements(), *np.delete(others, list(which)).tolist()] for which in unseen)
        return all(self.could_declare(laid, [int(kind) for kind in kinds]) for kinds in closed)

    def could_declare(self, laid: list[int], closed: list[int]) -> bool:
        state, cards = self.after.copy(), list(laid)
        for kind in closed:
            cards += [card for card in (2 * kind, 2 * kind + 1) if card not in cards and not state.scored[card]][:1]
        state.hand[state.leader, :] = NONE
        state.hand[state.leader, : len(cards)] = sorted(cards)
        state.held[state.leader], state.made = len(cards), 0
        return may_declare(table().game.options, state) != 0


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="a dozen deals with many determinizations each")
def test_no_world_contradicts_an_earlier_trick_after_which_nobody_was_asked() -> None:
    """Of the determinizations drawn in play of `planner` where there is such a trick (§4)."""
    env, random, contradicting = table(), np.random.default_rng(3), list[bool]()
    batch, planner = env.engine.batch, env.game.bots["planner"]
    for seed in range(12):
        env.reset(seed=seed)
        unasked: dict[int, list[Unasked]] = {0: [], 1: []}
        while batch.seat[0] != OVER and int(batch.state[0].trick) < 24:
            before, seat = batch.state[0].copy(), int(batch.seat[0])
            earlier = [one for one in unasked[1 - seat] if int(one.after.trick) < int(before.trick)]
            if earlier and random.random() < 0.25:
                for determinization in redrawn(env, batch.state.copy(), seat, random.integers(2**63, size=8)):
                    hand = Counter((determinization.hand[1 - seat][: determinization.held[1 - seat]] >> 1).tolist())
                    contradicting.append(any(one.contradicts(hand, random) for one in earlier))
            action = int(planner.act(env.game.options, batch.observation[0], batch.mask[0], np.uint64(0)))
            env.step(action)
            state = batch.state[0]
            if action == DECLARE_SEVEN and int(state.turn_up) != int(before.turn_up):
                unasked[seat] = []  # the hand has changed in yet another way
            for one in unasked[seat] if action < DECLARE_SEVEN else []:
                one.played[action >> 1] += 1
            if int(state.stock_left) < int(before.stock_left):
                winner = int(state.leader)
                drew = int(before.stock[STOCK - int(before.stock_left)]) >> 1
                if action < DECLARE_SEVEN and int(state.trick) < 24:
                    unasked[winner].append(Unasked(state.copy(), drew))
                for one in unasked[winner]:
                    one.drawn[drew] += 1
                for one in unasked[1 - winner]:
                    one.drawn_unseen += 1
    assert len(contradicting) > 1000
    assert not any(contradicting), f"{np.mean(contradicting):.4f} of {len(contradicting)}"
