"""What an agent is: something that, shown many tables at once, names an action for each.

An agent sees `View`s: observations, masks, seats and a random key per table. It never sees a state; a searching agent
may ask the view for determinized states, which depend on nothing that the seat could not know.

Wherever an agent is asked for, any object with `act(view)` will do; `as_agent` makes an `Agent` of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.doors import first_outside, given_number, whole_numbers
from backalley.envs.core.engine import Engine, IllegalAction
from backalley.envs.core.kernel import bind, wrapping
from backalley.envs.core.render import table_text
from backalley.envs.core.specialise import specialise, template, unbound
from backalley.printable import NAME, is_name


class View:
    """What n tables show to the seats that are to act there.

    observation [n, O], action_mask [n, A] int8, seat [n] int64, decisions [n] int32 made so far in the episode, key [n]
    uint64: each table's own randomness for this decision. Two agents handed equal views act alike, whatever else is in
    the batch.
    """

    def __init__(self, engine: Engine, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> None:
        self.game: Game = engine.game
        self.options: Any = engine.options
        self.observation: npt.NDArray[Any] = engine.batch.flat[rows]
        self.action_mask: npt.NDArray[np.int8] = engine.batch.mask[rows]
        self.seat: npt.NDArray[np.int64] = engine.batch.seat[rows].astype(np.int64)
        self.decisions: npt.NDArray[np.int32] = engine.batch.decisions[rows]
        self.key = keys
        self._engine, self._rows = engine, rows

    def __len__(self) -> int:
        return len(self._rows)

    def only(self, k: int) -> View:
        """The view of table k alone."""
        mine = View(self._engine, self._rows[k : k + 1], self.key[k : k + 1])
        mine.observation, mine.action_mask = self.observation[k : k + 1], self.action_mask[k : k + 1]
        return mine

    def determinize(self, which: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        """For each k, a state of table `which[k]` of this view, with all that its seat cannot see redrawn by
        `keys[k]`. Raises TypeError or ValueError for what is no table of the view."""
        places = whole_numbers(which, "Tables of a view")
        keys = np.ascontiguousarray(keys, np.uint64)
        if places.ndim != 1 or places.shape != keys.shape:
            raise ValueError(
                f"Tables of a view have shape {places.shape} and keys {keys.shape}; both have shape (n,), a key for "
                "each world."
            )
        bad = first_outside(places, len(self))
        if bad >= 0:
            raise ValueError(f"Table {places[bad]} of a view was asked for; it shows {len(self)}.")
        rows = self._rows[places]
        seats = self._engine.batch.seat[rows].astype(np.int64)
        if (seats < 0).any():
            raise ValueError("A table of this view is over: nobody is to act there, and no world can be drawn.")
        states = self._engine.batch.state[rows]
        self._engine.determinize(states, seats, keys)
        return states

    def table_text(self, k: int) -> str:
        """Table k as the seat to act there may see it, in text: what environments render in mode "ansi"."""
        return table_text(self._engine, int(self._rows[k]), None)

    def first_illegal(self, actions: npt.NDArray[np.int64]) -> int:
        """The first k whose action is not legal at its table, or -1: by the tables themselves, not by `action_mask`,
        which whoever was shown it may have written to."""
        return self._engine.first_illegal(self._rows, actions)

    def refuse(self, k: int, action: int) -> IllegalAction:
        """The sentence on an illegal action of row k."""
        return self._engine.refuse(int(self._rows[k]), action)


class Agent:
    """A player. `act` is all that one has to bring; the rest may be left as it is.

    A class of one's own need not derive from this one: see `as_agent`.
    """

    name: str = ""
    """What tables and messages call it."""
    kernel: Callable[..., int] | None = None
    """`kernel(by, observation, mask, key) -> action`, compiled, where it plays by one: whole matches then run in
    machine code. `by` is what `plays_by` gives; the observation is the game's record."""
    reads: str = "record"
    """What its kernel is shown: the "record", the flat "vector" [O], or "both" as a pair."""
    chances: Callable[..., None] | None = None
    """`chances(by, observation, mask, out)`, compiled, where it has a kernel that draws: `out` [A] becomes the
    probability with which it plays each action. Exact figures need it of an agent that plays by its key."""
    identity: Any = None
    """What tells it from others of its name, as JSON can hold it (the digest of its weights, say): unfinished work is
    taken up again only by the same agents."""
    one_table: bool = False
    """Whether matches let it finish a table before it is shown another, as a person would."""
    note: str = ""
    """What a reader of its results should know, in a sentence."""

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """One legal action for each table of the view: whole numbers [n]. Equal views get equal actions, whatever else
        is in the batch: what it draws, it draws by `view.key`."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it plays, in act(view).")

    def plays_by(self) -> Any:
        """What its kernel takes first, anew for each thread: for a network its weights and room to work in. None stands
        for the options of the game that is played."""
        return None

    def close(self) -> None:
        """End what it holds open, such as threads."""

    def __repr__(self) -> str:
        game = getattr(self, "game", None)
        return f"<{type(self).__name__} {name_of(self)!r}{'' if game is None else f' of {game!r}'}>"


class Rows(NamedTuple):
    """Observations without a table, named as in a Batch."""

    observation: npt.NDArray[Any]
    """Records [n]."""
    flat: npt.NDArray[Any]
    """The same memory as vectors [n, O]."""


CONSISTENT = unbound
"""`GameType.consistent` in `first_contradiction`."""


@template
def first_contradiction(options: Any, rows: Rows, mask: npt.NDArray[np.int8]) -> int:
    """The first row whose numbers contradict each other or the mask, or -1."""
    for k in range(mask.shape[0]):
        if not CONSISTENT(options, rows.observation[k], mask[k]):
            return k
    return -1


@functools.lru_cache(maxsize=64)
def _contradiction_in(game: Game) -> Callable[..., int] | None:
    """`first_contradiction` for a game; None for one that does not say what contradicts what."""
    if game.type.consistent is None:
        return None
    shown, mask = np.zeros((1, game.observation_size), game.observation_base), np.zeros((1, game.num_actions), np.int8)
    driver = specialise([first_contradiction], {"CONSISTENT": game.type.consistent})["first_contradiction"]
    return bind(driver, game.options, Rows(game.records(shown), shown), mask)


class DirectAgent(Agent):
    """An agent that needs nothing but observation and mask, so that it also plays in a loop of one's own:

    action = agent.act(observation, action_mask)
    """

    game: Game | None = None
    """The game whose observations it reads: what is given in a loop of one's own is held against it. None for an agent
    that looks at the mask alone."""

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """One legal action for each row: observations [n, O], masks [n, A], keys [n] of what is drawn."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it plays, in choose().")

    def act(self, view: Any, action_mask: npt.ArrayLike | None = None, *, key: npt.ArrayLike | None = None) -> Any:
        """One legal action for each table of a View, int64 [n].

        In a loop of one's own, for an observation [O] and its mask [A], or for rows of them [n, O] and [n, A], as AEC
        environments, batches and Gymnasium environments give them (the AEC dictionary will do for both): an int, or
        int64 [n]. What it draws, it draws by `key`, a whole number or one for each row; None takes a new one each time.
        Raises ValueError or TypeError in a sentence for what has another shape, type or range than the game shows, and
        for an observation and a mask that contradict each other or themselves (`GameType.consistent`), as those of two
        tables do. What is answered is legal in the mask given.
        """
        if isinstance(view, View):
            return self.choose(view.observation, view.action_mask, view.key)
        if isinstance(view, Mapping):
            view, action_mask = view["observation"], view["action_mask"] if action_mask is None else action_mask
        if action_mask is None:
            raise TypeError(f"{self.name} was given no action_mask; call act(observation, action_mask).")
        shown, mask = self._observations(view), np.asarray(action_mask)
        single = mask.ndim == 1
        alike = shown.ndim == mask.ndim and (single or len(shown) == len(mask))
        if mask.dtype.kind not in "biuf" or mask.ndim not in (1, 2) or not alike:
            raise ValueError(
                f"{self.name} was given observations of shape {shown.shape} and masks of shape {mask.shape}; it takes "
                "[O] and [A], or [n, O] and [n, A]."
            )
        if self.game is not None and mask.shape[-1] != self.game.num_actions:
            raise ValueError(
                f"{self.name} was given masks of {mask.shape[-1]} actions; its game has {self.game.num_actions}."
            )
        rows = np.ascontiguousarray(np.atleast_2d(mask) != 0, np.int8)
        if not np.array_equal(rows, np.atleast_2d(mask)):
            raise ValueError(f"{self.name} was given a mask with other numbers than 1, legal, and 0, not legal.")
        if not rows.any(1).all():
            raise ValueError(f"{self.name} was given a mask without a legal action; nobody is to act there.")
        actions = self._answers(np.ascontiguousarray(np.atleast_2d(shown)), rows, _keys(key, len(rows)))
        return int(actions[0]) if single else actions

    def _answers(
        self, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """A legal action for each row of what came from outside, which may belong to no table at all."""
        contradiction = None if self.game is None else _contradiction_in(self.game)
        if self.game is not None and contradiction is not None:
            bad = contradiction(self.game.options, Rows(self.game.records(shown), shown), mask)
            if bad >= 0:
                raise ValueError(self._do_not_belong(mask, bad, "no position of its game shows both"))
        try:
            actions = self.choose(shown, mask, key)
        except (ArithmeticError, IndexError, AssertionError) as error:
            if self.kernel is None:
                raise
            raise ValueError(self._do_not_belong(mask, -1, f"it cannot reckon with them ({error})")) from error
        answered = whole_numbers(actions, f"The actions of {self.name}")
        if answered.shape != (len(mask),):
            raise ValueError(
                f"{self.name} answered with an array of shape {answered.shape}; {len(mask)} rows take one action each."
            )
        within = np.clip(answered, 0, mask.shape[1] - 1)
        legal = (answered == within) & (mask[np.arange(len(mask)), within] != 0)
        if not legal.all():
            row = int(np.argmin(legal))
            raise ValueError(self._do_not_belong(mask, row, "what it would play there is not legal in the mask"))
        return answered

    def _do_not_belong(self, mask: npt.NDArray[np.int8], row: int, why: str) -> str:
        where = f" (row {row})" if row >= 0 and len(mask) > 1 else ""
        return (
            f"{self.name} was given an observation and a mask that do not belong together{where}: {why}. Take both "
            "from one table at one time, and the game and its options from there, too."
        )

    def _observations(self, given: Any) -> npt.NDArray[Any]:
        """What was given as an array of the game's own type, whatever number type it came in."""
        shown = np.asarray(given)
        if self.game is None:
            return shown
        if not shown.ndim or shown.shape[-1] != self.game.observation_size:
            raise ValueError(
                f"{self.name} was given an observation of shape {shown.shape}; its game shows "
                f"{self.game.observation_size} numbers."
            )
        low, high = self.game.observation_bounds
        # Compiled bots trust what they are shown, and may use a number as an index.
        fits = shown.dtype.kind in "biuf" and bool(((shown >= low) & (shown <= high)).all())
        found = shown.astype(self.game.observation_base) if fits else shown
        if not fits or not np.array_equal(found, shown):
            raise ValueError(f"{self.name} was given numbers that no observation of its game holds ({shown.dtype}).")
        return found


class _Guest(Agent):
    """An object of somebody else's that has `act(view)`, under a name."""

    def __init__(self, player: Any, name: str) -> None:
        self.player, self.name = player, name

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """What the object answers."""
        found: npt.NDArray[np.int64] = self.player.act(view)
        return found


def as_agent(player: Any) -> Agent:
    """An Agent from any object with `act(view)`, named by its `name` or its class. Raises TypeError for anything
    else."""
    if isinstance(player, Agent):
        _check_name(player)
        return player
    if isinstance(player, type):
        raise TypeError(
            f"An agent is an object, and the class {player.__name__} was given; call it: {player.__name__}()."
        )
    if not callable(getattr(player, "act", None)):
        raise TypeError(
            f"{_shortly(player)} is no agent: it has no method act(view). An agent is a name such as 'random', 'bot' "
            "or 'mc:20', the folder of a policy, or an object that can act."
        )
    _check_name(player)
    return _Guest(player, name_of(player))


def _check_name(player: Any) -> None:
    """Raise ValueError where an agent goes by what tables cannot show; one that says nothing goes by its class."""
    name = getattr(player, "name", "")
    if (isinstance(name, str) or isinstance(player, Agent)) and name != "" and not is_name(name):
        raise ValueError(
            f"The agent {type(player).__name__} has the name {_shortly(name)}; a name is one line of up to {NAME} "
            "characters, without control characters."
        )


def _keys(given: npt.ArrayLike | None, count: int) -> npt.NDArray[np.uint64]:
    if given is None:
        return np.random.default_rng().integers(2**64, size=count, dtype=np.uint64)
    keys = np.asarray(given)
    if keys.dtype.kind not in "iu" or keys.shape not in ((), (count,)):
        raise ValueError(f"key is {given!r}; it takes a whole number, or {count} of them.")
    with np.errstate(over="ignore"):
        whole = np.ascontiguousarray(np.broadcast_to(keys, (count,))).astype(np.uint64)
        return np.array([rng.fork(key, row) for row, key in enumerate(whole)], np.uint64) if keys.shape == () else whole


def name_of(agent: Any) -> str:
    """What an agent calls itself; its class where it says nothing."""
    name = getattr(agent, "name", None)
    return name if isinstance(name, str) and name else type(agent).__name__


def answer(agent: Agent, view: View) -> npt.NDArray[np.int64]:
    """What an agent plays at each table of a view, checked: one legal whole number each, as a new int64 [n].

    Raises TypeError, ValueError or IllegalAction in a sentence with the agent's name.
    """
    given = agent.act(view)
    try:
        actions = whole_numbers(given, "Its actions")
    except TypeError as error:
        raise TypeError(f"The agent {name_of(agent)} answered {_shortly(given)}. {error}") from None
    if actions.shape != (len(view),):
        raise ValueError(
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


_AGENT_KEYS = 1
"""Number under which the agents' randomness is forked off a table's."""


def agent_keys(streams: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """The keys of tables that begin with these streams [n]: what agents draw there, they draw by them."""
    with np.errstate(over="ignore"):
        return np.array([rng.fork(stream, _AGENT_KEYS) for stream in np.asarray(streams, np.uint64)], np.uint64)


@wrapping
def decision_keys(table: npt.NDArray[np.uint64], decisions: npt.NDArray[np.int32], out: npt.NDArray[np.uint64]) -> None:
    """A key of its own for every decision of every table: `out[k]` from the table's key and the number of decisions
    made there."""
    for k in range(out.shape[0]):
        out[k] = rng.fork(table[k], int(decisions[k]))


def view_of(engine: Engine, rows: npt.NDArray[np.int64], table_keys: npt.NDArray[np.uint64]) -> View:
    """The view of the tables `rows` of an engine, keyed by each table's own key (`table_keys[row]`) and its count of
    decisions."""
    keys = np.empty(len(rows), np.uint64)
    decision_keys(table_keys[rows], engine.batch.decisions[rows], keys)
    return View(engine, rows, keys)
