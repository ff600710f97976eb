"""Time the games of one library: `python -P pace.py FILE SECONDS`, in that library's environment.

FILE has `games()`, which yields names, each with a function that makes a table (or several) and returns `play`, which
plays some decisions at random and returns their number. A line of JSON is printed for each game: decisions a second of
processor time, the median of three repetitions.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import statistics
import sys
import time
from typing import Any

REPEATS = 3


def games_of(name: str) -> Any:
    """The module of a file, or of an import path."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    found = importlib.util.spec_from_file_location("games_of_a_peer", name)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def pace(make: Any, seconds: float) -> dict[str, float]:
    """Decisions a second of processor time: median, slowest and fastest repetition."""
    play, found = make(), []
    play()  # compiles, where a library does
    for _ in range(REPEATS):
        decisions, began = 0, time.process_time()
        while (spent := time.process_time() - began) < seconds:
            decisions += play()
        found.append(decisions / spent)
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def main(name: str, seconds: float) -> None:
    """Print a line of JSON for each game."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for all, whatever threads a library starts
    for game, make in games_of(name).games():
        try:
            found: dict[str, Any] = pace(make, seconds)
        except Exception as error:  # of another library: one game that fails must not hide the rest
            found = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps({"game": game, **found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
