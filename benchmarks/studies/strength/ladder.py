"""The ladder of a game: random play, every bot, the pretrained policy, and searches, each against the game's best bot
on the same decks, with the processor time of a decision; or one further agent alone.

Only `publication.toml` and the agents decide what is played. A file of the same agents and sources is left as it is,
and a stopped measurement continues.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from backalley.agents.base.agent import Agent
from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import cluster_option, option_option, threads_option
from backalley.console.command import CommandError, pairs
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.game import Game

from ...figures import results
from ...figures.charts import EVEN, Dots, Mark, dots
from ...figures.formatting import (
    MET,
    Found,
    Line,
    changed,
    decimals,
    makers,
    met,
    notes,
    optional,
    options_text,
    signed,
    span,
    strength,
    title,
    with_interval,
)
from ...figures.formatting import label as label_of
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ...matches.evaluate import check_deals
from ...matches.sample import LineUp, Sample, Series
from ...matches.tournament import null_label, null_line_up, null_note, null_row
from ...speed.processor_time import Timed, cost, cost_of
from .. import publication
from ..publication import Publication
from ..runner import GAME, GAMES, Progress, Row, count, quiet, study
from .best_agents import ATTACK, attack_gain, leaderboard, met_bots, tables_of


def _ladder(files: Files) -> Iterator[Line]:
    """One game under each of its published options."""
    return (line for table in tables_of(files) for line in rungs_of(table, files))


def _ladders(files: Files) -> Iterator[Line]:
    """All games under their default options."""
    for found in files:
        for table in (next(tables_of([found])),) if "tables" in found else ():
            yield from ({"game": title(table), **line} for line in rungs_of(table, files))


def rungs_of(table: Found, files: Files = ()) -> Iterator[Line]:
    """One table, the null row at the end; attacks on its agents are those among the files."""
    null = table.get("null")
    for row in [*table["rows"], *([null] if null else [])]:
        best = row is not null and row["label"] == table["against"]
        mark = MET if met(row, table["against"]) else ""
        named = {} if row is null else {"agent": f"{label_of(row)}{', the baseline' * best} {mark}".rstrip()}
        yield {
            "options": changed(table["options"]),
            **(named or null_label(row)),
            **strength(row),
            "chance": "" if table["sides"] == 1 or best or row is null else f"{100 / table['sides']:.3g} %",
            "less the baseline": with_interval(row.get("lead")),
            "deals": optional(row, "deals", ","),
            "ms a decision": optional(row, "milliseconds", ".3g"),
            ATTACK: with_interval(None if row is null else attack_gain(files, table, row)),
        }


def _strongest(files: Files) -> Iterator[Line]:
    """The gains of random play, the policy and the last search over the best bot, in every game under its default
    options."""
    for found in files:
        table = found["tables"][0]
        yield {"game": title(found), "game's bot": f"`{table['against']}`"} | {
            name: f"{signed(gain.mean, decimals([gain]))} {gain.spread(decimals([gain]), '+')}"
            for name, gain in _gains(table).items()
        }


def _gains(table: Found) -> dict[str, Estimate]:
    """The mean return against the best bot; where seats play alone, its lead over the best bot's."""
    what = "lead" if table["sides"] == 1 else "mean_return"
    shown = {"random": "random play", "policy": "policy", "search": "`search:96`"}
    rows = {row["label"].partition(":")[0]: row for row in table["rows"] if what in row}
    return {words: Estimate(**rows[name][what]) for name, words in shown.items() if name in rows}


