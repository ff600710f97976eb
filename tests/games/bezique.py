"""What the tests of Bezique share."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from backalley.envs.bezique.state import BEZIQUE, DOUBLE_BEZIQUE, FOUR, MARRIAGE, NO_DECLARATION, SEQUENCE, Reuse
from backalley.envs.bezique.text import card_name
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.catalogue import game as game_of

GAME = game_of("bezique")


def table(**options: Any) -> AECEnv:
    return AECEnv(GAME.bind(options))


def holding(cards: list[int], trump: int) -> Any:
    """A state in which seat 0 holds these cards."""
    state = np.zeros(1, GAME.state_dtype)[0]
    state.hand[0, : len(cards)] = sorted(cards)
    state.held[0] = len(cards)
    state.trump = trump
    return state


def redrawn(env: AECEnv, state: Any, seat: int, keys: Any) -> Any:
    states = np.repeat(state, len(keys))
    env.engine.determinize(states, np.full(len(keys), seat), np.asarray(keys, np.uint64))
    return states


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
