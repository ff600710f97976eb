"""The gains and costs of searches: mean returns against the game's best bot, its other bots and its policy, with the
processor time of a decision; all on the same decks.

Searches of fixed numbers of determinizations play beside `mc:20`, each with the milliseconds of a decision. A stopped
measurement continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import threads_option
from backalley.console.command import whole_numbers
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.game import Game

from ...figures import results
from ...figures.charts import EVEN, Lines, axes_of
from ...figures.formatting import Found, Line, changed, interval, mean, optional, title, with_interval, with_options
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ...matches.sample import LineUp, Sample
from ...speed.processor_time import Timed, cost
from .. import publication
from ..publication import Publication
from ..runner import GAMES, Progress, count, quiet, study, words
from .ladder import play_published

BASELINE = "mc:20"
"""The search that the others are compared with."""
DETERMINIZATIONS = (20, 80)


def _searches(files: Files) -> Iterator[Line]:
    """Every agent against the best bot, then some against the others."""
    several = len(files) > 1
    for found in files:
        for row in found["rows"]:
            yield {
                "game": title(found) if several else "",
                "options": changed(found["options"]),
                "agent": f"`{row['agent']}`{_sign(found, row)}",
                "against": f"`{row['against']}`" if row["against"] else "",
                "mean return": mean(row["mean_return"]),
                "95 % interval": interval(row["mean_return"]),
                "less, on the same decks": "; ".join(
                    f"`{name}`: {with_interval(lead)}" for name, lead in _leads(found, row).items()
                ),
                "ms a decision": optional(row, "milliseconds", ".3g"),
                "determinizations": optional(row, "determinizations", ".1f"),
                "deals": f"{row['deals']:,}",
            }


def _leads(found: Found, row: Found) -> dict[str, Found]:
    """The leads of a row on the same decks: over the search it is compared with, and where seats play alone over the
    best bot."""
    less = row.get("less")
    leads = {less["agent"]: less["lead"]} if less else {}
    return leads | ({found["best"]: row["lead"]} if "lead" in row else {})


def _sign(found: Found, row: Found) -> str:
    """In older files, whose determinizations were chosen by cost, whether a row is one of those."""
    if "equal" not in found:
        return ""
    if row["agent"] == f"search:{found['equal']}":
        return " =" if found["equal"] != found["dearer"] else " = 4x"
    return " 4x" if row["agent"] in {f"search:{found['dearer']}", f"search+policy:{found['policy']}"} else ""


class Searches(Kept, kind="searches", heading="Searches", tables={"searches": _searches}):
    """What `searches` found."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return notes on costs for readers."""
        measures = " and ".join(sorted({f"`{found['measure']}`" for found in files}))
        signs = (
            f"= is the search of so many determinizations that a decision costs what {measures} costs, "
            "4x are those that cost four times that, as a short timing beforehand had it. "
        )
        return [
            signs
            * any("equal" in found for found in files)
            + "Milliseconds are of processor time, all cores together, for a decision with a choice; determinizations "
            "are those drawn for it on average."
        ]

    @classmethod
    def charts(cls, files: Files) -> Iterator[Lines]:
        """Return charts of strength against cost: a point for each agent, and a line through one kind of search. Where
        seats play alone, strength is the lead over the best bot on the same decks."""
        for found in files:
            names: dict[str, list[tuple[float, Estimate]]] = {}
            alone = found["sides"] == 1
            what, shown = (
                ("lead", f"Mean return less that of {found['best']}") if alone else ("mean_return", "Mean return")
            )
            for row in found["rows"]:
                if row["against"] == ("" if alone else found["best"]) and "milliseconds" in row:
                    points = names.setdefault(row["agent"].partition(":")[0], [])
                    points.append((row["milliseconds"], Estimate(**row[what])))
            lines = [(name, sorted(points)) for name, points in names.items()]
            if not lines:
                continue
            deals = max(row["deals"] for row in found["rows"])
            yield Lines(
                f"{with_options(found)}: search {'beside' if alone else 'against'} {found['best']}",
                f"{shown} by what a decision costs; bands are 95 % intervals over {deals:,} deals at most.",
                "milliseconds of processor time for a decision with a choice",
                lines,
                axes_of(lines, EVEN, True),
                EVEN,
            )


