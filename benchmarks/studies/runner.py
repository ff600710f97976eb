"""What the commands that measure have in common: where a result goes, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from backalley.cli.shared import check_place, command_line, end
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

folder_option = click.option(
    "--json",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a file for each game to this folder.",
)


def file_of(folder: Path | None, kind: str, game: Game) -> Path | None:
    """The file of a game's results; raises before any work if it could not be written."""
    path = None if folder is None else folder / f"{kind}_{game.name}.json"
    check_place(path)
    return path


def measure(name: str, game: Game, words: Sequence[str], folder: Path | None, run: Any, **settings: Any) -> None:
    """Measure one game by `run(progress=, keep=, command=)`, show the result, write it, and say how to run it again;
    `words` and `settings` are those of the command."""
    path = file_of(folder, name, game)
    line = command_line("dev", "study", name, game.spec, *words, **settings, json=folder.as_posix() if folder else None)
    with progress_bar(game.name) as progress:
        found = run(progress=progress, keep=path, command=line)
    end(found, path, line)


def run_program(words: Sequence[str], folder: Path | None, run: Any, **settings: Any) -> None:
    """Do the same for a program of the guides, `run(command=)`."""
    check_place(path := None if folder is None else folder / f"{'_'.join(words)}.json")
    line = command_line("dev", "study", *words, **settings, json=folder.as_posix() if folder else None)
    end(run(command=line), path, line)
