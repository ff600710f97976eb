"""How sequential evaluation and the gates of training keep their promises, by simulation on the deals of real games and
on hard inventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np

from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ...figures.stats import lead_bounds
from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seeding import Space, roots
from ...matches.until import stops
from ..runner import Progress, count, quiet, study
from . import peeking
from .peeking import Law

_SAMPLED = ("pitch", "poker_duel", "killer_bridge", "missouri_city", "bezique")
"""The games from whose deals simulations draw."""
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


def _shares(name: str, digits: int = 1) -> Callable[[Found], str]:
    return lambda one: _share(one[name], digits)


def _deals(name: str) -> Callable[[Found], str]:
    return lambda one: f"over {one['most_until']:,}" if one[name] is None else f"{one[name]:,}"


_COVERAGE: Columns = {
    "drawn from": "{law}",
    "confidence sequence, every look": _shares("anytime"),
    "Student's t, every look": _shares("student"),
    "Student's t, last look": _shares("student_at_the_end"),
    "width, in Student's": "{width_ratio:.2f}",
}
_DECIDED: Columns = {
    "drawn from": "{law}",
    "lead, in standard deviations": "{effect:.3f}",
    "deals of a fixed test": "{fixed:,}",
    "until decided, median": _deals("median"),
    "nine in ten": _deals("nine_in_ten"),
}
_GATES: Columns = {
    "drawn from": "{law}",
    "lead, in standard deviations": "{effect:.3f}",
    "fixed test passes": _shares("passed_fixed", 2),
    "sequential test passes": _shares("passed", 2),
    "deals, fixed": "{fixed_deals:,}",
    "deals, sequential": "{deals:,.0f}",
}


class SequentialChecks(
    Kept,
    kind="sequential",
    heading="Sequential evaluation",
    tables={
        "coverage": lines(_COVERAGE, "coverage"),
        "decided": lines(_DECIDED, "decided"),
        "gates": lines(_GATES, "gates"),
    },
):
    """Simulations of sequential evaluation and of gates."""

    @property
    def title(self) -> str:
        """What is simulated."""
        return f"{self.found['runs']:,} runs of looking after every deal"


@study(
    "sequential",
    SequentialChecks,
    click.argument("games", nargs=-1, callback=lambda ctx, parameter, given: given or _SAMPLED),
    count("--runs", 2000, "Simulated runs of each kind.", 50),
)
def sequential_checks(games: Sequence[Game], *, runs: int, progress: Progress = quiet) -> Found:
    """Simulate sequential evaluation and gates on deals of GAMES, by default some, and on invented ones: coverage under
    constant looking, error rates, and the deals that they take.

    Each game's policy plays its best bot; the runs draw deals from theirs.
    """
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
    pair = [agent_of(spec, game) for spec in ("policy", "bot")]
    line_up = LineUp(game, pair, roots(Space.EVALUATION, _SEED))
    sample = Sample(line_up.seatings)
    play(Deals([line_up], cores()), [sample], [_PLAYED], lambda part: None)
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
