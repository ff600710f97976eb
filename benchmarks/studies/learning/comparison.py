"""Tables and charts of training methods over several seeds; `training_comparison.py` measures them.

A method has a row for each seed and a row for their mean. Two methods differ significantly only if the difference of
their means is greater than the randomness of seeds and deals explains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...figures.charts import EVEN, Dots, dots
from ...figures.formatting import Found, Line, changed, decimals, signed, title
from ...figures.result_kinds import Files, Kept, again
from ...figures.stats import Estimate, t_critical

FIRST = "default"
"""The game's own method, the baseline of the others."""


def rows_of(found: Found, method: str) -> list[Found]:
    """Return the rows of a method, in the order of their seeds."""
    rows = [row for row in found["rows"] if row["method"] == method]
    return sorted(rows, key=lambda row: row.get("training_seed", 0))


def lead(rows: Sequence[Found], over: Sequence[Found], against: str) -> Estimate | None:
    """Return by how much the mean return against a bot is greater in some rows than in others, with its 95 % interval;
    None if there is only a single training seed."""
    sides = [[value(row, against) for row in side] for side in (rows, over)]
    if any(
        len(side) < 2 and "training_seed" in side_rows[0] for side, side_rows in zip(sides, (rows, over), strict=True)
    ):
        return None
    means = [np.array([one.mean for one in side]) for side in sides]
    spreads = [float(side.var(ddof=1)) / len(side) if len(side) > 1 else 0.0 for side in means]
    # Policies of one method may share the luck of these deals, so their intervals do not shrink with the seeds.
    variance = sum(float(np.mean([one.half_width for one in side])) ** 2 for side in sides)
    if sum(spreads):
        parts = sum(part**2 / (len(side) - 1) for part, side in zip(spreads, means, strict=True) if part)
        freedom = max(1, math.floor(sum(spreads) ** 2 / parts + 1e-9))
        variance += t_critical(freedom) ** 2 * sum(spreads)
    mean, reach = float(means[0].mean() - means[1].mean()), math.sqrt(variance)
    return Estimate(mean, mean - reach, mean + reach)


def value(row: Found, against: str) -> Estimate:
    """Return a row's mean return against a bot or, where each plays alone, its lead over the bot's."""
    played = row["against"][against]
    return Estimate(**played.get("lead", played["mean_return"]))


def _by_method(found: Found) -> dict[str, list[Found]]:
    """The rows of each method."""
    return {name: rows_of(found, name) for name in dict.fromkeys(row["method"] for row in found["rows"])}


def _line(found: Found, rows: Sequence[Found]) -> Line:
    """One run, or the mean of the runs of a method, or an untrained player."""
    trained, one = "training_seed" in rows[0], len(rows) == 1
    seed = f"{rows[0]['training_seed']}" if trained and one else f"mean of {len(rows)}" if trained else "untrained"
    line = {"method": f"`{rows[0]['method']}`", "seed": seed}
    for bot in found["against"]:
        if bot in rows[0]["against"]:
            shares, gains = zip(*((_share(row, bot), value(row, bot)) for row in rows), strict=True)
            line[f"wins against `{bot}`"] = f"{_spread(shares, 2, '')} %"
            line[f"return against `{bot}`"] = _spread(gains, decimals(gains), "+")
    gated = [row["gate"]["passed"] for row in rows if "gate" in row]
    if gated:
        shown = f"passed by {sum(gated)} of {len(gated)}"
        line["gate"] = ("passed" if gated[0] else "refused") if one and trained else shown
    return line | ({"processor seconds": f"{rows[0]['processor_seconds']:.0f}"} if one and trained else {})


def _share(row: Found, bot: str) -> Estimate:
    return Estimate(**row["against"][bot]["win_share"]).percent


def _spread(values: Sequence[Estimate], digits: int, plus: str) -> str:
    """The mean with the standard deviation of the seeds; for a single one, its interval."""
    means = np.array([one.mean for one in values])
    shown = signed(float(means.mean()), digits) if plus else f"{float(means.mean()):.{digits}f}"
    if len(values) == 1:
        return f"{shown} {values[0].spread(digits, plus)}"
    return f"{shown} ({float(means.std(ddof=1)):.{digits}f})"


def _mean(found: Found, rows: Sequence[Found]) -> Line:
    """The mean of a method's runs, and what it is less than that of the game's own method."""
    line, best, first = _line(found, rows), found["against"][0], rows_of(found, FIRST)
    if rows[0]["method"] != FIRST and first and best in rows[0]["against"]:
        difference = lead(rows, first, best)
        line[f"less `{FIRST}`"] = "one seed only" if difference is None else _difference(difference)
    return line


def _difference(difference: Estimate) -> str:
    digits = decimals([difference])
    shown = f"{signed(difference.mean, digits)} ± {difference.half_width:.{digits}f}"
    return f"{shown}, not significant" if difference.low <= 0 <= difference.high else shown


