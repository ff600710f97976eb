"""Charts of runs and of files of results: learning curves in one chart, and the charts of each kind of result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backalley.console.errors import InvalidValue

from ..figures.axes import counted, minutes, percent
from ..figures.charts import EVEN, Chart, Lines, Mark, axes_of, chance
from ..figures.formatting import Found, bound, with_options
from ..figures.result_kinds import KINDS
from .curves import ACROSS, MEASURES, LearningCurve
from .sources import Source, all_sources, groups, whole

_WORDS = {"win_share": "wins", "mean_return": "mean return", "lead": "lead in mean return"}


def curves(
    given: Sequence[LearningCurve], measure: str | None = None, across: str = "seconds", *, log: bool = False
) -> list[Chart]:
    """Return charts of learning curves: those of one game under the same options against the same opponent share a
    chart.

    `measure` is one of `curves.MEASURES`; None takes wins, and the lead where seats play alone. `across` is one of
    `curves.ACROSS`; `log` makes it logarithmic. Raises ValueError for other values, and for a curve without them.
    """
    for name, one, allowed in (("measure", measure, (None, *MEASURES)), ("across", across, ACROSS)):
        if one not in allowed:
            raise InvalidValue(f"{name} is {one!r}; it is one of {', '.join(word for word in allowed if word)}.")
    groups: dict[tuple[str, str, str], list[LearningCurve]] = {}
    for curve in given:
        groups.setdefault((curve.game, repr(sorted(curve.options.items())), curve.opponent), []).append(curve)
    return [_curves(group, measure, across, log) for group in groups.values()]


def _curves(group: Sequence[LearningCurve], measure: str | None, across: str, log: bool) -> Chart:
    first = group[0]
    game = bound(first.found())
    shown = measure or ("lead" if game and game.num_sides == 1 else "win_share")
    lines = [(curve.name, curve.series(shown, across)) for curve in group]
    all_x = [x for _, points in lines for x, _ in points]
    if log and min(all_x) <= 0:
        raise InvalidValue(f"{across} begins at {min(all_x):g} in a curve; powers (log) begin above 0.")
    divided, unit = minutes(all_x) if across.endswith("seconds") else counted(all_x)
    unit += {"seconds": " of training", "processor_seconds": " of processor time"}.get(across, across)
    lines = [(name, [(x / divided, one) for x, one in points]) for name, points in lines]
    mark: Mark | None = EVEN
    if shown == "win_share":
        mark = chance(1, game.num_sides) if game else None
    return Lines(
        f"{with_options(first.found())}: {_WORDS[shown]} against {first.opponent}",
        f"Learning curve; the band is the 95 % interval{_deals(group)}.{_short(group)}",
        unit,
        lines,
        axes_of(lines, mark, log, percent if shown == "win_share" else None),
        mark,
    )


def _short(group: Sequence[LearningCurve]) -> str:
    """What is said where no curve has two points to draw a line between."""
    if max(len(curve.points) for curve in group) > 1:
        return ""
    return " It is one point: the run ended before the next (its setting curve_every is the seconds between them)."


def _deals(group: Sequence[LearningCurve]) -> str:
    known = sorted({curve.deals for curve in group if curve.deals})
    return f" over {' or '.join(f'{deals:,}' for deals in known)} deals" if known else " over deals"


def of_results(files: Sequence[Found]) -> list[Chart]:
    """Return the charts of files of one kind that go together; none for a kind that has none."""
    return list(KINDS[files[0]["kind"]].charts(files))


def summary(paths: Sequence[Path]) -> Chart:
    """Return the one chart of many files of a kind."""
    found = [one.found for one in all_sources(paths)]
    return KINDS[found[0]["kind"]].summary(found)


def drawn(
    given: Sequence[Source], measure: str | None = None, across: str = "seconds", *, log: bool = False
) -> list[Chart]:
    """Return all charts of these sources, learning curves first (see `curves`). Raises ValueError for a kind that has
    no chart, and for a file with missing entries."""
    made = curves([source.curve for source in given if source.curve], measure, across, log=log)
    for group in groups([source for source in given if not source.curve]):
        with whole(group):
            found = of_results([source.found for source in group])
        if not found:
            drawable = [name for name, kind in sorted(KINDS.items()) if "charts" in vars(kind)]
            raise InvalidValue(
                f"{group[0].path} is of the kind {group[0].found['kind']!r}, which has no chart; there are charts of "
                f"learning curves and of the kinds {', '.join(drawable)}."
            )
        made += found
    return made
