"""Planted leaks: how many of them `backalley check` finds. `backalley dev study mutants` runs it.

A mutant is a game of which one line of `observation.py` or `events.py` was changed: a statement left out, a condition
always true or never, another seat in place of the reader. They show a seat too much, redraw too little, or tell
something else than is shown; lines that would only show less are not changed. Each is played uncompiled by the checks
of what seats know. A mutant that plays, shows, redraws and tells exactly as the game itself does in random play changes
nothing, and is counted apart.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import hashlib
import importlib
import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley import testing
from backalley.console.errors import InvalidCall
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Kernels
from backalley.envs.core.rules.events import Events
from backalley.testing.seeds import digest

from ...figures.formatting import Found, Line
from ...figures.result_kinds import Files, Kept
from ..runner import Progress, finds, quiet

GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("backalley.examples.leduc", {}),
    ("baccarat", {"mode": "chemin", "decks": 1}),
    ("twenty_one", {"num_players": 2}),
)
"""Games with hidden cards, with decisions that others do not see, and with both and a stock."""
_PARTS = ("observation", "events")
_SECONDS = 30
"""After so long a mutant that is still redrawing counts as found."""


class Mutant(NamedTuple):
    """One changed line."""

    part: str
    function: str
    line: int
    change: str


def _lines(files: Files) -> Iterator[Line]:
    """Each game's mutants, found and missed."""
    for found in files:
        for game in found["games"]:
            yield {
                "game": game["game"],
                "changed lines": f"{game['mutants']}",
                "change nothing": f"{game['unchanged']}",
                "found": f"{game['found']}",
                "missed": f"{game['mutants'] - game['unchanged'] - game['found']}",
            }


