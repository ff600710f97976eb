"""Bezique's rules of declaring against a second reading of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from backalley.envs.bezique.state import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    FOUR,
    MARRIAGE,
    NO_DECLARATION,
    SEQUENCE,
    Reuse,
)
from backalley.envs.bezique.text import card_name
from tests.games.bezique import table


class Reading:
    """A second reading of the rules of declaring, slow and by sets of cards (§1.5, §1.6)."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.history: list[tuple[int, frozenset[int]]] = []

    def kind(self, action: int) -> str:
        spans = [("seven", 65), ("marriage", 69), ("bezique", 70), ("double", 71), ("four", 75), ("sequence", 79)]
        return next(name for name, end in spans if action < end)

    def used(self, card: int, *kinds: str) -> bool:
        return any(card in cards and self.kind(action) in kinds for action, cards in self.history)

    def scorings(self, card: int) -> int:
        return sum(card in cards for _, cards in self.history)

    def groups(self, action: int, hand: list[int]) -> list[frozenset[int]]:
        """Every set of held cards of the shape of a declaration."""
        names = {card: card_name(card) for card in hand}
        suit = "CDHS"
        if action == DOUBLE_BEZIQUE:
            whole = frozenset(card for card in hand if names[card][:2] in ("QS", "JD"))
            return [whole] if len(whole) == 4 else []
        if FOUR <= action < SEQUENCE:
            rank = "JQKA"[action - FOUR]
            held = [card for card in hand if names[card][0] == rank]
            fours = [frozenset(four) for four in itertools.combinations(held, 4)]
            return (
                fours
                if self.options.quartet
                else [four for four in fours if len({names[card][1] for card in four}) == 4]
            )
        if action == BEZIQUE:
            wanted = ["QS", "JD"]
        elif action < BEZIQUE:
            wanted = [rank + suit[action - MARRIAGE] for rank in "KQ"]
        else:
            wanted = [rank + suit[action - SEQUENCE] for rank in "ATKQJ"]
        choices = [[card for card in hand if names[card][:2] == name] for name in wanted]
        return [frozenset(group) for group in itertools.product(*choices)]

    def allowed(self, action: int, group: frozenset[int], trump: int) -> bool:
        kind = self.kind(action)
        if kind == "sequence" and action - SEQUENCE != trump and self.options.plain_sequence == 0:
            return False
        if self.options.reuse == Reuse.FREE:
            return (action, group) not in self.history
        if self.options.reuse == Reuse.ONCE:
            return not any(self.scorings(card) for card in group)
        if kind == "double":
            return not any(self.used(card, "double") for card in group) and not all(
                self.used(card, "bezique") for card in group
            )
        barred = {"marriage": ("marriage", "sequence"), "bezique": ("bezique", "double")}.get(kind, (kind,))
        return not any(self.used(card, *barred) for card in group)

    def legal(self, hand: list[int], trump: int) -> set[int]:
        return {
            action
            for action in range(MARRIAGE, NO_DECLARATION)
            if any(self.allowed(action, group, trump) for group in self.groups(action, hand))
        }

    def declare(self, action: int, hand: list[int], trump: int) -> frozenset[int]:
        """The cards that a declaration takes: most scorings, then the lower copies, then the lower numbers."""
        groups = [group for group in self.groups(action, hand) if self.allowed(action, group, trump)]
        key = lambda group: (-sum(map(self.scorings, group)), sum(card & 1 for card in group), sorted(group))  # noqa: E731
        chosen = min(groups, key=key)
        self.history.append((action, chosen))
        return chosen

    def partners(self, card: int) -> set[tuple[int, bool, frozenset[int]]]:
        """The declarations that a card was in: each with whether its twin was in it, and with the others."""
        both = {card, card ^ 1}
        return {(action, both <= cards, cards - both) for action, cards in self.history if card in cards}

    def plays(self, hand: list[int], scored: Any) -> list[int]:
        """The cards to play while there is a stock: of two copies that nothing tells apart only the lower."""

        def alike(card: int) -> bool:
            apart = self.options.reuse == Reuse.FREE and self.partners(card) != self.partners(card ^ 1)
            return bool(scored[card] == scored[card ^ 1]) and not apart

        return [card for card in hand if not (card & 1 and card ^ 1 in hand and alike(card))]


def collect(hand: list[int], legal: Any, place: int, random: np.random.Generator) -> int:
    """A card to play that keeps the cards of a bezique and long suits (`place` 1 of a name) or ranks (0) together, with
    some luck in it."""
    if random.random() < 0.2:
        return int(random.choice(legal))
    kept = [card_name(card)[place] for card in hand]
    return int(
        min(
            legal,
            key=lambda card: (card_name(card)[:2] in ("QS", "JD"), kept.count(card_name(card)[place]), random.random()),
        )
    )


BITS = {"marriage": 2, "sequence": 4, "bezique": 8, "double": 16, "four": 32}


@pytest.mark.parametrize("quartet", ["one_of_each_suit", "any"])
@pytest.mark.parametrize("reuse", ["class", "free", "once"])
def test_declarations_agree_with_a_second_reading(reuse: str, quartet: str) -> None:
    """From rich positions on: what is legal, which copies are taken, what they are marked with."""
    env = table(reuse=reuse, quartet=quartet, plain_sequence=100)
    random = np.random.default_rng(3)
    seen: set[int] = set()
    for episode in range(60):
        # Courts of two suits, or of two ranks, and the cards of a bezique near the top of the pack, so that
        # declarations abound.
        place = episode & 1
        wanted = ["CD", "HS", "CH", "DS"][episode // 2 % 4] if place else ["JQ", "QK", "KA", "AJ"][episode // 2 % 4]
        courts = [card for card in range(64) if (card >> 1) & 7 >= 3]
        weights = np.array(
            [8.0 if card_name(card)[place] in wanted or card_name(card)[:2] in ("QS", "JD") else 1.0 for card in courts]
        )
        top = random.choice(courts, len(courts), replace=False, p=weights / weights.sum())
        env.reset(seed=episode, options={"decks": [top.tolist()], "start_outcome": episode & 1})
        state, readings = env.engine.batch.state[0], [Reading(env.game.options), Reading(env.game.options)]
        while int(state.trick) < 24 or int(state.declaring):
            seat = int(state.seat)
            hand = state.hand[seat][: state.held[seat]].tolist()
            if not int(state.declaring):
                plays = np.flatnonzero(env.engine.batch.mask[0])
                assert plays.tolist() == readings[seat].plays(hand, state.scored)
                env.step(collect(hand, plays, place, random))
                continue
            legal = set(np.flatnonzero(env.engine.batch.mask[0]).tolist())
            assert legal - {DECLARE_SEVEN, NO_DECLARATION} == readings[seat].legal(hand, int(state.trump))
            action = int(random.choice(sorted(legal - {NO_DECLARATION})))
            if action != DECLARE_SEVEN:
                seen.add(action)
                before = state.scored.copy()
                before[state.taken] = 0  # these are put away when the winner draws
                group = readings[seat].declare(action, hand, int(state.trump))
                env.step(action)
                if int(state.trick) < 24:
                    before[list(group)] |= BITS[readings[seat].kind(action)]
                    assert np.array_equal(state.scored, before)
            else:
                env.step(action)
    assert len(seen) >= 11, "too few kinds of declarations came up"
