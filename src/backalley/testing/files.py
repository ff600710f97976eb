"""Checks of files in a game's folder: the rules as cases (`vectors.toml`), and recorded whole games
(`playthroughs`)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from backalley.benchmarks.rules_to_code.scripts import vector_cases
from backalley.console.errors import BrokenPromise
from backalley.envs import core
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files.playthrough import PlaythroughError, replay
from backalley.envs.core.game.catalogue import game_names, register_game
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER

from .report import NOT_TRIED

KEYS = {"rule", "says", "options", "start_outcome", "decks", "state", "step", "call", "args", "result"}
STEP_KEYS = {"seat", "legal", "action", "state", "reward", "over", "then"}


def check_playthroughs(game: Game) -> str:
    """Check that every recorded game replays as it was recorded."""
    paths = sorted((game.type.folder / "playthroughs").glob("*.json"))
    if not paths:
        return f"{NOT_TRIED}the game's folder has no playthroughs/*.json."
    if game.name not in game_names():
        register_game(game.type)  # a playthrough knows its game by its name alone
    for path in paths:
        check_playthrough(path)
    return f"{len(paths)} frozen games replayed as they were recorded."


def check_playthrough(path: Path) -> None:
    """One of them."""
    try:
        shown = len(list(replay(path)))
    except PlaythroughError as error:
        raise BrokenPromise(str(error)) from None
    if shown <= 2:
        raise BrokenPromise(f"{path} shows no more than a deal and returns.")


def check_vectors(game: Game) -> str:
    """Check that every case of `vectors.toml` has its stated result. CONTRIBUTING.md has the format."""
    cases = vector_cases(game)
    for case in cases:
        check_case(game, case)
    return f"{len(cases)} cases of rules came out as vectors.toml says." if cases else f"{NOT_TRIED}no vectors.toml."


def check_case(game: Game, case: dict[str, Any]) -> None:
    """Check one case. Raises BrokenPromise with its rule and step."""
    where = f"{game.name}, {case.get('rule')}: {case.get('says')}"
    _hold(set(case) <= KEYS, where, f"unknown entries {set(case) - KEYS}")
    game = game.type.bind(case.get("options", {}))
    if "call" in case:
        _check_call(game, case, where)
        return
    env = AECEnv(game)
    env.reset(seed=0, options={"decks": case.get("decks", []), "start_outcome": case.get("start_outcome", 0)})
    if "state" in case:
        for name, value in case["state"].items():
            _put(game, env.arrays.state[0], name, value, where)
        env.refresh()
    checked = sum(_check_step(env, step, f"{where} Step {number}") for number, step in enumerate(case["step"], start=1))
    _hold(checked, where, "this case checks nothing")


def _hold(kept: Any, where: str, sentence: str) -> None:
    if not kept:
        raise BrokenPromise(f"{where}: {sentence}.")


def _check_call(game: Game, case: dict[str, Any], where: str) -> None:
    """A kernel of the game, of a file beside its rules, or of the core, returns the result."""
    module, _, name = case["call"].rpartition(".")
    if not module:
        module = "rules" if (game.type.folder / "rules.py").is_file() else "game"
    if (game.type.folder / f"{module.replace('.', '/')}.py").is_file():
        owners = [f"{game.type.module.rpartition('.')[0]}.{module}"]
    else:
        folder = Path(core.__path__[0])
        found = (path.relative_to(folder).with_suffix("") for path in folder.rglob(f"{module}.py"))
        owners = [".".join((core.__name__, *path.parts)) for path in found]
    called = next((getattr(one, name) for one in map(importlib.import_module, owners) if hasattr(one, name)), None)
    if called is None:
        raise BrokenPromise(f"{where}: there is no kernel {case['call']}.")
    wanted = case["result"]
    expected = _argument(game, wanted) if isinstance(wanted, dict) else _numbers(game, wanted)
    result = called(*(_argument(game, value) for value in case["args"]))
    kept = np.allclose(np.asarray(result, float), np.asarray(expected, float))
    _hold(kept, where, f"{case['call']} gave {result}, expected {wanted}")


def _check_step(env: AECEnv, step: dict[str, Any], where: str) -> int:
    """Return how many things the step states."""
    game, batch = env.game, env.arrays
    _hold(set(step) <= STEP_KEYS, where, f"unknown entries {set(step) - STEP_KEYS}")
    if "seat" in step:
        _hold(int(batch.seat[0]) == step["seat"], where, f"seat {int(batch.seat[0])} is to act")
    if "legal" in step:
        legal = sorted(game.action_str(int(action)) for action in np.flatnonzero(batch.mask[0]))
        _hold(legal == sorted(step["legal"]), where, f"legal are {', '.join(legal)}")
    if "action" in step:
        env.step(game.action_number(step["action"]))
    after = step.get("then", {})
    state = batch.state[0]
    for name, expected in {**step.get("state", {}), **after.get("state", {})}.items():
        _hold(name in (state.dtype.names or ()), where, f"State has no field {name!r}")
        found = np.asarray(state[name]).tolist()
        _hold(not _differs(game, state[name], expected), where, f"{name} is {found}, expected {expected}")
    for result in (step, after):
        if "reward" in result:
            _hold(np.allclose(batch.reward[0], result["reward"], atol=1e-5), where, f"rewards are {batch.reward[0]}")
        if "over" in result:
            _hold((int(batch.seat[0]) == OVER) == result["over"], where, f"over should be {result['over']}")
    return len((set(step) - {"action", "then"}) | set(after))


def _numbers(game: Game, value: Any) -> Any:
    """Card names inside nested lists as card numbers."""
    if isinstance(value, str):
        return game.card_number(value)
    return [_numbers(game, item) for item in value] if isinstance(value, list) else value


def _argument(game: Game, value: Any) -> Any:
    if value == "options":
        return game.options
    if isinstance(value, dict):  # { set = ["2H", "KH"] }
        return sum(1 << game.card_number(name) for name in value["set"])
    if isinstance(value, str):
        return game.card_number(value)
    if isinstance(value, list):
        cards = bool(value) and isinstance(value[0], str)
        return np.array(_numbers(game, value), np.uint8 if cards else np.int64)
    return value


def _put(game: Game, state: Any, name: str, value: Any, where: str) -> None:
    """Set the leading entries of a State field."""
    _hold(name in (state.dtype.names or ()), where, f"State has no field {name!r}")
    converted = _numbers(game, value)
    if state.dtype[name].shape == ():
        state[name] = converted
    else:
        _fill(state[name], converted)


def _fill(array: np.ndarray[Any, Any], value: list[Any]) -> None:
    for index, item in enumerate(value):
        if isinstance(item, list) and array.ndim == 1:  # a set of cards
            array[index] = sum(1 << card for card in item)
        elif isinstance(item, list):
            _fill(array[index], item)
        else:
            array[index] = item


def _differs(game: Game, actual: Any, expected: Any) -> bool:
    expected = _numbers(game, expected)
    if isinstance(expected, list):
        return any(_differs(game, actual[index], item) for index, item in enumerate(expected))
    return not np.isclose(float(actual), float(expected), atol=1e-5)
