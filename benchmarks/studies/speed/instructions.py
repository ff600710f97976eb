"""Counted instructions: what a decision takes, which other load on the machine cannot change.

A process plays under valgrind's callgrind and counts the instructions of what it asks to have counted, Python's and the
kernels'. Kernels are compiled for one kind of processor, whatever this machine's is. Branches that a simple predictor
would get wrong are counted, too.
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import answer, view_of
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from ...figures.formatting import Found, changed, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ..runner import GAMES, Progress, quiet, study

TOLERANCE = 1.03
"""How many times the kept number is noticed."""
STEPS = 100
_PROCESSOR = "x86-64-v3"
_RESULTS = Path(__file__).resolve().parents[2] / "results" / "instructions.json"
_COLUMNS: Columns = {
    "game": title,
    "options": lambda row: changed(row["options"]),
    "measured": "{measured}",
    "instructions": "{instructions:,.0f}",
    "mispredicted branches": "{mispredicted:.1f}",
}
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
"""A function that asks valgrind for something: rotations that do nothing elsewhere. It returns 0 there."""
_ZERO, _DUMP, _START = 0x43540001, 0x43540003, 0x43540004
Play = tuple[int, Callable[[], Any], Callable[[], Any]]
"""Decisions; what is done before them; they themselves."""


def _batch(game: Game, **settings: Any) -> Play:
    tables, random, actions = game.make_vec(64, seed=0, **settings), np.random.default_rng(0), list[Any]()
    step = tables.reset()
    for _ in range(STEPS):
        actions.append((random.random(step.action_mask.shape) * step.action_mask).argmax(1))
        step = tables.step(actions[-1])
    return 64 * STEPS, lambda: tables.reset(seed=0), lambda: [*map(tables.step, actions)]


def _aec(game: Game) -> Play:
    env, actions = game.make(), list[int]()
    played = iter(actions)

    def play(choose: Callable[[Any], int]) -> None:
        for _ in range(10 * STEPS):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
            else:
                env.step(choose(observation))

    def again() -> None:
        nonlocal played
        played = iter(actions)
        env.reset(seed=0)

    def record(observation: Any) -> int:
        actions.append(int(random.choice(np.flatnonzero(observation["action_mask"]))))
        return actions[-1]

    random = np.random.default_rng(0)
    again()
    play(record)
    return len(actions), again, lambda: play(lambda observation: next(played))


def _search(game: Game) -> Play:
    searching, tables = agent("search:8", game, num_threads=1), game.make_vec(16, seed=0)
    tables.reset()
    view = view_of(tables, np.arange(16), np.arange(16, dtype=np.uint64))
    return 16, lambda: None, lambda: answer(searching, view)


PLAYS: dict[str, Callable[[Game], Play]] = {
    "batch of 64": _batch,
    "the same with events": lambda game: _batch(game, events=True),
    "AEC loop": _aec,
    "decision of `search:8`": _search,
}


class Instructions(
    Kept, kind="instructions", heading="Counted instructions", tables={"instructions": lines(_COLUMNS, "rows")}
):
    """Instructions and mispredicted branches of a decision, game by game."""

    in_title = frozenset({"options"})
    says = "Instructions of a decision, counted by valgrind"

    @property
    def kept(self) -> bool:
        """Whether nothing takes noticeably more than in the kept file; the command's exit code is 1 otherwise."""
        return not self.found["dearer"]

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Name what takes more than in the kept file."""
        dearer = [one for found in files for one in found["dearer"]]
        return [f"Dearer than kept: {', '.join(dearer)}."] if dearer else []


@study("instructions", Instructions, GAMES)
def instructions(games: Sequence[Game], *, progress: Progress = quiet) -> Found:
    """Count the instructions of a decision of GAMES, by default all, under valgrind, and name what takes noticeably
    more than in the kept results: the exit code is then 1.

    Raises ValueError where there is no valgrind, or the processor is of another family than x86-64.
    """
    if shutil.which("valgrind") is None or platform.machine() != "x86_64":
        raise InvalidValue(
            "Instructions are counted by valgrind on an x86-64 processor; install it (apt install valgrind) there."
        )
    rows = list[dict[str, Any]]()
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        rows += [{"game": game.id, "options": game.changed_options, **row} for row in _of_game(game)]
    kept = {_place(row): row["instructions"] for row in read_json(_RESULTS)["rows"]} if _RESULTS.exists() else {}
    dearer = [
        f"{row['game']}, {row['measured']} ({row['instructions'] / kept[_place(row)]:.3f} times)"
        for row in rows
        if row["instructions"] > TOLERANCE * kept.get(_place(row), np.inf)
    ]
    return {"compiled for": _PROCESSOR, "rows": rows, "dearer": dearer}


def _place(row: dict[str, Any]) -> tuple[str, ...]:
    return row["game"], json.dumps(row["options"]), row["measured"]


def _of_game(game: Game) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="backalley-instructions-") as folder:
        out = Path(folder) / "out"
        words = [sys.executable, "-c", f"from {__name__} import count; count()", game.name]
        words.append(json.dumps(game.changed_options))
        environment = os.environ | {
            "BACKALLEY_CACHE": str(Path(folder) / "cache"),
            "BACKALLEY_COMPILE": "now",
            "NUMBA_CPU_NAME": _PROCESSOR,
            "NUMBA_CPU_FEATURES": "",
            "PYTHONHASHSEED": "0",
        }
        tool = ["valgrind", "--tool=callgrind", "--branch-sim=yes", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        for before in ([], tool):  # first without: machine code is then on disk
            done = subprocess.run([*before, *words], env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InvalidValue(f"{game!r} could not be played under valgrind: {done.stderr.strip()[-500:]}")
        decisions: dict[str, int] = json.loads(done.stdout)
        found = []
        for number, (measured, count) in enumerate(decisions.items(), 1):
            totals = re.search(r"^totals: (.*)$", Path(f"{out}.{number}").read_text(), re.MULTILINE)
            assert totals is not None
            ran, _, wrong, _, far = map(int, totals[1].split())
            found.append({"measured": measured, "instructions": ran / count, "mispredicted": (wrong + far) / count})
        return found


def count() -> None:
    """Play what is counted, in a process of its own; print the decisions of each part."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_REQUEST)
    call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def ask(request: int, argument: int = 0) -> None:
        asked = (ctypes.c_uint64 * 6)(request, argument)
        call(ctypes.addressof(asked))

    game, decisions = game_of(sys.argv[1], **json.loads(sys.argv[2])), {}
    plays = {measured: make(game) for measured, make in PLAYS.items()}
    for _, prepare, play in plays.values():
        prepare()
        play()
    gc.collect()
    gc.disable()
    ask(_START)
    for measured, (number, prepare, play) in plays.items():
        prepare()
        name = ctypes.create_string_buffer(measured.encode())
        ask(_ZERO)
        play()
        ask(_DUMP, ctypes.addressof(name))
        decisions[measured] = number
    print(json.dumps(decisions))
