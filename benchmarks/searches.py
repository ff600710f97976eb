"""What searches gain, and what it costs: mean returns against the game's best bot, against its other bots and against
its policy, with the processor time of a decision; all on the same decks.

    python -m backalley.benchmarks.searches pitch --minutes 10 --json benchmarks/results

The measure is `mc:20`. Beside searches of fixed numbers of worlds stand one that costs what `mc:20` costs, and one that
costs four times that; how many worlds these take is found by timing, on other decks than those that are published. So
is the number of deals for which there are `--minutes` of every core: who costs r times as much plays 1/sqrt(r) of them,
which is the best use of the time (Cochran, "Sampling Techniques", 1977, section 5.5). The line with these numbers is
printed before play begins, and stands with the results: it plays the same again, and goes on where it was stopped.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import backalley
from backalley.agents.base import Agent
from backalley.agents.registry import agent as agent_of
from backalley.agents.shipped import NoPolicy, policy_for
from backalley.command import Command, whole_numbers
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.durable import Unfinished
from backalley.envs.core.workers import cores
from backalley.progress import Progress, progress_bar

from . import costs, publication, results, stats
from .keys import Space
from .pairings import Pairing, play_pairings
from .processor_time import Stopwatch, Timed, cost
from .publication import Publication
from .sample import Sample

MEASURE = "mc:20"
POINTS = (20, 80)
"""Worlds of the searches that every game has."""
DEARER = 4
"""Times as much as the measure costs."""
LEAST_DEALS = 8
POLICY_SEARCH = "search+policy"


@dataclass(frozen=True)
class Numbers:
    """What is found by timing."""

    equal: int
    """Worlds at which `search` costs what the measure costs."""
    dearer: int
    """Worlds at which it costs DEARER times that."""
    policy: int
    """Worlds at which a search by the policy costs as much as that; 0 without one."""
    deals: int
    """Deals of what costs no more than the measure."""


class Row(NamedTuple):
    """One agent against another: their names, and how many deals."""

    agent: str
    against: str
    deals: int
    time: float = 0.0
    """What it costs, in times of the measure; 0 for what is not timed."""
    base: str = ""
    """Whom it is held against on the same decks."""


def plan_of(game: Game) -> Publication:
    """The first of the game's published options under which several play."""
    plans = publication.publications(game)
    return next((plan for plan in plans if plan.game.num_sides > 1), plans[0])


def policy_of(game: Game) -> str:
    """The policy that comes with a game for its options; "" where there is none."""
    try:
        return policy_for(game).spec
    except NoPolicy:
        return ""


def rows_of(plan: Publication, points: Sequence[int], numbers: Numbers) -> list[Row]:
    """Who plays whom. Where everybody plays alone, all play the same decks, and the best bot is one of them."""
    game, policy = plan.game, policy_of(plan.game)
    times = {worlds: worlds / numbers.equal for worlds in points} | {numbers.equal: 1.0, numbers.dearer: DEARER}
    searches = {f"search:{worlds}": times[worlds] for worlds in sorted(times)}

    def row(agent: str, against: str, time: float, base: str) -> Row:
        deals = max(LEAST_DEALS, round(numbers.deals / math.sqrt(max(time, 1.0))))
        return Row(agent, against, deals, time, base if base != agent else "")

    alone = game.num_sides == 1
    best = "" if alone else plan.against
    found = [row(plan.against, "", 0.0, "")] if alone else []
    found += [row(MEASURE, best, 1.0, plan.against if alone else "")]
    found += [row(name, best, time, MEASURE) for name, time in searches.items()]
    found += [row(policy, best, 0.0, MEASURE)] if policy else []
    found += [row(f"{POLICY_SEARCH}:{numbers.policy}", best, DEARER, MEASURE)] if numbers.policy else []
    others = [f"bot:{name}" for name in game.bots if f"bot:{name}" != plan.against] + ([policy] if policy else [])
    for other in [] if alone else others:
        found.append(row(plan.against, other, 0.0, ""))
        found += [
            row(f"search:{one}", other, times[one], plan.against) for one in sorted({numbers.equal, numbers.dearer})
        ]
    return found


