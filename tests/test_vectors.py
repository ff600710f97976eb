"""The rules as cases: every `vectors.toml`, played through the AEC environment. The format is CONTRIBUTING.md's."""

from __future__ import annotations

import importlib
import tomllib
from typing import Any

import numpy as np
import pytest

from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.parts import OVER
from tests.cases import GAMES, marks

KEYS = {"rule", "says", "options", "start_outcome", "decks", "state", "step", "call", "args", "result"}
STEP_KEYS = {"seat", "legal", "action", "state", "reward", "over", "then"}


def cases() -> list[Any]:
    found = []
    for game in GAMES:
        path = game.type.folder / "vectors.toml"
        for number, case in enumerate(tomllib.loads(path.read_text("utf-8"))["case"]):
            name = f"{game.name}-{number}-{case['rule']}-{case['says'][:50]}"
            found.append(pytest.param(game, case, id=name, marks=marks(game, case.get("options", {}))))
    return found


def numbers(game: Game, value: Any) -> Any:
    """Card names inside nested lists as card numbers."""
    if isinstance(value, str):
        return game.card_number(value)
    return [numbers(game, item) for item in value] if isinstance(value, list) else value


def argument(game: Game, value: Any) -> Any:
    if value == "options":
        return game.options
    if isinstance(value, dict):  # { set = ["2H", "KH"] }
        return sum(1 << game.card_number(name) for name in value["set"])
    if isinstance(value, str):
        return game.card_number(value)
    if isinstance(value, list):
        flat = numbers(game, value)
        cards = bool(value) and isinstance(value[0], str)
        return np.array(flat, np.uint8 if cards else np.int64)
    return value


def put(game: Game, state: Any, name: str, value: Any) -> None:
    """Set the leading entries of a State field."""
    assert name in (state.dtype.names or ()), f"State has no field {name!r}"
    converted = numbers(game, value)
    if state.dtype[name].shape == ():
        state[name] = converted
    else:
        fill(state[name], converted)


def fill(array: np.ndarray[Any, Any], value: list[Any]) -> None:
    for index, item in enumerate(value):
        if isinstance(item, list) and array.ndim == 1:  # a set of cards
            array[index] = sum(1 << card for card in item)
        elif isinstance(item, list):
            fill(array[index], item)
        else:
            array[index] = item


def differs(game: Game, actual: Any, expected: Any) -> bool:
    expected = numbers(game, expected)
    if isinstance(expected, list):
        return any(differs(game, actual[index], item) for index, item in enumerate(expected))
    return not np.isclose(float(actual), float(expected), atol=1e-5)


def check(game: Game, env: AECEnv, wanted: dict[str, Any], where: str) -> None:
    state = env.engine.batch.state[0]
    for name, expected in wanted.items():
        assert name in (state.dtype.names or ()), f"{where}: State has no field {name!r}"
        assert not differs(game, state[name], expected), (
            f"{where}: {name} is {np.asarray(state[name]).tolist()}, expected {expected}"
        )


def legal_names(env: AECEnv) -> list[str]:
    return sorted(env.game.action_str(int(action)) for action in np.flatnonzero(env.engine.batch.mask[0]))


@pytest.mark.parametrize(("game", "case"), cases())
def test_rule(game: Game, case: dict[str, Any]) -> None:
    assert set(case) <= KEYS, f"unknown entries {set(case) - KEYS}"
    game = game.bind(case.get("options", {}))
    if "call" in case:
        module, _, name = case["call"].rpartition(".")
        module = module or "rules"
        if not (game.type.folder / f"{module}.py").is_file():
            module = "game" if module == "rules" else module
        own = (game.type.folder / f"{module}.py").is_file()
        owner = importlib.import_module(
            f"{game.type.module.rpartition('.')[0] if own else 'backalley.envs.core'}.{module}"
        )
        wanted = case["result"]
        expected = argument(game, wanted) if isinstance(wanted, dict) else numbers(game, wanted)
        result = getattr(owner, name)(*(argument(game, value) for value in case["args"]))
        assert np.allclose(np.asarray(result, float), np.asarray(expected, float)), f"{case['call']} gave {result}"
        return
    env = AECEnv(game)
    env.reset(seed=0, options={"decks": case.get("decks", []), "start_outcome": case.get("start_outcome", 0)})
    if "state" in case:
        for name, value in case["state"].items():
            put(game, env.engine.batch.state[0], name, value)
        env.engine.show_one()
        env._select()
    checked = 0
    for index, step in enumerate(case["step"]):
        where = f"step {index + 1}"
        assert set(step) <= STEP_KEYS, f"{where}: unknown entries {set(step) - STEP_KEYS}"
        if "seat" in step:
            checked += 1
            assert int(env.engine.batch.seat[0]) == step["seat"], (
                f"{where}: seat {int(env.engine.batch.seat[0])} is to act"
            )
        if "legal" in step:
            checked += 1
            assert legal_names(env) == sorted(step["legal"]), where
        if "action" in step:
            env.step(game.action_number(step["action"]))
        after = step.get("then", {})
        check(game, env, {**step.get("state", {}), **after.get("state", {})}, where)
        for result in (step, after):
            checked += len(set(result) & {"state", "reward", "over"})
            if "reward" in result:
                assert np.allclose(env.engine.batch.reward[0], result["reward"], atol=1e-5), (
                    f"{where}: {env.engine.batch.reward[0]}"
                )
            if "over" in result:
                assert (int(env.engine.batch.seat[0]) == OVER) == result["over"], where
    assert checked, "this case checks nothing"
