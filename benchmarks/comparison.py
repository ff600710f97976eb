"""Ways to train beside each other over several training seeds, as pages and terminals show them; `training/methods.py`
measures them.

Of a way to train there is a row for each seed and a row for their mean. Two ways are told apart only where their means
lie further apart than chance puts them: that of the seeds, and that of the deals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .cells import Found, Line, changed, signed, title
from .report import decimals
from .stats import Estimate, t_critical

FIRST = "default"
"""The game's own way to train, which the others are held against."""


def methods(files: Sequence[Found]) -> Iterator[Line]:
    """Every run, and the means."""
    for found in files:
        for name in _names(found):
            rows = rows_of(found, name)
            for row in rows if len(rows) > 1 else ():
                yield {"options": changed(found["options"]), **_run(found, row)}
            yield {"options": changed(found["options"]), **_mean(found, rows)}


def methods_means(files: Sequence[Found]) -> Iterator[Line]:
    """The means alone, of several games, in columns that do not name bots."""
    for found in files:
        names = dict(zip(found["against"], ("the best bot", "the next best"), strict=False))
        for name in _names(found):
            line = _mean(found, rows_of(found, name))
            for bot, words in names.items():
                line = {column.replace(f"`{bot}`", words): cell for column, cell in line.items()}
            yield {"game": title(found), **line}


def beginnings(files: Sequence[Found]) -> str:
    """What comes of beginning from the best bot, and from nothing, in a sentence."""
    (found,) = files
    best = found["against"][0]

    def wins(method: str) -> str:
        shares = [100 * row["against"][best]["win_share"]["mean"] for row in rows_of(found, method)]
        return f"{float(np.mean(shares)):.1f} %"

    runs, seconds = len(rows_of(found, FIRST)), f"{found['processor_seconds']:g}"
    return (
        f"From nothing it is harder. In {seconds} s of processor time, as the mean of {runs} runs, comes a policy that "
        f"wins {wins(FIRST)} against `{best}` where it begins from that bot, and {wins('ppo')} where it begins from "
        f"nothing (`ppo`); {wins('gains')} for a plain network that learns from the same playouts and is not shown "
        f"what the bot would do (`gains`). Measured by `{found['command']}`."
    )


def rows_of(found: Found, method: str) -> list[Found]:
    """The rows of a way to train, in the order of their seeds."""
    rows = [row for row in found["rows"] if row["method"] == method]
    return sorted(rows, key=lambda row: row.get("training_seed", 0))


def notes(files: Sequence[Found]) -> list[str]:
    """What a reader should know, in sentences."""
    budgets = sorted({f"{found['processor_seconds']:g}" for found in files}, key=float)
    deals = sorted({found["deals"] for found in files})
    said = [
        f"Each run had {' or '.join(budgets)} s of processor time, all cores together, and its policy played "
        f"{' or '.join(f'{number:,}' for number in deals)} deals against each bot, the same for all. ± is the 95 % "
        "interval over deals; of a mean, the standard deviation of the seeds stands in brackets. A difference has the "
        "95 % interval over seeds (Welch) and deals together, and is not told apart where that holds 0."
    ]
    if any("gate" in row and not row["gate"]["passed"] for found in files for row in found["rows"]):
        said.append(
            "A policy that the gate refuses is played here all the same; `backalley train` would leave the bot in its "
            "place."
        )
    return said


