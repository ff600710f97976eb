"""Commands for one table: draw, record, watch."""

from __future__ import annotations

import time
from pathlib import Path

import click

from backalley.console.printable import one_line

from .shared import (
    Amount,
    again,
    agents_of,
    check_picture,
    check_place,
    command_line,
    dark_option,
    game_of,
    option_option,
    picture_option,
    returns_of,
    seed_option,
    theme_of,
    write_picture,
    zoom_option,
)


@click.command()
@click.argument("game")
@picture_option
@seed_option(0, "Decides the deal and the agents' own randomness.")
@click.option("--seat", type=int, help="Whose view; by default of the seat to act.")
@click.option(
    "--decisions", type=click.IntRange(0, 10**9), default=0, show_default=True, help="Decisions before the picture."
)
@click.option("--agent", help="The agent that makes them; the game's best bot by default.")
@dark_option
@click.option("--four-colours", is_flag=True, help="Clubs green, diamonds blue.")
@zoom_option
@option_option
def picture(
    game: str,
    path: Path,
    seed: int,
    seat: int | None,
    decisions: int,
    agent: str | None,
    dark: bool,
    four_colours: bool,
    zoom: float,
    given: dict[str, str],
) -> None:
    """Draw a table of GAME. As one seat sees it, at the beginning or some decisions later."""
    from backalley.agents.people.watching import picture as drawn_by

    check_picture(path)
    found = game_of(game, given)
    player = agents_of(found, [agent or ("bot" if found.bots else "random")])[0]
    look = {"theme": theme_of(dark), "four_colours": four_colours}
    write_picture(path, drawn_by(found, player, seed=seed, decisions=decisions, seat=seat, **look), zoom)
    flags = ["--dark"] * dark + ["--four-colours"] * four_colours
    line = command_line(
        "picture", found.spec, *flags, given=given, out=path, seed=seed, seat=seat, decisions=decisions or None,
        agent=agent, zoom=zoom if zoom != 1 else None,
    )  # fmt: skip
    again(line)


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@click.option(
    "--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The playthrough, as JSON."
)
@seed_option(0, "Decides the deal and the agents' own randomness.")
@option_option
def record(game: str, agents: tuple[str, ...], path: Path, seed: int, given: dict[str, str]) -> None:
    """Record a GAME that AGENTS play. One for every seat, or one for each; `backalley replay` plays the file again."""
    from backalley.agents.base.agent import read_events
    from backalley.agents.people.watching import turns
    from backalley.envs.core.api.aec import AECEnv
    from backalley.envs.core.files import playthrough

    check_place(path)
    found = game_of(game, given)
    players = agents_of(found, agents)
    env = AECEnv(found, events=read_events(players, found))
    actions = [turn.action for turn in turns(env, players, seed)]
    kept = playthrough.recorded(found, seed, actions)
    playthrough.save(path, kept)
    click.echo(
        f"{len(actions):,} decisions. Returns: {returns_of(found, kept['returns'])}. Written to {one_line(str(path))}."
    )
    again(command_line("record", found.spec, *agents, given=given, out=path, seed=seed))


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@click.option("--seat", type=int, help="Whose view; by default all cards are face up.")
@click.option("--pause", type=Amount(0, 3600), default=0.0, show_default=True, help="Seconds after each table.")
@seed_option(0, "Decides the deal and the agents' own randomness.")
@option_option
def watch(game: str, agents: tuple[str, ...], seat: int | None, pause: float, seed: int, given: dict[str, str]) -> None:
    """Watch AGENTS play a GAME. One for every seat, or one for each."""
    from backalley.agents.base.agent import read_events
    from backalley.agents.people.terminal import shown
    from backalley.agents.people.watching import check_seat, told, turns
    from backalley.envs.core.api.aec import AECEnv

    found = game_of(game, given)
    if seat is not None:
        check_seat(found, seat)
    returns, players = [0.0] * found.num_seats, agents_of(found, agents)
    env = AECEnv(found, events=read_events(players, found))
    for number, turn in enumerate(turns(env, players, seed), 1):
        shown(f"{number}. {told(found, turn.seat, turn.action, seat)}\n{found.table_str(turn.state, seat)}\n")
        returns = [before + more for before, more in zip(returns, turn.rewards, strict=True)]
        time.sleep(pause)
    click.echo(f"Returns: {returns_of(found, returns)}.")
    again(command_line("watch", found.spec, *agents, given=given, seat=seat, seed=seed, pause=pause or None))
