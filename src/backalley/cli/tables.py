"""Commands for tables: draw, record, replay, watch."""

from __future__ import annotations

import time
from pathlib import Path

import click

from backalley.console.printable import one_line
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

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
    threads_option,
    write_picture,
    zoom_option,
)

_FILE = click.Path(path_type=Path)


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


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@click.option("--out", type=_FILE, metavar="FILE", help="One game, as JSON that a person can read.")
@click.option("--jsonl", type=_FILE, metavar="FILE", help="A row for each decision, as JSON lines; - for a pipe.")
@click.option("--parquet", type=_FILE, metavar="FILE", help="The same as Parquet, with the extra `parquet`.")
@click.option("--games", type=click.IntRange(1), help="How many games; 1 by default.")
@click.option("--text", is_flag=True, help="Rows say in words what the seat may know.")
@click.option("--observation", is_flag=True, help="Rows have the flat observation.")
@click.option("--names", is_flag=True, help="Rows have the names of the legal actions.")
@click.option("--values", metavar="SEARCH", help="Rows have the value of each legal action by this search.")
@seed_option(0, "Decides the deals and the agents' own randomness; game k is that of the seed + k.")
@option_option
@threads_option
def record(
    game: str,
    agents: tuple[str, ...],
    out: Path | None,
    jsonl: Path | None,
    parquet: Path | None,
    games: int | None,
    text: bool,
    observation: bool,
    names: bool,
    values: str | None,
    seed: int,
    given: dict[str, str],
    threads: int,
) -> None:
    """Record a GAME that AGENTS play. One for every seat, or one for each; `backalley replay` plays the file again. For
    data of many games: --games with --jsonl or --parquet."""
    path = out or jsonl or parquet
    rows = {"text": text, "observation": observation, "names": names, "values": values}
    if path is None or sum(one is not None for one in (out, jsonl, parquet)) != 1:
        raise click.UsageError("Name one file: --out, --jsonl or --parquet.")
    if (path.suffix == ".parquet") != (path is parquet):
        raise click.UsageError("A file of --parquet, and no other, has a name that ends in .parquet.")
    if out is not None and (games or any(rows.values())):
        raise click.UsageError("--out is for one game; --games and what rows have go with --jsonl or --parquet.")
    to_pipe = str(path) == "-"
    check_place(None if to_pipe else path)
    found = game_of(game, given)
    if out is not None:
        _record_one(found, agents, out, seed)
    else:
        from backalley.records import record_games

        extra = [name for name in ("text", "observation") if rows[name]] + ["legal_names"] * names
        with progress_bar("games") as progress:
            number = record_games(
                found, agents, path, games=games or 1, seed=seed, extra=extra, values=values, num_threads=threads,
                progress=progress,
            )  # fmt: skip
        click.echo(f"{number:,} decisions. Written to {one_line(str(path))}.", err=to_pipe)
    line = command_line(
        "record",
        found.spec,
        *agents,
        given=given,
        out=out,
        jsonl=jsonl,
        parquet=parquet,
        games=games,
        **rows,
        seed=seed,
    )
    if not to_pipe:
        again(line)


def _record_one(game: Game, agents: tuple[str, ...], path: Path, seed: int) -> None:
    from backalley.agents.base.agent import read_events
    from backalley.agents.people.watching import turns
    from backalley.envs.core.api.aec import AECEnv
    from backalley.envs.core.files import playthrough

    players = agents_of(game, agents)
    env = AECEnv(game, events=read_events(players, game))
    actions = [turn.action for turn in turns(env, players, seed)]
    kept = playthrough.recorded(game, seed, actions)
    playthrough.save(path, kept)
    click.echo(
        f"{len(actions):,} decisions. Returns: {returns_of(game, kept['returns'])}. Written to {one_line(str(path))}."
    )


@click.command()
@click.argument("file", type=_FILE)
def replay(file: Path) -> None:
    """Replay the game in FILE. Turn by turn, with a check that the rules still give what was recorded; of many games
    (.jsonl, .parquet) row by row, in silence."""
    if file.suffix in (".jsonl", ".parquet"):
        from backalley.records import read_record

        games = rows = 0
        for row in read_record(file):
            games, rows = row["game"] + 1, rows + 1
        click.echo(f"{games:,} games, {rows:,} decisions: every row is what the rules give.")
    else:
        from backalley.envs.core.files.playthrough import replay as run

        for turn in run(file):
            click.echo(f"{turn}\n")
        click.echo("Everything shown and won is as it was recorded.")
    again(command_line("replay", str(file)))
