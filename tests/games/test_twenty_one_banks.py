"""Who takes, passes and pays for a bank of Twenty-One: what is shown of it, and what bots make of it (§1.3, §1.9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.match import play_out
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game
from backalley.envs.twenty_one.state import BACK_PASS, BET_POT, DEAL, PASS_BANK, PUT_DEPOSIT, SHUFFLE, TAKE_BANK

GAME = game("twenty_one")
BOTS = list(GAME.bots)
BY_BOT = pytest.mark.parametrize("name", BOTS)


def broken(**options: Any) -> AECEnv:
    """Four seats; the first bank has just been broken by seat 1, who is asked first."""
    env = AECEnv(GAME.bind({"episode": "session", "pass_bank": "chosen", **options}))
    env.reset(options={"decks": [["AS", "TD", "KC", "QC", "AC"]]})
    env.step(DEAL)
    env.step(BET_POT)
    return env


def answer(name: str, env: AECEnv) -> int:
    batch = env.engine.batch
    return int(env.game.bots[name].act(env.engine.options, batch.observation[0], batch.mask[0], np.uint64(1)))


# Players


@BY_BOT
def test_a_bot_takes_a_bank_or_passes_it_to_the_largest_purse(name: str) -> None:
    env = broken()
    assert answer(name, env) == TAKE_BANK
    for purses, named in (((80, 5, 90, 70), 2), ((90, 5, 80, 90), 3), ((0, 5, 0, 0), 2)):
        env.engine.batch.state[0]["purse"] = purses
        env.engine.show_one()
        assert answer(name, env) == PASS_BANK + named
    env.step(PASS_BANK + 2)
    env.engine.batch.state[0]["purse"] = (7, 100, 5, 6)
    env.engine.show_one()
    assert answer(name, env) == PASS_BANK + 0, "seat 1 has been asked"


@pytest.mark.parametrize(
    ("name", "purse", "times"), [("cautious", 100, 1), ("shark", 100, 2), ("shark", 39, 1), ("dp", 100, 1)]
)
def test_what_a_bot_deposits(name: str, purse: int, times: int) -> None:
    env = AECEnv(GAME.bind(deposit="chosen", bankroll=purse))
    env.reset(seed=1)
    env.step(answer(name, env))
    assert env.engine.batch.state[0]["pot"] == times * 20
    drill = AECEnv(GAME.bind(deposit="chosen", bankroll=purse, episode="final_round"))
    drill.reset(seed=1)
    assert answer(name, drill) == PUT_DEPOSIT


@pytest.mark.parametrize("bankroll", ["none", 10**9])
@pytest.mark.parametrize(("name", "deposits"), [("cautious", 3), ("shark", 5)])
@pytest.mark.parametrize("times", [1, 5])
def test_a_bot_goes_for_back_passing_by_what_this_bank_began_with(
    name: str, deposits: int, bankroll: Any, times: int
) -> None:
    env = AECEnv(GAME.bind(deposit="chosen", bankroll=bankroll, initial_deposit=7))
    env.reset(seed=1)
    env.step(PUT_DEPOSIT + (0, 0, 1, 0, 0, 2)[times])
    for pot, wanted in ((deposits * times * 7, BACK_PASS), (deposits * times * 7 - 1, DEAL)):
        env.engine.batch.state[0]["pot"] = pot
        env.engine.show_one()
        assert answer(name, env) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("banker", "punters", "best"), [("bot:dp", "random", 2), ("bot:shark", "random", 2), ("bot:dp", "bot:dp", 0)]
)
def test_a_deposit_is_lost_to_strong_punters_and_earns_from_weak_ones(banker: str, punters: str, best: int) -> None:
    if not COMPILED:
        pytest.skip("The rules are the same uncompiled, and thousands of banks take long.")
    agents, deals = [agent(banker, GAME), agent(punters, GAME)], 3000
    gained = []
    for choice in range(3):
        tables = BatchEnv(GAME.bind(deposit="chosen"), deals, seed=1, autoreset=False)
        tables.reset()
        tables.step(np.full(deals, PUT_DEPOSIT + choice))
        who = np.ones((deals, 4), np.int64)
        who[:, 0] = 0
        gained.append(play_out(tables, agents, who, np.arange(deals).astype(np.uint64))[0][:, 0])
    means, errors = np.mean(gained, axis=1), np.std(gained, axis=1) / math.sqrt(deals)
    for choice in set(range(3)) - {best}:
        assert means[best] - means[choice] > 3 * math.hypot(errors[best], errors[choice])


@pytest.mark.uncompiled
def test_a_search_plays_a_final_round_on_from_the_deposit() -> None:
    """There is no estimate of what a pot is worth in it, so that the search has to play the round."""
    tables = BatchEnv(GAME.bind(deposit="chosen", episode="final_round", num_players=2), 2, seed=2)
    tables.reset()
    search, rows, keys = agent("mc:4", tables.game), np.arange(2), np.arange(2).astype(np.uint64)
    for _ in range(2):
        actions = search.act(view_of(tables, rows, keys))
        assert tables.engine.batch.mask[rows, actions].all()
        tables.step(actions)
    assert (tables.engine.batch.state["final_round"] == 1).all()
    state = tables.engine.batch.state[0].copy()
    state["phase"] = SHUFFLE
    leaf = tables.game.type.leaf_value
    assert leaf is not None
    assert math.isnan(leaf(tables.game.options, state, 0))
