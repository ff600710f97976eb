"""What the generic tests share: every game found, broad samples of its options, and random play."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.registry import agent
from backalley.benchmarks.speed.option_sets import allowed, alternatives
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import register_game
from backalley.envs.core.game.catalogue import game, game_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER
from backalley.envs.core.rules import options as option_rules
from backalley.testing.play import random_action

ONLY = os.environ.get("BACKALLEY_ONLY")
"""Names of games, comma-separated, to which a run of the generic tests is narrowed; all by default."""

for _name in ONLY.split(",") if ONLY else ():
    if "." in _name:
        register_game(_name)  # from outside this package

GAMES = [game(name) for name in (ONLY.split(",") if ONLY else game_names())]
BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
QUICK = ("killer_bridge", "missouri_city")
_LATE = [pytest.mark.slow, pytest.mark.sampled]
TWO_QUICK = pytest.mark.parametrize(
    "game", [pytest.param(one, marks=[] if one.name in QUICK else _LATE, id=one.name) for one in GAMES]
)
"""For tests that compile what most others do not: of the slow games a third is played by default."""


def option_sets(game: Game, mixed: int = 4) -> list[dict[str, Any]]:
    """The defaults, the presets, every alternative alone, and some random mixtures that the game allows, none twice; of
    numbers that change the shape of a record, each of which compiles the game again, the ends."""
    sets: list[dict[str, Any]] = [{}]
    names = list(option_rules.declared(game.type.Options))
    presets = (dict(preset.options) for preset in game.type.presets.values())
    sets += [given for given in presets if not own_shape(game, given)]
    sets += [{name: value} for name in names for value in _distinguished(game, name)]
    random = np.random.default_rng(sum(game.name.encode()))
    for _ in range(mixed):
        chosen = {}
        for name in names:
            others = alternatives(game, name)
            if others and random.random() < 0.5:
                chosen[name] = others[int(random.integers(len(others)))]
        sets.append(chosen)
    chosen_once: dict[Game, dict[str, Any]] = {}
    for given in sets:
        if allowed(game, given):
            chosen_once.setdefault(game.type.bind(given), given)
    return list(chosen_once.values())


def _distinguished(game: Game, name: str) -> list[Any]:
    values = [value for value in alternatives(game, name) if allowed(game, {name: value})]
    numbers = [value for value in values if type(value) is int and own_shape(game, {name: value})]
    return [value for value in values if value not in numbers[1:-1]]


def label(given: dict[str, Any]) -> str:
    """A test's name for a set of options."""
    return ",".join(f"{name}={value}" for name, value in given.items()).replace(" ", "") or "defaults"


def own_shape(game: Game, given: Mapping[str, Any]) -> bool:
    """Whether options change the shape of a record, for which all the game's kernels are compiled again."""
    one, default = game.type.bind(given), game.type.bind()
    return (one.state_dtype, one.observation_dtype) != (default.state_dtype, default.observation_dtype)


def marks(game: Game, given: Mapping[str, Any]) -> list[pytest.MarkDecorator]:
    """`uncompiled` where the compiler would take longer than the games of a test take without it."""
    return [pytest.mark.uncompiled] if own_shape(game, given) else []


def cases(game: Game) -> Iterator[Any]:
    """The option sets as a test's parameters. Quick are the defaults and the last mixture of one shape with them: what
    goes with few options goes with many, nearly always."""
    sets = option_sets(game)
    mixed = [given for given in sets if len(given) > 1 and not own_shape(game, given)]
    for given in sets:
        slow = [] if given in ({}, *mixed[-1:]) else [pytest.mark.slow]
        yield pytest.param(game.bind(given), id=f"{game.name}[{label(given)}]", marks=[*slow, *marks(game, given)])


# The last game first: of two processes one begins with the tests of the first games, the other about here.
CASES = [case for game in reversed(GAMES) for case in cases(game)]


def determinizations_of(env: AECEnv, seat: int, count: int, stream: int = 99) -> npt.NDArray[Any]:
    """States that agree with what a seat knows, redrawn [count]."""
    keys = np.random.default_rng(stream).integers(2**63, size=count).astype(np.uint64)
    determinizations = np.repeat(env.engine.batch.state, count)
    env.engine.determinize(determinizations, np.full(count, seat), keys)
    return determinizations


def observed(env: AECEnv, seat: int) -> Any:
    """What a seat is shown, by field."""
    return env.game.records(env.engine.observe(np.zeros(1, np.int64), np.array([seat])))[0]


def asked(env: AECEnv, bot: str, key: int = 0) -> str:
    """The action of a bot in the place of the seat to act, by name."""
    game, at = env.game, env.arrays
    return game.action_str(int(game.bots[bot].act(game.options, at.observation[0], at.mask[0], np.uint64(key))))


def played(env: AECEnv, seeds: Iterable[int], random: np.random.Generator) -> Iterator[Any]:
    """The State [1] at each decision of random play, an episode for each seed."""
    for seed in seeds:
        env.reset(seed=seed)
        while env.arrays.seat[0] != OVER:
            yield env.arrays.state
            env.step(random_action(env, random))


def by_count(game: Game, bot: str, counter: str, tables: int, seed: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Of episodes of a bot with itself: the States [n] where the field `counter` was first at each of its numbers, and
    what the episode paid seat 0 in all [n]."""
    batch, player = game.make_vec(tables, seed=seed, autoreset=False), agent(bot, game)
    batch.reset()
    live, keys, state = np.arange(tables), np.arange(tables, dtype=np.uint64), batch.arrays.state
    last, paid, rows, found = np.full(tables, -1), np.zeros(tables), [live[:0]], [state[:0]]
    while len(live):
        rows.append(live[state[counter][live] != last[live]])
        last[rows[-1]] = state[counter][rows[-1]]
        found.append(state[rows[-1]])
        step = batch.step(player.act(view_of(batch, live, keys)), live)
        paid[live] += step.reward[live, 0]
        live = live[step.seat[live] >= 0]
    return np.concatenate(found), paid[np.concatenate(rows)]