class Ladder(
    Kept,
    kind="ladder",
    heading="Ladder",
    tables={"ladder": _ladder, "ladders": _ladders, "strongest": _strongest, "leaderboard": leaderboard},
):
    """What `ladder` found."""

    in_title = frozenset({"game"})

    brief = frozenset({"strongest", "leaderboard"})

    @classmethod
    def summary(cls, files: Files) -> Dots:
        """The policy and the search of every game."""
        rows = [
            (f"{title(found)}: {name.replace('`', '')}", gain)
            for found in files
            for name, gain in _gains(found["tables"][0]).items()
            if name != "random play"
        ]
        about = "Policies that come with the games, and search, on the same decks; lines are 95 % intervals."
        unit = "mean return against the best bot; of one seat, less that of the best bot"
        return dots("What policies and search gain on the best bot", about, unit, rows, Mark(0.0, "the best bot"))

    @property
    def title(self) -> str:
        """The game."""
        return str(self.found["game"])

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return notes on the agents for readers."""
        return [*notes([found for found in files if "tables" in found]), *null_note(tables_of(files))]

    @classmethod
    def commands(cls, files: Files) -> list[str]:
        """Return the commands that trained the policies."""
        return makers([found for found in files if "tables" in found])

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """Return charts of mean returns against the best bot or, where seats play alone, of leads over its own."""
        for table in tables_of(files):
            best, what = table["against"], "lead" if table["sides"] == 1 else "mean_return"
            measured = [row for row in table["rows"] if row.get(what) and row["label"] not in ("random", best)]
            if measured:
                rows = [
                    (row["label"] + " (met it in training)" * met(row, best), Estimate(**row[what])) for row in measured
                ]
                deals = span(row["deals"] for row in measured)
                about = f"{deals}; lines are 95 % intervals. Random play is left out."
                unit = f"mean return less that of {best}" if what == "lead" else "mean return"
                yield dots(f"{title(table)}{options_text(table['options'])}: against {best}", about, unit, rows, EVEN)


class Entry(Ladder, kind="entry", heading="Entries", tables={"entries": _ladder}):
    """What `enter` found: a ladder of the baseline and one agent."""


class Rung(NamedTuple):
    """An agent of a ladder."""

    label: str
    agent: Agent
    deals: int
    against_itself: bool = False
    """Whether it is the best bot itself, which does not play against itself."""


def rungs(plan: Publication, others: Mapping[str, str], num_threads: int) -> tuple[list[Rung], dict[str, ValueError]]:
    """Return the agents of a game's ladder, from random play upwards: its bots, the policy for its options, `others` by
    their labels, and searches; and why some of `others` cannot play under these options."""
    rung, unfit = partial(_rung, plan, num_threads=num_threads), {}
    own = publication.policy_of(plan.game)
    found = [
        rung(name, name, plan.deals)
        for name in ("random", *(f"bot:{name}" for name in plan.game.bots), *([own] if own else []))
    ]
    for label, spec in others.items():
        try:
            found.append(rung(label, spec, plan.deals))
        except ValueError as error:
            unfit[label] = error
    return found + [rung(spec, spec, plan.search_deals) for spec in plan.searches], unfit


def _rung(plan: Publication, label: str, spec: str, deals: int, num_threads: int) -> Rung:
    """An agent that cannot play whole matches in machine code is timed while it plays."""
    player = agent_of(spec, plan.game, num_threads=num_threads)
    timed = player if getattr(player, "kernel", None) is not None else Timed(player)
    return Rung(label, timed, deals, spec == plan.against)


def _of_one_game(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    if given and len(ctx.params["games"]) != 1:
        raise click.UsageError("--with goes with one game.")
    return pairs("LABEL=AGENT")(ctx, parameter, given)


@study(
    "ladder", Ladder, GAMES,
    click.option("--with", "others", multiple=True, metavar="LABEL=AGENT", callback=_of_one_game, help="One more."),
    threads_option, cluster_option, file="ladder_{game}",
)  # fmt: skip
def ladder(
    game: Game,
    others: Mapping[str, str] | None = None,
    *,
    num_threads: int = 1,
    progress: Progress = quiet,
    keep: Path | None = None,
    cluster: str | None = None,
) -> Found:
    """Measure random play, bots, policy and searches of GAMES against each game's best bot. By default all games.

    A game is measured under each of the published options. `others` are further agents by their labels. With `keep`,
    the file of the ladder, unfinished work is saved beside it, and a file of the same agents, plan and sources is
    returned as it is. `cluster` is as in `evaluate`. Raises ValueError.
    """
    num_threads = num_threads if cluster is None else 1
    plans = publication.publications(game)
    found, unfit = zip(*(rungs(plan, others or {}, num_threads) for plan in plans), strict=True)
    for label in others or {}:
        if all(label in errors for errors in unfit):
            raise unfit[0][label]
    return _measured(plans, found, num_threads, progress, keep, cluster)


def _label(ctx: click.Context, parameter: click.Parameter, given: str) -> str:
    if not re.fullmatch(r"\w+", given):
        raise CommandError(f"{given!r} is no label; a label has letters, digits and _.")
    return given


@study(
    "enter", Entry, GAME, click.argument("label", callback=_label), click.argument("spec", metavar="AGENT"),
    option_option, count("--deals", None, "The first of the published deals; by default all.", 2), threads_option,
    file="entry_{game}_{label}",
)  # fmt: skip
def enter(
    game: Game,
    label: str,
    spec: str,
    *,
    deals: int | None = None,
    num_threads: int = 1,
    progress: Progress = quiet,
    keep: Path | None = None,
) -> Found:
    """Measure AGENT against the best bot of GAME, on the decks of the ladder: an entry for the leaderboard. LABEL names
    it there, and its file.

    It plays under the game's own options, over the published number of deals or over the first `deals` of them. Raises
    ValueError.
    """
    plan = publication.publications(game)[0]
    if deals is not None:
        check_deals(deals)
        plan = plan._replace(deals=deals)
    if label == plan.against:
        raise InvalidValue(f"{label} is the bot that others are compared with; give the agent another label.")
    there = [_rung(plan, name, agent, plan.deals, num_threads) for name, agent in ((plan.against,) * 2, (label, spec))]
    return _measured([plan], [there], num_threads, progress, keep, None)


def _measured(
    plans: Sequence[Publication],
    ladders: Sequence[list[Rung]],
    num_threads: int,
    progress: Progress,
    keep: Path | None,
    cluster: str | None,
) -> Found:
    """Play the agents of each plan's ladder and return the contents of the file."""
    tables = [
        [plan.game.option_values, plan.against, [[one.label, one.agent.identity, one.deals] for one in there]]
        for plan, there in zip(plans, ladders, strict=True)
    ]
    stamp = results.stamp(__file__, plans[0].game)
    task = {"ladder of": plans[0].game.id, "seed": publication.seed(), "tables": tables}
    digest = hashlib.sha256(json.dumps(task, sort_keys=True).encode()).hexdigest()[:16]
    if (finished := _finished(keep, digest, stamp["sources"])) is not None:
        close(one.agent for there in ladders for one in there)
        return finished
    line_ups = [
        line_up
        for plan, there in zip(plans, ladders, strict=True)
        for line_up in (
            *(_line_up(plan, one, there) for one in there),
            null_line_up(plan.game, publication.keys(), plan.deals),
        )
    ]
    samples = play_published(
        line_ups, Unfinished(keep, task, stamp["sources"]), num_threads=num_threads, progress=progress, cluster=cluster
    )
    rest = iter(samples)
    return {
        "game": plans[0].game.id,
        "seed": publication.seed(),
        "tables": [
            _table(plan, there, [next(rest) for _ in there], next(rest))
            for plan, there in zip(plans, ladders, strict=True)
        ],
        "task": digest,
        "decisions": sum(sample.decisions for sample in samples),
        "seconds": round(sum(sample.seconds for sample in samples), 1),
        **stamp,
    }