def find_numbers(
    plan: Publication, points: Sequence[int], minutes: float, num_threads: int, progress: Progress
) -> Numbers:
    """The numbers for `minutes` of every core, by timing."""
    done = 0

    def told(words: str) -> None:
        nonlocal done
        done += 1
        progress(done, max(16, done), words)

    watch = Stopwatch(plan.game, plan.against, publication.seed(), num_threads, told)
    spent, of_a_deal = watch.time(MEASURE)
    milliseconds = cost(spent).get("milliseconds", 0.0)
    if not milliseconds:
        raise ValueError(f"Nobody has a choice in {plan.game.name} under these options, so nothing is searched.")
    equal = watch.worlds_for(milliseconds, "search:{}", 20)
    dearer = watch.worlds_for(DEARER * milliseconds, "search:{}", DEARER * equal)
    policy = 0
    if policy_of(plan.game):
        policy = watch.worlds_for(DEARER * milliseconds, POLICY_SEARCH + ":{}", equal)
    unit = Numbers(equal, dearer, policy, 1_000_000)
    each = [row.deals / unit.deals * max(row.time, 0.05) for row in rows_of(plan, points, unit)]
    deals = math.floor(60 * minutes * cores() / (of_a_deal * sum(each)))
    return Numbers(equal, dearer, policy, min(max(deals, LEAST_DEALS), plan.deals))