def _methods(files: Files) -> Iterator[Line]:
    """Every run, and the means."""
    for found in files:
        for rows in _by_method(found).values():
            for row in rows if len(rows) > 1 else ():
                yield {"options": changed(found["options"]), **_line(found, [row])}
            yield {"options": changed(found["options"]), **_mean(found, rows)}


def _means(files: Files) -> Iterator[Line]:
    """Only the means, of several games, in columns that do not name bots."""
    for found in files:
        names = dict(zip(found["against"], ("the best bot", "the next best"), strict=False))
        for rows in _by_method(found).values():
            line = _mean(found, rows)
            for bot, words in names.items():
                line = {column.replace(f"`{bot}`", words): cell for column, cell in line.items()}
            yield {"game": title(found), **line}


def _beginnings(files: Files) -> str:
    """The results of training from the best bot, and from random weights, in a sentence."""
    (found,) = files
    best = found["against"][0]

    def wins(method: str) -> str:
        return f"{float(np.mean(_shares(found)[method])):.1f} %"

    runs, seconds = len(rows_of(found, FIRST)), f"{found['processor_seconds']:g}"
    ways = {"rollouts": "by rollouts of its own play", "ppo": "by PPO"}
    alone = [f"{wins(name)} {words} (`{name}`)" for name, words in ways.items() if rows_of(found, name)]
    return (
        f"Learning from nothing is harder. After {seconds} s of processor time (mean of {runs} runs), a policy that "
        f"starts from `{best}` wins {wins(FIRST)} against that bot, and one that starts from nothing wins "
        f"{' or '.join(alone)}. A plain network that learns from the bot's rollouts but does not see the bot's action "
        f"(`advantages`) wins {wins('advantages')}. Measured by `{again(found)}`."
    )


def _shares(found: Found) -> dict[str, list[float]]:
    """The shares of wins of every trained method against the best bot, one for each seed, in hundredths."""
    methods = _by_method(found).items()
    best = found["against"][0]
    return {name: [_share(row, best).mean for row in rows] for name, rows in methods if "training_seed" in rows[0]}


def _learned(files: Files) -> Iterator[Line]:
    """The wins against the best bot in every game, as the mean of the seeds."""
    for found in files:
        shares = {f"`{name}`": f"{float(np.mean(wins)):.1f} %" for name, wins in _shares(found).items()}
        yield {"game": title(found), "best bot": f"`{found['against'][0]}`", **shares}


class Comparison(
    Kept,
    kind="methods",
    heading="Methods of training",
    tables={"methods": _methods, "methods_means": _means, "beginnings": _beginnings, "learned": _learned},
):
    """Training methods beside each other."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Notes for readers, in sentences."""
        budgets = sorted({f"{found['processor_seconds']:g}" for found in files}, key=float)
        deals = sorted({found["deals"] for found in files})
        said = [
            f"Each run had {' or '.join(budgets)} s of processor time, all cores together, and its policy played "
            f"{' or '.join(f'{number:,}' for number in deals)} deals against each bot, the same for all. ± is the "
            "95 % interval over deals; of a mean, the standard deviation of the seeds is in brackets. A difference "
            "has the 95 % interval over seeds (Welch) and deals together, and is not significant where that holds 0."
        ]
        if any("gate" in row and not row["gate"]["passed"] for found in files for row in found["rows"]):
            said.append(
                "A policy that the gate refuses is played here all the same; `backalley train` would leave the bot in "
                "its place."
            )
        return said

    brief = frozenset({"learned"})

    @classmethod
    def summary(cls, files: Files) -> Dots:
        """Wins against the best bot of every game, method by method."""
        rows = [
            (f"{title(found)}: {name}", Estimate(float(np.mean(wins)), min(wins), max(wins)))
            for found in files
            for name, wins in _shares(found).items()
        ]
        budgets = " or ".join(sorted({f"{found['processor_seconds']:g}" for found in files}, key=float))
        about = (
            f"Means over training seeds of {budgets} s of processor time each; lines reach from the worst to the best."
        )
        return dots("Methods of training: wins against the best bot", about, "wins, %", rows)

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """Every run against each bot."""
        for found in files:
            for bot in found["against"]:
                rows = [
                    (f"{row['method']}, seed {row['training_seed']}" if "training_seed" in row else row["method"], gain)
                    for row in found["rows"]
                    if bot in row["against"]
                    for gain in [value(row, bot)]
                ]
                spent = f"{found['processor_seconds']:g} s of processor time each"
                about = f"{spent}, {found['deals']:,} deals; 95 % intervals."
                alone = any("lead" in row["against"].get(bot, ()) for row in found["rows"])
                unit = f"mean return less that of {bot}" if alone else "mean return"
                yield dots(f"{title(found)}: methods of training, against {bot}", about, unit, rows, EVEN)
