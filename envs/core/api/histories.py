"""`Histories`: what a batch tells of the past and of the whole table: events, information states, state tensors.

An information state is all that a seat knows: its observation now and every event that it has been shown, in order
(perfect recall). A state tensor is what all seats together know, for critics and for labels of beliefs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.kernel import Bound
from ..engine.engine import Engine, one_thread
from ..game.arguments import check_flags
from ..game.game import Game
from ..rules.events import ACTION, COLUMNS, HIDDEN_ACTION, NOBODY, NOTHING, OWN, UNKNOWN, Kind
from ..rules.record import Place
from .row_copies import RowChecks, TableChecks

if TYPE_CHECKING:
    import gymnasium

SINCE = ("episode", "deal")


class ShownEvents(NamedTuple):
    """The events that n seats have been shown."""

    events: npt.NDArray[np.int16]
    """[n, T, 3] kind, who, what of each event in order; zeros after the last. `who` is 0 for the reader, 1 for the seat
    to their left, and so on; -1 for nobody."""
    length: npt.NDArray[np.int64]
    """[n] how many there are."""


# Words ---------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def kinds_of(game: Game) -> dict[int, Kind]:
    """Return all kinds of a game's events by their numbers."""
    first = {
        ACTION: Kind("", "An action, by its number.", "action"),
        HIDDEN_ACTION: Kind("", "An action of which others see only a part: the first action with the same words."),
    }
    own = () if game.type.events is None else game.type.events.kinds
    return first | dict(enumerate(own, OWN))


def event_str(game: Game, event: npt.ArrayLike, reader: int | None = None) -> str:
    """Return one event in words: `you: bid 3`, `seat +1: shows QS`. `seat +1` sits to the reader's left; where the
    seat `reader` is given, the others have their names, such as `seat 2`; -1 is for public events, whose reader is
    nobody. Raises ValueError for numbers that are no event of the game."""
    return _line(game, *_checked(game, event), reader)


def events_str(game: Game, events: npt.ArrayLike, reader: int | None = None) -> str:
    """Return the events of one seat [T, 3] in words, one line each, as `event_str` names the seats; events that follow
    each other and differ in the number alone share a line. Padding is left out. Raises ValueError for numbers that are
    no event of the game."""
    words = EventLines(game, reader)
    words.add(events)
    return "\n".join(words.lines)


class EventLines:
    """The events of one seat in words, which grow with its history: `lines` are those of `events_str`."""

    def __init__(self, game: Game, reader: int | None = None) -> None:
        self.lines: list[str] = []
        self._game, self._reader = game, reader
        self._latest: tuple[int, int] | None = None

    def add(self, events: npt.ArrayLike) -> None:
        """Go on with events [T, 3]. Raises ValueError for numbers that are no event of the game."""
        game = self._game
        for event in np.asarray(events).reshape(-1, COLUMNS).tolist():
            if event[0] == NOTHING:
                continue
            kind, who, what = _checked(game, event)
            if (kind, who) == self._latest and kind >= OWN:
                self.lines[-1] += f" {_number(game, kind, what)}"
            else:
                self.lines.append(_line(game, kind, who, what, self._reader))
            self._latest = kind, who


def _line(game: Game, kind: int, who: int, what: int, reader: int | None) -> str:
    name = f"seat +{who}" if reader is None else game.seat_name((max(0, reader) + who) % game.num_seats)
    where = "table" if who < 0 else "you" if who == 0 and reader != NOBODY else name
    return f"{where}: {_what(game, kind, what)}"


def _checked(game: Game, event: Any) -> tuple[int, int, int]:
    try:
        kind, who, what = map(int, event)
    except (TypeError, ValueError):
        raise InvalidValue(f"An event is three whole numbers, kind, who and what; {event!r} was given.") from None
    if kind not in kinds_of(game) or not -1 <= who < game.num_seats:
        raise InvalidValue(f"{game.name} has no event {[kind, who, what]}; its kinds are 1 to {max(kinds_of(game))}.")
    return kind, who, what


def _what(game: Game, kind: int, what: int) -> str:
    if kind == ACTION:
        return game.action_str(what)
    if kind == HIDDEN_ACTION:
        return game.action_told(what)
    return f"{game.type.reworded(kinds_of(game)[kind].name)} {_number(game, kind, what)}".rstrip()