class Mutants(Kept, kind="mutants", heading="Planted leaks", tables={"mutants": _lines}):
    """How many planted leaks the checks find."""

    in_title = frozenset({"options"})
    says = "Games with one changed line in what seats observe, are told, or may imagine"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Name the lines that were missed."""
        missed = [one for found in files for game in found["games"] for one in game["missed"]]
        return [f"Missed: {'; '.join(missed)}."] if missed else []


@finds(Mutants, *(name for name, _ in GAMES))
def mutants(number: int, *, seed: int = 0, progress: Progress = quiet) -> Found:
    """Plant `number` faults in all, and check each. Raises RuntimeError where the process of a game fails."""
    found = []
    for place, (name, options) in enumerate(GAMES):
        progress(place, len(GAMES), name)
        share = number * (place + 1) // len(GAMES) - number * place // len(GAMES)
        found.append(_in_process(name, options, share, seed))
    return {"seed": seed, "games": found}


def _in_process(name: str, options: dict[str, Any], number: int, seed: int) -> dict[str, Any]:
    """One game's mutants, played without the compiler."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    asked = json.dumps([name, options, number, seed])
    done = subprocess.run(
        [sys.executable, "-m", __name__, asked], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InvalidCall(f"the process that plants faults in {name} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


# In that process ------------------------------------------------------------------------------------------------------


def checked(name: str, options: dict[str, Any], number: int, seed: int) -> dict[str, Any]:
    """Check a random choice of `number` mutants of a game; return how many were found, and which were missed."""
    plain = game_of(name, **options)
    modules = dict.fromkeys(_module(plain, part) for part in _PARTS)
    every = [one for module in modules for one in _changes(module)]
    chosen = np.random.default_rng(seed).permutation(len(every))[:number]
    kept, found, unchanged, missed = _played(plain), 0, 0, []
    for place in sorted(chosen.tolist()):
        mutant, tree = every[place]
        with _Planted(plain, mutant, tree) as game:
            if _is_found(game):
                found += 1
            elif _played(game) == kept:
                unchanged += 1
            else:
                missed.append(f"`{mutant.part}.py` {mutant.function}, line {mutant.line}: {mutant.change}")
    about = {"mutants": len(chosen), "of": len(every), "unchanged": unchanged, "found": found, "missed": missed}
    return {"game": plain.title, "options": plain.changed_options, **about}


def _module(game: Game, part: str) -> types.ModuleType:
    """The part of a game; a game in one file has all parts there."""
    package = game.type.module.rpartition(".")[0]
    try:
        return importlib.import_module(f"{package}.{part}")
    except ModuleNotFoundError:
        return importlib.import_module(game.type.module)


def _changes(module: types.ModuleType) -> Iterator[tuple[Mutant, ast.FunctionDef]]:
    """Every change of a line of a kernel in a module, with the changed function."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    part = module.__name__.rpartition(".")[2]
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.decorator_list and _is_about_seats(part, function.name):
            for path, node in _nodes(function):
                for change, made in _of_node(node, shows=function.name.startswith("observe")):
                    changed = copy.deepcopy(function)
                    _replace(changed, path, made)
                    changed.decorator_list = []
                    yield Mutant(part, function.name, node.lineno, change), changed


def _is_about_seats(part: str, name: str) -> bool:
    """Whether a kernel belongs to what seats know: in a game of one file those of other parts do not."""
    return part in _PARTS or name in ("observe", "determinize") or name.startswith(("tell", "redraw"))


def _nodes(function: ast.FunctionDef) -> Iterator[tuple[list[Any], Any]]:
    """Statements of a function and of its blocks, each with the way to it."""

    def walk(body: list[Any], path: list[Any]) -> Iterator[tuple[list[Any], Any]]:
        for number, node in enumerate(body):
            here = [*path, number]
            yield here, node
            for block in ("body", "orelse"):
                yield from walk(getattr(node, block, []), [*here, block])

    yield from walk(function.body, ["body"])


def _of_node(node: ast.stmt, *, shows: bool) -> Iterator[tuple[str, ast.stmt]]:
    """The changes of one statement; of one that `shows` a seat something, only those by which it may show more."""
    said = ast.unparse(node).splitlines()[0]
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    writes = isinstance(node, (ast.Assign, ast.AugAssign)) and not isinstance(_target(node), ast.Name)
    if (call or writes) and not shows:
        yield f"without `{said}`", ast.copy_location(ast.Pass(), node)
    if isinstance(node, ast.If):
        for value in (True,) if shows else (True, False):
            made = copy.deepcopy(node)
            made.test = ast.copy_location(ast.Constant(value), node.test)
            yield f"`{said}` with {value}", made
    if any(isinstance(one, ast.Name) and one.id == "seat" for one in ast.walk(node)) and not hasattr(node, "body"):
        yield f"`{said}` for seat 0", _Seat().visit(copy.deepcopy(node))


def _target(node: ast.Assign | ast.AugAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


class _Seat(ast.NodeTransformer):
    """Seat 0 in place of the one that is asked about."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace it where it is read."""
        is_read = node.id == "seat" and isinstance(node.ctx, ast.Load)
        return ast.copy_location(ast.Constant(0), node) if is_read else node


def _replace(function: ast.FunctionDef, path: Sequence[Any], made: ast.stmt) -> None:
    node: Any = function
    for step in path[:-1]:
        node = getattr(node, step) if isinstance(step, str) else node[step]
    node[path[-1]] = made


class _Planted:
    """A game with a mutant in place of one of its kernels."""

    def __init__(self, plain: Game, mutant: Mutant, tree: ast.FunctionDef) -> None:
        self._plain, self._name, self._module = plain, mutant.function, _module(plain, mutant.part)
        self._right = getattr(self._module, mutant.function)
        scope = self._module.__dict__
        exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), mutant.part, "exec"), scope)
        self._wrong = scope[mutant.function]
        self._changed: list[types.ModuleType] = []

    def __enter__(self) -> Game:
        scope = self._module.__name__.rpartition(".")[0]
        for name, module in list(sys.modules.items()):
            if name.startswith(scope) and getattr(module, self._name, None) in (self._right, self._wrong):
                setattr(module, self._name, self._wrong)
                self._changed.append(module)
        kind = self._plain.type
        assert kind.events is not None
        kernels, events = Kernels(*map(self._instead, kind.kernels)), Events(*map(self._instead, kind.events))
        return dataclasses.replace(kind, kernels=kernels, events=events).bind(**self._plain.changed_options)

    def _instead(self, function: Any) -> Any:
        return self._wrong if function is self._right else function

    def __exit__(self, *given: object) -> None:
        for module in self._changed:
            setattr(module, self._name, self._right)


def _is_found(game: Game) -> bool:
    """Whether any check finds that something is wrong; a mutant that cannot be played is found, too."""

    def late(*given: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)
    try:
        testing.check_leaks(game, episodes=2)
        testing.check_events(game, episodes=3)
        testing.check_twins(game, pairs=40, tries=400)
        testing.check_redraws(game, episodes=2)
    except Exception:
        return True
    finally:
        signal.alarm(0)
    return False


def _played(game: Game) -> str:
    """A digest of what random play shows, redraws and tells."""
    found = hashlib.sha256(digest(game, 0, 6, 40).encode())
    for seed in range(6):
        state = game.new_state(seed, events=True)
        random = np.random.default_rng(seed)
        while not state.is_over:
            for seat in range(game.num_seats):
                found.update(state.events(seat).tobytes())
            state.apply(int(random.choice(state.legal_actions())))
    return found.hexdigest()


if __name__ == "__main__":
    print(json.dumps(checked(*json.loads(sys.argv[1]))))