def lead(rows: Sequence[Found], over: Sequence[Found], against: str) -> Estimate | None:
    """By how much the mean return against a bot is greater in some rows than in others, with its 95 % interval; None
    where a single training seed says nothing of the others."""
    sides = [[value(row, against) for row in side] for side in (rows, over)]
    if any(
        len(side) < 2 and "training_seed" in side_rows[0] for side, side_rows in zip(sides, (rows, over), strict=True)
    ):
        return None
    means = [np.array([one.mean for one in side]) for side in sides]
    spreads = [float(side.var(ddof=1)) / len(side) if len(side) > 1 else 0.0 for side in means]
    # Policies of one way may share what these deals do to them, so their intervals do not shrink with the seeds.
    variance = sum(float(np.mean([one.half_width for one in side])) ** 2 for side in sides)
    if sum(spreads):
        parts = sum(part**2 / (len(side) - 1) for part, side in zip(spreads, means, strict=True) if part)
        freedom = max(1, math.floor(sum(spreads) ** 2 / parts + 1e-9))
        variance += t_critical(freedom) ** 2 * sum(spreads)
    mean, reach = float(means[0].mean() - means[1].mean()), math.sqrt(variance)
    return Estimate(mean, mean - reach, mean + reach)


def value(row: Found, against: str) -> Estimate:
    """What a row gains against a bot: its mean return or, where each plays alone, by how much that is greater."""
    played = row["against"][against]
    return Estimate(**played.get("lead", played["mean_return"]))


def _names(found: Found) -> Iterable[str]:
    return dict.fromkeys(row["method"] for row in found["rows"])


def _run(found: Found, row: Found) -> Line:
    """One run."""
    line = {"way to train": f"`{row['method']}`", "seed": f"{row['training_seed']}"}
    for bot in found["against"]:
        share = Estimate(**row["against"][bot]["win_share"]).percent
        gain = value(row, bot)
        digits = decimals([gain])
        line[f"wins against `{bot}`"] = f"{share.mean:.2f} {share.spread(2)} %"
        line[f"return against `{bot}`"] = f"{signed(gain.mean, digits)} {gain.spread(digits, '+')}"
    return line | _gate(row) | {"processor seconds": f"{row['processor_seconds']:.0f}"}


def _mean(found: Found, rows: Sequence[Found]) -> Line:
    """The mean of the runs of a way to train, or what plays untrained."""
    trained = "training_seed" in rows[0]
    if len(rows) == 1 and trained:
        line = _run(found, rows[0])
    else:
        line = {"way to train": f"`{rows[0]['method']}`", "seed": f"mean of {len(rows)}" if trained else "untrained"}
        for bot in found["against"]:
            if bot not in rows[0]["against"]:
                continue
            shares = [Estimate(**row["against"][bot]["win_share"]).percent for row in rows]
            gains = [value(row, bot) for row in rows]
            digits = decimals(gains)
            line[f"wins against `{bot}`"] = f"{_spread(shares, 2, plus='')} %"
            line[f"return against `{bot}`"] = _spread(gains, digits, plus="+")
        line |= _gates(rows)
    best = found["against"][0]
    first = rows_of(found, FIRST)
    if rows[0]["method"] != FIRST and first and best in rows[0]["against"]:
        difference = lead(rows, first, best)
        line[f"less `{FIRST}`"] = "one seed only" if difference is None else _told(difference)
    return line


def _spread(values: Sequence[Estimate], digits: int, *, plus: str) -> str:
    """The mean, and how far the seeds lie apart; of one, its interval."""
    means = np.array([one.mean for one in values])
    shown = f"{float(means.mean()):{plus}.{digits}f}"
    if len(values) == 1:
        return f"{shown} {values[0].spread(digits, plus)}"
    return f"{shown} ({float(means.std(ddof=1)):.{digits}f})"


def _told(difference: Estimate) -> str:
    digits = decimals([difference])
    shown = f"{signed(difference.mean, digits)} ± {difference.half_width:.{digits}f}"
    return f"{shown}, not told apart" if difference.low <= 0 <= difference.high else shown


def _gate(row: Found) -> Line:
    if "gate" not in row:
        return {}
    return {"gate": "passed" if row["gate"]["passed"] else "refused"}


def _gates(rows: Sequence[Found]) -> Line:
    gated = [row for row in rows if "gate" in row]
    return {"gate": f"passed by {sum(row['gate']['passed'] for row in gated)} of {len(gated)}"} if gated else {}
