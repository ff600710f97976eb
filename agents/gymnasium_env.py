"""One seat as a Gymnasium environment, or many of them in one batch; agents play the other seats inside the same call.

    env = gymnasium.make("backalley/PokerDuel-v0", opponent="bot")
    envs = gymnasium.make_vec("backalley/PokerDuel-v0", num_envs=256, opponent="bot")

The observation is the flat vector; the action mask is in `info["action_mask"]` and from `env.action_masks()`, where
`sb3_contrib.MaskablePPO` looks for it. `action_space.sample()` draws a legal action, so that checkers and random loops
work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from backalley.envs.core import rng
from backalley.envs.core.aec import RENDER_MODES
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.render import table_text
from backalley.envs.core.vector import BatchEnv

from .base import Agent
from .match import advance
from .registry import agent as agent_of

Opponent = str | Agent | Sequence[str | Agent]

_AGENT_KEYS = 1
"""Number under which the agents' randomness is forked off a table's seed."""
_RANDOM_SEAT = -1


class SeatTables:
    """B tables at each of which one seat is the caller's and agents play the others. Not reset by itself: see
    `begin`."""

    def __init__(self, game: Game, num_envs: int, seat: int | str, opponent: Opponent, num_threads: int = 1) -> None:
        self.tables = BatchEnv(game, num_envs, num_threads=num_threads, autoreset=False)
        seats = self.tables.num_seats
        if seat != "random" and not (isinstance(seat, (int, np.integer)) and 0 <= seat < seats):
            raise ValueError(
                f"seat is {seat!r}; {game.name} has seats 0..{seats - 1}, or 'random' for a new one each episode."
            )
        self._fixed = _RANDOM_SEAT if isinstance(seat, str) else int(seat)
        named = [opponent] if isinstance(opponent, str) or not isinstance(opponent, Sequence) else list(opponent)
        if len(named) not in (1, max(1, seats - 1)):
            raise ValueError(
                f"{len(named)} opponents were given; {game.name} has "
                f"{seats - 1} other seats: give one agent, or {seats - 1}."
            )
        self.agents = [agent_of(one, game) if isinstance(one, str) else one for one in named]
        self.seat = np.zeros(num_envs, np.int64)
        self._who = np.zeros((num_envs, seats), np.int64)
        self._keys = np.zeros(num_envs, np.uint64)
        self.reward = np.zeros(num_envs, np.float64)
        self._gained = np.zeros((num_envs, seats), np.float32)
        self._reseed()

    def _reseed(self) -> None:
        with np.errstate(over="ignore"):
            self._keys[:] = [rng.fork(stream, _AGENT_KEYS) for stream in self.tables.engine.batch.stream]

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Reseed: table i with `seed + i`."""
        if seed is not None:
            self.tables.seed(seed)
            self._reseed()

    def begin(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """New episodes on `rows`, up to the caller's first decision. Gives the rows (rarely any) where the caller never
        got one."""
        seats = self.tables.num_seats
        with np.errstate(over="ignore"):
            for row in rows:
                self._keys[row], drawn = rng.below(self._keys[row], seats)
                self.seat[row] = drawn if self._fixed == _RANDOM_SEAT else self._fixed
        order = np.arange(seats)[None, :] - self.seat[rows][:, None]
        self._who[rows] = np.where(order == 0, -1, (order - 1) % seats if len(self.agents) > 1 else 0)
        self.tables.restart(rows)
        self._gained[rows] = 0
        return advance(self.tables, self.agents, self._who, rows, self._keys, self._gained)

    def step(self, actions: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> None:
        """Play the caller's actions and then the others' until the caller is to act again or the game is over."""
        time_step = self.tables.step(actions, rows)
        self._gained[rows] += time_step.reward[rows]
        advance(self.tables, self.agents, self._who, rows, self._keys, self._gained)

    def collect(self) -> npt.NDArray[np.float64]:
        """What each caller's seat gained since the last call [B]; gains before its first decision count with that
        decision."""
        gained = self._gained[np.arange(len(self.seat)), self.seat].astype(np.float64)
        self._gained[:] = 0
        return gained

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Tables whose episode has ended [B]."""
        ended: npt.NDArray[np.bool_] = self.tables.time_step.seat < 0
        return ended

    def observe(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[Any]:
        """The callers' observations, at finished tables too [n, O]."""
        rows = np.arange(len(self.seat)) if rows is None else rows
        return self.tables.observe(self.seat[rows], rows)


class LegalDiscrete(gymnasium.spaces.Discrete):
    """`Discrete(A)` whose `sample()` without a mask draws one of the actions legal now."""

    legal: npt.NDArray[np.int8] | None = None

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A legal action; with `mask` or `probability`, as `Discrete.sample`."""
        if mask is None and probability is None and self.legal is not None and self.legal.any():
            mask = self.legal
        return super().sample(mask=mask, probability=probability)


class GymnasiumEnv(gymnasium.Env[npt.NDArray[Any], np.int64]):
    """One seat of a game. A step plays the caller's action and the other seats' answers; the reward is the seat's gain
    until it acts again.

    An illegal action raises IllegalAction (a ValueError) and changes nothing.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        game: Game,
        *,
        seat: int | str = 0,
        opponent: Opponent = "bot",
        render_mode: str | None = None,
    ) -> None:
        """`opponent` is an agent or its name, one for all other seats or one for each, clockwise from the caller's
        left."""
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it takes {', '.join(map(repr, RENDER_MODES))} or None.")
        self._seats = SeatTables(game, 1, seat, opponent)
        self.game, self.render_mode = game, render_mode
        low, high = game.observation_bounds
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=low.dtype.type)
        self.action_space = LegalDiscrete(game.num_actions)
        self._row = np.zeros(1, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """A new episode, up to this seat's first decision."""
        super().reset(seed=seed)
        self._seats.seed(seed)
        while len(self._seats.begin(self._row)):
            continue  # this seat never had to decide: deal again
        return self._seats.observe()[0], self._info()

    def _info(self) -> dict[str, Any]:
        mask = self._seats.tables.time_step.action_mask[0].copy()
        self.action_space.legal = mask  # type: ignore[attr-defined]
        told: dict[str, Any] = {"action_mask": mask, "seat": int(self._seats.seat[0])}
        if self._seats.over[0] and self.game.info is not None:
            told |= self.game.info(self._seats.tables.engine.batch.state[0], told["seat"])
        return told

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are legal now [A], where MaskablePPO looks for it."""
        legal: npt.NDArray[np.bool_] = self._seats.tables.time_step.action_mask[0].astype(bool)
        return legal

    def step(self, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated, info."""
        self._seats.step(np.asarray(action).reshape(1), self._row)
        time_step = self._seats.tables.time_step
        reward = float(self._seats.collect()[0])
        return (
            self._seats.observe()[0],
            reward,
            bool(time_step.terminated[0]),
            bool(time_step.truncated[0]),
            self._info(),
        )

    def render(self) -> str | None:
        """The table from this seat's view: text in mode "ansi", printed in mode "human"."""
        if self.render_mode is None:
            return None
        text = table_text(self._seats.tables.engine, 0, int(self._seats.seat[0]))
        if self.render_mode == "human":
            print(text)
            return None
        return text


class GymnasiumVectorEnv(VectorEnv[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[Any]]):
    """B copies of `GymnasiumEnv` in one call. Finished ones start anew in the same step; `infos["final_obs"]` has their
    last observations.

    Row i with seed `s` plays as `GymnasiumEnv` with seed `s + i`.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seat: int | str = 0,
        opponent: Opponent = "bot",
        num_threads: int = 1,
    ) -> None:
        self._seats = SeatTables(game, num_envs, seat, opponent, num_threads)
        self.num_envs = num_envs
        low, high = game.observation_bounds
        self.single_observation_space = gymnasium.spaces.Box(low, high, dtype=low.dtype.type)
        self.single_action_space = LegalDiscrete(game.num_actions)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.spaces.MultiDiscrete(np.full(num_envs, game.num_actions))
        self._all = np.arange(num_envs)

    def _begin(self, rows: npt.NDArray[np.int64]) -> None:
        while len(rows):
            rows = self._seats.begin(rows)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """New episodes on every table."""
        self._seats.seed(seed)  # type: ignore[arg-type]
        self._begin(self._all)
        return self._seats.observe(), self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._seats.tables.time_step.action_mask.copy(), "seat": self._seats.seat.copy()}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Which actions are legal now [B, A]."""
        legal: npt.NDArray[np.bool_] = self._seats.tables.time_step.action_mask.astype(bool)
        return legal

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Observations, rewards, terminated, truncated and infos, each of B rows."""
        self._seats.step(actions, self._all)
        time_step = self._seats.tables.time_step
        over = self._seats.over
        reward, terminated, truncated = self._seats.collect(), time_step.terminated & over, time_step.truncated & over
        rows = np.flatnonzero(over)
        last = self._seats.observe(rows)
        if len(rows):
            self._begin(rows)
        infos = self._info()
        if len(rows):
            final = np.full(self.num_envs, None, object)
            for k, row in enumerate(rows):
                final[row] = last[k]
            infos |= {"final_obs": final, "_final_obs": over.copy()}
        return self._seats.observe(), reward, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker threads."""
        self._seats.tables.close()


def make_gymnasium(
    game: str, *, seat: int | str = 0, opponent: Opponent = "bot", render_mode: str | None = None, **options: Any
) -> GymnasiumEnv:
    """Gymnasium's entry point for one table; every other keyword is an option of the game."""
    found = game_of(game)
    return GymnasiumEnv(found.bind(options), seat=seat, opponent=opponent, render_mode=render_mode)


def make_gymnasium_vec(
    game: str,
    num_envs: int = 1,
    *,
    seat: int | str = 0,
    opponent: Opponent = "bot",
    num_threads: int = 1,
    render_mode: str | None = None,
    **options: Any,
) -> GymnasiumVectorEnv:
    """Gymnasium's entry point for a batch."""
    found = game_of(game)
    if render_mode is not None:
        raise ValueError(
            f"A batch of tables has no render_mode, and {render_mode!r} was given; make one environment to draw it."
        )
    return GymnasiumVectorEnv(found.bind(options), num_envs, seat=seat, opponent=opponent, num_threads=num_threads)
