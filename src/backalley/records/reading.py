"""Read a record. Every game is replayed, and every row compared with what the rules give there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from backalley.console.errors import BackAlleyError, InvalidValue, shortly
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files import gate
from backalley.envs.core.files.reading import MIB, check_path, json_of, open_file
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER

from .columns import COLUMNS, FORMAT, Head, Row
from .parquet import read_parquet
from .play import text_of

LINE_BYTES = 16 * MIB
"""The greatest length of a line."""
_CLOSE = 2e-6
"""Numbers in a record are rounded."""
_PLAIN = {"int": int, "text": str, "list": list}
_HEAD = {
    "format": str,
    **gate.OF_A_GAME,
    "agents": gate.ListOf(gate.Text(), 1000),
    "seed": gate.Whole(),
    "games": gate.Whole(1),
    "values": gate.Either((None, gate.Text())),
    "columns": gate.ListOf(gate.OneOf(COLUMNS), len(COLUMNS)),
}
"""What the head holds (`gate.py`)."""


class RecordError(InvalidValue):
    """A record that cannot be read, or that the rules do not reproduce; the message names the line."""


def read_record(path: Path | str) -> Iterator[Row]:
    """Yield the rows of a record of JSON lines or, where its name ends in `.parquet`, Parquet, each as a dictionary,
    after it was compared with the rules.

    Every game is replayed from its seed: seat, legal actions, names, rewards, returns and what the seat may know have
    to be the recorded ones; probabilities have to be a distribution. Raises RecordError, a ValueError, with the line or
    row of the first that is not; OSError.
    """
    place = check_path(path)
    lines = read_parquet(place) if place.suffix == ".parquet" else _lines(place)
    try:
        where, first = next(lines, ("line 1", None))
        replay = _Replay(*_head(first))
        for here, row in lines:
            where = here
            replay.check(row)
            yield row
        where = "its end"
        replay.check_end()
    except RecordError as error:
        raise RecordError(f"{place}, {where}: {error}") from None
    except (BackAlleyError, UnicodeDecodeError) as error:
        raise RecordError(f"{place}: {error}.".replace("..", ".")) from None


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    with open_file(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES + 1), b""), 1):
            where = f"line {number:,}"
            yield where, _value(line, where)


def _value(line: bytes, where: str) -> Any:
    if len(line) > LINE_BYTES:
        raise InvalidValue(f"{where} has more than {LINE_BYTES // MIB} MiB")
    if not line.endswith(b"\n"):
        raise InvalidValue(f"{where} is cut off: the file is not whole")
    try:
        return json_of(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{where} is not UTF-8 at byte {error.start:,}") from None
    except InvalidValue as error:
        raise InvalidValue(f"{where}: {error}") from None


def _head(found: Any) -> tuple[Head, Game]:
    """The head of a record, and the game under its options."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        said = found.get("format") if isinstance(found, dict) else None
        raise RecordError(f"this is no record that can be read: its format is {str(said)[:60]!r}, and not {FORMAT!r}.")
    try:
        gate.pass_gate(found, _HEAD)
        game = gate.game_in(found)
    except InvalidValue as error:
        raise RecordError(f"the head: {str(error).rstrip('.')}.") from None
    missing = [name for name, column in COLUMNS.items() if not column.optional and name not in found["columns"]]
    if missing:
        raise RecordError(f"the head names no column {', '.join(missing)}.")
    return Head(**{name: found[name] for name in Head._fields}), game


class _Replay:
    """The table on which the games of a record are played again."""

    def __init__(self, head: Head, game: Game) -> None:
        self.game, self.head = game, head
        if len(head.agents) != game.num_seats:
            raise RecordError(f"the head: it names {len(head.agents)} agents, and the game has {game.num_seats} seats.")
        self.env = AECEnv(game, events="text" in head.columns and game.type.events is not None)
        self._table = self.env.arrays
        self._number, self._decisions, self._over = -1, 0, True
        self._returns, self._said = np.zeros(self.game.num_seats), list[float]()

    def check(self, row: Any) -> None:
        """Compare a row with the rules, and play it."""
        if not isinstance(row, dict) or set(row) != set(self.head.columns):
            raise RecordError(f"a row has the columns {', '.join(self.head.columns)}.")
        for name, value in row.items():
            self._check_kind(name, value)
        if self._over:
            self._begin(row)
        self._check_seen(row)
        self._check_shown(row)
        self._play(row)

    def _check_kind(self, name: str, value: Any) -> None:
        kind = COLUMNS[name].kind
        may_miss = value is None and name in ("probabilities", "values", "errors")
        if type(value) is not _PLAIN[kind.split()[0]] and not may_miss:
            raise RecordError(f"{name} is {str(value)[:60]!r}; it takes {kind}.")

    def _begin(self, row: Row) -> None:
        self._number, self._decisions, self._over = self._number + 1, 0, False
        self.env.reset(seed=self.head.seed + self._number)
        self._returns[:], self._said = 0, row["returns"]

    def _check_seen(self, row: Row) -> None:
        """What is there before the decision."""
        game, seat, legal = self.game, int(self._table.seat[0]), np.flatnonzero(self._table.mask[0]).tolist()
        known: Row = {"game": self._number, "decision": self._decisions, "seat": seat, "legal": legal}
        known["agent"] = self.head.agents[seat]
        known["returns"] = self._said
        if "legal_names" in row:
            known["legal_names"] = [game.action_str(action) for action in legal]
        if "observation" in row:
            known["observation"] = self._table.flat[0].tolist()
        if "text" in row:
            known["text"] = text_of(self.env, 0, seat)
        for name, value in known.items():
            if row[name] != value:
                raise RecordError(f"{name} is {shortly(row[name], 80)}, and by the rules it is {shortly(value, 80)}.")
        if row["action"] not in legal or row["name"] != game.action_str(row["action"]):
            raise RecordError(f"the action {row['action']} is not legal, or its name is not {row['name'][:40]!r}.")

    def _check_shown(self, row: Row) -> None:
        """What the agent and the search said."""
        count = len(row["legal"])
        chances = row["probabilities"]
        if chances is not None:
            good = len(chances) == count and all(_is_number(one) and one >= 0 for one in chances)
            if not good or abs(sum(chances) - 1) > _CLOSE * (count + 1):
                raise RecordError("the probabilities are no distribution over the legal actions.")
        for name in ("values", "errors"):
            found = row.get(name)
            if found is not None and (len(found) != count or not all(one is None or _is_number(one) for one in found)):
                raise RecordError(f"the {name} are no numbers or null, one for each legal action.")

    def _play(self, row: Row) -> None:
        self.env.step(row["action"])
        self._decisions += 1
        reward = self._table.reward[0].astype(np.float64)
        self._hold_numbers("reward", row["reward"], reward)
        self._returns += reward
        self._over = int(self._table.seat[0]) == OVER
        if self._over:
            self._hold_numbers("returns", row["returns"], self._returns, self._decisions)

    def _hold_numbers(self, name: str, given: Any, known: np.ndarray[Any, Any], added: int = 1) -> None:
        good = len(given) == len(known) and all(_is_number(one) for one in given)
        if not good or not np.allclose(given, known, rtol=1e-6, atol=_CLOSE * (added + 1)):
            raise RecordError(f"{name} is {shortly(given, 80)}, and by the rules it is {shortly(known.tolist(), 80)}.")

    def check_end(self) -> None:
        """Hold that all games are there, to their ends."""
        if not self._over or self._number + 1 != self.head.games:
            whole = self._number + bool(self._over)
            raise RecordError(f"{self.head.games:,} games were recorded, and {whole:,} are whole here.")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
