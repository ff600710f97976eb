"""The command that scores programs written from the games' pages."""

from __future__ import annotations

from pathlib import Path

import click

from backalley.console.progress import progress_bar

from .measuring import end
from .shared import Amount, check_place, command_line, game_of, json_option, seed_option


@click.command("score-rules")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--game", "games", multiple=True, help="Score this game alone; may be repeated.")
@click.option("--reference", is_flag=True, help="Score our own rules behind the interface, in place of a folder.")
@click.option("--task", metavar="GAME", help="Print what the author of a candidate is given, and score nothing.")
@click.option(
    "--hidden", type=click.IntRange(0, 10**5), default=40, show_default=True, help="Hidden games of each game."
)
@seed_option(0, "Decides the hidden games.")
@click.option("--seconds", type=Amount(0.1, 3600), default=10.0, show_default=True, help="For each case and game.")
@click.option("--memory", type=click.IntRange(64), default=1024, show_default=True, help="MiB for a candidate.")
@json_option
def score_rules(
    folder: Path | None,
    games: tuple[str, ...],
    reference: bool,
    task: str | None,
    hidden: int,
    seed: int,
    seconds: float,
    memory: int,
    path: Path | None,
) -> None:
    """Score the programs in FOLDER that were written from the games' pages. FOLDER/pitch.py has a class Game; rule
    vectors and hidden games say which paragraphs it plays rightly."""
    from backalley.benchmarks.rules_to_code.programs import Limits
    from backalley.benchmarks.rules_to_code.score import score_rules as run
    from backalley.benchmarks.rules_to_code.task import task as task_of

    if (folder is not None) + reference + (task is not None) != 1:
        raise click.UsageError("Name a FOLDER of candidates, or give --reference, or --task GAME.")
    if task is not None:
        click.echo(task_of(game_of(task, {})))
        return
    check_place(path)
    words = [*([] if folder is None else [str(folder)]), *(word for name in games for word in ("--game", name))]
    line = command_line(
        "score-rules", *words, reference=reference, hidden=hidden, seed=seed, seconds=seconds, memory=memory, json=path
    )
    chosen = [game_of(name, {}) for name in games]
    with progress_bar("games") as progress:
        limits = Limits(seconds, memory)
        found = run(folder, chosen, hidden=hidden, seed=seed, limits=limits, progress=progress, command=line)
    end(found, path, line)
