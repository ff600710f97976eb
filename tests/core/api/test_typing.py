"""What type checkers and editors know of every game's options: generated, fresh, and what the games take."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union

import numpy as np
import pytest

import backalley
from backalley.benchmarks.speed.option_sets import allowed, alternatives
from backalley.benchmarks.studies.pages import typed
from backalley.envs.core.api.registry import EnvSettings
from backalley.envs.core.files import docs
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import options as option_rules
from tests import ROOT
from tests.common.cases import GAMES

CALLS = ROOT / "tests" / "common" / "typed_calls.py"
OWN = [game for game in GAMES if game.type.module.startswith("backalley.envs.")]
BY_NAME = pytest.mark.parametrize("game", OWN, ids=lambda game: game.name)


def module_of(game: Game) -> Any:
    return importlib.import_module(f"backalley.{typed.module_name(game.type)}")


def test_what_is_generated_is_fresh() -> None:
    assert not docs.stale(typed.files()), "run backalley dev types"


def test_the_module_of_a_game_that_is_no_more_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "_package", lambda: tmp_path)
    files = typed.files()
    former, own = tmp_path / "backhand_v99.py", tmp_path / "mine_v1.py"
    for file, text in files.items():
        file.write_text(text or "", "utf-8")
    former.write_text((tmp_path / f"{typed.module_name(OWN[0].type)}.py").read_text("utf-8"), "utf-8")
    own.write_text("written by hand\n", "utf-8")
    assert docs.stale(typed.files()) == [former]
    assert list(docs.write(typed.files())) == [f"deleted {former}"]
    assert not former.exists()
    assert own.exists()
    assert not docs.stale(typed.files())


@BY_NAME
def test_a_games_module_names_every_option(game: Game) -> None:
    module = module_of(game)
    options = {*option_rules.declared(game.type.Options), *(["preset"] if game.type.presets else [])}
    assert set(module.GivenOptions.__annotations__) == options
    named = inspect.signature(module.env).parameters
    assert options == set(named) - set(inspect.signature(backalley.make).parameters)
    assert set(named) - options == set(EnvSettings.__annotations__)
    assert set(EnvSettings.__annotations__) == set(inspect.signature(backalley.make).parameters) - {"id", "options"}
    assert {name: named[name].default for name in game.option_values} == game.option_values
    assert module.env(render_mode="ansi").render_mode == "ansi"


def takes(hint: Any, value: Any) -> bool:
    """Whether a type checker lets a value pass as what `hint` says."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, UnionType):
        return any(takes(part, value) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is tuple and parts[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(takes, parts, value))
    if origin in (tuple, list):
        return isinstance(value, origin) and all(takes(parts[0], item) for item in value)
    return isinstance(value, (int, float) if hint is float else hint)


def values_of(game: Game, name: str) -> Iterator[Any]:
    """What an option may be given as, and more."""
    kind, note = option_rules.declared(game.type.Options)[name]
    yield from (game.option_values[name], *alternatives(game, name))
    yield from (0, 1, 2, -1, np.int64(1), np.int8(0), True, 0.5, (1,), (3, 2, 1), [3, 2, 1], [7], np.float64(0.25))
    yield from (word for word, _ in note.words)
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        yield from (*kind, *(member.name.lower() for member in kind), *map(int, kind))


@BY_NAME
def test_types_take_all_that_a_game_takes(game: Game) -> None:
    for name, hint in typing.get_type_hints(module_of(game).GivenOptions).items():
        if name == "preset":
            assert typing.get_args(hint) == tuple(game.type.presets)
            continue
        taken = [value for value in values_of(game, name) if parsed(game, name, value)]
        assert taken
        assert not [value for value in taken if not takes(hint, value)], name
        for wrong in ("no such choice", None, {}, object()):
            assert not takes(hint, wrong), name
            assert not allowed(game, {name: wrong}), name


def parsed(game: Game, name: str, value: Any) -> bool:
    try:
        option_rules.parse(game.name, game.type.Options, {name: value})
    except option_rules.OptionError:
        return False
    return True


def test_an_option_of_each_kind_has_its_type() -> None:
    def hint(kind: Any, **note: Any) -> Any:
        return typed.hint(kind, option_rules.option("", **note))

    assert hint(int) == "SupportsIndex"
    assert hint(int, words={"all": 0}) == 'Literal["all"] | SupportsIndex'
    assert hint(int, parts=1000) == hint(float) == "float"
    assert hint(tuple[int, int], parts=1000) == "tuple[float, float] | list[float]"
    assert hint(bool) == "bool | Literal[0, 1]"
    assert hint(tuple[int, float]) == "tuple[SupportsIndex, float] | list[int | float]"
    assert hint(tuple[int, int], fill=0) == "SupportsIndex | tuple[SupportsIndex, ...] | list[int]"


def marked(mark: str) -> list[int]:
    """The lines of CALLS that end so."""
    return [number for number, line in enumerate(CALLS.read_text("utf-8").splitlines(), 1) if line.endswith(mark)]


def test_calls_are_refused_by_the_games_themselves() -> None:
    refused = marked("  # refused") + marked("  # refused by games")
    assert len(refused) > 15
    names: dict[str, Any] = {}
    for statement in ast.parse(CALLS.read_text("utf-8")).body:
        code = compile(ast.Module([statement], []), CALLS.name, "exec")
        if statement.lineno in refused:
            with pytest.raises((TypeError, ValueError, AttributeError)):
                exec(code, names)
        else:
            exec(code, names)


@pytest.mark.slow
def test_a_type_checker_refuses_wrong_options_and_wrong_values() -> None:
    pytest.importorskip("mypy")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(CALLS.relative_to(ROOT))],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    lines = re.findall(rf"^{CALLS.relative_to(ROOT)}:(\d+): error", found.stdout, re.MULTILINE)
    assert sorted({*map(int, lines)}) == sorted(marked("  # refused") + marked("  # refused by checkers")), (
        found.stdout[-3000:] + found.stderr
    )
    assert 'Unexpected keyword argument "num_gamez" for "env"; did you mean "num_games"?' in found.stdout