def searches(
    game: str | Game,
    points: Sequence[int],
    numbers: Numbers,
    *,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """The rows of a game, as `results.write` takes them but for the command. With `keep`, the file it will be written
    to, unfinished work is kept beside it. Raises ValueError in a sentence."""
    plan = plan_of(game_of(game))
    rows = rows_of(plan, points, numbers)
    spent = np.zeros((len(rows), 3))
    players: list[list[Agent]] = []
    stamp = results.stamp(__file__, plan.game)
    for row, mine in zip(rows, spent, strict=True):
        one = agent_of(row.agent, plan.game, num_threads=num_threads)
        others = [agent_of(row.against, plan.game)] if row.against else []
        players.append([one if row.agent.startswith("bot:") else Timed(one, mine), *others])
    identities = [[player.identity for player in pair] for pair in players]
    task = {"searches of": plan.game.id, "options": plan.game.option_values, "rows": [*rows], "agents": identities}
    try:
        samples = play_pairings(
            [
                Pairing(plan.game, pair, row.deals, f"{row.agent} {row.against}".strip())
                for row, pair in zip(rows, players, strict=True)
            ],
            publication.seed(),
            unfinished=Unfinished(keep, task, stamp["sources"]),
            num_threads=num_threads,
            told=progress,
            space=Space.PUBLICATION,
            beside={"spent": spent},
        )
    finally:
        for player in (player for pair in players for player in pair):
            player.close()
    return {
        "kind": "searches",
        "game": plan.game.id,
        "options": plan.game.changed_options,
        "seed": publication.seed(),
        "measure": MEASURE,
        "best": plan.against,
        "sides": plan.game.num_sides,
        **asdict(numbers),
        "rows": [
            {**_found(plan.game, row, sample, rows, samples), **cost(mine)}
            for row, sample, mine in zip(rows, samples, spent, strict=True)
        ],
        "decisions": sum(sample.decisions for sample in samples),
        "seconds": round(sum(sample.seconds for sample in samples), 1),
        **stamp,
    }


def _found(game: Game, row: Row, sample: Sample, rows: Sequence[Row], samples: Sequence[Sample]) -> dict[str, Any]:
    gained = _gains(sample)
    won = sample.of_agent(0, stats.win_shares(sample.returns, game.sides)).mean(1)
    found = {
        "agent": row.agent,
        "against": row.against,
        "deals": sample.deals,
        "mean_return": stats.mean_interval(gained, game.reward_range).to_json(),
        "win_share": stats.share_interval(won).to_json(),
    }

    def over(base: str) -> tuple[int, dict[str, float]]:
        """On how many decks it was held against another one's play against the same, and what it gained more."""
        (other,) = (
            _gains(sample)
            for one, sample in zip(rows, samples, strict=True)
            if (one.agent, one.against) == (base, row.against)
        )
        both = min(len(other), len(gained))
        return both, stats.mean_interval(gained[:both] - other[:both], stats.lead_bounds(game.reward_range)).to_json()

    if row.base:
        both, less = over(row.base)
        found["less"] = {"agent": row.base, "deals": both, "lead": less}
    if game.num_sides == 1 and row is not rows[0]:
        _, found["lead"] = over(rows[0].agent)
    return found


def _gains(sample: Sample) -> stats.Floats:
    """What the first agent gains, deal by deal."""
    gained: stats.Floats = sample.of_agent(0, sample.returns).mean(1)
    return gained


def command(game: Game, points: Sequence[int], numbers: Numbers, folder: Path | None) -> str:
    """The line that plays the same again."""
    words = [game.spec, "--points", ",".join(map(str, points))]
    words += ["--numbers", ",".join(str(number) for number in asdict(numbers).values())]
    words += ["--json", folder.as_posix()] if folder else []
    return shlex.join(["python", "-m", "backalley.benchmarks.searches", *words])


def numbers_given(ctx: click.Context, parameter: click.Parameter, given: str | None) -> Numbers | None:
    """The four numbers."""
    found = whole_numbers(ctx, parameter, given)
    if found is None:
        return None
    if len(found) != 4 or min(found[0], found[1], found[3]) < 1:
        raise click.BadParameter(
            f"{given!r} is not of the form EQUAL,DEARER,POLICY,DEALS; they are 1 or more, POLICY 0 without a policy.",
            ctx,
            parameter,
        )
    return Numbers(*found)


@click.command(cls=Command)
@click.argument("games", nargs=-1)
@click.option("--minutes", type=float, default=10.0, show_default=True, help="Of every core, for each game.")
@click.option(
    "--points",
    callback=whole_numbers,
    default=",".join(map(str, POINTS)),
    show_default=True,
    help="Worlds of further searches, with commas.",
)
@click.option(
    "--numbers",
    callback=numbers_given,
    metavar="EQUAL,DEARER,POLICY,DEALS",
    help="What was found by timing before: worlds of the three searches, and deals.",
)
@click.option("--threads", type=click.IntRange(1), default=None, help="Threads; every core by default.")
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file for each game.")
def main(
    games: tuple[str, ...],
    minutes: float,
    points: tuple[int, ...],
    numbers: Numbers | None,
    threads: int | None,
    folder: Path | None,
) -> None:
    """Measure what searches gain at GAMES, by default all, and what they cost."""
    if numbers is not None and len(games) != 1:
        raise click.UsageError("--numbers goes with one game.")
    if not minutes > 0 or 0 in points:
        raise click.UsageError("--minutes takes more than 0, and --points worlds of 1 or more.")
    for name in games or backalley.game_names():
        game, num_threads = backalley.game(name), threads or cores()
        path = None if folder is None else folder / f"searches_{game.name}.json"
        if path is not None:
            results.check_place(path)
        with progress_bar(game.name) as progress:
            found = numbers or find_numbers(plan_of(game), points, minutes, num_threads, progress)
            line = command(game, points, found, folder)
            progress.say(line)
            made = searches(game, points, found, num_threads=num_threads, progress=progress, keep=path)
        made["command"] = line
        if path is not None:
            results.write(path, made)
        click.echo(f"\n{costs.text_of(made)}\n")


if __name__ == "__main__":
    main()
