"""`Tables`: what an environment of one table and a batch have in common, for those who play, watch and measure there.

Agents, searches, matches and pictures take either, and the number of a table: 0 in an environment.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..engine.batch_kernels import Batch, Deck
from ..engine.batch_play import Played
from ..engine.engine import OTHER_WAYS, IllegalAction, check_on_illegal, one_thread
from ..engine.time_step import TimeStep
from ..game import arguments
from ..game.game import Game
from .histories import ShownEvents, read_events
from .row_copies import TableChecks

if TYPE_CHECKING:
    import gymnasium

    from ..engine.event_log import History
    from .game_state import GameState
    from .spaces import LegalDiscrete, LegalMultiDiscrete

__all__ = [
    "BatchSpaces", "IllegalAction", "KernelArguments", "Played", "Tables", "TimeStep", "check_on_illegal", "one_thread",
    "redrawn_records", "shown_events",
]  # fmt: skip


class KernelArguments(NamedTuple):
    """What compiled code that plays tables takes; see `compiled_play.py`."""

    options: Any
    batch: Batch
    """The tables' own memory."""
    deck: Deck
    """A buffer for one pack; every thread needs its own."""
    start_outcomes: int
    """How many things chance may decide before the deal."""
    limit: int
    """The number of decisions after which an episode is truncated."""
    history: History | None
    """The events of every table's episode, where they are kept."""


class Tables(TableChecks):
    """Tables by their numbers. `arrays` is for compiled code and for whoever looks at a whole table; agents are given a
    `View`, which shows what a seat may know."""

    @property
    def arrays(self) -> Batch:
        """The tables' own memory: states, masks, seats to act, numbers of decisions; row i of each belongs to table i.
        It changes with every step. Compiled code trusts what is written there; `refresh` shows it."""
        return self.engine.batch

    @property
    def packs_left(self) -> bool:
        """Whether packs that a caller gave are yet to be dealt at some table; compiled code does not know them."""
        return bool(self.engine.stacked)

    def for_kernels(self) -> KernelArguments:
        """Return what compiled code takes to play these tables, with a pack's buffer of its own."""
        engine = self.engine
        fixed = engine.options, engine.batch, engine.fresh_deck()
        return KernelArguments(*fixed, engine.start_outcomes, engine.limit, engine.history)

    @one_thread
    def refusal(self, row: int, action: int) -> IllegalAction:
        """Return the error for an action that is not legal at a table; it names seat, action and legal actions. Raises
        TypeError or ValueError for an invalid row and for what is no whole number."""
        number, mine = arguments.whole(action), self._row(row)
        if number is None:
            raise InvalidType(f"The action is {action!r}; it must be a whole number.")
        return self.engine.refuse(mine, number)

    def advise_other_ways(self) -> None:
        """Let the message of IllegalAction name the other settings of `on_illegal`."""
        self.engine.other_ways = OTHER_WAYS

    @one_thread
    def random_legal(self, row: int) -> int:
        """Return a random legal action of a table, to be played in place of an illegal one: it follows from the table's
        stream and the number of decisions, and the stream does not advance. Raises TypeError or ValueError for an
        invalid row, and for a finished table."""
        mine = self._row(row)
        self._check_in_play(np.array([mine]))
        return self.engine.legal_instead(mine)

    @one_thread
    def position(self, row: int = 0) -> GameState:
        """Return the position of a table as a value, with explicit chance (see `Game.new_state`), and with the table's
        events where it keeps and knows them; what was gained before does not count in it. Raises TypeError or
        ValueError for an invalid row, RuntimeError for a table that has not been dealt."""
        from .game_state import position_of

        mine = self._row(row)
        self._check_dealt(np.array([mine]))
        return position_of(self, mine)

    def _row(self, given: Any) -> int:
        return int(self._rows([given])[0])

    def _check_in_play(self, rows: npt.NDArray[np.int64]) -> None:
        """Raise ValueError for a finished table."""
        over = rows[self.engine.batch.seat[rows] < 0]
        if len(over):
            raise InvalidValue(f"Table {over[0]} is over: nobody is to act there.")

    def _check_dealt(self, rows: npt.NDArray[np.int64]) -> None:
        """Raise RuntimeError for a table that has not been dealt."""
        raise NotImplementedError


def dealt_at(tables: Tables, row: int = 0) -> tuple[int, int]:
    """Return what every deal changes at a table: its stream, and how many given packs are left."""
    return tables.engine.batch.stream.item(row), len(tables.engine.stacked.get(row, ()))


def redrawn_records(tables: Tables, rows: npt.ArrayLike, keys: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return, for each k, the state of table `rows[k]` with everything redrawn by `keys[k]` that the seat to act cannot
    see, as State records [n] that kernels may write to. Several threads may ask at once, while nobody plays there.

    It depends only on what that seat knows and on the key, a whole number of 64 bits. Raises TypeError, and ValueError
    for a finished table, too.
    """
    mine = tables._rows(rows)
    tables._check_in_play(mine)
    numbers, records = arguments.words(keys, "keys", len(mine)), tables.arrays.state[mine]
    tables.engine.determinize(records, tables.arrays.seat[mine].astype(np.int64), numbers)
    return records


def shown_events(tables: Tables, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> ShownEvents | None:
    """Return what `seats[k]` has been shown at table `rows[k]` since the episode began, as `BatchEnv.events` does; None
    where the tables keep no events, or do not know those of one of these (`set_states`). Several threads may ask at
    once, while nobody plays there."""
    history, mine = tables.engine.history, tables._rows(rows)
    if history is None or (history.filled[mine] < 0).any():
        return None
    return read_events(tables.engine, mine, tables._seats(seats, mine))


class BatchSpaces:
    """The spaces of `BatchEnv`, as Gymnasium's vector environments name them. Gymnasium is imported where one is asked
    for."""

    game: Game
    num_envs: int
    num_actions: int
    time_step: TimeStep

    @functools.cached_property
    def single_observation_space(self) -> gymnasium.spaces.Box:
        """The space of one table's observation [O]."""
        from .spaces import vector_space

        return vector_space(self.game)

    @functools.cached_property
    def single_action_space(self) -> LegalDiscrete:
        """The space of one table's action."""
        from .spaces import LegalDiscrete

        return LegalDiscrete(self.num_actions)

    @functools.cached_property
    def observation_space(self) -> gymnasium.spaces.Box:
        """The space of `TimeStep.observation` [B, O]."""
        from .spaces import rows_space

        return rows_space(self.game, self.num_envs)

    @functools.cached_property
    def action_space(self) -> LegalMultiDiscrete:
        """The space of all tables' actions [B]; `sample()` draws legal ones."""
        from .spaces import LegalMultiDiscrete

        space = LegalMultiDiscrete(np.full(self.num_envs, self.num_actions))
        space.legal = self.time_step.action_mask.view()
        return space
