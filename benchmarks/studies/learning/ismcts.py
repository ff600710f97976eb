"""What IS-MCTS at play loses to a best response, by its number of iterations: the program of `search.md`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from backalley.envs.core.game.catalogue import game as game_of

from ...exact.solver import solver_of
from ...figures.formatting import Found, Line, changed
from ...figures.result_kinds import Files, Kept
from ..runner import Progress, count, quiet, study
from .guides import program_of_the_guide
from .learners import over_seeds

GAMES: dict[str, dict[str, Any]] = {
    "backalley.examples.kuhn": {},
    "backalley.examples.leduc": {},
    "baccarat": {"mode": "chemin"},
    "bezique": {"preset": "tiny"},
    "killer_bridge": {"preset": "tiny"},
    "missouri_city": {"preset": "tiny"},
    "pitch": {"preset": "small"},
    "poker_duel": {"preset": "tiny"},
    "twenty_one": {"preset": "tiny"},
}
"""Those that all learners have learned."""
ITERATIONS = (10, 30, 100, 300, 1000)
MOST = 2_000_000
"""Iterations at all information sets of a game: larger searches are left out."""


def _lines(files: Files) -> Iterator[Line]:
    """Losses by the number of iterations, for each way to play."""
    for found in files:
        for row in found["rows"]:
            last = row["points"][-1]
            for plays in ("most visited", "in proportion"):
                yield {
                    "game": row["game"],
                    "options": changed(row["options"]),
                    "play": plays,
                    "uniform play": f"{row['uniform']:.4f}",
                    **{f"{size:,} iterations": "" for size in ITERATIONS},
                    **{f"{one['iterations']:,} iterations": over_seeds(one[plays]) for one in row["points"]},
                    "microseconds an iteration": f"{1000 * last['milliseconds'] / last['iterations']:.1f}",
                }


class AtPlay(Kept, kind="ismcts", heading="IS-MCTS at play", tables={"ismcts": _lines}):
    """A search against best responses, in games that are small enough to compute one."""

    in_title = frozenset()
    says = "What IS-MCTS at play loses to a best response, the mean over both seats; exact"


@study("ismcts", AtPlay, count("--seeds num_seeds", 5, "Searches of each size."), of=[*GAMES])
def ismcts(num_seeds: int, *, progress: Progress = quiet) -> Found:
    """Search once at every information set of small games, and compute what that loses to a best response."""
    search = program_of_the_guide("ismcts.py", "search.md")["ISMCTS"]
    rows = []
    for number, (name, given) in enumerate(GAMES.items()):
        solver = solver_of(game_of(name, **given))
        solver.ask(search(solver.game, 1).visits)  # compiles
        points = []
        for iterations in ITERATIONS:
            if iterations * len(solver.seat) > MOST:
                break
            progress(number, len(GAMES), f"{solver.game.title}, {iterations:,} iterations")
            points.append(_point(solver, search(solver.game, iterations), num_seeds))
        uniform = solver.exploitability(solver.action_mask / solver.action_mask.sum(1, keepdims=True))
        about = {"game": solver.game.title, "options": given, "information_sets": len(solver.seat)}
        rows.append({**about, "uniform": uniform, "points": points})
    return {"rows": rows}


def _point(solver: Any, search: Any, num_seeds: int) -> Found:
    """The losses of one search under several seeds, for both ways to play."""
    point: Found = {"iterations": search.iterations, "most visited": [], "in proportion": []}
    began = time.process_time()
    for seed in range(num_seeds):
        visits = solver.ask(lambda view, seed=seed: search.visits(view.with_keys(view.key + np.uint64(seed << 32))))
        point["most visited"].append(solver.exploitability(np.eye(visits.shape[1])[visits.argmax(1)]))
        point["in proportion"].append(solver.exploitability(visits / visits.sum(1, keepdims=True)))
    decisions = num_seeds * len(solver.seat)
    return {**point, "milliseconds": 1000 * (time.process_time() - began) / decisions}
