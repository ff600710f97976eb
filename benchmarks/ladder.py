"""Where everybody stands at a game: random play, every bot, the policy that comes with it, and searches, each against
the game's best bot on the same decks.

    python -m backalley.benchmarks.ladder [GAME ...] --json benchmarks/results
    python -m backalley.benchmarks.ladder pitch --with "PPO from nothing=runs/ppo" --json benchmarks/results

By default every game, one after the other. What is played follows from `publication.toml` and the agents alone. A file
that the same agents and sources gave already is left as it is, and what was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import backalley
from backalley.agents.base import Agent
from backalley.agents.registry import agent as agent_of
from backalley.agents.shipped import NoPolicy, policy_for
from backalley.command import Command
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.durable import Unfinished
from backalley.progress import progress_bar

from . import publication, results, stats
from .cells import signed
from .keys import Space
from .pairings import Pairing, Told, play_pairings
from .publication import Publication
from .report import decimals, options_text
from .sample import Sample
from .stats import Estimate
from .tabular import text


@dataclass(frozen=True)
class Rung:
    """One agent's strength against the best bot: mean return and win share per seat it holds, with 95 % intervals."""

    label: str
    agent: Agent
    deals: int
    against_itself: bool = False
    """Whether it is that bot itself, which nobody needs to play against itself."""


def rungs(plan: Publication, others: Mapping[str, str], num_threads: int) -> tuple[list[Rung], dict[str, ValueError]]:
    """Who stands on a game's ladder, from random play upwards: its bots, the policy for its options, `others` by their
    labels, and searches; and why those of `others` that cannot play under these options cannot."""
    game, unfit = plan.game, {}

    def rung(label: str, spec: str, deals: int) -> Rung:
        return Rung(label, agent_of(spec, game, num_threads=num_threads), deals, spec == plan.against)

    found = [rung("random", "random", plan.deals)]
    found += [rung(f"bot:{name}", f"bot:{name}", plan.deals) for name in game.bots]
    try:
        spec = policy_for(game).spec
        found.append(rung(spec, spec, plan.deals))
    except NoPolicy:
        pass
    for label, spec in others.items():
        try:
            found.append(rung(label, spec, plan.deals))
        except ValueError as error:
            unfit[label] = error
    return found + [rung(spec, spec, plan.search_deals) for spec in plan.searches], unfit


