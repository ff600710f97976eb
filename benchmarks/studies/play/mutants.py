"""Planted leaks: how many of them `backalley check` finds.

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Files, Kept, lines
from ..runner import SEED, Progress, count, quiet, study

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


_COLUMNS: Columns = {
    "game": "{game}",
    "changed lines": "{mutants}",
    "change nothing": "{unchanged}",
    "found": "{found}",
    "missed": lambda game: f"{game['mutants'] - game['unchanged'] - game['found']}",
}


class Mutants(Kept, kind="mutants", heading="Planted leaks", tables={"mutants": lines(_COLUMNS, "games")}):
    """How many planted leaks the checks find."""

    in_title = frozenset({"options"})
    says = "Games with one changed line in what seats observe, are shown, or may imagine"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Name the lines that were missed."""
        missed = [one for found in files for game in found["games"] for one in game["missed"]]
        return [f"Missed: {'; '.join(missed)}."] if missed else []


@study(
    "mutants", Mutants, count("--number", 100, "Lines that are changed, in all.", 3), SEED,
    of=[name for name, _ in GAMES],
)  # fmt: skip
def mutants(number: int, *, seed: int = 0, progress: Progress = quiet) -> Found:
    """Plant leaks in three games, one changed line at a time, and count those that `backalley check` finds."""
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
        with _planted(plain, mutant, tree) as game:
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
            every = [*ast.walk(function)]
            statements = [(place, node) for place, node in enumerate(every) if isinstance(node, ast.stmt) and place]
            for place, node in sorted(statements, key=lambda one: (one[1].lineno, one[1].col_offset)):
                for change, made in _of_node(node, shows=function.name.startswith("observe")):
                    changed = copy.deepcopy(function)
                    _Instead([*ast.walk(changed)][place], made).visit(changed)
                    changed.decorator_list = []
                    yield Mutant(part, function.name, node.lineno, change), changed


class _Instead(ast.NodeTransformer):
    """One node in place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """Look at a node and those below it."""
        return self._new if node is self._old else self.generic_visit(node)


def _is_about_seats(part: str, name: str) -> bool:
    """Whether a kernel belongs to what seats know: in a game of one file those of other parts do not."""
    return part in _PARTS or name in ("observe", "determinize") or name.startswith(("tell", "redraw"))


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


@contextmanager
def _planted(plain: Game, mutant: Mutant, tree: ast.FunctionDef) -> Iterator[Game]:
    """A game with a mutant in place of one of its kernels."""
    home = _module(plain, mutant.part)
    right, package = getattr(home, mutant.function), home.__name__.rpartition(".")[0]
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), mutant.part, "exec"), home.__dict__)
    wrong = getattr(home, mutant.function)
    modules = [module for name, module in sys.modules.items() if name.startswith(package)]
    changed = [one for one in modules if getattr(one, mutant.function, None) in (right, wrong)]
    for module in changed:
        setattr(module, mutant.function, wrong)

    def instead(functions: Iterable[Any]) -> list[Any]:
        return [wrong if function is right else function for function in functions]

    kind = plain.type
    assert kind.events is not None
    kernels, events = Kernels(*instead(kind.kernels)), Events(*instead(kind.events))
    try:
        yield dataclasses.replace(kind, kernels=kernels, events=events).bind(**plain.changed_options)
    finally:
        for module in changed:
            setattr(module, mutant.function, right)


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
