"""Write a record as JSON lines or Parquet, row by row: beside its place, and renamed when it is whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from backalley.agents.base.agent import name_of
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import check_path
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from .columns import COLUMNS, Head, Row
from .parquet import write_parquet
from .play import played, seated

Progress = Callable[[float, float, str], None]


def record_games(
    game: Game | str,
    agents: Sequence[Any] | Any,
    path: Path | str,
    *,
    games: int = 100,
    seed: int = 0,
    extra: Sequence[str] = (),
    values: Any = None,
    num_threads: int = 1,
    progress: Progress | None = None,
) -> int:
    """Let agents play games, and write a row for each decision to `path`: as Parquet where its name ends in `.parquet`,
    as JSON lines to standard output where it is `-`, and as JSON lines otherwise. Return the number of rows.

    `agents` is one for all seats, or a list of one, or one for each. Game k is that of the seed `seed + k`. `extra` are
    optional columns (`legal_names`, `text`, `observation`); `values` is a search whose values and errors are two more.
    A file appears when it is whole. Raises ValueError for what cannot be played or written, OSError.
    """
    bound = game if isinstance(game, Game) else game_of(game)
    if games < 1:
        raise InvalidValue(f"games is {games}; a record has 1 or more.")
    if seed < 0:
        raise InvalidValue(f"seed is {seed}; it takes 0 or more.")
    for name in extra:
        if name not in ("legal_names", "text", "observation"):
            raise InvalidValue(f"There is no column {name!r} to add; there are legal_names, text, observation.")
    given = agents if isinstance(agents, (list, tuple)) else [agents]
    players = [agent_of(one, bound, num_threads=num_threads) for one in given]
    search = None if values is None else agent_of(values, bound, num_threads=num_threads)
    if search is not None and not hasattr(search, "analyse"):
        raise InvalidValue(f"{name_of(search)} computes no values; name a search, such as 'search:96'.")
    more = [*extra, *(() if search is None else ("values", "errors"))]
    columns = [name for name, column in COLUMNS.items() if not column.optional or name in more]
    named, by = [name_of(agent) for agent in seated(bound, players)], None if search is None else name_of(search)
    head = Head(bound.name, bound.version, bound.changed_options, named, seed, games, by, columns)
    try:
        rows = _counted(played(bound, players, head, search, num_threads), head, progress)
        return _write(Path("-") if str(path) == "-" else check_path(path), head, rows)
    finally:
        for made, one in zip([*players, search], [*given, values], strict=True):
            if made is not None and made is not one:
                made.close()


def _counted(rows: Iterator[Row], head: Head, progress: Progress | None) -> Iterator[Row]:
    for row in rows:
        if progress is not None and row["decision"] == 0:
            progress(row["game"], head.games, f"{row['game']:,} of {head.games:,} games")
        yield row


def _write(path: Path, head: Head, rows: Iterator[Row]) -> int:
    if str(path) == "-":
        return write_lines(sys.stdout.buffer, head, rows)
    with durable.file_beside(path) as file:
        return (write_parquet if path.suffix == ".parquet" else write_lines)(file, head, rows)


def write_lines(file: IO[bytes], head: Head, rows: Iterator[Row]) -> int:
    """Write the head and the rows, a line each; return the number of rows."""
    file.write(_line(head.to_json()))
    number = 0
    for row in rows:
        file.write(_line(row))
        number += 1
    file.flush()
    return number


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _line(value: dict[str, Any]) -> bytes:
    return _encode(value).encode() + b"\n"
