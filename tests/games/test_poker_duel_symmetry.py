"""Poker Duel under other names of the suits: what the generic test leaves out."""

from __future__ import annotations

import numpy as np

from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.catalogue import game
from backalley.envs.poker_duel.state import ARRANGE, ASSIGN, HAND, SLOT, SLOTS
from tests.test_symmetry import Tables

GAME = game("poker_duel", num_games=1)


def test_the_order_in_which_cards_of_a_rank_are_offered_matters_to_no_split() -> None:
    """§3: it is that of the suits, so permuted tables are offered another; who gives each card its slot all the same
    comes to the same table."""
    orders = set()
    for seed, symmetry in enumerate(GAME.symmetries):
        tables = Tables(GAME, [GAME.symmetries[0], symmetry], seed)
        engine, state = tables.engine, tables.engine.batch.state
        offered = state["offer"].copy()
        slot_of = {int(card): tables.random.permutation(np.repeat(np.arange(SLOTS), SLOT)) for card in range(2)}
        wanted = {
            int(card): int(slot_of[seat][place]) for seat in range(2) for place, card in enumerate(offered[0, seat])
        }
        state["offer"][1] = [sorted(cards, key=lambda card: (card % 13, card)) for cards in offered[1].tolist()]
        orders.add(np.array_equal(state["offer"][1], offered[1]))
        back = np.argsort(symmetry.cards)
        for _ in range(2 * HAND):
            for row in range(2):
                seat = int(state["seat"][row])
                card = int(state["offer"][row, seat, state["filled"][row, seat].sum()])
                engine.apply_one(ASSIGN + wanted[card if row == 0 else int(back[card])], row)
                engine.finish_one(row)
        assert (state["phase"] != ARRANGE).all()
        tables.compare()
        while engine.batch.seat[0] != OVER:
            assert not tables.noticed
            tables.step()
        assert not tables.noticed
    assert orders == {True, False}
