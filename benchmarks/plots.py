"""What files of results look like as charts, by their kinds; learning curves over one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .axes import Axis, counted, linear, logarithmic, minutes, percent
from .cells import Found, bound, title
from .charts import Chart, Dots, Lines, Mark, dots
from .comparison import value
from .curves import ACROSS, MEASURES, LearningCurve
from .report import options_text
from .sources import Source, groups, in_pairs, whole
from .standing import met
from .stats import Estimate

_WORDS = {"win_share": "wins", "mean_return": "mean return", "lead": "lead in mean return"}
_EVEN = Mark(0.0, "even")


def curves(
    given: Sequence[LearningCurve], measure: str | None = None, across: str = "seconds", *, log: bool = False
) -> list[Chart]:
    """Learning curves, those of one game under the same options against the same opponent in one chart.

    `measure` is one of `curves.MEASURES`; None takes wins, and the lead where seats play alone. `across` is one of
    `curves.ACROSS`; `log` spaces it by powers. Raises ValueError in a sentence for what is none of these, and for a
    curve that lacks them.
    """
    for name, one, allowed in (("measure", measure, (None, *MEASURES)), ("across", across, ACROSS)):
        if one not in allowed:
            raise ValueError(f"{name} is {one!r}; it is one of {', '.join(word for word in allowed if word)}.")
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
        raise ValueError(f"{across} begins at {min(all_x):g} in a curve; powers (log) begin above 0.")
    divided, unit = minutes(all_x) if across.endswith("seconds") else counted(all_x)
    unit += {"seconds": " of training", "processor_seconds": " of processor time"}.get(across, across)
    lines = [(name, [(x / divided, one) for x, one in points]) for name, points in lines]
    mark: Mark | None = _EVEN
    if shown == "win_share":
        mark = _chance(1, game.num_sides) if game else None
    return Lines(
        f"{title(first.found())}{_options(first.found())}: {_WORDS[shown]} against {first.opponent}",
        f"Learning curve; the band is the 95 % interval{_deals(group)}.",
        unit,
        lines,
        _axes(lines, mark, log, share=shown == "win_share"),
        mark,
    )


def _chance(whole: float, sides: int) -> Mark:
    """What equal players win, where all wins are `whole`."""
    return Mark(whole / sides, f"chance, {100 / sides:.3g} %")


def _axes(
    lines: Sequence[tuple[str, Sequence[tuple[float, Estimate]]]], mark: Mark | None, log: bool, *, share: bool = False
) -> tuple[Axis, Axis]:
    all_x = [x for _, points in lines for x, _ in points]
    ends = [value for _, points in lines for _, one in points for value in one] + ([mark.value] if mark else [])
    upward = linear(ends, percent if share else None)
    return (logarithmic(all_x) if log else linear([0.0, *all_x])), upward


def _deals(group: Sequence[LearningCurve]) -> str:
    known = sorted({curve.deals for curve in group if curve.deals})
    return f" over {' or '.join(f'{deals:,}' for deals in known)} deals" if known else " over deals"


def _options(found: Found) -> str:
    game = bound(found)
    return options_text(game.changed_options) if game else ""


def _span(numbers: Iterable[int]) -> str:
    """Numbers of deals, in words."""
    found = sorted(numbers)
    least, most = found[0], found[-1]
    return f"{least:,} to {most:,} deals" if least < most else f"{least:,} deals"


def matches(files: Sequence[Found]) -> Iterator[Dots]:
    """Evaluations of one game under the same options: mean returns, and wins where there is somebody to beat. Of two
    agents the first is shown against the second; of more, and where seats play alone, each for itself."""
    first = files[0]
    sides, pairs = len(set(first["sides"])), all(map(in_pairs, files))
    shown: list[tuple[str, Found]] = []
    for found in files:
        one, *others = found["agents"]
        against = f" against {others[0]['name']}" if pairs else ""
        shown += [(one["name"] + against, one)] if pairs else [(agent["name"], agent) for agent in found["agents"]]
    about = f"{_span(found['deals'] for found in files)}, each in every seating; lines are 95 % intervals."
    rows = [(name, Estimate(**one["mean_return"])) for name, one in shown]
    yield dots(f"{title(first)}{_options(first)}: mean return", about, "mean return", rows, _EVEN)
    if sides > 1:
        rows = [(name, Estimate(**one["win_share"]).percent) for name, one in shown]
        yield dots(f"{title(first)}{_options(first)}: wins", about, "wins, %", rows, _chance(100, sides))


def _ratings(found: Found) -> Iterator[Dots]:
    agents = sorted(found["agents"], key=lambda one: -one["rating"]["mean"])
    rows = [(one["label"], Estimate(**one["rating"])) for one in agents]
    anchor = Mark(found["anchor"]["rating"], "the anchor")
    about = f"Every pairing on the same {found['deals']:,} deals; lines are 95 % intervals."
    yield dots(f"{title(found)}{_options(found)}: Elo", about, "Elo", rows, anchor)


def _ladder(found: Found) -> Iterator[Dots]:
    for table in found["tables"]:
        best, what = table["against"], "lead" if table["sides"] == 1 else "mean_return"
        measured = [row for row in table["rows"] if row.get(what) and row["label"] not in ("random", best)]
        if measured:
            rows = [(_rung(row, best), Estimate(**row[what])) for row in measured]
            about = f"{_span(row['deals'] for row in measured)}; lines are 95 % intervals. Random play is left out."
            unit = f"mean return less that of {best}" if what == "lead" else "mean return"
            yield dots(f"{title(found)}{options_text(table['options'])}: against {best}", about, unit, rows, _EVEN)


def _rung(row: Found, best: str) -> str:
    return f"{row['label']} (met it in training)" if met(row, best) else str(row["label"])


def _methods(found: Found) -> Iterator[Dots]:
    for bot in found["against"]:
        rows = [
            (f"{row['method']}, seed {row['training_seed']}" if "training_seed" in row else row["method"], gain)
            for row in found["rows"]
            if bot in row["against"]
            for gain in [value(row, bot)]
        ]
        about = f"{found['processor_seconds']:g} s of processor time each, {found['deals']:,} deals; 95 % intervals."
        alone = any("lead" in row["against"].get(bot, ()) for row in found["rows"])
        unit = f"mean return less that of {bot}" if alone else "mean return"
        yield dots(f"{title(found)}: ways to train, against {bot}", about, unit, rows, _EVEN)


def _searches(found: Found) -> Iterator[Lines]:
    """Strength against cost: a point for each agent, and a line through one kind of search. Where seats play alone,
    strength is what they gain more than the best bot on the same decks."""
    kinds: dict[str, list[tuple[float, Estimate]]] = {}
    alone = found["sides"] == 1
    what, shown = ("lead", f"Mean return less that of {found['best']}") if alone else ("mean_return", "Mean return")
    for row in found["rows"]:
        if row["against"] == ("" if alone else found["best"]) and "milliseconds" in row:
            name = row["agent"].partition(":")[0]
            kinds.setdefault(name, []).append((row["milliseconds"], Estimate(**row[what])))
    lines = [(name, sorted(points)) for name, points in kinds.items()]
    if not lines:
        return
    deals = max(row["deals"] for row in found["rows"])
    yield Lines(
        f"{title(found)}{_options(found)}: search {'beside' if alone else 'against'} {found['best']}",
        f"{shown} by what a decision costs; bands are 95 % intervals over {deals:,} deals at most.",
        "milliseconds of processor time for a decision with a choice",
        lines,
        _axes(lines, _EVEN, True),
        _EVEN,
    )


def _gaps(found: Found) -> Iterator[Dots]:
    rows = [(one["name"], Estimate(*[one["gap"]] * 3)) for one in found["agents"]]
    about = "Mean return that each agent falls short of best play, by enumeration."
    yield dots(f"{title(found)}{_options(found)}: gap to best play", about, "gap", rows, Mark(0.0, "best play"))


def _losses(found: Found) -> Iterator[Dots]:
    rows = [(one["name"], Estimate(*[one["mean_loss"]] * 3)) for one in found["agents"]]
    about = "Mean return that each agent loses, seat by seat, to whoever knows it; exact."
    head = f"{title(found)}{_options(found)}: loss to best replies"
    yield dots(head, about, "loss", rows, Mark(0.0, "an equilibrium"))


KINDS: dict[str, Callable[[Any], Iterator[Chart]]] = {
    "tournament": _ratings,
    "cross": _ratings,
    "ladder": _ladder,
    "methods": _methods,
    "searches": _searches,
    "agent_values": _gaps,
    "exploitability": _losses,
}
"""Charts by the kind of a file, but for evaluations, which share one; other kinds have none."""


def of_results(files: Sequence[Found]) -> list[Chart]:
    """The charts of files of one kind and game; none for a kind that has none."""
    kind = files[0]["kind"]
    if kind == "evaluation":
        return list(matches(files))
    return [chart for found in files for chart in KINDS[kind](found)] if kind in KINDS else []


def drawn(
    given: Sequence[Source], measure: str | None = None, across: str = "seconds", *, log: bool = False
) -> list[Chart]:
    """All charts of these sources, learning curves first (see `curves`). Raises ValueError in a sentence for a kind
    that has no chart, and for a file that lacks what its kind has."""
    made = curves([source.curve for source in given if source.curve], measure, across, log=log)
    for group in groups([source for source in given if not source.curve]):
        with whole(group):
            found = of_results([source.found for source in group])
        if not found:
            raise ValueError(
                f"{group[0].path} is of the kind {group[0].found['kind']!r}, which has no chart; there are charts of "
                f"learning curves, evaluations, {', '.join(KINDS)}."
            )
        made += found
    return made
