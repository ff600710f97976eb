"""The processes of a candidate and of the reference: a request, an answer, and a limit of time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.programs.process import Process, ProgramFailed

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
    it anew."""

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
                return found
            raise ProgramFailed("it wrote a line that is no JSON object")
        except ProgramFailed as error:
            why = str(error)
            self._late += time.monotonic() - began >= self._seconds
        except (ValueError, RecursionError):
            why = "it wrote a line that is no JSON"
        self.close()
        return {"steps": [], "error": why}

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None


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
    """Return the player of a candidate's file. It sees the standard library and the files beside it, and no package."""
    words = [sys.executable, "-I", "-S", "-B", worker.__file__, str(file), str(limits.mib)]
    return Player(words, file.name, limits.seconds)


def reference() -> Player:
    """Return the player of our own rules, which plays every game (`OfGame`)."""
    return Player([sys.executable, "-c", _REFERENCE], "the reference", 120.0)
