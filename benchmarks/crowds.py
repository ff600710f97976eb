"""What one decision of a search costs where many sit at the table: the same code, and its price.

    python -m backalley.benchmarks.crowds --json benchmarks/results

Which options these are stands in `publication.toml` (`crowds`), beside every game's own. Bots play, and every few
decisions with a choice the search is asked as well: alone, on one thread.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import backalley
from backalley.agents.base import answer, view_of
from backalley.agents.registry import agent as agent_of
from backalley.command import Command
from backalley.envs.core.base import Game
from backalley.envs.core.vector import BatchEnv
from backalley.progress import progress_bar

from . import publication, results
from .processor_time import Timed, cost
from .tabular import text

SECONDS = 4.0
"""Processor time of each search under each set of options."""
_EVERY = 7
"""Choices between two that a search is asked at, so that no phase of a game is missed."""


def of_a_decision(game: Game, spec: str, seconds: float = SECONDS) -> dict[str, Any]:
    """What `Timed` counts of an agent for a decision, and how many decisions it was asked for. Raises ValueError in a
    sentence for a game in which nobody has a choice."""
    timed, bot = Timed(agent_of(spec, game, num_threads=1)), agent_of("bot", game)
    tables = BatchEnv(game, 1, seed=publication.seed())
    row, keys, choices, asked = np.zeros(1, np.int64), np.array([publication.seed()], np.uint64), 0, 0
    try:
        tables.reset()
        for decision in range(1_000_000):
            view = view_of(tables.engine, row, keys + np.uint64(decision))
            if view.action_mask.sum() > 1:
                choices += 1
                if choices % _EVERY == 1:
                    answer(timed, view)
                    asked += 1
            if timed.spent[0] >= seconds and asked > 1:
                return {"agent": spec, "decisions": asked - 1, **cost(timed.spent)}
            tables.step(answer(bot, view))
    finally:
        timed.close()
    raise ValueError(f"In {game.name} searches have too few choices under these options to be timed.")


def crowds(games: Sequence[Game], told: Any = lambda done, total, words: None) -> dict[str, Any]:
    """The cost of every search under every set of options, as `results.write` takes it but for the command."""
    bound = [one for game in games for one in publication.crowds(game)]
    rows = []
    for number, game in enumerate(bound):
        told(number, len(bound), game.name)
        found = [of_a_decision(game, spec) for spec in publication.publications(game)[0].searches]
        rows.append({"game": game.id, "options": game.changed_options, "seats": game.num_seats, "agents": found})
    return {"kind": "crowds", "rows": rows, **results.stamp(__file__, *{game.type: game for game in bound}.values())}


def table(found: dict[str, Any]) -> str:
    """The costs as text."""
    searches = [one["agent"] for one in found["rows"][0]["agents"]]
    head = ["game", "seats", *(f"{search}, ms" for search in searches), "worlds"]
    rows = [
        [
            row["game"],
            f"{row['seats']}",
            *(f"{one['milliseconds']:.3g}" for one in row["agents"]),
            f"{row['agents'][-1]['worlds']:.1f}",
        ]
        for row in found["rows"]
    ]
    return text(head, rows)


@click.command(cls=Command)
@click.argument("games", nargs=-1)
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file here.")
def main(games: tuple[str, ...], folder: Path | None) -> None:
    """Time one decision of searches at the large tables of GAMES, by default of all that have any."""
    path = None if folder is None else folder / "crowds.json"
    if path is not None:
        results.check_place(path)
    with progress_bar("searches") as progress:
        found = crowds([backalley.game(name) for name in games or backalley.game_names()], progress)
    words = [*games, *(["--json", folder.as_posix()] if folder else [])]
    line = shlex.join(["python", "-m", "backalley.benchmarks.crowds", *words])
    if path is not None:
        results.write(path, found | {"command": line})
    click.echo(f"\n{table(found)}\n")
    click.echo(f"Again: {line}", err=True)


if __name__ == "__main__":
    main()
