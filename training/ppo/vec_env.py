"""Tables in one call as Stable-Baselines3's `VecEnv`, for that library's own algorithms: one seat of the learner's
beside agents (`OneSeatVecEnv`), or every seat (`SeatsVecEnv`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from backalley.agents.gymnasium.single_agent import Opponent
from backalley.agents.gymnasium.single_agent import SeatTables as CallerTables
from backalley.envs.core.api.tables import one_thread
from backalley.envs.core.game.game import Game

from .seats import SeatTables

Stepped = tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]
"""Observations, rewards, which episodes ended, and infos."""


class _TablesVecEnv(VecEnv):
    """What SB3 asks of environments by name; here it is one batch."""

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the learner's actions [B]; `SeatsVecEnv` ignores those of rows where a league member is to act."""
        self._given = actions

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """SB3 reads `render_mode` during its setup, and `action_masks` to learn whether there are any."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        return [getattr(self, attr_name)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError: tables have no attributes of their own to set."""
        raise AttributeError(f"{attr_name!r} cannot be set: the tables of a batch have no attributes of their own.")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return one answer for the whole batch: SB3 stacks the list it gets, and one block costs a twentieth of B rows
        (*measured*)."""
        return [getattr(self, method_name)(*method_args, **method_kwargs)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * self.num_envs


class OneSeatVecEnv(_TablesVecEnv):
    """B tables of a game: a step plays the learner's action on each and the answers of the agents in the other seats,
    compiled agents' in one call of machine code. Row i with seed `s` plays as `GymnasiumEnv` with seed `s + i`.

    Finished tables begin a new episode in the same step; their `infos` then have `terminal_observation`,
    `TimeLimit.truncated`, `ended` and what the game reports, as in `GymnasiumEnv`.
    """

    def __init__(
        self, game: Game, num_envs: int, *, seat: int | str = 0, opponent: Opponent = "bot", **how: Any
    ) -> None:
        """Arguments as in `GymnasiumEnv`, and `num_threads`. Raises TypeError or ValueError."""
        self._tables = CallerTables(game, num_envs, seat, opponent, **how)
        super().__init__(num_envs, self._tables.space, gymnasium.spaces.Discrete(game.num_actions))

    @property
    def lock(self) -> Any:
        """The tables' lock; see `one_thread`."""
        return self._tables.tables.lock

    @one_thread
    def reset(self) -> Any:
        """Begin new episodes on every table, by the latest `seed` and `set_options`; return the observations."""
        if any(seed is not None for seed in self._seeds):
            self._tables.seed(self._seeds)
        self._tables.refused = {}
        parts = np.split(np.arange(self.num_envs), self.num_envs if any(self._options) else 1)
        for rows, options in zip(parts, self._options, strict=False):
            self._tables.begin_deciding(rows, options or None)
        self._reset_seeds()
        self._reset_options()
        return self._tables.observe()

    @one_thread
    def step_wait(self) -> Stepped:
        """Return observations, rewards [B], which episodes ended [B], and infos."""
        tables, infos = self._tables, [dict[str, Any]() for _ in range(self.num_envs)]
        tables.step(self._given)
        reward, over = tables.collect().astype(np.float32), tables.over
        for row, message in tables.refused.items():
            infos[row]["illegal_action"] = message
        if over.any():
            self._end(np.flatnonzero(over), infos)
        return tables.observe(), reward, over, infos

    def _end(self, rows: npt.NDArray[np.int64], infos: list[dict[str, Any]]) -> None:
        """Say in `infos` how the episodes of `rows` ended, and begin the next."""
        tables, last = self._tables, self._tables.observe(rows)
        for k, row in enumerate(rows.tolist()):
            ended = tables.ended(row)
            shown = {name: array[k] for name, array in last.items()} if isinstance(last, dict) else last[k]
            infos[row] |= tables.words(row) | {"ended": ended, "TimeLimit.truncated": ended == "truncated"}
            infos[row]["terminal_observation"] = shown
        tables.begin_deciding(rows)

    @one_thread
    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions are legal now [B, A], for MaskablePPO."""
        return self._tables.masks().view(np.bool_)

    def close(self) -> None:
        """End the worker threads."""
        self._tables.close()


class SeatsVecEnv(SeatTables, _TablesVecEnv):
    """B tables of a game: a step is one decision on every table, and its rewards are those of the seats that acted."""

    def __init__(self, game: Game, num_envs: int, **how: Any) -> None:
        """The other arguments are those of SeatTables."""
        SeatTables.__init__(self, game, num_envs, **how)
        low, high = game.observation_bounds
        self._infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        box = gymnasium.spaces.Box(low, high, dtype=low.dtype.type)
        VecEnv.__init__(self, num_envs, box, gymnasium.spaces.Discrete(game.num_actions))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed decks and league; takes effect at the next `reset()`."""
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        return [self._seed] * self.num_envs

    def step_wait(self) -> Stepped:
        """Play one decision on every table; finished tables begin a new episode."""
        shown = self.play(self._given)
        return shown, self.reward[self._rows, self.acted], self.ended.copy(), self._infos
