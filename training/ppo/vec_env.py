"""`SeatTables` as a Stable-Baselines3 `VecEnv`, for that library's own algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from backalley.envs.core.game.game import Game

from .seats import SeatTables


class SeatsVecEnv(SeatTables, VecEnv):
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

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take the learner's actions [B]; those of rows where a league member is to act are ignored."""
        self._given = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play one decision on every table; finished tables begin a new episode."""
        shown = self.play(self._given)
        return shown, self.reward[self._rows, self.acted], self.ended.copy(), self._infos

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
