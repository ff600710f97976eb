"""How sequential evaluation and the gates of training keep their promises, by simulation on the deals of real games and
on hard inventions. `backalley dev study sequential` runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ...figures.formatting import Found, Line
from ...figures.result_kinds import Files, Kept
from ...figures.stats import lead_bounds
from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seating import seatings
from ...matches.seeding import Space, roots
from ...matches.until import stops
from ..runner import Progress, finds, quiet
from . import peeking
from .peeking import Law

_PLAYED, _SEED = 4096, 0
"""Deals of a game that simulations draw from, and the seed of all."""
_PEEKED = 2000
"""Deals of a run in which somebody looks again and again."""
_FIXED, _MOST = 2000, 3000
"""Deals of the fixed test that gates had, and the most of the sequential one that they have."""
_FOUND = 4.652 / _FIXED**0.5
"""The mean lead, in standard deviations, that the fixed test finds 99 times in a hundred."""


def _share(found: dict[str, float], digits: int = 1) -> str:
    low, high = (f"{100 * found[name]:.{digits}f}" for name in ("low", "high"))
    return f"{100 * found['mean']:.{digits}f} % ({low} to {high})"


def _coverage(files: Files) -> Iterator[Line]:
    """How often intervals hold under constant looking."""
    for one in (one for found in files for one in found["coverage"]):
        yield {
            "drawn from": one["law"],
            "confidence sequence, every look": _share(one["anytime"]),
            "Student's t, every look": _share(one["student"]),
            "Student's t, last look": _share(one["student_at_the_end"]),
            "width, in Student's": f"{one['width_ratio']:.2f}",
        }


def _decided(files: Files) -> Iterator[Line]:
    """When differences are decided."""
    for found in files:
        for one in found["decided"]:
            yield {
                "drawn from": one["law"],
                "lead, in standard deviations": f"{one['effect']:.3f}",
                "deals of a fixed test": f"{one['fixed']:,}",
                "until decided, median": _deals(one["median"], found),
                "nine in ten": _deals(one["nine_in_ten"], found),
            }


def _deals(number: int | None, found: Any) -> str:
    return f"over {found['most_until']:,}" if number is None else f"{number:,}"


def _gates(files: Files) -> Iterator[Line]:
    """How often gates pass, and on how many deals."""
    for found in files:
        for one in found["gates"]:
            yield {
                "drawn from": one["law"],
                "lead, in standard deviations": f"{one['effect']:.3f}",
                "fixed test passes": _share(one["passed_fixed"], 2),
                "sequential test passes": _share(one["passed"], 2),
                "deals, fixed": f"{found['fixed_deals']:,}",
                "deals, sequential": f"{one['deals']:,.0f}",
            }


class SequentialChecks(
    Kept,
    kind="sequential",
    heading="Sequential evaluation",
    tables={"coverage": _coverage, "decided": _decided, "gates": _gates},
):
    """Simulations of sequential evaluation and of gates."""

    @property
    def title(self) -> str:
        """What is simulated."""
        return f"{self.found['runs']:,} runs of looking after every deal"


@finds(SequentialChecks)
def sequential_checks(games: Sequence[Game], *, runs: int, progress: Progress = quiet) -> Found:
    """Let each game's policy play its best bot, and simulate `runs` runs of deals drawn from theirs and from invented
    ones, each for coverage, for decisions and for gates."""
    found: dict[str, list[dict[str, Any]]] = {"coverage": [], "decided": [], "gates": []}
    most_until = 20_000
    steps: list[Game | Law] = [*games, *invented()]
    for number, step in enumerate(steps):
        progress(number, len(steps), step.name)
        law = step if isinstance(step, Law) else measured(step)
        found["coverage"].append(peeking.coverage(law, runs, _PEEKED, _SEED))
        if law.measured:
            found["decided"].append(peeking.decided(law, runs // 4, stops(most_until), _SEED))
        found["gates"] += [
            peeking.gates(law, effect, runs, _MOST, _FIXED, _SEED) for effect in (0.0, _FOUND, *_own(law))
        ]
    about = {"runs": runs, "most_until": most_until, "fixed_deals": _FIXED, "most_deals": _MOST, "peeked": _PEEKED}
    return about | found


def _own(law: Law) -> tuple[float, ...]:
    """The lead of a measured law, where it is greater than the one above."""
    return (law.effect,) if law.measured and law.effect > 1.5 * _FOUND else ()


def measured(game: Game) -> Law:
    """Return the leads of a game's policy over its best bot, deal by deal."""
    sample = Sample(seatings(game, 2))
    pair = [agent_of(spec, game) for spec in ("policy", "bot")]
    keys = roots(Space.EVALUATION, _SEED)
    play(Deals([LineUp(game, pair, sample.seatings, keys)], cores()), [sample], [_PLAYED], lambda part: None)
    first, second = (sample.of_agent(number, sample.returns).mean(1) for number in range(2))
    return Law(f"{game.title}, policy less `{pair[1].name}`", first - second, lead_bounds(game.reward_range), True)


def invented() -> list[Law]:
    """Return laws that are hard for intervals, each with a mean of 0."""
    return [
        Law("A fair coin, +1 or -1", np.array([1.0, -1.0]), (-1, 1)),
        Law("+1 once in 200, else -1/199", np.array([1.0] + [-1 / 199] * 199), (-1, 1)),
        Law("-1 once in 100, else +1/99", np.array([-1.0] + [1 / 99] * 99), (-1, 1)),
        Law("Tiny: ±0.01, of ±1", np.array([0.01, -0.01]), (-1, 1)),
    ]
