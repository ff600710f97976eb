"""Commands about recorded games: record, replay and review."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backalley.console.errors import one_line, printable
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

from .shared import (
    again,
    agents_argument,
    agents_of,
    check_place,
    of_a_game,
    returns_of,
    seed_option,
    threads_option,
    write,
    write_bytes,
)

if TYPE_CHECKING:
    from backalley.benchmarks.analyse.review import Review

_FILE = click.Path(path_type=Path)


@click.command()
@of_a_game
@agents_argument
@click.option("--out", type=_FILE, metavar="FILE", help="One game, as JSON that a person can read.")
@click.option("--jsonl", type=_FILE, metavar="FILE", help="A row for each decision, as JSON lines; - for a pipe.")
@click.option("--parquet", type=_FILE, metavar="FILE", help="The same as Parquet, with the extra `parquet`.")
@click.option("--games", type=click.IntRange(1), help="How many games; 1 by default.")
@click.option("--text", is_flag=True, help="Rows say in words what the seat may know.")
@click.option("--observation", is_flag=True, help="Rows have the flat observation.")
@click.option("--names", is_flag=True, help="Rows have the names of the legal actions.")
@click.option("--values", metavar="SEARCH", help="Rows have the value of each legal action by this search.")
@seed_option(0, "Decides the deals and the agents' own randomness; game k is that of the seed + k.")
@threads_option
def record(
    game: Game,
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
    if out is not None:
        _record_one(game, agents, out, seed)
    else:
        from backalley.records import record_games

        extra = [name for name in ("text", "observation") if rows[name]] + ["legal_names"] * names
        with progress_bar("games") as progress:
            number = record_games(
                game, agents, path, games=games or 1, seed=seed, extra=extra, values=values, num_threads=threads,
                progress=progress,
            )  # fmt: skip
        click.echo(f"{number:,} decisions. Written to {one_line(str(path))}.", err=to_pipe)
    if not to_pipe:
        again()


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
    again()


@click.command()
@click.argument("files", type=_FILE, nargs=-1, required=True)
@click.option("--seat", type=click.IntRange(0), default=0, help="Whose decisions.")
@click.option("--agent", default="mc:200", help="The search, mc:DETERMINIZATIONS.")
@click.option("--json", "json_path", type=_FILE, metavar="FILE", help="Every decision, as JSON.")
@click.option("--html", type=_FILE, metavar="FILE", help="A page with pictures.")
def review(files: tuple[Path, ...], seat: int, agent: str, json_path: Path | None, html: Path | None) -> None:
    """Review a seat's decisions in FILES. Games of `backalley record --out`, all of the same rules: what each decision
    has lost by a search that knows what the seat knew, with the three that cost most and the better actions."""
    from backalley.benchmarks.analyse.review import review as run
    from backalley.benchmarks.analyse.review import words
    from backalley.envs.core.files.playthrough import table_in

    check_place(json_path)
    check_place(html)
    with progress_bar("decisions") as progress:
        found = run(*files, seat=seat, agent=agent, progress=progress)
    click.echo(f"{found}\n")
    for one in found.costliest():
        env, _ = table_in(files[one.file], one.number)
        where = f"{files[one.file]}. " if len(files) > 1 else ""
        click.echo(f"{printable(where)}{words(one)}\n{found.game.table_str(env.arrays.state[0], seat)}\n")
    write(json_path, found.payload())
    if html is not None:
        write_bytes(html, _review_page(found, files).encode())
    again()


def _review_page(found: Review, files: tuple[Path, ...]) -> str:
    """The review as a page: the costliest decisions with a slider over their tables."""
    from backalley.benchmarks.analyse.review import words
    from backalley.envs.core.drawing.pictures import pixels
    from backalley.envs.core.drawing.render import table_svg
    from backalley.envs.core.files.playthrough import table_in

    costly = found.costliest()
    tables = [table_in(files[one.file], one.number)[0] for one in costly]
    pictures = [table_svg(env, 0, found.seat) for env in tables]
    said = f"<pre>{escape(printable(str(found)))}</pre>"
    title = f"{found.game.title}: review"
    if not costly:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
            f"<body><main>{said}<p>No better action was found.</p></main></body></html>\n"
        )
    return pixels.page(pictures, [words(one) for one in costly], title).replace("</main>", f"{said}</main>")
