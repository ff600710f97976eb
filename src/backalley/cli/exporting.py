"""The commands that write games for programs without Python, and for browsers without a server."""

from __future__ import annotations

from pathlib import Path

import click

from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game
from backalley.exports import TARGETS

from .shared import again, of_a_game


@click.command("export")
@of_a_game
@click.option(
    "--target",
    type=click.Choice(list(TARGETS)),
    required=True,
    help="A shared library, an object file with a C header, or WebAssembly.",
)
@click.option("--policy", metavar="AGENT", help="A policy's name or folder, or none; by default the game's own.")
@click.option("--triple", metavar="TRIPLE", help="Another machine for target c, such as aarch64-linux-gnu.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to write to.")
@click.option("--replace", is_flag=True, help="Replace files of an earlier export.")
def export(game: Game, target: str, policy: str | None, triple: str | None, out: Path, replace: bool) -> None:
    """Write the rules and players of GAME as files that need no Python: code, a C header, a JSON of the layout, and the
    licence."""
    from backalley.exports.writing import export as written

    learned = {} if policy is None else {"policy": None if policy == "none" else policy}
    click.echo(written(game, target, out, triple=triple, replace=replace, **learned).table())
    again()


@click.command("site")
@click.argument("out", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--game", "games", multiple=True, metavar="GAME", help="A game of the site, again for more; else all.")
@click.option("--replace", is_flag=True, help="Replace the pages of an earlier site.")
def site(out: Path, games: tuple[str, ...], replace: bool) -> None:
    """Write tables that need no server: pages for any web host, on which people play against the computer's players
    in their browsers. The games have their default options."""
    from backalley.site.building import build

    with progress_bar("games") as progress:
        built = build(out, games, replace=replace, progress=progress)
    click.echo(built.table())
    again()
