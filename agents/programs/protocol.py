"""What is said to a program, and how its answers are read: `docs/guides/programs.md`, one JSON object a line.

All that a seat is shown is made of its observation, its mask, its history, and a state in which everything that it
cannot see is redrawn: so no byte depends on what the seat may not know.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue, is_name, one_line
from backalley.envs.core.api.histories import EventLines, events_str, kinds_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import (
    SO_FAR,
    UnreadableAnswer,
    head_text,
    legal_sentence,
    read_among,
    rules_text,
    words_for,
)

from ..base.agent import View
from .process import ProgramFailed

VERSION = 1
PARTS = ("observation", "events", "text")
"""What requests have unless a program says what it wants."""
NEW_PARTS = ("new_events", "new_text")
"""What it may want besides: of the history what it has not been sent before."""
MOST_AT_ONCE = 4096
_KEY = 0
"""The key of the states from which texts are made; any number does, since texts do not depend on what is redrawn."""
_LONGEST = 100
"""Letters of an answer that a sentence repeats."""
_SINCE = "since you were asked before"


class Terms(NamedTuple):
    """How a program wants to be asked, as it said in its hello."""

    name: str
    wants: frozenset[str]
    at_once: int


class Answer(NamedTuple):
    """One answer: to which request, None where it does not say, and the action as it was given."""

    request: int | None
    action: int | str


def line_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line: ASCII, without spaces between its parts."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")


# What is said --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=16)
def hello(game: Game) -> bytes:
    """Return the first line: the game under its options."""
    low, high = game.reward_range
    return line_of(
        {
            "type": "hello",
            "protocol": VERSION,
            "game": game.name,
            "version": game.version,
            "options": game.option_values,
            "seats": game.num_seats,
            "sides": list(game.sides),
            "returns": [number if np.isfinite(number) else None for number in (float(low), float(high))],
            "zero_sum": bool(game.zero_sum),
            "actions": [game.action_str(action) for action in range(game.num_actions)],
            "observation": {
                name: {"shape": list(place.shape), "low": place.low, "high": place.high, "meaning": place.doc}
                for name, place in game.observation_fields.items()
            },
            "events": {
                str(number): {"name": kind.name, "number": kind.what, "words": list(kind.words)}
                for number, kind in kinds_of(game).items()
            },
            "rules": _rules(game),
        }
    )


def _rules(game: Game) -> str | None:
    """The rules; None for a game that has no page."""
    try:
        return rules_text(game)
    except InvalidValue:
        return None


class Heard:
    """What a seat at one table has been shown, in words, and how much of it the program has been sent: so that no
    decision begins again with the history."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.sent, self._raw, self._in_words = 0, b"", 0
        self._words: EventLines | None = None

    def follow(self, events: npt.NDArray[np.int16]) -> None:
        """Go on to these events [T, 3]; begin again where they do not go on from those before, as where a table of the
        same number was started again."""
        raw = events.tobytes()
        if not raw.startswith(self._raw):
            self._begin()
        self._raw = raw

    def lines(self, game: Game, seat: int, events: npt.NDArray[np.int16]) -> list[str]:
        """Return all events in words."""
        self._words = self._words or EventLines(game, seat)
        self._words.add(events[self._in_words :])
        self._in_words = len(events)
        return self._words.lines