def ladder(
    game: str | Game,
    others: Mapping[str, str] | None = None,
    *,
    num_threads: int = 1,
    told: Told | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """The ladder of a game under each of the options that are published, as `results.write` takes it; `command` is left
    to the caller.

    `others` are further agents by their labels. With `keep`, the file it will be written to, unfinished work is kept
    beside it, and a file of the same agents, plan and sources is given back as it is. Raises ValueError in a sentence.
    """
    plans = publication.publications(game_of(game))
    stands, unfit = zip(*(rungs(plan, others or {}, num_threads) for plan in plans), strict=True)
    for label in others or {}:
        if all(label in errors for errors in unfit):
            raise unfit[0][label]
    stamp, seed = results.stamp(__file__, plans[0].game), publication.seed()
    task = {
        "ladder of": plans[0].game.id,
        "seed": seed,
        "tables": [
            [plan.game.option_values, plan.against, [[one.label, one.agent.identity, one.deals] for one in there]]
            for plan, there in zip(plans, stands, strict=True)
        ],
    }
    try:
        if (finished := _finished(keep, task, stamp["sources"])) is not None:
            return finished
        pairings = [_pairing(plan, one, there) for plan, there in zip(plans, stands, strict=True) for one in there]
        played = play_pairings(
            [pairing for pairing in pairings if pairing.deals],
            seed,
            unfinished=Unfinished(keep, task, stamp["sources"]),
            num_threads=num_threads,
            told=told,
            space=Space.PUBLICATION,
        )
    finally:
        for there in stands:
            for one in there:
                one.agent.close()
    samples = iter(played)
    by_rung = iter([next(samples) if pairing.deals else None for pairing in pairings])
    tables = [_table(plan, there, [next(by_rung) for _ in there]) for plan, there in zip(plans, stands, strict=True)]
    decisions = sum(sample.decisions for sample in played)
    return {
        "kind": "ladder",
        "game": plans[0].game.id,
        "seed": seed,
        "tables": tables,
        "task": _digest(task),
        "decisions": decisions,
        "seconds": round(sum(sample.seconds for sample in played), 1),
        **stamp,
    }


def _pairing(plan: Publication, one: Rung, there: list[Rung]) -> Pairing:
    """Who sits down: alone where one plays alone; nobody where it is the best bot against itself."""
    if plan.game.num_sides == 1:
        return Pairing(plan.game, [one.agent], one.deals, one.label)
    measure = next(rung.agent for rung in there if rung.against_itself)
    return Pairing(plan.game, [one.agent, measure], 0 if one.against_itself else one.deals, one.label)


def _table(plan: Publication, there: list[Rung], samples: list[Sample | None]) -> dict[str, Any]:
    measure = next(sample for one, sample in zip(there, samples, strict=True) if one.against_itself)
    rows = []
    for one, sample in zip(there, samples, strict=True):
        row = about(one.label, one.agent)
        if sample is not None:
            gained, won = (
                sample.of_agent(0, values).mean(1)
                for values in (sample.returns, stats.win_shares(sample.returns, plan.game.sides))
            )
            row |= {
                "deals": sample.deals,
                "mean_return": stats.mean_interval(gained, plan.game.reward_range).to_json(),
                "win_share": stats.share_interval(won).to_json(),
            }
            if measure is not None and not one.against_itself:
                base = measure.of_agent(0, measure.returns).mean(1)
                both = min(len(base), len(gained))
                leads = gained[:both] - base[:both]
                row["lead"] = stats.mean_interval(leads, stats.lead_bounds(plan.game.reward_range)).to_json()
        rows.append(row)
    game = plan.game
    return {"options": game.changed_options, "against": plan.against, "sides": game.num_sides, "rows": rows}


def about(label: str, player: Agent) -> dict[str, Any]:
    """Who a player of a table is, as JSON: its label, the name it gives itself, what a reader should know, the command
    that made it, and the bots that it met in training, where it is a policy that says so."""
    made = getattr(player, "metadata", {}).get("made", {})
    own_name = player.name if player.name != label else ""
    found = {"label": label, "own_name": own_name, "note": player.note, "made": made.get("command")}
    return {key: value for key, value in found.items() if value} | ({"met": made["met"]} if "met" in made else {})


def _finished(path: Path | None, task: Mapping[str, Any], sources: str) -> dict[str, Any] | None:
    """What lies at `path` already, where it is the same work of the same sources."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes()) if path is not None else {}
    except (OSError, ValueError):
        return None
    same = isinstance(found, dict) and (found.get("task"), found.get("sources")) == (_digest(task), sources)
    return found if same else None


def _digest(task: Mapping[str, Any]) -> str:
    """What tells one plan with its agents from another."""
    return hashlib.sha256(json.dumps(task, sort_keys=True).encode()).hexdigest()[:16]


def table(found: Mapping[str, Any]) -> str:
    """A ladder as text."""
    parts = []
    for one in found["tables"]:
        played = [Estimate(**row["mean_return"]) for row in one["rows"] if "mean_return" in row]
        digits = decimals(played)
        alone = one["sides"] == 1
        head = ["agent", "mean return", "wins", *(["lead"] if alone else []), "deals"]
        rows = []
        for row in one["rows"]:
            cells = [_points(row.get("mean_return"), digits), _share(row.get("win_share"))]
            cells += [_points(row.get("lead"), digits)] if alone else []
            rows.append([row["label"], *cells, f"{row['deals']:,}" if "deals" in row else "·"])
        chance = "" if alone else f" (chance is {100 / one['sides']:.3g} %)"
        title = f"{found['game']}{options_text(one['options'])}: against {one['against']}{chance}"
        parts.append(f"{title}\n\n{text(head, rows)}")
    return "\n\n".join(parts)


def _points(found: Mapping[str, float] | None, digits: int) -> str:
    if found is None:
        return "·"
    one = Estimate(**found)
    return f"{signed(one.mean, digits)} {one.spread(digits, '+')}"


def _share(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "·"
    one = Estimate(**found).percent
    return f"{one.mean:.2f} {one.spread(2)} %"


def labelled(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Agents by their labels, from `LABEL=AGENT`."""
    found = {}
    for item in given:
        label, sign, spec = item.partition("=")
        if not sign or not label.strip() or not spec:
            raise click.BadParameter(f"{item!r} is not of the form LABEL=AGENT.", ctx, parameter)
        found[label.strip()] = spec
    return found


@click.command(cls=Command)
@click.argument("games", nargs=-1)
@click.option("--with", "others", multiple=True, metavar="LABEL=AGENT", callback=labelled, help="One more agent.")
@click.option("--threads", type=click.IntRange(0), default=0, help="Threads; every core by default.")
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file for each game.")
def main(games: tuple[str, ...], others: dict[str, str], threads: int, folder: Path | None) -> None:
    """Measure who stands where at GAMES, by default all."""
    if others and len(games) != 1:
        raise click.UsageError("--with goes with one game.")
    for name in games or backalley.game_names():
        game = backalley.game(name)
        path = None if folder is None else folder / f"ladder_{game.name}.json"
        if path is not None:
            results.check_place(path)
        words = [game.spec, *(word for label, spec in others.items() for word in ("--with", f"{label}={spec}"))]
        words += ["--json", folder.as_posix()] if folder else []
        line = shlex.join(["python", "-m", "backalley.benchmarks.ladder", *words])
        with progress_bar(game.name) as progress:
            found = ladder(game, others, num_threads=threads, told=progress, keep=path) | {"command": line}
        click.echo(f"\n{table(found)}\n")
        if path is not None:
            results.write(path, found)
        click.echo(f"Again: {line}", err=True)


if __name__ == "__main__":
    main()
