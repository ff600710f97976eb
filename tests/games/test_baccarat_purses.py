"""Baccarat's purses: what may be bet, what seats see of it, and imagine; and bots, which keep to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.envs.baccarat import bot
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from tests.common.cases import asked, determinizations_of, label, marks, observed

GAME = game_type("baccarat").bind()


def test_commissions_add_up_to_whole_units() -> None:
    """Twenty wins of 0.95 are nineteen units, and with the purse of one they cover a stake of twenty."""
    env = AECEnv(GAME.bind({"purses": 1, "stakes": [1, 20], "num_coups": 22}))
    env.reset(seed=0, options={"decks": [["4C", "3C", "4D", "6C"]] * 21})
    for _ in range(20):
        assert not env.engine.batch.mask[0, GAME.action_number("bank 2")]
        env.step(GAME.action_number("bank 1"))
    assert env.engine.batch.mask[0, GAME.action_number("bank 2")]


@pytest.mark.uncompiled
def test_hidden_bets_of_a_world_are_any_that_were_legal() -> None:
    env = AECEnv(GAME.bind({"num_bettors": 4, "purses": [4, 5, 100, 20], "banker": "rotating", "num_coups": 2}))
    env.reset(seed=0)
    legal = []
    for _ in range(3):
        legal.append(set(np.flatnonzero(env.engine.batch.mask[0]).tolist()))
        env.step(GAME.action_number("tie 1"))
    determinizations = determinizations_of(env, 3, 2000)
    for seat in range(3):
        found, times = np.unique(determinizations["bets"][:, seat], return_counts=True)
        assert set(found.tolist()) == legal[seat]
        assert times.min() > 0.6 * times.mean()
    assert [len(bets) for bets in legal] == [1 + 6, 1 + 8, 1 + 11 - 1]  # the bank's 20 covers a TIE of two, not of five


@pytest.mark.uncompiled
def test_money_is_shown_in_whole_units_and_debts_as_such() -> None:
    env = AECEnv(GAME.bind({"num_bettors": 3, "banker": "rotating", "purses": [1000, 70_000, 95], "num_coups": 3}))
    env.reset(seed=0, options={"decks": [["4C", "3C", "4D", "6C"], ["8C", "5C", "TC", "3C"]]})

    def shown(viewer: int) -> tuple[list[int], list[int]]:
        row = observed(env, viewer)
        return (row["money"] @ 256 ** np.arange(4)[::-1]).tolist(), row["in_debt"].tolist()

    assert shown(0) == ([1000, 70_000, 95], [0, 0, 0])
    assert shown(1) == ([70_000, 95, 1000], [0, 0, 0])
    for bet in ("bank 1", "no bet", "no bet", "tie 10", "tie 10", "no bet"):
        env.step(env.game.action_number(bet))
    assert env.engine.batch.state["units"][0].tolist() == pytest.approx([90.95, 90, -181])
    assert shown(0) == ([1090, 70_090, 86], [0, 0, 1])
    told = " ".join(env.game.table_str(env.engine.batch.state[0], 0).split())
    assert "seat 2 has the bank, has -86.00" in told


TABLES: list[dict[str, Any]] = [
    {"purses": 7, "stakes": [5, 3], "num_coups": 40},
    {"purses": 12, "stakes": [5, 3, 10], "num_coups": 40, "allow_no_bet": False, "tie_pays": 12},
    {"num_bettors": 3, "banker": "rotating", "purses": [5, 20, 30], "num_coups": 40, "allow_no_bet": False},
    {"num_bettors": 3, "banker": "rotating", "settles": "house", "purses": 9, "num_coups": 40, "commission": 0},
]


@pytest.mark.slow
@pytest.mark.parametrize("given", [pytest.param(given, id=label(given), marks=marks(GAME, given)) for given in TABLES])
@pytest.mark.parametrize("name", list(GAME.bots))
def test_bots_bet_what_their_purses_and_the_bank_allow(given: dict[str, Any], name: str) -> None:
    env, act = AECEnv(GAME.bind(given)), GAME.bots[name].act
    bets = 0
    for episode in range(30 if COMPILED else 8):
        env.reset(seed=episode)
        while env.engine.batch.seat[0] != OVER:
            batch = env.engine.batch
            action = act(env.game.options, batch.observation[0], batch.mask[0], np.uint64(episode))
            assert batch.mask[0, action]
            bets += 0 < action < 13
            env.step(int(action))
    sits_out = name == "counter" and given.get("allow_no_bet", True) and given.get("commission", 1)
    assert (bets == 0) == bool(sits_out)


def test_a_bot_that_must_bet_bets_what_it_can() -> None:
    env = AECEnv(GAME.bind({"purses": 4, "stakes": [5, 3, 10], "allow_no_bet": False, "tie_pays": 12}))
    env.reset(seed=0)
    assert (asked(env, "backer"), asked(env, "counter")) == ("bank 3", "tie 3")
    assert bot.stake_on(env.game.options, np.zeros(15, np.int8), 0, True) == 0