class Question:
    """A decision that a program is asked for: table k of a view. `heard` is what its seat has heard there before;
    `error` says what was wrong with its first answer."""

    def __init__(self, view: View, k: int, heard: Heard | None = None, error: str = "") -> None:
        self.view, self.k, self.heard, self.error = view, k, heard or Heard(), error
        self.seat, self.table = int(view.seat[k]), int(view.table[k])
        self.legal: list[int] = np.flatnonzero(view.action_mask[k]).tolist()

    def line(self, number: int, wants: frozenset[str]) -> bytes:
        """Return the request of this number."""
        view, k, game = self.view, self.k, self.view.game
        message: dict[str, Any] = {"type": "act", "id": number, "table": table_name(self.table, self.seat)}
        message |= {"seat": self.seat, "decisions": int(view.decisions[k]), "random": _random(int(view.key[k]))}
        if "observation" in wants:
            flat = view.observation[k]
            message["observation"] = {
                name: flat[place.start : place.stop].reshape(place.shape).tolist()
                for name, place in game.observation_fields.items()
            }
        if wants - {"observation"}:
            message |= self._history(wants)
        message["legal"] = [{"action": action, "name": game.action_str(action)} for action in self.legal]
        return line_of(message | ({"error": self.error} if self.error else {}))

    def _history(self, wants: frozenset[str]) -> dict[str, Any]:
        """The parts that say what has happened, with the table in words."""
        game, seat, heard, events = self.view.game, self.seat, self.heard, self.view.events(self.k)
        fresh: npt.NDArray[np.int16] | None = None
        if events is not None:
            heard.follow(events)
            fresh = events[heard.sent :]
        found: dict[str, Any] = {}
        if "events" in wants:
            found["events"] = None if events is None else events.tolist()
        if wants & frozenset(NEW_PARTS):
            found["events_before"] = heard.sent
        if "new_events" in wants:
            found["new_events"] = None if fresh is None else fresh.tolist()
        if "text" in wants:
            happened = None if events is None else heard.lines(game, seat, events)
            found["text"] = words_for(head_text(game, seat), happened, SO_FAR, self._table)
        if "new_text" in wants:
            new = None if fresh is None else events_str(game, fresh, seat).splitlines()
            head, when = ("", _SINCE) if heard.sent else (head_text(game, seat), SO_FAR)
            found["new_text"] = words_for(head, new, when, self._table)
        heard.sent = 0 if events is None else len(events)
        return found

    @functools.cached_property
    def _table(self) -> str:
        """The table in words, with all that the seat cannot see redrawn."""
        state = self.view.redrawn([self.k], np.array([_KEY], np.uint64))[0]
        return self.view.game.table_str(state, self.seat)

    def answered(self, given: int | str) -> int:
        """Return the legal action that an answer gives, by its number or in words. Raises UnreadableAnswer, which says
        what is legal."""
        if isinstance(given, str):
            return read_among(self.view.game, self.legal, given)
        if given not in self.legal:
            raise UnreadableAnswer(
                f"The action {_shortly(given)} is not legal. {legal_sentence(self.view.game, self.legal)}"
            )
        return given


def end(table: int, seat: int, gained: float) -> bytes:
    """Return what tells of the end of a table, and what its seat has gained there, where that is known (not NaN)."""
    known = None if np.isnan(gained) else float(gained)
    return line_of({"type": "end", "table": table_name(table, seat), "seat": seat, "return": known})


def table_name(table: int, seat: int) -> str:
    """Return the name of a table for one of its seats; nobody can tell from it what the others draw."""
    return hashlib.blake2b(f"{table} {seat}".encode(), digest_size=8).hexdigest()


def _random(key: int) -> int:
    """32 bits for a program's own chance, which do not tell the key."""
    return int.from_bytes(hashlib.blake2b(f"{key}".encode(), digest_size=4).digest(), "big")


# What is answered ----------------------------------------------------------------------------------------------------


def read_hello(line: bytes) -> Terms:
    """Return what a program said in its hello. Raises ProgramFailed."""
    found = _object(line, "its first line")
    version = found.get("protocol")
    if found.get("type") != "hello":
        raise ProgramFailed(f'its first line is {_shortly(found)}; it takes "type": "hello"')
    if type(version) is not int or version != VERSION:
        raise ProgramFailed(f"it speaks protocol {_shortly(version)}; the version spoken here is {VERSION}")
    name, wants, at_once = found.get("name", ""), found.get("wants", list(PARTS)), found.get("at_once", 1)
    if name != "" and not is_name(name):
        raise ProgramFailed(f"its hello has the name {_shortly(name)}; a name is a line of text")
    if not isinstance(wants, list) or not all(isinstance(part, str) and part in PARTS + NEW_PARTS for part in wants):
        known = ", ".join(PARTS + NEW_PARTS)
        raise ProgramFailed(f"its hello wants {_shortly(wants)}; it takes a list of {known}")
    if type(at_once) is not int or not 1 <= at_once <= MOST_AT_ONCE:
        raise ProgramFailed(f"its hello has at_once {_shortly(at_once)}; it takes 1 to {MOST_AT_ONCE:,}")
    return Terms(name, frozenset(wants), at_once)


def read_line(line: bytes) -> Answer:
    """Return an answer, whose action may still be illegal. Raises ProgramFailed for what is no answer."""
    found = _object(line, "its answer")
    number, action = found.get("id"), found.get("action")
    if "id" in found and type(number) is not int:
        raise ProgramFailed(f"its answer has the id {_shortly(number)}; it takes that of the request")
    if isinstance(action, bool) or not isinstance(action, (int, str)):
        raise ProgramFailed(f'its answer is {_shortly(found)}; it takes "action": a number, or a name in quotes')
    return Answer(number, action)


def _object(line: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8-sig"))  # some systems' programs begin with a mark
    except (ValueError, RecursionError):
        raise ProgramFailed(f"{what} is no JSON: {_shortly(line.decode('utf-8', 'replace'))}") from None
    if not isinstance(found, dict):
        raise ProgramFailed(f"{what} is no JSON object: {_shortly(found)}")
    return found


def _shortly(value: object) -> str:
    try:
        text = one_line(re.sub(r"\s+", " ", str(value)))
    except RecursionError:  # lists within lists
        return "of too many parts"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
