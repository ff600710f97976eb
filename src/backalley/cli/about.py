"""Commands about games: the list, their pages, a game of your own, its checks, and compiling ahead of time."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import backalley
from backalley.console.command import CommandError
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

from .shared import Amount, again, command_line, games_argument, of_a_game, seed_option, this_line, threads_option


@click.command()
def games() -> None:
    """List the games. Seats, actions and observation size are those of the default options."""
    from backalley.agents.policies import pretrained
    from backalley.benchmarks.figures import formatting

    rows, troubles = [], []
    for name in backalley.game_names():
        try:
            game = backalley.game(name)
            numbers = (game.num_seats, game.num_actions, game.observation_size)
        except Exception as error:  # a game in development must not block the others
            troubles.append(f"{name} cannot be loaded: {type(error).__name__}: {error}")
            continue
        players = (", ".join(names) or "none" for names in (game.bots, pretrained.names(game)))
        rows.append([game.id, game.title, *players, *map(str, numbers)])
        if not (game.type.folder / "README.md").is_file():
            troubles.append(f"{name} has no README.md, the page of its rules.")
    click.echo(formatting.text(["game", "title", "bots", "policies", "seats", "actions", "observation"], rows, left=4))
    for sentence in troubles:
        click.echo(sentence, err=True)
    again()


@click.command()
@click.argument("game")
@click.argument("paragraph", required=False)
def rules(game: str, paragraph: str | None) -> None:
    """Print the page of GAME, or one PARAGRAPH of it, such as §1.3. The page has the rules, options, actions,
    observation and bots."""
    from backalley.envs.core.text import rules_text

    found = backalley.game(game)
    page = found.type.folder / "README.md"
    if not page.is_file():
        raise CommandError(f"{found.name} has no page: there is no README.md beside its game.py.")
    text = rules_text(found, paragraph) if paragraph else page.read_text("utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text)
    click.echo(f"Again: {this_line(game=found.spec)}", err=True)


@click.command("new-game")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--trick", is_flag=True, help="Begin with a trick game.")
def new_game(name: str, folder: Path, trick: bool) -> None:
    """Begin a game of your own. Writes a small complete game, the package NAME in FOLDER, by default the working
    folder."""
    from backalley.cli.new_game import new_game as run

    place = run(name, folder, "trick" if trick else "small")
    click.echo(f"Written: {place}, a game to change. Read game.py first; README.md has the rules.")
    click.echo(f"Play it from {folder}: {command_line('evaluate', f'{name}.game', 'bot', 'random')}")
    click.echo(f"Check it from there: {command_line('check', f'{name}.game')}")


@click.command()
@of_a_game
@seed_option(0, "Seed of the first episode of each check.")
@click.option("--episodes", type=click.IntRange(1), default=4, help="Random episodes of a check.")
@click.option("--seconds", type=Amount(0), help="Repeat the checks with other seeds for this long.")
@click.option("--sets", type=click.IntRange(1), help="Check it under at least this many sets of random options, too.")
def check(game: Game, seed: int, episodes: int, seconds: float | None, sets: int | None) -> None:
    """Check GAME, one of your own or any other: masks, leaks, copies, seeds and everything else that games promise.

    Prints what was tried and what failed. The exit code is 1 if something failed.
    """
    from backalley.benchmarks.speed.option_sets import mixtures
    from backalley.testing import check_game

    drawn = mixtures(game, sets, seed) if sets else []
    games = dict.fromkeys([game, *map(game.type.bind, drawn)])
    kept = True
    for one in games:
        with progress_bar(f"check {one.name}") as progress:
            report = check_game(one, seed=seed, episodes=episodes, seconds=seconds, progress=progress)
        click.echo(str(report))
        kept &= report.ok
    again()
    if not kept:
        sys.exit(1)


@click.command("compile")
@games_argument
@threads_option
def compile_(games: tuple[str, ...], threads: int) -> None:
    """Compile GAMES ahead of time, by default all. Needed once for each version; nobody waits later."""
    from backalley.cli.compiling import compile_games

    names = [backalley.game(name).name for name in games] if games else backalley.game_names()
    failed = []

    def done(name: str, seconds: float, error: str) -> None:
        failed.extend([name] if error else [])
        click.echo(f"{name}: {error.splitlines()[-1] if error else f'{seconds:.1f} s'}")

    compile_games(names, threads, done)
    again()
    if failed:
        raise CommandError(f"{', '.join(failed)} could not be compiled.")
