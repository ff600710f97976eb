"""Bezique's rules of declaring against a second reading of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.envs.bezique.state import (
    DECLARE_SEVEN,
    NO_DECLARATION,
)
from backalley.envs.bezique.text import card_name
from tests.games.bezique import Reading, table


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
