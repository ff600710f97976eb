"""Run the learner of the guide to PPO (`docs/guides/ppo.md`) as a reader would, and measure its speed and strength.
`backalley dev study ppo` runs it.

The code is the page's own. Samples a second are medians of some turns on each number of threads, in alternating order:
by the clock, which is what a reader waits, and by processor time, which other load on the machine disturbs less.
Evaluations on the way are not counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ...figures.charts import Lines, axes_of
from ...figures.formatting import Found, Line, percent, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ..runner import Progress, finds, program_of_the_guide, quiet

_TURNS, _TURN_SAMPLES = 5, 1_000_000


def _learned(files: Files) -> Iterator[Line]:
    """What the guide's learner wins after so many samples."""
    for found in files:
        for point in found["points"]:
            yield {
                "game": title(found),
                "samples, millions": f"{point['samples'] / 1e6:.1f}",
                "seconds": f"{point['seconds']:.0f}",
                **{
                    column: text
                    for name, share in point["wins"].items()
                    for column, text in (
                        (f"wins against `{name}`", f"{100 * share['mean']:.1f} %"),
                        (f"interval against `{name}`", percent(share)),
                    )
                },
            }


def _learner_paces(files: Files) -> Iterator[Line]:
    """How many samples a second the guide's learner plays and learns from."""
    for found in files:
        for row in found["paces"]:
            yield {
                "game": title(found),
                "threads": f"{row['threads']}",
                "samples a second": f"{row['samples_per_second']:,.0f}",
                "slowest and fastest turn": f"{row['low']:,.0f} to {row['high']:,.0f}",
                "samples a second of processor time": f"{row['samples_per_processor_second']:,.0f}",
            }


class GuidePPO(
    Kept,
    kind="guide_ppo",
    heading="The learner of the guide to PPO",
    tables={"guide_ppo": _learned, "guide_ppo_pace": _learner_paces},
):
    """Strength and speed of a learner of one's own, as the guide has it."""

    brief = frozenset({"guide_ppo_pace"})

    @classmethod
    def charts(cls, files: Files) -> Iterator[Lines]:
        """Wins by samples, a line for each opponent."""
        for found in files:
            lines = [
                (name, [(point["samples"] / 1e6, Estimate(**point["wins"][name]).percent) for point in found["points"]])
                for name in found["points"][0]["wins"]
            ]
            about = f"{found['deals']:,} deals each, in every seating; 95 % intervals"
            axes = axes_of(lines, None, log=False)
            yield Lines(f"{title(found)}: wins of the guide's PPO", about, "millions of samples", lines, axes)


@finds(GuidePPO)
def guide_ppo(
    game: Game,
    samples: int,
    threads: int,
    *,
    settings: Mapping[str, Any] | None = None,
    turn_samples: int = _TURN_SAMPLES,
    progress: Progress = quiet,
) -> Found:
    """Measure samples a second on one thread and on `threads`, then train on these with `samples` samples, and evaluate
    on the way. `settings` are fields of the page's `Args`. Raises ValueError for a game under changed options,
    which the program does not take."""
    if game.changed_options:
        raise InvalidValue(f"The guide's program takes a game by its name, without options; {game!r} has some.")
    scope, given, kept = program_of_the_guide(), {"game": game.name, **(settings or {})}, torch.get_num_threads()
    numbers = sorted({1, threads})
    work = samples + (1 + _TURNS) * len(numbers) * turn_samples
    try:
        paces, done = _paces(scope, given, numbers, turn_samples, lambda done, words: progress(done, work, words))
        args = scope["Args"](**given, samples=samples, threads=threads)
        points = []
        for found in scope["train"](args):
            points.append(_point(found))
            progress(done + found["samples"], work, f"{found['samples']:,} samples")
    finally:
        torch.set_num_threads(kept)
    found = {"threads": threads, "deals": args.deals, "paces": paces, "points": points}
    return found | {"torch": torch.__version__}


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
