"""`GameState`: one position of a game as a value, for tree walks; `Game.new_state` makes one.

The value is some hundred bytes: what is done with it is done on a table that all states of a game share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.interfaces import CHANCE, OVER
from ..compile.kernel import Bound
from ..engine.engine import streams_of
from ..engine.event_log import keep_visible
from ..engine.shared_table import Table, table_of
from ..game import arguments
from ..game.game import Game
from ..rules import rng
from ..rules.events import NOBODY
from .histories import ShownEvents, events_str, information_tensors, information_words, read_events
from .row_copies import TableChecks
from .states import KEPT, States, check_kept, seal

_FUTURE = 0x667574757265
"""The number by which a determinized state's stream is forked off its key."""


class GameState:
    """One position of a game, and what everybody has gained until then. `apply` changes it; `clone` copies it.

    >>> import backalley
    >>> state = backalley.game("missouri_city").new_state(seed=1)
    >>> while not state.is_over:
    ...     state.apply(state.legal_actions()[0])
    >>> sum(state.returns())
    0.0

    By default chance is drawn from the seed as everywhere: with equal actions it is played as by the AEC environment
    after `reset(seed)`. With `explicit_chance` the state stops wherever chance decides: first, where there are several,
    at the start outcome, then at each card of a deal; `chance_outcomes` says what may come, and `apply` or
    `draw_chance` takes one. With `events` it keeps the history of the episode. It can be copied and pickled; it is
    small, and any number can be kept.
    """

    game: Game
    """The game under its options."""
    _table: Table
    _explicit: bool
    _raw: bytes
    """The State record."""
    _stream: int
    _decisions: int
    _own_decisions: tuple[int, ...]
    """How many of them each seat made."""
    _seat: int
    _mask: bytes
    """[A] 1 for each legal action."""
    _returns: tuple[float, ...]
    _rewards: tuple[float, ...]
    _started: bool
    """Whether the start outcome is decided."""
    _named: tuple[int, ...]
    """The cards of the present deal so far."""
    _entries: bytes
    """The events so far, int16 [n, 4], as in `History`; empty where none are kept."""
    _dealt: int
    """How many there were before the latest deal."""
    _history: tuple[int, ...]
    """The actions and outcomes, and -1 - key for what a key drew."""
    _origin: int | None = None
    """The stream of the episode's chance at its beginning, 0 with explicit chance; None where the history does not lead
    here from there."""
    _knower: int | None
    """In a determinized state, the seat whose history it is: the private past of the others is not known there."""

    def __init__(self) -> None:
        raise InvalidType("A GameState is not made by hand: call new_state() of a game.")

    # The position --------------------------------------------------------------------------------------------------

    @property
    def seat(self) -> int:
        """The seat to act; -1 where chance decides, -2 when the game is over."""
        return self._seat

    @property
    def is_chance(self) -> bool:
        """Whether chance decides next; only with explicit chance."""
        return self._seat == CHANCE

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, by the rules or because it has as many decisions as it may have."""
        return self._seat == OVER

    @property
    def decisions(self) -> int:
        """Decisions made so far; in a determinized state only those of the seat that it was redrawn for count, since
        that seat does not know how often others decided before."""
        return self._decisions

    def history(self) -> list[int]:
        """The actions and, with explicit chance, the outcomes that were applied since the state was made, redrawn or
        taken from a table, in order; what `draw_chance` drew is not among them."""
        return [move for move in self._history if move >= 0]

    def origin(self) -> dict[str, Any]:
        """What leads here again, as `backalley.serialize_state` writes it: whether events are kept, the stream of
        chance at the beginning (None: explicit chance), and the moves since: actions and outcomes, and -1 - key for
        what `draw_chance` drew. Raises RuntimeError for a state that was redrawn or taken from a table."""
        if self._origin is None:
            raise InvalidCall(
                "This state was redrawn, or taken from a table, so what led to it is not known. Pickle it, or go on "
                "from a state that new_state() began."
            )
        events, stream = self._table.engine.history is not None, None if self._explicit else self._origin
        return {"events": events, "stream": stream, "moves": list(self._history)}

    def returns(self) -> list[float]:
        """What each seat has gained since the beginning."""
        return list(self._returns)

    def rewards(self) -> list[float]:
        """What each seat has gained by the latest action or outcome."""
        return list(self._rewards)

    def legal_actions(self) -> list[int]:
        """The legal actions in ascending order; where chance decides, the outcomes; none when the game is over."""
        if self._seat == CHANCE:
            return [outcome for outcome, _ in self.chance_outcomes()]
        return [action for action, legal in enumerate(self._mask) if legal]

    def action_mask(self) -> npt.NDArray[np.int8]:
        """1 for each legal action [A]; all zero where no seat is to act."""
        return np.frombuffer(self._mask, np.int8).copy()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """What chance may decide now, each with its probability: start outcomes, or cards by number. Of cards that
        rules and observations treat alike (`GameType.card_kind`) one stands for all. Raises RuntimeError where chance
        does not decide."""
        if self._seat != CHANCE:
            raise InvalidCall("Chance does not decide here; chance_outcomes() is for states with is_chance.")
        if not self._started:
            count = self.game.num_start_outcomes
            return [(outcome, 1 / count) for outcome in range(count)]
        left, kinds, alike = self._cards_left(), self.game.card_kinds, dict[int, list[int]]()
        if kinds is None:
            return [(card, 1 / len(left)) for card in left]
        for card in left:
            alike.setdefault(kinds[card], []).append(card)
        return [(cards[0], len(cards) / len(left)) for cards in alike.values()]

    def _cards_left(self) -> list[int]:
        gone, cards = set(() if self.game.with_replacement else self._named), range(self.game.deck_size)
        return [card for card in cards if card not in gone] if gone else list(cards)

    def outcome_str(self, outcome: int) -> str:
        """An outcome's name: a card's, or `start outcome 1`. Raises ValueError for what is none now."""
        self._check_outcome(outcome)
        return self.game.card_name(self.game.pack[int(outcome)]) if self._started else f"start outcome {outcome}"

    def observation(self, seat: int) -> npt.NDArray[Any]:
        """What a seat may know now, as a new flat vector [O]; zeros where chance decides. Raises TypeError or
        ValueError for an invalid seat."""
        which = arguments.seat(seat, self.game)
        if self._seat == CHANCE:
            return np.zeros(self.game.observation_size, self.game.observation_base)
        with self._table.lock:
            shown = self._table.engine.observe(np.zeros(1, np.int64), np.array([which]), self._record())
        return np.asarray(shown[0])

    def events(self, seat: int, *, since: str = "episode") -> npt.NDArray[np.int16]:
        """The history as a seat may know it [T, 3], since the episode began or since its latest deal (`since="deal"`);
        `backalley.events_str` says it in words. Raises TypeError or ValueError for an invalid seat or `since`,
        RuntimeError for a state made without `events=True`."""
        known: npt.NDArray[np.int16] = self._events_shown(arguments.seat(seat, self.game), since).events[0]
        return known

    def information_state_tensor(self, seat: int) -> npt.NDArray[np.float32]:
        """All that a seat knows, with perfect recall, as a tensor of fixed length [I]: its observation, the number of
        its events, and its events. Raises as `events` does."""
        which = arguments.seat(seat, self.game)
        seen, events = self.observation(which)[None], self._events_shown(which)
        tensor: npt.NDArray[np.float32] = information_tensors(self.game, seen, events)[0]
        return tensor

    def information_state_string(self, seat: int) -> str:
        """That in words; two histories of a seat have the same string if and only if it cannot tell one from the other.
        In a determinized state the private past of other seats is not known, and a digest of their observation stands
        in for it. Raises as `events` does."""
        which = arguments.seat(seat, self.game)
        words = information_words(self.game, which, self._events_shown(which))
        if self._knower in (None, which):
            return words
        return f"{words}\nsees {hashlib.sha256(self.observation(which).tobytes()).hexdigest()[:16]}"

    def _events_shown(self, seat: int, since: str = "episode") -> ShownEvents:
        with self._table.lock:
            self._table.put_events(self._entries, self._dealt)
            return read_events(self._table.engine, np.zeros(1, np.int64), np.array([seat]), since)

    def public_events(self) -> npt.NDArray[np.int16]:
        """The history as everybody knows it [T, 3]: the events that all seats were shown, or all but one that knew
        already, with the least that a seat knows of an action; `who` is the number of a seat. Raises RuntimeError as
        `events` does."""
        self._events_shown(0)
        history = self._table.engine.history
        assert history is not None
        known = _known(history.seen_as, self._entries, NOBODY)
        return np.frombuffer(known, np.int16).reshape(-1, 4)[:, 1:].copy()

    def public_state_string(self) -> str:
        """That in words: the public state, what all seats know to be known to all. Two histories that one seat cannot
        tell apart have the same. Raises RuntimeError as `events` does."""
        return events_str(self.game, self.public_events(), NOBODY)

    def table_str(self, seat: int | None = None) -> str:
        """The table as text, as a seat may see it; None shows everything. Empty where chance decides."""
        which = None if seat is None else arguments.seat(seat, self.game)
        return "" if self._seat == CHANCE else self.game.table_str(self._record()[0], which)

    def states(self) -> States:
        """This position as States [1], for `BatchEnv.from_states`. Raises RuntimeError where chance decides."""
        if self._seat == CHANCE:
            raise InvalidCall("Chance decides here, and a batch's tables never wait for it; draw_chance() first.")
        over = np.array([self._seat == OVER])
        cut = over & (self._record()["seat"] != OVER)
        counts = np.array([self._decisions], np.int32), np.array([self._own_decisions], np.int32)
        seat = np.array([self._seat], np.int8)
        arrays = self._record(), seat, *counts, np.array([self._rewards], np.float32), over & ~cut, cut
        return States.of(self.game, dict(zip(KEPT, arrays, strict=True)))

    def record(self) -> Any:
        """The game's State record, as a copy; where chance decides, the table before it does."""
        return self._record()[0]

    def _record(self) -> npt.NDArray[Any]:
        """The State record [1]."""
        return np.frombuffer(bytearray(self._raw), self.game.state_dtype)

    # Play -----------------------------------------------------------------------------------------------------------

    def apply(self, action: int) -> None:
        """Play an action, or let chance decide on an outcome. Raises IllegalAction (a ValueError) for an action that is
        not legal, ValueError or TypeError for anything else; nothing has changed then."""
        if self._seat == CHANCE:
            outcome = self._check_outcome(action)
            self._decide(outcome)
            self._history = (*self._history, outcome)
            return
        number = arguments.whole(action)
        if number is None:
            raise InvalidType(f"The action is {action!r}; it must be a whole number.")
        table, batch = self._table, self._table.batch
        with table.lock:
            self._put()
            if not 0 <= number < len(self._mask) or not self._mask[number]:
                batch.seat[0], table.mask[:] = self._seat, self._mask
                raise table.engine.refuse(0, number)
            self._history = (*self._history, number)
            if not self._explicit:
                table.engine.move_one(number, table.deck)
                self._gain(batch.reward[0].tolist())
                self._take()
                return
            table.engine.apply_one(number)
            if table.engine.acting[0] == CHANCE:
                gained = batch.state["reward"][0]
                self._gain(gained.tolist())
                gained[:] = 0
                self._keep(self._table.no_mask, CHANCE)
            else:
                self._finish()

    def draw_chance(self, key: int) -> None:
        """Draw all that chance decides before the next decision, by a key of 64 bits. Raises ValueError for another
        key, RuntimeError where chance does not decide."""
        stream = arguments.words([key], "keys", 1)[0]
        if self._seat != CHANCE:
            raise InvalidCall("Chance does not decide here; draw_chance() is for states with is_chance.")
        table, engine = self._table, self._table.engine
        with table.lock:
            self._put()
            table.batch.stream[0] = stream
            if not self._started:
                engine.start_one(engine.draw_start_outcome())
                self._started = True
            if self._named:
                engine.deal_one(self._completed())
            while engine.acting[0] == CHANCE:
                engine.shuffle_one(table.deck)
                engine.deal_one(table.deck.cards)
            self._named, self._history = (), (*self._history, -1 - int(stream))
            self._finish()

    def _completed(self) -> npt.NDArray[np.int64]:
        """The pack that begins with the cards named so far, the other cards of the deal drawn by the table's stream."""
        left, named, stream = self._cards_left(), list(self._named), self._table.batch.stream[0]
        with np.errstate(over="ignore"):
            while len(named) < self.game.cards_drawn:
                stream, place = rng.below(np.uint64(stream), len(left))
                named.append(left[int(place)] if self.game.with_replacement else left.pop(int(place)))
        self._table.batch.stream[0] = stream
        return self._pack(named)

    def _pack(self, named: Sequence[int]) -> npt.NDArray[np.int64]:
        if self.game.with_replacement:
            return np.array(named, np.int64)
        rest = np.ones(self.game.deck_size, np.bool_)
        rest[list(named)] = False
        return np.concatenate([np.array(named, np.int64), self._table.cards[rest]])

    def _decide(self, outcome: int) -> None:
        """Let chance decide on a valid outcome."""
        table, named = self._table, self._named
        if self._started and len(named) + 1 < self.game.cards_drawn:
            self._named, self._rewards = (*named, outcome), (0.0,) * len(self._rewards)
            return
        with table.lock:
            self._put()
            if self._started:
                table.engine.deal_one(self._pack([*named, outcome]))
            else:
                table.engine.start_one(outcome)
            self._started, self._named = True, ()
            if table.engine.acting[0] == CHANCE:
                self._gain([0.0] * len(self._rewards))
                self._keep(self._table.no_mask, CHANCE)
            else:
                self._finish()

    def _put(self) -> None:
        """Put the position on the table."""
        batch = self._table.batch
        self._table.raw[:] = self._raw
        batch.stream[0], batch.decisions[0], batch.own_decisions[0] = self._stream, self._decisions, self._own_decisions
        self._table.put_events(self._entries, self._dealt)

    def _take(self) -> None:
        """Take from the table what it shows."""
        self._stream = self._table.batch.stream.item(0)
        self._keep(bytes(self._table.mask), self._table.batch.seat.item(0))

    def _keep(self, mask: bytes, seat: int) -> None:
        table, batch = self._table, self._table.batch
        self._raw, self._mask, self._seat = bytes(table.raw), mask, seat
        self._decisions, self._own_decisions = batch.decisions.item(0), tuple(batch.own_decisions[0].tolist())
        self._entries, self._dealt = table.take_events()

    def _finish(self) -> None:
        """End an action or a deal, up to the next decision, and take what the table shows."""
        engine, batch = self._table.engine, self._table.batch
        if batch.decisions[0] == 0:  # as the engine does: what a first deal gains counts with the first action
            engine.show_one()
            self._gain([0.0] * len(self._rewards))
        else:
            engine.finish_one()
            self._gain(batch.reward[0].tolist())
        self._take()

    def _gain(self, rewards: list[float]) -> None:
        self._rewards = tuple(rewards)
        self._returns = tuple(map(sum, zip(self._returns, rewards, strict=True)))

    # Copies ---------------------------------------------------------------------------------------------------------

    def clone(self) -> GameState:
        """Return a copy, which plays on identically."""
        made = object.__new__(GameState)
        made.__dict__.update(self.__dict__)
        return made

    __copy__ = clone

    def __deepcopy__(self, memo: Any) -> GameState:
        return self.clone()

    def determinize(self, seat: int, key: int) -> GameState:
        """Return a copy with all that a seat cannot see redrawn, and other chance to come. It depends only on what the
        seat knows and on the key, a whole number of 64 bits; what was gained before does not count in it. Raises
        TypeError or ValueError for an invalid seat or key, RuntimeError where no seat is to act."""
        which, number = arguments.seat(seat, self.game), arguments.words([key], "keys", 1)
        if self._seat < 0:
            raise InvalidCall("Nobody is to act here, so there is nothing to redraw for a decision.")
        records, made = self._record(), self.clone()
        with self._table.lock, np.errstate(over="ignore"):
            self._table.engine.determinize(records, np.array([which]), number)
            made._stream = int(rng.fork(number[0], _FUTURE))
        made._raw, made._knower = records.tobytes(), which
        made._own_decisions = tuple(own * (one == which) for one, own in enumerate(self._own_decisions))
        made._decisions = sum(made._own_decisions)
        history = self._table.engine.history
        if history is not None:
            made._entries = _known(history.seen_as, self._entries, which)
            made._dealt = len(_known(history.seen_as, self._entries[: 8 * self._dealt], which)) // 8
        made._returns = made._rewards = (0.0,) * self.game.num_seats
        made._history, made._origin = (), None
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("game", "_table")}
        return _restored, (self.game, self.game.version, self._table.engine.history is not None, kept, seal(kept))

    def __repr__(self) -> str:
        where = {OVER: "over", CHANCE: "chance decides"}.get(self._seat, f"seat {self._seat} to act")
        return f"<GameState of {self.game!r}: {where} after {self._decisions} decisions>"

    # Validation -----------------------------------------------------------------------------------------------------

    def _check_outcome(self, given: Any) -> int:
        if self._seat != CHANCE:
            raise InvalidCall("Chance does not decide here; outcomes are for states with is_chance.")
        number = arguments.whole(given)
        if number is None:
            raise InvalidType(f"The outcome is {given!r}; it must be a whole number.")
        count = self.game.deck_size if self._started else self.game.num_start_outcomes
        if not 0 <= number < count:
            what = "card" if self._started else "start outcome"
            raise InvalidValue(f"There is no {what} {number}; {self.game.name} has 0..{count - 1} under these options.")
        if number in self._named and not self.game.with_replacement:
            raise InvalidValue(
                f"The card {self.game.card_name(self.game.pack[number])} has been dealt; the pack has each card once."
            )
        return number


