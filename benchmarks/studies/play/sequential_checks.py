"""How sequential evaluation and the gates of training keep their promises, by simulation on the deals of real games and
on hard inventions: do intervals hold where people look at deals again and again, when is a difference decided, and how
often and how soon does a gate pass? Deals are drawn with replacement, so their true mean is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ...figures import stats
from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ...figures.stats import COVERAGE, Estimate, Floats, lead_bounds
from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seeding import Space, roots
from ...matches.until import stops
from ...sequential import lead_test
from ...sequential.confidence_sequence import BETS, FEW, anytime_interval, growth, mixed
from ..runner import Progress, count, quiet, study

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
        found["coverage"].append(coverage(law, runs, _PEEKED, _SEED))
        if law.measured:
            found["decided"].append(decided(law, runs // 4, stops(most_until), _SEED))
        found["gates"] += [gates(law, effect, runs, _MOST, _FIXED, _SEED) for effect in (0.0, _FOUND, *_own(law))]
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


# Simulations ----------------------------------------------------------------------------------------------------------


_CHUNK = 50
"""Runs that are simulated at once, for the sake of memory."""
_FIRST_LOOK = 10
"""Deals before anybody looks at Student's interval: it needs some to be an interval at all."""
_REACHED = math.log(2 / (1 - COVERAGE))


class Law(NamedTuple):
    """What the deals of a simulation are drawn from."""

    name: str
    values: Floats
    """[V] equally likely"""
    bounds: tuple[float, float]
    """Those that are declared of a value."""
    measured: bool = False
    """Whether they were played, and have a lead of their own."""

    @property
    def effect(self) -> float:
        """The mean in standard deviations."""
        return float(self.values.mean() / self.values.std())

    def shifted(self, effect: float) -> Floats:
        """Return the values [V] moved so that their mean is so many standard deviations."""
        moved: Floats = self.values - self.values.mean() + effect * self.values.std()
        return moved


def share(times: int, runs: int) -> dict[str, float]:
    """Return how often something happened, with its 95 % interval (Clopper and Pearson)."""
    return Estimate(times / runs, *stats.clopper_pearson(float(times), float(runs))).to_json()


def coverage(law: Law, runs: int, deals: int, seed: int) -> dict[str, Any]:
    """Return in how many runs an interval held the mean at every look of one who looks after each of 256 deals and then
    after every eighth: of the confidence sequence, and of Student's t from the tenth deal on; and Student's at the last
    deal alone."""
    peeks = np.array([*range(1, min(FEW, deals) + 1), *range(FEW + 8, deals + 1, 8)])
    held, student, student_end, widths = 0, 0, 0, list[float]()
    for values in _drawn(law.values, runs, deals, seed):
        low, high = law.bounds
        shares, mean = (values - low) / (high - low), float((law.values.mean() - low) / (high - low))
        above = log_wealth(shares, mean, peeks) >= _REACHED
        below = log_wealth(1 - shares, 1 - mean, peeks) >= _REACHED
        held += int((~(above | below).any(1)).sum())
        reached = _student_misses(values, float(law.values.mean()), peeks)
        student += int((~reached.any(1)).sum())
        student_end += int((~reached[:, -1]).sum())
        if len(widths) < 20:
            widths += [anytime_interval(one, law.bounds).half_width / _student(one) for one in values[:5]]
    return {
        "law": law.name,
        "anytime": share(held, runs),
        "student": share(student, runs),
        "student_at_the_end": share(student_end, runs),
        "width_ratio": float(np.mean(widths)),
    }


def decided(law: Law, runs: int, stops: Sequence[int], seed: int) -> dict[str, Any]:
    """Return after how many deals the confidence sequence has found that the mean is not 0, of those it looks at."""
    low, high = law.bounds
    values, zero = (law.values, -low) if law.values.mean() > 0 else (-law.values, high)
    shift = zero / (high - low)
    ends = list[float]()
    for drawn in _drawn(values, runs, stops[-1], seed):
        reached = log_wealth(drawn / (high - low) + shift, shift, np.array(stops)) >= _REACHED
        ends += np.where(reached.any(1), np.array(stops)[reached.argmax(1)], np.inf).tolist()
    middle, most = np.quantile(ends, (0.5, 0.9), method="inverted_cdf")
    return {
        "law": law.name,
        "effect": abs(law.effect),
        "fixed": math.ceil((stats.t_critical(10**9) + stats.t_critical(10**9, 0.9)) ** 2 / law.effect**2),
        "median": None if math.isinf(middle) else int(middle),
        "nine_in_ten": None if math.isinf(most) else int(most),
    }


def gates(law: Law, effect: float, runs: int, most: int, fixed: int, seed: int) -> dict[str, Any]:
    """Return how often the sequential test over at most `most` deals passes, and a test over `fixed` deals, and how
    many deals the former takes, for leads of the law moved to a mean of `effect` standard deviations."""
    passed, passed_fixed, played = 0, 0, list[int]()
    looks = lead_test.looks(most)
    for drawn in _drawn(law.shifted(effect), runs, most, seed):
        for leads in drawn:
            deals, found = next(
                (deals, found) for deals in looks if (found := lead_test.look(leads[:deals], most)).ended
            )
            passed += found.passed
            played.append(deals)
            passed_fixed += bool(leads[:fixed].mean() > _student(leads[:fixed], 2 * lead_test.CONFIDENCE - 1))
    return {
        "law": law.name,
        "effect": effect,
        "passed": share(passed, runs),
        "passed_fixed": share(passed_fixed, runs),
        "deals": float(np.mean(played)),
    }


def log_wealth(shares: Floats, mean: float, peeks: npt.NDArray[np.int64]) -> Floats:
    """Return the gambler's log wealth against a mean after so many deals, as `anytime_interval` reckons it: [R, P] from
    shares [R, D] in 0..1 and peeks [P] in ascending order."""
    early = np.log1p((BETS / mean)[:, None, None] * (shares[:, :FEW] - mean)).cumsum(2)
    sums, power = [], np.ones_like(shares)
    for _ in range(4):
        power = power * (shares - mean)
        sums.append(power.cumsum(1)[:, peeks[peeks > FEW] - 1])
    return np.concatenate([mixed(early[:, :, peeks[peeks <= FEW] - 1]), mixed(growth(sums, mean))], 1)


def _drawn(values: Floats, runs: int, deals: int, seed: int) -> Iterator[Floats]:
    """Chunks [R, D] of the deals of all runs."""
    random = np.random.default_rng(seed)
    for begun in range(0, runs, _CHUNK):
        yield values[random.integers(len(values), size=(min(_CHUNK, runs - begun), deals))]


def _student(values: Floats, confidence: float = COVERAGE) -> float:
    """Half the width of Student's interval."""
    return stats.t_critical(len(values) - 1, confidence) * float(values.std(ddof=1)) / math.sqrt(len(values))


def _student_misses(values: Floats, mean: float, peeks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether Student's interval misses the mean [R, P], by the deals so far."""
    peeks = peeks[peeks >= _FIRST_LOOK]
    apart = values - mean
    total, squares = (np.cumsum(apart**power, 1)[:, peeks - 1] for power in (1, 2))
    spread = np.sqrt(np.maximum(squares - total**2 / peeks, 0) / (peeks - 1))
    critical = np.array([stats.t_critical(int(count) - 1) for count in peeks])
    missed: npt.NDArray[np.bool_] = np.abs(total / peeks) > critical * spread / np.sqrt(peeks) + 1e-12
    return missed
