"""What there is: the games, their pages, a game of one's own, and compiling ahead."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import backalley
from backalley.command import CommandError

from .shared import (
    again,
    command_line,
    threads_option,
)


@click.command()
def games() -> None:
    """List the games. Seats, actions and observation size are those of the default options."""
    from backalley.agents import shipped
    from backalley.benchmarks import tabular

    rows, troubles = [], []
    for name in backalley.game_names():
        try:
            game = backalley.game(name)
            numbers = (game.num_seats, game.num_actions, game.observation_size)
        except Exception as error:  # a game that is being written must not stand in the others' way
            troubles.append(f"{name} cannot be loaded: {type(error).__name__}: {error}")
            continue
        players = (", ".join(names) or "none" for names in (game.bots, shipped.names(game)))
        rows.append([game.id, game.title, *players, *map(str, numbers)])
        if not (game.type.folder / "README.md").is_file():
            troubles.append(f"{name} has no README.md, the page of its rules.")
    click.echo(tabular.text(["game", "title", "bots", "policies", "seats", "actions", "observation"], rows, left=4))
    for sentence in troubles:
        click.echo(sentence, err=True)
    again(command_line("games"))


@click.command()
@click.argument("game")
def rules(game: str) -> None:
    """Print the page of GAME. It has the rules, options, actions, observation and bots."""
    found = backalley.game(game)
    page = found.type.folder / "README.md"
    if not page.is_file():
        raise CommandError(f"{found.name} has no page: there is no README.md beside its game.py.")
    text = page.read_text("utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text)
    click.echo(f"Again: {command_line('rules', found.spec)}", err=True)


@click.command("new-game")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
def new_game(name: str, folder: Path) -> None:
    """Begin a game of your own. Writes a small whole game, the package NAME in FOLDER, by default the working one."""
    from backalley.new_game import new_game as run

    place = run(name, folder)
    click.echo(f"Written: {place}, a game to change. Read game.py first; README.md has the rules.")
    click.echo(f"Play it from {folder}: {command_line('evaluate', f'{name}.game', 'bot', 'random')}")


@click.command("compile")
@click.argument("games", nargs=-1)
@threads_option
def compile_(games: tuple[str, ...], threads: int) -> None:
    """Compile GAMES ahead of time, by default all. It is done once for each version; nobody waits later."""
    from backalley.compiling import compile_games

    names = [backalley.game(name).name for name in games] if games else backalley.game_names()
    failed = []

    def done(name: str, seconds: float, error: str) -> None:
        failed.extend([name] if error else [])
        click.echo(f"{name}: {error.splitlines()[-1] if error else f'{seconds:.1f} s'}")

    compile_games(names, threads, done)
    again(command_line("compile", *games))
    if failed:
        raise CommandError(f"{', '.join(failed)} could not be compiled.")