class Row(NamedTuple):
    """One agent against another, by their names."""

    agent: str
    against: str
    base: str = ""
    """The agent that it is compared with on the same decks."""


def rows_of(plan: Publication, determinizations: Sequence[int]) -> list[Row]:
    """Return who plays whom. Where seats play alone, all play the same decks, and the best bot is one of them."""
    game, policy, alone = plan.game, publication.policy_of(plan.game), plan.game.num_sides == 1
    best = "" if alone else plan.against
    searches = [f"search:{number}" for number in determinizations]
    found = [Row(plan.against, "")] if alone else []
    found += [Row(BASELINE, best, plan.against if alone else "")]
    found += [Row(name, best, BASELINE) for name in searches]
    found += (
        [Row(name, best, BASELINE) for name in (policy, f"search+policy:{min(determinizations)}")] if policy else []
    )
    others = [f"bot:{name}" for name in game.bots if f"bot:{name}" != plan.against] + ([policy] if policy else [])
    for other in [] if alone else others:
        found += [Row(plan.against, other), *(Row(name, other, plan.against) for name in searches)]
    return found


@study(
    "searches",
    Searches,
    GAMES,
    words("--determinizations", "20,80", "Determinizations of the searches, with commas.", whole_numbers),
    count("--deals", None, "Deals of every agent; by default those of publication.toml.", 2),
    threads_option,
    file="searches_{game}",
)
def searches(
    game: Game,
    determinizations: Sequence[int] = DETERMINIZATIONS,
    deals: int | None = None,
    *,
    num_threads: int = 1,
    progress: Progress = quiet,
    keep: Path | None = None,
) -> Found:
    """Measure the gains of searches in GAMES, by default all, and the milliseconds of a decision.

    With `keep`, the file of the result, unfinished work is saved beside it. Raises ValueError.
    """
    if not determinizations or min(determinizations) < 1:
        raise InvalidValue(
            f"determinizations is {', '.join(map(str, determinizations)) or 'empty'}; give numbers of 1 or more."
        )
    plan = publication.several(game)
    rows, deals = rows_of(plan, determinizations), deals or plan.search_deals
    line_ups = []
    for row in rows:
        one = agent_of(row.agent, plan.game, num_threads=num_threads)
        pair = [one if row.agent.startswith("bot:") else Timed(one)]
        pair += [agent_of(row.against, plan.game)] if row.against else []
        said = f"{row.agent} {row.against}".strip()
        line_ups.append(LineUp(plan.game, pair, publication.keys(), deals, said))
    identities = [[player.identity for player in line_up.agents] for line_up in line_ups]
    task = {"searches of": plan.game.id, "options": plan.game.option_values, "rows": rows, "agents": identities}
    unfinished = Unfinished(keep, task | {"deals": deals}, results.sources(__file__, plan.game.type.module))
    samples = play_published(line_ups, unfinished, num_threads=num_threads, progress=progress)
    spent = [player.spent if isinstance(player := line_up.agents[0], Timed) else np.zeros(3) for line_up in line_ups]
    return {
        "options": plan.game.changed_options,
        "seed": publication.seed(),
        "measure": BASELINE,
        "best": plan.against,
        "sides": plan.game.num_sides,
        "rows": [
            {**_found(plan.game, row, sample, rows, samples), **cost(mine)}
            for row, sample, mine in zip(rows, samples, spent, strict=True)
        ],
        "decisions": sum(sample.decisions for sample in samples),
        "seconds": round(sum(sample.seconds for sample in samples), 1),
    }


def _found(game: Game, row: Row, sample: Sample, rows: Sequence[Row], samples: Sequence[Sample]) -> dict[str, Any]:
    found: dict[str, Any] = {"agent": row.agent, "against": row.against, **sample.strength(game)}

    def over(base: str) -> dict[str, float]:
        """What it gained more than another one against the same."""
        number = next(n for n, one in enumerate(rows) if (one.agent, one.against) == (base, row.against))
        return sample.lead(samples[number], game)

    if row.base:
        found["less"] = {"agent": row.base, "deals": sample.deals, "lead": over(row.base)}
    if game.num_sides == 1 and row is not rows[0]:
        found["lead"] = over(rows[0].agent)
    return found
