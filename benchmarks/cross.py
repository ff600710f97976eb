"""The cross table of a game: its bots, its policy and others, each against each, so that no policy owes its standing to
one opponent.

    python -m backalley.benchmarks.cross pitch "imitation=runs/imitation" --json benchmarks/results

How many deals each pairing plays, and on which seed, stands in `publication.toml`. What was stopped goes on.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
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
from backalley.progress import progress_bar

from . import publication, results
from .evaluate import Progress
from .keys import Space
from .ladder import about, labelled
from .tournament import Ranking, tournament


def cross(
    game: str | Game,
    others: Mapping[str, str] | None = None,
    *,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> tuple[Ranking, dict[str, Any]]:
    """The game's bots, the policy for its options and `others`, by their labels, all against all; also as
    `results.write` takes it, but for the command.

    Of the options that are published these are the first under which several play. Raises ValueError in a sentence.
    """
    plans = publication.publications(game_of(game))
    plan = next((plan for plan in plans if plan.game.num_sides > 1), plans[0])
    specs = {f"bot:{name}": f"bot:{name}" for name in plan.game.bots}
    try:
        own = policy_for(plan.game).spec
        specs[own] = own
    except NoPolicy:
        pass
    players: list[Agent] = []
    described = []
    for label, spec in (specs | dict(others or {})).items():
        player = agent_of(spec, plan.game, num_threads=num_threads)
        described.append(about(label, player))
        player.name = label
        players.append(player)
    try:
        ranking = tournament(
            plan.game,
            players,
            deals=plan.cross_deals,
            seed=publication.seed(),
            num_threads=num_threads,
            progress=progress,
            keep=keep,
            space=Space.PUBLICATION,
        )
    finally:
        for player in players:
            player.close()
    found = ranking.to_json()
    for one, more in zip(found["agents"], described, strict=True):
        one |= more
    return ranking, {**found, "kind": "cross"}


@click.command(cls=Command)
@click.argument("game")
@click.argument("others", nargs=-1, metavar="[LABEL=AGENT]...", callback=labelled)
@click.option("--threads", type=click.IntRange(0), default=0, help="Threads; every core by default.")
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file here.")
def main(game: str, others: dict[str, str], threads: int, folder: Path | None) -> None:
    """Play the bots and the policy of GAME, and others, all against all."""
    found = backalley.game(game)
    path = None if folder is None else folder / f"cross_{found.name}.json"
    if path is not None:
        results.check_place(path)
    words = [found.spec, *(f"{label}={spec}" for label, spec in others.items())]
    words += ["--json", folder.as_posix()] if folder else []
    line = shlex.join(["python", "-m", "backalley.benchmarks.cross", *words])
    with progress_bar(found.name) as progress:
        ranking, payload = cross(found, others, num_threads=threads, progress=progress, keep=path)
    click.echo(f"\n{ranking.table()}\n")
    if path is not None:
        results.write(path, {**payload, "command": line})
    click.echo(f"Again: {line}", err=True)


if __name__ == "__main__":
    main()
