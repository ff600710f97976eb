"""The interface of an agent: given the views of many tables at once, it returns an action for each.

An agent sees `View`s: observations, masks, seats and a random key per table. It never sees a state. A search may ask
the view for determinized states, which depend on nothing that the seat could not know.

Any object with `act(view)` can be used as an agent; `as_agent` makes an `Agent` of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from backalley.console.errors import NAME, BackAlleyError, InvalidType, InvalidValue, MissingMethod, is_name
from backalley.envs.core.api.compiled_play import all_legal
from backalley.envs.core.api.states import States, redrawn
from backalley.envs.core.api.tables import IllegalAction, Tables, redrawn_records, shown_events
from backalley.envs.core.game.arguments import first_outside, given_number, whole_numbers
from backalley.envs.core.game.game import Game

from .action_probabilities import DRAWS, Probabilities, certain, checked, no_probabilities, shares
from .keys import decision_keys, keys_given, table_names

if TYPE_CHECKING:
    from backalley.envs.core.api.game_state import GameState
    from backalley.envs.core.api.histories import ShownEvents

POLICY = "policy"
"""The name of a game's pretrained policy as an agent, and of the folder of its policies."""
Answer = TypeVar("Answer")
_REFUSED = ArithmeticError, IndexError, AssertionError, ValueError
"""What kernels raise for observations that no table shows."""


