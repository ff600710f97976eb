"""Commands for tables that people look at: draw, watch, serve."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .shared import (
    ANIMATED,
    Amount,
    Special,
    again,
    agents_argument,
    agents_of,
    check_picture,
    dark_option,
    game_of,
    of_a_game,
    option_option,
    picture_option,
    returns_of,
    seed_option,
    theme_of,
    this_line,
    write_bytes,
    write_picture,
    zoom_option,
)

if TYPE_CHECKING:
    from backalley.agents.base.agent import Agent
    from backalley.agents.people.replays import Replay
    from backalley.envs.core.game.game import Game

PAUSE = 1.5
"""Seconds in which a table can be read."""


@click.command()
@click.argument("game")
@picture_option(animated=True)
@seed_option(0, "Decides the deal and the agents' own randomness.")
@click.option("--seat", type=int, help="Whose view; by default of the seat to act. Of a whole game: all face up.")
@click.option(
    "--decisions", cls=Special, type=click.IntRange(0, 10**9), default=0, help="Decisions before the picture."
)
@click.option("--agent", help="The agent that makes them; the game's best bot by default.")
@click.option("--pictures", type=click.IntRange(1, 2000), help="Of a whole game at most; 400 by default.")
@click.option("--pause", cls=Special, type=Amount(0.02, 60), default=1.0, help="Seconds for each, of a GIF.")
@dark_option
@click.option("--four-colours", is_flag=True, help="Clubs green, diamonds blue.")
@zoom_option
@option_option
def picture(game: str, path: Path, given: dict[str, str], dark: bool, four_colours: bool, **settings: Any) -> None:
    """Draw a table of GAME. As one seat sees it, at the beginning or some decisions later. A file .gif or .html shows
    all that follows, too. GAME may be a file that `backalley record` has written."""
    check_picture(path, animated=True)
    if game.endswith(".json") and (given or settings["agent"] is not None):
        raise click.UsageError(f"{game} is a recorded game: it has its own options, and nobody plays it.")
    look = {"theme": theme_of(dark), "four_colours": four_colours}
    if path.suffix.lower() in ANIMATED:
        made = _replay(game, given, settings, look)
        gif = path.suffix.lower() == ".gif"
        write_bytes(path, made.gif(settings["pause"], settings["zoom"]) if gif else made.html().encode())
    else:
        write_picture(path, _table(game, given, settings, look), settings["zoom"])
    again(this_line(seed=None) if game.endswith(".json") else this_line())


def _replay(game: str, given: dict[str, str], settings: dict[str, Any], look: dict[str, Any]) -> Replay:
    """A whole game, recorded or played here."""
    from backalley.agents.people.replays import MOST, played, replay

    look |= {"begin": settings["decisions"], "most": settings["pictures"] or MOST}
    if game.endswith(".json"):
        return replay(game, settings["seat"], **look)
    return played(*_player(game, given, settings), settings["seed"], settings["seat"], **look)


def _table(game: str, given: dict[str, str], settings: dict[str, Any], look: dict[str, Any]) -> str:
    """One table of it."""
    from backalley.agents.people.watching import picture as drawn_by
    from backalley.envs.core.drawing.render import table_svg
    from backalley.envs.core.files.playthrough import table_in
    from backalley.envs.core.game import arguments

    seat, decisions = settings["seat"], settings["decisions"]
    if game.endswith(".json"):
        env, _ = table_in(Path(game), decisions)
        if seat is not None:
            arguments.seat(seat, env.game)
        return table_svg(env, 0, seat, **look)
    return drawn_by(*_player(game, given, settings), seed=settings["seed"], decisions=decisions, seat=seat, **look)


def _player(game: str, given: dict[str, str], settings: dict[str, Any]) -> tuple[Game, Agent]:
    found = game_of(game, given)
    return found, agents_of(found, [settings["agent"] or ("bot" if found.bots else "random")])[0]


@click.command()
@of_a_game
@agents_argument
@click.option("--seat", type=int, help="Whose view; by default all cards are face up.")
@click.option("--pause", type=Amount(0, 3600), help="Seconds after each table; 1.5 at a terminal by default.")
@seed_option(0, "Decides the deal and the agents' own randomness.")
def watch(game: Game, agents: tuple[str, ...], seat: int | None, pause: float | None, seed: int) -> None:
    """Watch AGENTS play a GAME. One for every seat, or one for each. At a terminal the table is redrawn in place; in a
    file or a pipe all tables follow each other."""
    from backalley.agents.base.agent import read_events
    from backalley.agents.people.terminal import redraw, shown
    from backalley.agents.people.watching import action_words, turns
    from backalley.envs.core.api.aec import AECEnv
    from backalley.envs.core.game import arguments

    if seat is not None:
        arguments.seat(seat, game)
    returns, players, live = [0.0] * game.num_seats, agents_of(game, agents), sys.stdout.isatty()
    seconds = pause if pause is not None else PAUSE * live
    env = AECEnv(game, events=read_events(players, game))
    for number, turn in enumerate(turns(env, players, seed), 1):
        if live:
            redraw()
        shown(f"{number}. {action_words(game, turn.seat, turn.action, seat)}\n{game.table_str(turn.state, seat)}\n")
        returns = [before + more for before, more in zip(returns, turn.rewards, strict=True)]
        time.sleep(seconds)
    click.echo(f"Returns: {returns_of(game, returns)}.")
    again()


@click.command()
@click.option("--host", default="127.0.0.1", help="The address to listen at; 0.0.0.0 is every one of this machine.")
@click.option("--network", is_flag=True, help="Let others in, too: needed for an address beyond this machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=8017, help="0 takes a free one.")
@click.option(
    "--name",
    "names",
    multiple=True,
    help="A name by which this machine is asked for, besides localhost; may be repeated.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where tables are kept; by default in your folder of settings.",
)
@click.option("--agent", "own", multiple=True, help="An agent of yours that is offered, too; may be repeated.")
@click.option("--hint", "adviser", default="search:96:1500", help="The search that values actions.")
@click.option(
    "--game", "games", multiple=True, help="A game of yours that is offered, too, by its import path or folder."
)
@click.option("--pace", type=Amount(0, 60), default=0.7, help="Seconds before each action of an agent.")
def serve(host: str, network: bool, folder: Path | None, games: tuple[str, ...], **settings: Any) -> None:
    """Serve tables to browsers, for people and agents. Tables outlive the server; Ctrl-C ends it."""
    from backalley.envs.core.game.catalogue import game_type, register_game
    from backalley.web.server import is_of_this_machine, run

    if not is_of_this_machine(host) and not network:
        raise click.UsageError(
            f"{host} can be reached by others, who may set up tables and let this machine think. There are no "
            "passwords: add --network if you mean that."
        )
    for game in games:
        register_game(game_type(game))
    run(folder or Path(click.get_app_dir("backalley")) / "tables", host, **settings)