def play_published(
    line_ups: Sequence[LineUp],
    unfinished: Unfinished,
    *,
    num_threads: int,
    progress: Progress,
    cluster: str | None = None,
) -> list[Sample]:
    """Play on the published decks, and close the agents. What timed agents have spent is kept with unfinished work."""
    agents = list(dict.fromkeys(agent for line_up in line_ups for agent in line_up.agents))
    timed = [agent for agent in agents if isinstance(agent, Timed)]
    spent = np.zeros((len(timed), 3))
    for agent, mine in zip(timed, spent, strict=True):
        agent.spent = mine
    beside = {"spent": spent}
    try:
        return Series(
            line_ups, unfinished, num_threads=num_threads, progress=progress, beside=beside, cluster=cluster
        ).play()
    finally:
        close(agents)


def close(agents: Iterable[Agent]) -> None:
    """Close agents."""
    for agent in agents:
        agent.close()


def _line_up(plan: Publication, one: Rung, there: list[Rung]) -> LineUp:
    """The agents of a match: one where seats play alone. The best bot plays no deal against itself."""
    best = next(rung.agent for rung in there if rung.against_itself)
    alone = plan.game.num_sides == 1
    deals = 0 if one.against_itself and not alone else one.deals
    return LineUp(plan.game, [one.agent] if alone else [one.agent, best], publication.keys(), deals, one.label)


def _table(plan: Publication, there: list[Rung], samples: list[Sample], null: Sample) -> Row:
    game, rows = plan.game, []
    best = next(sample for one, sample in zip(there, samples, strict=True) if one.against_itself)
    for one, sample in zip(there, samples, strict=True):
        row = about(one.label, one.agent.player if isinstance(one.agent, Timed) else one.agent)
        row |= cost(one.agent.spent) if isinstance(one.agent, Timed) else cost_of(one.agent, game)
        if sample.deals:
            row |= sample.strength(game)
            if best.deals and not one.against_itself:
                row["lead"] = sample.lead(best, game)
        rows.append(row)
    about_all = {"options": game.changed_options, "against": plan.against, "sides": game.num_sides}
    return {**about_all, "rows": rows, "null": null_row(null, game)}


def about(label: str, player: Agent) -> Row:
    """Return a player's entry in a table, as JSON: its label, its own name, its note, the command that made it, and the
    bots that it met in training, if it is a policy that says so."""
    made = getattr(player, "metadata", {}).get("made", {})
    own_name = player.name if player.name != label else ""
    found = {"label": label, "own_name": own_name, "note": player.note, "made": made.get("command")}
    bots = met_bots(made)
    return {key: value for key, value in found.items() if value} | ({} if bots is None else {"met": bots})


def _finished(path: Path | None, digest: str, sources: str) -> Row | None:
    """The contents of `path`, if it is the same work of the same sources."""
    try:
        found: Row = read_json(path) if path is not None else {}
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and (found.get("task"), found.get("sources")) == (digest, sources) else None
