"""`backalley dev`: commands for maintainers, and for authors of a game. Every command is declared here, calls one
function, and says how to run it again; `benchmarks/studies` declares those that measure the project's pages."""

from __future__ import annotations

from pathlib import Path

import click

import backalley
from backalley.console.command import CommandError, Program, pairs
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

from .shared import Special, check_place, finish, game_of, games_argument, games_of, json_option, of_a_game, seed_option

_OF_A_CHECKOUT = ("chaos", "docs", "gpu", "soak", "speed", "study", "tune", "types")
"""Commands of `benchmarks/studies`, which the wheel leaves out."""


class _Dev(Program):
    """The commands, with those of a checkout once one of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names; a wheel has fewer."""
        return sorted([*self.commands, *(name for name in _OF_A_CHECKOUT if self.get_command(ctx, name))])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name; None where there is none."""
        if name not in _OF_A_CHECKOUT:
            return super().get_command(ctx, name)
        try:
            from backalley.benchmarks.studies.pages.docs import COMMANDS
        except ModuleNotFoundError as error:
            if error.name != "backalley.benchmarks.studies":
                raise
            return None
        return COMMANDS[name]


@click.group(cls=_Dev)
def dev() -> None:
    """Maintain the package: measure results, and write files that follow from the code."""


@dev.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--game", help="The import path of a game from outside the package.")
@click.option(
    "--serves",
    multiple=True,
    metavar="OPTION=VALUE,VALUE",
    callback=pairs("OPTION=VALUE,VALUE"),
    help="Values of an option under which it plays as well as under its own; may be repeated.",
)
def publish(run: Path, name: str, game: str | None, serves: dict[str, str]) -> None:
    """Copy the policy in RUN to its game, as the pretrained policy NAME."""
    from backalley.agents.policies.publish import publish_policy

    served = {option: [value.strip() for value in values.split(",")] for option, values in serves.items()}
    click.echo(f"Written to {publish_policy(run, name, None if game is None else backalley.game(game), served)}.")


@dev.command()
@games_argument
def digests(games: tuple[str, ...]) -> None:
    """Write the behaviour digests of the policies of GAMES, by default all: after a change that alters play on
    purpose."""
    from backalley.agents.policies.publish import write_digests

    for game in games_of(games):
        if (path := write_digests(game)) is not None:
            click.echo(f"Written to {path}.")


@dev.command()
@of_a_game
@seed_option(0, "Decides decks and random moves.")
@click.option("--bot", help="A bot of the game for every seat; random moves by default.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file; by default one in the game's playthroughs folder."
)
def playthrough(game: Game, seed: int, bot: str | None, out: Path | None) -> None:
    """Play one episode of GAME and keep it as a file that tests replay."""
    from backalley.envs.core.files.playthrough import make

    click.echo(f"Written to {make(game, seed, bot, out)}.")


@dev.command()
@of_a_game
@click.option(
    "--most",
    cls=Special,
    type=click.IntRange(1),
    default=10_000_000,
    help="Stop where there are more information sets.",
)
@json_option
def count(game: Game, most: int, path: Path | None) -> None:
    """Count the deals, histories and information sets of a small GAME, by walking through all of them."""
    from backalley.benchmarks.exact.walk import count_information_sets as run

    check_place(path)
    with progress_bar("information sets") as progress:
        counted = run(game, most=most, progress=progress)
    finish(counted, path)


@dev.command()
@click.argument("game")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...", callback=pairs())
def odds(game: str, given: dict[str, str]) -> None:
    """Print the exact odds of GAME under the options given. Baccarat and Twenty-One have some."""
    from backalley.benchmarks.analyse.house import odds_module

    found = game_of(game, given)
    if (module := odds_module(found.type)) is None:
        raise CommandError(f"{game} has no odds.py beside its game.py.")
    click.echo(module.text(found))