def _known(known: npt.NDArray[np.int16], entries: bytes, seat: int) -> bytes:
    """The entries of a history that a seat knows, as it was shown them; NOBODY: those that all know."""
    mine = np.frombuffer(bytearray(entries), np.int16).reshape(-1, 4)
    return mine[: _KEEP(known, mine, seat)].tobytes()


_KEEP = Bound[int](lambda: keep_visible, at_once=False)


def new_state(game: Game, seed: int | None, explicit_chance: bool, events: bool) -> GameState:
    """Return the beginning of an episode: after the deal, or with explicit chance before it (`Game.new_state`)."""
    arguments.check_flags(explicit_chance=explicit_chance, events=events)
    if explicit_chance and seed is not None:
        raise InvalidValue("With explicit_chance the caller decides what chance does, so there is no seed to give.")
    number = arguments.whole(seed)
    if seed is not None and (number is None or number < 0):
        raise InvalidValue(f"The seed is {seed!r}; it must be a whole number of 0 or more.")
    return begin(game, None if explicit_chance else int(streams_of(number, 1)[1][0]), bool(events))


def begin(game: Game, stream: int | None, events: bool) -> GameState:
    """Return the beginning of an episode whose chance is drawn from a stream of 64 bits; None: explicit chance."""
    made, table, nothing = object.__new__(GameState), table_of(game, events), (0.0,) * game.num_seats
    made.game, made._table, made._explicit, made._named = game, table, stream is None, ()
    made._returns = made._rewards = nothing
    made._started, made._decisions, made._stream, made._own_decisions = True, 0, 0, (0,) * game.num_seats
    made._entries, made._dealt, made._history, made._knower, made._origin = b"", 0, (), None, stream or 0
    with table.lock:
        if stream is not None:
            table.batch.stream[0] = stream
            table.engine.open_one(None, table.deck)
            made._take()
            return made
        made._started = game.num_start_outcomes == 1
        table.raw[:] = bytes(len(table.raw))
        table.batch.decisions[0], table.batch.own_decisions[0] = 0, 0
        table.put_events(b"", 0)
        if made._started:
            table.engine.start_one(0)
            if table.engine.acting[0] != CHANCE:  # somebody decides before the first deal
                made._finish()
                return made
        made._keep(table.no_mask, CHANCE)
    return made


def position_of(tables: TableChecks, row: int) -> GameState:
    """Return the position of a table that has been dealt, as `Tables.position` does. Several threads may ask at once,
    while nobody plays there."""
    history, batch = tables.engine.history, tables.engine.batch
    known = history is not None and bool(history.filled[row] >= 0)
    made = begin(tables.game, None, known)
    made._started, made._origin = True, None
    made._raw, made._mask, made._seat = batch.raw[row].tobytes(), batch.mask[row].tobytes(), batch.seat.item(row)
    made._decisions, made._own_decisions = batch.decisions.item(row), tuple(batch.own_decisions[row].tolist())
    if history is not None and known:
        made._entries, made._dealt = history.entries[row, : history.filled[row]].tobytes(), history.dealt.item(row)
    return made


def _restored(game: Game, version: int, events: bool, kept: dict[str, Any], sealed: bytes) -> GameState:
    """Return a pickled state. Raises ValueError for one of another version of the game, and for an altered one."""
    check_kept(sealed, kept, game, version, len(kept["_raw"]) == game.state_dtype.itemsize)
    made = object.__new__(GameState)
    made.game, made._table = game, table_of(game, events)
    for name, value in kept.items():
        setattr(made, name, value)
    return made
