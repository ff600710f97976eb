"""The columns of a record, and its head: what is the same for all rows."""

from __future__ import annotations

from typing import Any, NamedTuple

FORMAT = "backalley record 1"
"""The format and its version; a column that changes its meaning makes a new one."""
DIGITS = 6
"""Digits after the point of rewards, probabilities and values."""

Row = dict[str, Any]


class Column(NamedTuple):
    """A column: what its values are, and what they mean."""

    kind: str
    """`int`, `text`, or a list of `int`, `float` or `text`."""
    meaning: str
    optional: bool = False


COLUMNS: dict[str, Column] = {
    "game": Column("int", "number of the game in the record, from 0; its chance is that of the seed `seed + game`"),
    "decision": Column("int", "number of the decision in its game, from 0"),
    "seat": Column("int", "who decides"),
    "agent": Column("text", "the agent in that seat"),
    "legal": Column("list of int", "the legal actions, ascending"),
    "legal_names": Column("list of text", "their names", True),
    "text": Column("text", "what the seat may know, in words, with what happened since the latest deal", True),
    "observation": Column("list of float", "the same as the flat vector", True),
    "action": Column("int", "what was played"),
    "name": Column("text", "its name"),
    "probabilities": Column("list of float", "the agent's probability of each legal action; null where it tells none"),
    "values": Column("list of float", "what a search finds that each legal action gains; null: not tried", True),
    "errors": Column("list of float", "their standard errors", True),
    "reward": Column("list of float", "what each seat gained by the action"),
    "returns": Column("list of float", "what each seat gained in the whole game"),
}  # fmt: skip


class Head(NamedTuple):
    """What a record says first: the rules under which it was played, and the columns of its rows."""

    game: str
    version: int
    options: dict[str, Any]
    """Those that differ from their defaults."""
    agents: list[str]
    seed: int
    games: int
    values: str | None
    """The search that found the values."""
    columns: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the head as the first line of a file."""
        return {"format": FORMAT, **self._asdict()}