def _number(game: Game, kind: int, what: int) -> str:
    declared = kinds_of(game)[kind]
    if declared.what == "nothing":
        return ""
    if what == UNKNOWN:
        return "unknown"
    if declared.words:
        return game.type.reworded(declared.words[what])
    return game.card_name(what) if declared.what == "card" else str(what)


# The numbers ---------------------------------------------------------------------------------------------------------


def read_events(
    engine: Engine,
    rows: npt.NDArray[np.int64],
    seats: npt.NDArray[np.int64],
    since: str = "episode",
    out: npt.NDArray[np.int16] | None = None,
) -> ShownEvents:
    """Return the events that `seats[k]` has been shown at table `rows[k]`; see `Histories.events`."""
    history = engine.history
    if history is None:
        raise InvalidCall("No events are kept here; make the batch, environment or state with events=True.")
    if not isinstance(since, str) or since not in SINCE:
        raise InvalidValue(f"since is {since!r}; it takes {' or '.join(map(repr, SINCE))}.")
    unknown = rows[history.filled[rows] < 0]
    if len(unknown):
        raise InvalidCall(
            f"The history of table {unknown[0]} is not known: its state came from outside (set_states). It is known "
            "again from its next episode on."
        )
    engine.make_room()  # which also raises where an action wrote more than the game declares
    first = history.dealt[rows].astype(np.int64) if since == "deal" else np.zeros(len(rows), np.int64)
    length = np.zeros(len(rows), np.int64)
    _COUNT(history.entries, history.filled, rows, seats, first, length)
    longest = int(length.max(initial=0))
    if out is None:
        out = np.zeros((len(rows), longest, COLUMNS), np.int16)
    elif not isinstance(out, np.ndarray) or out.dtype != np.int16 or not out.flags.c_contiguous:
        raise InvalidType("out takes a contiguous array of int16 that may be written to.")
    elif out.ndim != 3 or out.shape != (len(rows), max(longest, out.shape[1]), COLUMNS) or not out.flags.writeable:
        raise InvalidValue(
            f"out has shape {out.shape}{'' if out.flags.writeable else ', read-only'}; {len(rows)} seats with up to "
            f"{longest} events take {(len(rows), longest, COLUMNS)}, or more in the middle."
        )
    _READ(history.seen_as, history.entries, history.filled, rows, seats, first, engine.num_seats, out)
    return ShownEvents(out, length)


def _event_log() -> Any:
    """The kernels of histories, which most tables do without."""
    from ..engine import event_log

    return event_log


_COUNT = Bound[None](lambda: _event_log().count_visible, at_once=False)
_READ = Bound[None](lambda: _event_log().read_visible, at_once=False)


def information_state_size(game: Game) -> int:
    """Return how many numbers an information state tensor has: the observation, the number of events, and the events
    with room for the most that a seat is shown in an episode (`Events.length`)."""
    return game.observation_size + 1 + COLUMNS * _most_events(game)


@functools.cache
def _most_events(game: Game) -> int:
    declared = game.type.events
    if declared is None:
        raise InvalidCall(f"{game.name} declares no events (GameType.events), so it has no information states.")
    return declared.length(game.options)


