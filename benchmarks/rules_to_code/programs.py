"""The processes of a candidate and of the reference: a request, an answer, and a limit of time."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.programs.process import Process, ProgramFailed
from backalley.console.errors import one_line

from . import worker

_REFERENCE = (
    "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'; from backalley.benchmarks.rules_to_code import reference; "
    "reference.main()"
)


MOST_LATE = 5
"""Answers that did not come in time, after which a process is asked no more: else one that hangs would take hours."""


class Limits(NamedTuple):
    """What a candidate may use."""

    seconds: float = 10.0
    """For a case or a hidden game; for the first, loading included."""
    mib: int = 1024
    """Of memory, where the system can hold it to that (not on Windows)."""


class Player:
    """A process that plays scripts. One that ends, hangs or writes garbage costs the script at hand; the next starts
    it again."""

    def __init__(self, words: Sequence[str], name: str, seconds: float) -> None:
        self._words, self._name, self._seconds, self._late = list(words), name, seconds, 0
        self._process: Process | None = None

    def play(self, script: dict[str, Any]) -> dict[str, Any]:
        """Return what a game says at each step of a script, as `worker.play` does."""
        return self.ask(script)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; where none comes, one without steps whose error says why."""
        if self._late >= MOST_LATE:
            return {"steps": [], "error": f"it was not asked: {MOST_LATE} answers did not come in {self._seconds:g} s"}
        began = time.monotonic()
        try:
            if self._process is None:
                self._process = Process(self._words, self._name)
            self._process.send(json.dumps(request).encode())
            found = json.loads(self._process.receive(self._seconds))
            if isinstance(found, dict):
                plain: dict[str, Any] = _plain(found)
                return plain
            raise ProgramFailed("it wrote a line that is no JSON object")
        except ProgramFailed as error:
            why = str(error)
            self._late += time.monotonic() - began >= self._seconds
        except (ValueError, RecursionError):
            why = "it wrote a line that is no JSON"
        self.close()
        return {"steps": [], "error": why}

    def close(self) -> None:
        """End the process. The next request starts another."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def _plain(value: Any) -> Any:
    """The same with texts that a terminal and a file can hold: control characters and lone surrogates as escapes."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(name): _plain(entry) for name, entry in value.items()}
    return [*map(_plain, value)] if isinstance(value, list) else value


class OfGame(Player):
    """One game of a process that plays several, which goes on."""

    def __init__(self, player: Player, game: str) -> None:
        self._player, self._game = player, game

    def play(self, script: dict[str, Any]) -> dict[str, Any]:
        """Do the same, with the name of the game."""
        return self._player.ask({"game": self._game, "script": script})

    def close(self) -> None:
        """Leave the process to the others."""


def candidate(file: Path, limits: Limits) -> Player:
    """Return the player of a candidate's file. It sees the standard library and the files beside it, and no package:
    by `worker.guard`, and where bubblewrap works because nothing else is there."""
    folder = str(file.resolve().parent)
    inside = [*sandbox(folder), os.path.realpath(sys.executable)] if has_bubblewrap() else [sys.executable]
    words = [*inside, "-I", "-S", "-B", worker.__file__, os.path.join(folder, file.name), str(limits.mib)]
    return Player(words, file.name, limits.seconds)


def sandbox(folder: str) -> list[str]:
    """Return a command of bubblewrap: a file system with Python's standard library, shared libraries, the worker and a
    folder, all read-only; no network, no variables of the environment, no sight of other processes."""
    python = Path(sys.executable).resolve()
    shared = {Path("/lib"), Path("/lib64"), Path("/usr/lib"), Path("/usr/lib64"), Path(sys.base_prefix) / "lib"}
    shown = sorted(str(place) for place in {python, Path(os.__file__).parent, *shared} if place.exists())
    packages = {str(found) for place in shown for depth in ("", "*/") for kind in ("site", "dist")
                for found in Path(place).glob(f"{depth}{kind}-packages")}  # fmt: skip
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc"]
    words += [word for place in shown for word in ("--ro-bind", place, place)]
    words += [word for place in sorted(packages) for word in ("--tmpfs", place)]
    last = (worker.__file__, folder)  # after the packages, which may hold them
    return [*words, *(word for place in last for word in ("--ro-bind", place, place)), "--"]


@functools.cache
def has_bubblewrap() -> bool:
    """Whether bubblewrap is installed and may be used (in some containers it may not)."""
    if shutil.which("bwrap") is None:
        return False
    folder = str(Path(worker.__file__).resolve().parent)
    words = [*sandbox(folder), os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", "import json"]
    try:
        return subprocess.run(words, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def reference() -> Player:
    """Return the player of our own rules, which plays every game (`OfGame`)."""
    return Player([sys.executable, "-c", _REFERENCE], "the reference", 120.0)
