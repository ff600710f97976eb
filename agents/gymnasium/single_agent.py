"""B tables with one seat of the caller's each, and agents in the others: the base of both Gymnasium environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.spaces import check_observation, dict_space, number_type, vector_space
from backalley.envs.core.api.tables import check_on_illegal
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.arguments import given_number, whole
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng

from ..base.agent import Agent, name_of, read_events
from ..base.keys import agent_keys
from ..match import advance
from ..registry import agent as agent_of

Opponent = str | Agent | Sequence[str | Agent]

_RANDOM_SEAT = -1


class SeatTables:
    """Tables that do not reset themselves: see `begin`."""

    def __init__(
        self,
        game: Game,
        num_envs: int,
        seat: int | str,
        opponent: Opponent,
        *,
        num_threads: int = 1,
        on_illegal: str = "raise",
        observation: str = "flat",
        dtype: Any = None,
        events: bool = False,
    ) -> None:
        check_on_illegal(on_illegal)
        check_observation(observation)
        agents = _seated(opponent, game)
        events = events or read_events(agents, game)
        # First of all attributes: pickling then finds first whether another thread plays.
        self.tables = BatchEnv(game, num_envs, num_threads=num_threads, autoreset=False, events=events)
        if on_illegal == "raise":
            self.tables.advise_other_ways()
        self.game, self.on_illegal, self.observation = game, on_illegal, observation
        self.dtype = number_type(game, dtype)
        seats = self.tables.num_seats
        number = _RANDOM_SEAT if isinstance(seat, str) and seat == "random" else whole(seat)
        if number is None or not _RANDOM_SEAT <= number < seats or (number == _RANDOM_SEAT and seat != "random"):
            raise InvalidValue(
                f"seat is {seat!r}; {game.name} has seats 0..{seats - 1}, or 'random' for a new one each episode."
            )
        self._fixed, self.agents = number, agents
        self.seat = np.zeros(num_envs, np.int64)
        self.refused: dict[int, str] = {}
        """The messages for the illegal actions of the latest step, by table."""
        self._who = np.zeros((num_envs, seats), np.int64)
        self._keys = np.zeros(num_envs, np.uint64)
        self._gained = np.zeros((num_envs, seats), np.float32)
        self._reseed()

    @property
    def space(self) -> gymnasium.spaces.Space[Any]:
        """The space of one caller's observation."""
        return (dict_space if self.observation == "dict" else vector_space)(self.game, self.dtype)

    def _reseed(self) -> None:
        self._keys[:] = agent_keys(self.tables.arrays.stream)

    def seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Reseed: table i with `seed + i`, or `seed[i]`, where None leaves it as it is."""
        if seed is None:
            return
        self.tables.seed(seed)
        before = self._keys.copy()
        self._reseed()
        if whole(seed) is None:
            kept = [row for row, one in enumerate(seed) if one is None]  # type: ignore[arg-type]  # not one, so several
            self._keys[kept] = before[kept]

    def begin(self, rows: npt.NDArray[np.int64], options: Mapping[str, Any] | None = None) -> npt.NDArray[np.int64]:
        """Begin new episodes on `rows`, up to the caller's first decision. Return the rows (rarely any) where the
        caller never had one."""
        seats = self.tables.num_seats
        with np.errstate(over="ignore"):
            for row in rows:
                self._keys[row], drawn = rng.below(self._keys[row], seats)
                self.seat[row] = drawn if self._fixed == _RANDOM_SEAT else self._fixed
        order = np.arange(seats)[None, :] - self.seat[rows][:, None]
        self._who[rows] = np.where(order == 0, -1, (order - 1) % seats if len(self.agents) > 1 else 0)
        self.tables.restart(rows, options=options)
        self._gained[rows] = 0
        return advance(self.tables, self.agents, self._who, rows, self._keys, self._gained)

    def step(self, actions: npt.ArrayLike) -> None:
        """Play the callers' actions [B] and then the others' until the caller is to act again or the game is over."""
        self.refused = {}
        rows = np.arange(len(self.seat))
        if self.on_illegal == "raise":
            time_step = self.tables.step(actions)
        else:
            rows, chosen = self._instead(rows, actions)
            time_step = self.tables.step(chosen, rows)
        self._gained[rows] += time_step.reward[rows]
        advance(self.tables, self.agents, self._who, rows, self._keys, self._gained)

    def _instead(
        self, rows: npt.NDArray[np.int64], actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The actions left to be played, and their rows, after the consequences of illegal actions."""
        arrays = self.tables.arrays
        chosen = self.tables.actions(actions, rows)
        known = (chosen >= 0) & (chosen < self.tables.num_actions)
        legal = known & (arrays.mask[rows, np.where(known, chosen, 0)] == 1)
        illegal = rows[~legal & (arrays.seat[rows] >= 0)]
        self.refused = {row: str(self.tables.refusal(row, given_number(actions, row))) for row in illegal.tolist()}
        if self.on_illegal == "random":
            for row in illegal.tolist():
                chosen[row] = self.tables.random_legal(row)
            return rows, chosen
        self._gained[illegal] += self.tables.forfeit(illegal).reward[illegal]
        left = np.setdiff1d(rows, illegal)
        return left, chosen[left]

    def collect(self) -> npt.NDArray[np.float64]:
        """Return what each caller's seat gained since the last call [B]; gains before its first decision count with
        that decision."""
        gained = self._gained[np.arange(len(self.seat)), self.seat].astype(np.float64)
        self._gained[:] = 0
        return gained

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Return the tables whose episode has ended [B]."""
        ended: npt.NDArray[np.bool_] = self.tables.arrays.seat < 0
        return ended

    def masks(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int8]:
        """Return what the callers may play [n, A]; all ones where the game is over, since a learner that draws by a
        mask of zeros would fail."""
        rows = np.arange(len(self.seat)) if rows is None else rows
        masks: npt.NDArray[np.int8] = self.tables.arrays.mask[rows]
        masks[self.over[rows]] = 1
        return masks

    def observe(self, rows: npt.NDArray[np.int64] | None = None) -> Any:
        """Return what the callers are shown, at finished tables too: vectors [n, O], or a dictionary of vectors and
        masks."""
        rows = np.arange(len(self.seat)) if rows is None else rows
        vectors = self.tables.observe(self.seat[rows], rows).astype(self.dtype, copy=False)
        return vectors if self.observation == "flat" else {"observation": vectors, "action_mask": self.masks(rows)}

    def ended(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return why the episodes of `rows` ended: "terminated", "truncated" or "illegal_action"."""
        why = np.where(self.tables.arrays.terminated[rows], "terminated", "truncated").astype(object)
        if self.on_illegal == "terminate" and self.refused:
            why[[row in self.refused for row in rows.tolist()]] = "illegal_action"
        return why

    def words(self, rows: npt.NDArray[np.int64]) -> dict[int, dict[str, Any]]:
        """Return what else `info` says of the ends of those episodes, by table: the message for an illegal action, or
        what the game reports at its end."""
        found: dict[int, dict[str, Any]] = {}
        state = self.tables.arrays.state
        tells = self.game.type.info is not None or self.game.type.open_info is not None
        for row, why in zip(rows.tolist(), self.ended(rows), strict=True) if tells or self.refused else ():
            found[row] = {} if why == "illegal_action" else self.game.info(state[row], int(self.seat[row]))
            found[row] |= self.game.open_info(state[row])
            if row in self.refused:
                found[row]["illegal_action"] = self.refused[row]
        return found

    def settings(self) -> str:
        """Return the arguments besides game and number of tables, for a `repr`."""
        seat = "random" if self._fixed == _RANDOM_SEAT else self._fixed
        names = [name_of(agent) for agent in self.agents]
        shown = {"seat": seat, "opponent": names[0] if len(names) == 1 else names}
        shown |= {} if self.on_illegal == "raise" else {"on_illegal": self.on_illegal}
        shown |= {} if self.observation == "flat" else {"observation": self.observation}
        shown |= {} if self.dtype == self.game.observation_base else {"dtype": self.dtype.name}
        return "".join(f", {name}={value!r}" for name, value in shown.items())


def _seated(opponent: Any, game: Game) -> list[Agent]:
    """The agents of the other seats: one for all, or one for each. Raises ValueError or TypeError."""
    others = game.num_seats - 1
    several = isinstance(opponent, (list, tuple))
    named = list(opponent) if several else [opponent]
    if several and len(named) not in (1, max(1, others)):
        raise InvalidValue(
            f"{len(named)} opponents were given; {game.name} has "
            f"{others} other seats: give one agent, or {max(1, others)}."
        )
    return [agent_of(one, game) for one in named]