def information_states(
    engine: Engine, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Return the information states of `seats[k]` at table `rows[k]` as tensors [n, I]."""
    known = read_events(engine, rows, seats)
    return information_tensors(engine.game, engine.observe(rows, seats), known)


def information_tensors(game: Game, shown: npt.NDArray[Any], known: ShownEvents) -> npt.NDArray[np.float32]:
    """Return the information states of n seats as tensors [n, I], by what they are shown [n, O] and have been shown."""
    size, (events, length) = game.observation_size, known
    if length.max(initial=0) > _most_events(game):
        raise InvalidCall(f"{game.name} showed a seat more events than its Events.length says, {_most_events(game)}.")
    tensor = np.zeros((len(shown), information_state_size(game)), np.float32)
    tensor[:, :size], tensor[:, size] = shown, length
    tensor[:, size + 1 : size + 1 + COLUMNS * events.shape[1]] = events.reshape(len(shown), -1)
    return tensor


def information_state_str(engine: Engine, row: int, seat: int) -> str:
    """Return a seat's information state in words: its seat, then its events, one line each."""
    return information_words(engine.game, seat, read_events(engine, np.array([row]), np.array([seat])))


def information_words(game: Game, seat: int, known: ShownEvents) -> str:
    """Return a seat's information state in words, by what it has been shown [1]."""
    (events,), (length,) = known
    return "\n".join([game.seat_name(seat), *filter(None, [events_str(game, events[:length])])])


# The whole table -----------------------------------------------------------------------------------------------------


def state_fields(game: Game, *, public: bool = False, with_deck: bool = False) -> dict[str, Place]:
    """Return the named parts of a state tensor, in order.

    First comes what everybody sees, by the names of the observation's fields, as seat 0 sees it (so place k of a field
    over seats is seat k); then, unless `public`, what each seat knows besides, `seat 0: hand` and so on; last, with
    `with_deck`, `deck`: 1 + the cards yet to be drawn in this deal, the next first, 0 after the last.
    """
    found: dict[str, Place] = {}
    places = game.observation_fields
    parts = [(name, place) for name, place in places.items() if name not in game.type.private]
    for seat in () if public else range(game.num_seats):
        parts += [(f"seat {seat}: {name}", places[name]) for name in game.type.private if name in places]
    if with_deck:
        size = game.deck_size if game.type.stock is not None else 0
        meaning = "1 + the cards yet to be drawn in this deal, the next first; 0 after the last"
        parts.append(("deck", Place(0, size, (size,), "i2", 0, size, meaning, None)))
    start = 0
    for name, place in parts:
        stop = start + place.stop - place.start
        found[name] = Place(start, stop, place.shape, place.code, place.low, place.high, place.doc, place.suits)
        start = stop
    return found


def state_tensors(engine: Engine, rows: npt.NDArray[np.int64], public: bool, with_deck: bool) -> npt.NDArray[Any]:
    """Return the state tensors of tables [n, S]."""
    game, seats = engine.game, 1 if public else engine.num_seats
    seen = engine.observe(np.repeat(rows, seats), np.tile(np.arange(seats), len(rows))).reshape(len(rows), seats, -1)
    own = np.zeros(game.observation_size, np.bool_)
    order = [game.observation_fields[name] for name in game.type.private if name in game.observation_fields]
    columns = np.concatenate([np.zeros(0, np.int64), *(np.arange(place.start, place.stop) for place in order)])
    own[columns] = True
    parts = [seen[:, 0, ~own]]
    if not public:
        parts.append(seen[:, :, columns].reshape(len(rows), -1))
    if with_deck and game.type.stock is not None:
        parts.append(_stocks(engine, rows))
    return np.concatenate(parts, axis=1)


def _stocks(engine: Engine, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    stock = engine.game.type.stock
    assert stock is not None
    found, cards = np.zeros((len(rows), engine.game.deck_size), np.int16), np.zeros(engine.game.deck_size, np.int64)
    for k, row in enumerate(rows.tolist()):
        left = stock(engine.options, engine.batch.state[row], cards)
        found[k, :left] = 1 + cards[:left]
    return found


class SeatHistories(TableChecks):
    """What the environment of one table tells of the past and of the whole table; agents are named."""

    agent_selection: str
    _seat_of: dict[str, int]
    _check_begun: Callable[[str], None]
    _nobody: Callable[[Any], ValueError]

    @one_thread
    def events(self, agent: str | None = None, *, since: str = "episode") -> npt.NDArray[np.int16]:
        """Return the history as an agent (by default the one to act) may know it, int16 [T, 3]; see `BatchEnv.events`.
        Raises ValueError for an unknown agent or `since`, RuntimeError for an environment without `events=True` and
        before the first reset."""
        row, seat = self._reader(agent)
        known: npt.NDArray[np.int16] = read_events(self.engine, row, seat, since).events[0]
        return known

    @one_thread
    def information_state_tensor(self, agent: str | None = None) -> npt.NDArray[np.float32]:
        """Return all that an agent knows, with perfect recall [I]; see `BatchEnv.information_state_tensor`."""
        tensor: npt.NDArray[np.float32] = information_states(self.engine, *self._reader(agent))[0]
        return tensor

    @one_thread
    def information_state_string(self, agent: str | None = None) -> str:
        """Return that in words; see `BatchEnv.information_state_string`."""
        (row,), (seat,) = self._reader(agent)
        return information_state_str(self.engine, int(row), int(seat))

    def _reader(self, agent: str | None) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        self._check_begun("The history")
        name = self.agent_selection if agent is None else agent
        try:
            seat = self._seat_of[name]
        except (KeyError, TypeError):
            raise self._nobody(agent) from None
        return np.zeros(1, np.int64), np.array([seat])

    @functools.cached_property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        import gymnasium

        places = state_fields(self.game).values()
        low, high = (
            np.concatenate([np.full(place.stop - place.start, getattr(place, end)) for place in places])
            for end in ("low", "high")
        )
        base = self.game.observation_base
        return gymnasium.spaces.Box(low.astype(base), high.astype(base), dtype=base.type)

    @one_thread
    def state(self) -> npt.NDArray[Any]:
        """Return the whole table [S], for centralised training: what everybody sees, then what each seat knows besides;
        the numbers of `BatchEnv.state_tensor`."""
        self._check_begun("state()")
        state: npt.NDArray[Any] = state_tensors(self.engine, np.zeros(1, np.int64), public=False, with_deck=False)[0]
        return state


class Histories(RowChecks):
    """What `BatchEnv` tells of the past and of the whole table."""

    @one_thread
    def events(
        self,
        seats: npt.ArrayLike | None = None,
        rows: npt.ArrayLike | None = None,
        *,
        since: str = "episode",
        out: npt.NDArray[np.int16] | None = None,
    ) -> ShownEvents:
        """Return the history of table `rows[k]` (of all tables by default; a table may be named more than once) as seat
        `seats[k]` (by default the seat to act) may know it: what was done and shown since the episode began, or since
        its latest deal (`since="deal"`), in order. `backalley.events_str` says it in words; the game's page lists its
        kinds of events.

        The numbers are written to `out`, int16 [n, T, 3], where it is given. Raises TypeError or ValueError for
        invalid rows, seats, `since` or `out`, RuntimeError for a batch without `events=True`, a table that has not
        been dealt, and one whose state came from `set_states`.
        """
        return read_events(self.engine, *self._readers(seats, rows), since, out)

    @one_thread
    def information_state_tensor(
        self, seats: npt.ArrayLike | None = None, rows: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.float32]:
        """Return all that seat `seats[k]` knows at table `rows[k]`, with perfect recall, as tensors of fixed length
        [n, I]: its observation, the number of its events, and its events. Arguments and errors are those of
        `events`."""
        return information_states(self.engine, *self._readers(seats, rows))

    @one_thread
    def information_state_string(self, seat: int | None = None, row: int = 0) -> str:
        """Return what a seat (by default the seat to act) knows at one table, in words. Two histories of a seat have
        the same string if and only if the seat cannot tell one from the other. Errors are those of `events`."""
        (mine,), (which,) = self._readers(None if seat is None else [seat], [row])
        return information_state_str(self.engine, int(mine), int(which))

    @one_thread
    def state_tensor(
        self,
        rows: npt.ArrayLike | None = None,
        *,
        public: bool = False,
        with_deck: bool = False,
        out: npt.NDArray[Any] | None = None,
    ) -> npt.NDArray[Any]:
        """Return the whole table `rows[k]` (all tables by default) as numbers [n, S], for privileged critics and as
        labels of beliefs: what everybody sees, then what each seat knows besides. `state_fields` of the game names the
        parts.

        With `public` it is only what everybody sees; with `with_deck` the cards yet to be drawn in this deal come
        last. It is written to `out`, an array of the same shape and type, where that is given. Raises TypeError or
        ValueError for invalid rows or `out`, RuntimeError for a table that has not been dealt.
        """
        check_flags(public=public, with_deck=with_deck)
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        found = state_tensors(self.engine, mine, public, with_deck)
        if out is None:
            return found
        if not isinstance(out, np.ndarray) or out.dtype != found.dtype:
            raise InvalidType(f"out takes an array of {found.dtype}, as state_tensor() returns it.")
        if out.shape != found.shape or not out.flags.writeable:
            raise InvalidValue(
                f"out has shape {out.shape}{'' if out.flags.writeable else ', read-only'}; {found.shape} is needed."
            )
        out[...] = found
        return out

    def _readers(
        self, seats: npt.ArrayLike | None, rows: npt.ArrayLike | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Tables, and the seat at each that reads."""
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        if seats is None:
            self._check_on(mine)
            return mine, self.engine.batch.seat[mine].astype(np.int64)
        return mine, self._seats(seats, mine)
