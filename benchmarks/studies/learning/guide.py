"""Run the learner of the guide to PPO (`docs/guides/ppo.md`) as a reader would, and measure its speed and strength.
`backalley dev study ppo` runs it.

The code is the page's own. Samples a second are medians of some turns on each number of threads, in alternating order:
by the clock, which is what a reader waits, and by processor time, which other load on the machine disturbs less.
Evaluations on the way are not counted.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ...figures import results
from .training_speed import GuidePPO

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"
_TURNS, _TURN_SAMPLES = 5, 1_000_000


def code_of_the_guide(program: str = "ppo.py", page: str = "ppo.md") -> str:
    """Return a program of a guide: the example after its name. Raises ValueError outside a checkout, which has the
    pages."""
    path = GUIDES / page
    if not path.is_file():
        raise InvalidValue(f"There is no {path}: only a checkout of the repository has the guide.")
    after = rf"`{re.escape(program)}`:\n\n(?:<!-- needs: [\w.]+ -->\n)?```python\n(.*?)```"
    (code,) = re.findall(after, path.read_text("utf-8"), re.DOTALL)
    return str(code)


def guide_ppo(
    game: Game,
    samples: int,
    threads: Sequence[int],
    *,
    settings: Mapping[str, Any] | None = None,
    turn_samples: int = _TURN_SAMPLES,
    progress: Callable[[float, float, str], None] | None = None,
    command: str = "",
) -> GuidePPO:
    """Measure samples a second on each of `threads`, then train on the last number of them with `samples` samples, and
    evaluate on the way. `settings` are fields of the page's `Args`. Raises ValueError for a game under changed options,
    which the program does not take."""
    if game.changed_options:
        raise InvalidValue(f"The guide's program takes a game by its name, without options; {game!r} has some.")
    scope: dict[str, Any] = {"__name__": "ppo"}
    exec(compile(code_of_the_guide(), "ppo.py", "exec"), scope)
    given = {"game": game.name, **(settings or {})}
    kept, said = torch.get_num_threads(), progress or (lambda done, total, words: None)
    work = samples + (1 + _TURNS) * len(threads) * turn_samples
    try:
        paces, done = _paces(scope, given, threads, turn_samples, lambda done, words: said(done, work, words))
        args = scope["Args"](**given, samples=samples, threads=threads[-1])
        points = []
        for found in scope["train"](args):
            points.append(_point(found))
            said(done + found["samples"], work, f"{found['samples']:,} samples")
    finally:
        torch.set_num_threads(kept)
    return GuidePPO(
        {
            "kind": GuidePPO.kind,
            "command": command,
            "game": game.id,
            "options": game.changed_options,
            "threads": threads[-1],
            "deals": args.deals,
            "paces": paces,
            "points": points,
            "torch": torch.__version__,
            **results.stamp(__file__, game),
        }
    )


def _paces(
    scope: Mapping[str, Any],
    given: Mapping[str, Any],
    threads: Sequence[int],
    samples: int,
    said: Callable[[float, str], None],
) -> tuple[list[dict[str, Any]], int]:
    """Samples a second on each number of threads, and the samples taken for it. The first turn compiles, and does not
    count."""
    found: dict[int, list[float]] = {number: [] for number in threads}
    spent: dict[int, list[float]] = {number: [] for number in threads}
    done = 0
    for turn in range(1 + _TURNS):
        for number in threads[:: 1 if turn % 2 else -1]:
            short = {**given, "samples": samples, "threads": number, "evaluations": 1, "opponents": ()}
            began = time.process_time()
            (reached,) = scope["train"](scope["Args"](**short))
            done += samples
            said(done, f"{number} thread{'s' * (number > 1)}")
            if turn:
                found[number].append(reached["samples"] / reached["seconds"])
                spent[number].append(reached["samples"] / (time.process_time() - began))
    rows = [
        {
            "threads": number,
            "samples_per_second": statistics.median(found[number]),
            "low": min(found[number]),
            "high": max(found[number]),
            "samples_per_processor_second": statistics.median(spent[number]),
        }
        for number in threads
    ]
    return rows, done


def _point(found: Mapping[str, Any]) -> dict[str, Any]:
    wins = {name: share.to_json() for name, share in found["wins"].items()}
    return {"samples": found["samples"], "seconds": found["seconds"], "wins": wins}
