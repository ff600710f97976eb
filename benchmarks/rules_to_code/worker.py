"""Play scripts with a candidate's `Game`, in a process of its own: one JSON object a line in, one out.

This file is run by itself, without the package and with the standard library alone. What a candidate prints goes to
standard error, and what it raises is part of the answer. It may read the standard library and the files beside it; it
starts nothing and reaches no network (`guard`). That stops what is written to cheat in plain Python. What stops more is
around the process: see `programs.candidate`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

MOST_DEALS = 1000
"""Packs that a game may ask for between two decisions."""


def shown(game: Any) -> dict[str, Any]:
    """What a game says of itself now, in plain values."""
    turn = game.turn()
    acting = isinstance(turn, int)
    return {
        "turn": turn,
        "legal": [str(name) for name in game.legal()] if acting else [],
        "rewards": [float(gained) for gained in game.rewards()],
        "state": dict(game.state()),
    }


def play(new_game: Callable[..., Any], script: dict[str, Any]) -> dict[str, Any]:
    """Play a script: options, start outcome, packs and actions. Return what the game says before the first action and
    after each, and the error that ended it, if any."""
    steps: list[dict[str, Any]] = []
    error = None
    try:
        game, decks = new_game(script["options"], script["start_outcome"]), iter(script["decks"])
        _deal(game, decks)
        steps.append(shown(game))
        for action in script["actions"]:
            game.act(action)
            _deal(game, decks)
            steps.append(shown(game))
    except BaseException as raised:  # whatever a candidate does ends its case alone
        error = _sentence(raised)
    return {"steps": steps, "error": error}


class _WrongDeals(Exception):
    """A candidate asks for packs that the rules do not deal."""


def _deal(game: Any, decks: Any) -> None:
    for _ in range(MOST_DEALS):
        if game.turn() != "deal":
            return
        deck = next(decks, None)
        if deck is None:
            raise _WrongDeals("The game asks for another pack, and by the rules none is dealt here.")
        game.deal(list(deck))
    raise _WrongDeals(f"The game asked for {MOST_DEALS} packs without a decision.")


def _sentence(raised: BaseException) -> str:
    """An error with the line of the candidate that raised it, of limited length."""
    calls = traceback.extract_tb(raised.__traceback__)[-1:]
    where = f" ({os.path.basename(calls[0].filename)}, line {calls[0].lineno})" if calls else ""
    return f"{type(raised).__name__}: {raised}"[:300] + where


def load(path: str) -> Callable[..., Any]:
    """Return the `Game` of a candidate's file."""
    spec = importlib.util.spec_from_file_location("candidate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    sys.path.insert(0, os.path.dirname(path))  # files beside it
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.Game
    return found


def answer_lines(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer each line of standard input with one line of the real standard output; `print` goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    for line in sys.stdin:
        try:
            text = json.dumps(answer(json.loads(line)), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            text = json.dumps({"steps": [], "error": f"What it answers is no JSON: {error}"[:300]})
        out.write(text + "\n")
        out.flush()


_CLOSED = ("ctypes.", "gc.get_", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "os.system",
           "pty.", "signal.", "socket.", "subprocess.", "winreg.")  # fmt: skip
"""What audit events of refused calls begin with."""
_READ = {"open", "os.listdir", "os.scandir", "os.walk", "import", "sqlite3.connect", "dbm.open"}
_PACKAGES = {"site-packages", "dist-packages"}


def guard(folder: str) -> None:
    """Refuse, from now on, every file outside the standard library and a folder, other programs, and the network."""
    real, decode, inside = os.path.realpath, os.fsdecode, str.startswith
    places = tuple(real(place) + os.sep for place in (os.path.dirname(os.__file__), folder))

    def see(event: str, given: tuple[Any, ...]) -> None:
        if event in _READ:
            path = given[1] if event == "import" else "." if given[0] is None else given[0]
            if path is not None and not isinstance(path, int):
                place = real(decode(path)) + os.sep
                if not inside(place, places) or _PACKAGES & {*place.split(os.sep)}:
                    raise PermissionError(f"A candidate may not read {place[:-1]}.")
        elif inside(event, _CLOSED):
            raise PermissionError(f"A candidate may not do this: {event}.")

    os.environ.clear()
    sys.addaudithook(see)


def limit_memory(mib: int) -> None:
    """Let this process have that much memory, and write no files, where the system can hold it to that."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main() -> None:
    """Load the candidate in the file named first, with the MiB of memory named second."""
    path, mib = sys.argv[1], int(sys.argv[2])
    limit_memory(mib)
    guard(os.path.dirname(path))
    try:
        new_game = load(path)
    except BaseException as raised:  # SystemExit, too
        unloadable = {"steps": [], "error": f"It cannot be loaded: {_sentence(raised)}"}
        answer_lines(lambda script: unloadable)
        return
    answer_lines(lambda script: play(new_game, script))


if __name__ == "__main__":
    main()