class View:
    """What n tables show to the seats that are to act there.

    observation [n, O], action_mask [n, A] int8, seat [n] int64, key [n] uint64: each table's own randomness for this
    decision. decisions [n] int32 counts those that this seat itself made before in the episode: how often others
    decided, it may not know. Equal views get equal actions, whatever else is in the batch.
    """

    def __init__(
        self,
        tables: Tables,
        rows: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64],
        table_keys: npt.NDArray[np.uint64] | None = None,
    ) -> None:
        """Of the tables `rows` [n] of a batch or an environment, with a key each [n]; see `view_of`."""
        arrays = tables.arrays
        self.game: Game = tables.game
        self.options: Any = tables.game.options
        self.observation: npt.NDArray[Any] = arrays.flat[rows]
        self.action_mask: npt.NDArray[np.int8] = arrays.mask[rows]
        self.seat: npt.NDArray[np.int64] = arrays.seat[rows].astype(np.int64)
        self.decisions: npt.NDArray[np.int32] = arrays.own_decisions[rows, self.seat]
        self.key = keys
        self._tables, self._rows, self._table_keys = tables, rows, keys if table_keys is None else table_keys

    @functools.cached_property
    def table(self) -> npt.NDArray[np.uint64]:
        """A number for each table, the same at all decisions of its episode [n]."""
        return table_names(self._table_keys)

    def __len__(self) -> int:
        return len(self._rows)

    def only(self, k: int | npt.NDArray[np.int64]) -> View:
        """Return the view of table k alone, or of the tables k [n]."""
        rows = np.atleast_1d(k)
        mine = View(self._tables, self._rows[rows], self.key[rows], self._table_keys[rows])
        mine.observation, mine.action_mask = self.observation[rows], self.action_mask[rows]
        return mine

    def with_keys(self, keys: npt.NDArray[np.uint64]) -> View:
        """Return a view of the same tables with other keys [n]."""
        mine = View(self._tables, self._rows, keys, self._table_keys)
        mine.observation, mine.action_mask = self.observation.copy(), self.action_mask.copy()
        return mine

    def determinize(self, which: npt.ArrayLike, keys: npt.ArrayLike) -> States:
        """Return, for each k, a state of table `which[k]` of this view with all that its seat cannot see redrawn by
        `keys[k]`; a search plays it in a batch of its own (`BatchEnv.from_states`). It depends only on what the seat
        knows and on the key. Raises TypeError or ValueError for what is not a table of the view."""
        records, places = self.redrawn(which, keys), whole_numbers(which, "Tables of a view")
        rows, arrays = self._rows[places], self._tables.arrays
        return redrawn(self.game, arrays, rows, arrays.seat[rows].astype(np.int64), records)

    def game_state(self, k: int, key: int) -> GameState:
        """Return the position of table k as a GameState with explicit chance, with all that its seat cannot see redrawn
        by a key of 64 bits. Where the tables keep events (`Agent.reads_events` asks for that), it has the history that
        the seat was shown; what was gained before does not count in it. Raises ValueError for a table that is over."""
        row, seat = int(self._rows[k]), int(self.seat[k])
        if self._tables.arrays.seat[row] < 0:
            raise InvalidValue("This table is over: nobody is to act there, and no determinization can be drawn.")
        from backalley.envs.core.api.game_state import position_of

        return position_of(self._tables, row).determinize(seat, key)

    @overload
    def events(self, k: int) -> npt.NDArray[np.int16] | None: ...
    @overload
    def events(self, k: None = None) -> ShownEvents | None: ...
    def events(self, k: int | None = None) -> npt.NDArray[np.int16] | ShownEvents | None:
        """Return what the seats to act have been shown since the episode began, as `BatchEnv.events` does: of all
        tables, padded int16 [n, T, 3], and how many each has; of table k alone, int16 [T, 3]. None where the tables
        keep no events (`Agent.reads_events` asks for that), or do not know theirs. `Recall` reads what is new."""
        if k is None:
            return shown_events(self._tables, self._rows, self.seat)
        found = shown_events(self._tables, self._rows[k : k + 1], self.seat[k : k + 1])
        return None if found is None else found.events[0]

    def redrawn(self, which: npt.ArrayLike, keys: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the same as State records [n], which kernels may write to."""
        places = whole_numbers(which, "Tables of a view")
        keys = np.ascontiguousarray(keys, np.uint64)
        if places.ndim != 1 or places.shape != keys.shape:
            raise InvalidValue(
                f"Tables of a view have shape {places.shape} and keys {keys.shape}; both have shape (n,), a key for "
                "each determinization."
            )
        bad = first_outside(places, len(self))
        if bad >= 0:
            raise InvalidValue(f"Table {places[bad]} of a view was asked for; it shows {len(self)}.")
        return redrawn_records(self._tables, self._rows[places], keys)

    def table_text(self, k: int) -> str:
        """Return table k as text, as the seat to act there may see it: the same as render mode "ansi"."""
        from backalley.envs.core.drawing.render import table_text

        return table_text(self._tables, int(self._rows[k]), None)

    def first_illegal(self, actions: npt.NDArray[np.int64]) -> int:
        """Return the first k whose action is not legal at its table, or -1: by the tables themselves, not by
        `action_mask`, which the agent may have written to."""
        return int(all_legal(self._tables.arrays.mask, self._rows, actions, actions))

    def refuse(self, k: int, action: int) -> IllegalAction:
        """Return the error for an illegal action of row k."""
        return self._tables.refusal(int(self._rows[k]), action)


class Agent:
    """A player. Only `act` has to be defined; the rest has defaults.

    A user's class need not derive from this one: see `as_agent`.
    """

    name: str = ""
    """Its name in tables and messages."""
    kernel: Callable[..., int] | None = None
    """`kernel(by, observation, mask, key) -> action`, compiled, if it has one: whole matches then run in machine code.
    `by` is the value of `plays_by`; the observation is the game's record."""
    reads: str = "record"
    """What its kernel reads: the "record", the flat "vector" [O], or "both" as a pair."""
    chances: Callable[..., None] | None = None
    """`chances(by, observation, mask, out)`, compiled, if it has a kernel that draws: writes to `out` [A] the
    probability of each action."""
    is_deterministic: bool | None = None
    """Whether it answers every key alike; None where it does not say."""
    identity: Any = None
    """What distinguishes it from others of its name, as JSON can hold it (the digest of its weights, say): unfinished
    work is only resumed by the same agents."""
    one_table: bool = False
    """Whether matches let it finish a table before it sees another, as a person would."""
    reads_events: bool = False
    """Whether it needs the history of a table (`View.game_state`): matches and one-seat environments then keep it."""
    hears_ends: bool = False
    """Whether matches and one-seat environments call `tables_ended`."""
    forfeits: int | None = None
    """In how many games it has forfeited its seat so far; None for an agent that cannot."""
    note: str = ""
    """A sentence that a reader of its results should know."""

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return one legal action for each table of the view: whole numbers [n]. Equal views get equal actions,
        whatever else is in the batch: random draws must use `view.key`."""
        raise MissingMethod(f"{type(self).__name__} has to say how it plays, in act(view).")

    def action_probabilities(self, view: View) -> Probabilities:
        """Return the probability by which `act` plays each action at each table of the view, over all keys: float64
        [n, A]. Rows sum to 1; illegal actions have 0; the rows of a deterministic agent hold a single 1.

        Nothing is drawn and no key is used. Raises NoProbabilities, a ValueError, for an agent that cannot tell them:
        of a search, and of your own class unless it defines this method or `is_deterministic = True`.
        """
        if not self.is_deterministic:
            raise no_probabilities(name_of(self), self.is_deterministic)
        return certain(name_of(self), lambda keys: answer(self, view.with_keys(keys)), view.key, view.action_mask)

    def action_frequencies(self, view: View, *, draws: int = DRAWS) -> Probabilities:
        """Return the shares of its actions under `draws` keys that follow from each table's key: float64 [n, A], an
        estimate of `action_probabilities` for agents that cannot tell them. It plays every table `draws` times; a
        share's standard error is at most 0.5 / sqrt(draws). Raises ValueError for `draws` below 1."""
        num_actions = view.action_mask.shape[1]
        return shares(lambda keys: answer(self, view.with_keys(keys)), view.key, num_actions, draws)

    def tables_ended(
        self, tables: npt.NDArray[np.uint64], seats: npt.NDArray[np.int64], gained: npt.NDArray[np.float64]
    ) -> None:
        """Hear that tables have ended where it had seats: `View.table`, the seat, and the seat's return (NaN where that
        is not known), each [n]. Called where `hears_ends`."""

    def plays_by(self) -> Any:
        """Return the first argument of its kernel, new for each thread: for a network its weights and buffers. Arrays,
        numbers, truth values and tuples of these. None means the options of the game that is played."""
        return None

    def rollout_kernel(self) -> Callable[..., int] | None:
        """Return the kernel that plays its rollouts: `kernel`, but for a bot that solves the end of a game slowly."""
        return self.kernel

    def close(self) -> None:
        """Release what it holds open, such as threads."""

    def __repr__(self) -> str:
        game = getattr(self, "game", None)
        return f"<{type(self).__name__} {name_of(self)!r}{'' if game is None else f' of {game!r}'}>"


class Rows(NamedTuple):
    """Observations without a table, with the field names of a Batch."""

    observation: npt.NDArray[Any]
    """Records [n]."""
    flat: npt.NDArray[Any]
    """The same memory as vectors [n, O]."""
    mask: npt.NDArray[np.int8]
    """Legal actions [n, A]."""


class DirectAgent(Agent):
    """An agent that needs only observation and mask, so that it also works in a user's own loop:

    action = agent.act(observation, action_mask)
    """

    game: Game | None = None
    """The game whose observations it reads; arguments from a user's loop are checked against it. None for an agent that
    looks at the mask alone."""

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return one legal action for each row: observations [n, O], masks [n, A], keys [n] for random draws."""
        raise MissingMethod(f"{type(self).__name__} has to say how it plays, in choose().")

    def act(self, view: Any, action_mask: npt.ArrayLike | None = None, *, key: npt.ArrayLike | None = None) -> Any:
        """Return one legal action for each table of a View, int64 [n].

        In a user's own loop, it takes an observation [O] and its mask [A], or rows of them [n, O] and [n, A], from AEC
        environments, batches or Gymnasium environments (the AEC dictionary can be passed alone), and returns an int, or
        int64 [n]. Random draws use `key`, a whole number or one for each row; None takes a new one each time. Raises
        ValueError or TypeError for another shape, type or range than the game's, and for an observation and a mask from
        which the agent cannot find a legal action, such as those of two tables. The action is legal in the mask given.
        """
        if isinstance(view, View):
            return self.choose(view.observation, view.action_mask, view.key)
        shown, rows, single = self._rows_given(view, action_mask)
        actions = self._answers(shown, rows, keys_given(key, len(rows)))
        return int(actions[0]) if single else actions

    @property
    def guarded(self) -> DirectAgent:
        """The agent that is asked in its place about rows that may come from no table: it raises where this one would
        read wrong memory or not end."""
        return self

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return the probability of each action for each row [n, A]: `action_probabilities` for the arguments of
        `choose`, which come from tables."""
        if not self.is_deterministic:
            raise no_probabilities(name_of(self), self.is_deterministic)
        keys = np.zeros(len(action_mask), np.uint64)
        return certain(name_of(self), lambda keys: self.choose(observation, action_mask, keys), keys, action_mask)

    def frequencies(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], draws: int = DRAWS
    ) -> Probabilities:
        """Return the same as `action_frequencies` does, for the arguments of `choose`."""
        keys = np.arange(len(action_mask), dtype=np.uint64)
        return shares(lambda keys: self.choose(observation, action_mask, keys), keys, action_mask.shape[1], draws)

    def action_probabilities(self, view: Any, action_mask: npt.ArrayLike | None = None) -> Probabilities:
        """Return the probability of each action, as `Agent.action_probabilities` does: for a View [n, A]; for what
        `act` takes in a user's own loop, [A] or [n, A]. Raises what `act` raises, and NoProbabilities."""
        if isinstance(view, View):
            return self.probabilities(view.observation, view.action_mask)
        shown, rows, single = self._rows_given(view, action_mask)
        asked = self.guarded
        found = self._found(rows, lambda part: asked.probabilities(shown[part], rows[part]))
        if self.kernel is not None:
            found = checked(self.name, found, rows)
        return found[0] if single else found

    def _rows_given(
        self, view: Any, action_mask: npt.ArrayLike | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8], bool]:
        """Observations [n, O] and masks [n, A] from a user's loop, and whether they were one of each."""
        if isinstance(view, Mapping):
            view, action_mask = view["observation"], view["action_mask"] if action_mask is None else action_mask
        if action_mask is None:
            raise InvalidType(f"{self.name} was given no action_mask; call act(observation, action_mask).")
        shown, mask = self._observations(view), np.asarray(action_mask)
        single = mask.ndim == 1
        alike = shown.ndim == mask.ndim and (single or len(shown) == len(mask))
        if mask.dtype.kind not in "biuf" or mask.ndim not in (1, 2) or not alike:
            raise InvalidValue(
                f"{self.name} was given observations of shape {shown.shape} and masks of shape {mask.shape}; it takes "
                "[O] and [A], or [n, O] and [n, A]."
            )
        if self.game is not None and mask.shape[-1] != self.game.num_actions:
            raise InvalidValue(
                f"{self.name} was given masks of {mask.shape[-1]} actions; its game has {self.game.num_actions}."
            )
        rows = np.ascontiguousarray(np.atleast_2d(mask) != 0, np.int8)
        if not np.array_equal(rows, np.atleast_2d(mask)):
            raise InvalidValue(f"{self.name} was given a mask with other numbers than 1, legal, and 0, not legal.")
        if not rows.any(1).all():
            raise InvalidValue(f"{self.name} was given a mask without a legal action; nobody is to act there.")
        return np.ascontiguousarray(np.atleast_2d(shown)), rows, single

    def _found(self, mask: npt.NDArray[np.int8], find: Callable[[slice], Answer]) -> Answer:
        """What `find` finds for all rows from outside. The error of a kernel names the first row that causes it."""
        try:
            return find(slice(None))
        except _REFUSED as error:
            if self.kernel is None or isinstance(error, BackAlleyError):
                raise
            for row in range(len(mask)):
                try:
                    find(slice(row, row + 1))
                except _REFUSED as found:
                    why = f"it cannot reckon with them ({found})"
                    raise InvalidValue(self._do_not_belong(mask, row, why)) from found
            raise

    def _answers(
        self, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """A legal action for each row from outside."""
        asked = self.guarded
        actions = self._found(mask, lambda part: asked.choose(shown[part], mask[part], key[part]))
        answered = whole_numbers(actions, f"The actions of {self.name}")
        if answered.shape != (len(mask),):
            raise InvalidValue(
                f"{self.name} answered with an array of shape {answered.shape}; {len(mask)} rows take one action each."
            )
        within = np.clip(answered, 0, mask.shape[1] - 1)
        legal = (answered == within) & (mask[np.arange(len(mask)), within] != 0)
        if not legal.all():
            row = int(np.argmin(legal))
            raise InvalidValue(self._do_not_belong(mask, row, "what it would play there is not legal in the mask"))
        return answered

    def _do_not_belong(self, mask: npt.NDArray[np.int8], row: int, why: str) -> str:
        where = f" (row {row})" if row >= 0 and len(mask) > 1 else ""
        return (
            f"{self.name} was given an observation and a mask that do not belong together{where}: {why}. Take both "
            "from one table at one time, and the game and its options from there, too."
        )

    def _observations(self, given: Any) -> npt.NDArray[Any]:
        """What was given as an array of the game's own type, whatever number type it had."""
        shown = np.asarray(given)
        if self.game is None:
            return shown
        if not shown.ndim or shown.shape[-1] != self.game.observation_size:
            raise InvalidValue(
                f"{self.name} was given an observation of shape {shown.shape}; its game shows "
                f"{self.game.observation_size} numbers."
            )
        low, high = self.game.observation_bounds
        fits = shown.dtype.kind in "biuf" and bool(((shown >= low) & (shown <= high)).all())
        found = shown.astype(self.game.observation_base) if fits else shown
        if not fits or not np.array_equal(found, shown):
            raise InvalidValue(f"{self.name} was given numbers that no observation of its game holds ({shown.dtype}).")
        return found


class ThirdPartyAgent(Agent):
    """A user's object that has `act(view)`, under a name."""

    def __init__(self, player: Any, name: str) -> None:
        self.player, self.name = player, name
        self.is_deterministic = getattr(player, "is_deterministic", None)
        self.reads_events = bool(getattr(player, "reads_events", False))

    def action_probabilities(self, view: View) -> Probabilities:
        """Return what the object tells, if it does. Raises ValueError where that is no distribution."""
        if not callable(getattr(self.player, "action_probabilities", None)):
            return super().action_probabilities(view)
        return checked(self.name, self.player.action_probabilities(view), view.action_mask)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the object's actions."""
        found: npt.NDArray[np.int64] = self.player.act(view)
        return found


def as_agent(player: Any) -> Agent:
    """Return an Agent for any object with `act(view)`, named by its `name` or its class. Raises TypeError for anything
    else."""
    if isinstance(player, Agent):
        _check_name(player)
        return player
    if isinstance(player, type):
        raise InvalidType(
            f"An agent is an object, and the class {player.__name__} was given; call it: {player.__name__}()."
        )
    if not callable(getattr(player, "act", None)):
        raise InvalidType(
            f"{_shortly(player)} is no agent: it has no method act(view). An agent is a name such as 'random', 'bot' "
            "or 'mc:20', the folder of a policy, or an object that can act."
        )
    _check_name(player)
    return ThirdPartyAgent(player, name_of(player))


def _check_name(player: Any) -> None:
    """Raise ValueError for a name that tables cannot show; an agent without a name has that of its class."""
    name = getattr(player, "name", "")
    if (isinstance(name, str) or isinstance(player, Agent)) and name != "" and not is_name(name):
        raise InvalidValue(
            f"The agent {type(player).__name__} has the name {_shortly(name)}; a name is one line of up to {NAME} "
            "characters, without control characters."
        )


def name_of(agent: Any) -> str:
    """Return an agent's name, or that of its class if it has none."""
    name = getattr(agent, "name", None)
    return name if isinstance(name, str) and name else type(agent).__name__


def check_view(agent: Agent, view: Any, more: Any) -> None:
    """Raise TypeError for an agent that redraws what is hidden and was given an observation in place of a View."""
    if more or not isinstance(view, View):
        raise InvalidType(
            f"{name_of(agent)} redraws what is hidden, so it needs the table and not an observation: "
            "backalley.analyse(env, agent) asks it at a table, and evaluate() lets it play."
        )


def answer(agent: Agent, view: View) -> npt.NDArray[np.int64]:
    """Return an agent's actions for a view, validated: one legal whole number for each table, as a new int64 [n].

    Raises TypeError, ValueError or IllegalAction with the agent's name.
    """
    given = agent.act(view)
    try:
        actions = whole_numbers(given, "Its actions")
    except TypeError as error:
        raise InvalidType(f"The agent {name_of(agent)} answered {_shortly(given)}. {error}") from None
    if actions.shape != (len(view),):
        raise InvalidValue(
            f"The agent {name_of(agent)} answered with an array of shape {actions.shape}; it was shown {len(view)} "
            f"tables, which take shape ({len(view)},), one action each."
        )
    bad = view.first_illegal(actions)
    if bad >= 0:
        raise IllegalAction(f"The agent {name_of(agent)}: {view.refuse(bad, given_number(given, bad))}")
    return actions


def _shortly(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_events(agents: Iterable[Any], game: Game) -> bool:
    """Return whether tables of a game have to keep their history for these agents."""
    return game.type.events is not None and any(getattr(agent, "reads_events", False) for agent in agents)


def view_of(tables: Tables, rows: npt.NDArray[np.int64], table_keys: npt.NDArray[np.uint64]) -> View:
    """Return the view of the tables `rows` of a batch or an environment, keyed by each table's own key
    (`table_keys[row]`), the seat to act, and how many decisions that seat made."""
    arrays = tables.arrays
    keys, seats = np.empty(len(rows), np.uint64), arrays.seat[rows].astype(np.int64)
    decision_keys(table_keys[rows], seats, arrays.own_decisions[rows, seats], keys)
    return View(tables, rows, keys, table_keys[rows])
