"""Gymnasium's spaces of a game: tight bounds, and actions whose `sample()` is legal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import batch_space

from backalley.console.errors import InvalidValue

from ..game.game import Game

OBSERVATIONS = ("flat", "dict")
"""Forms of an observation: the vector, or `{"observation": vector, "action_mask": mask}`."""


def check_observation(given: Any) -> None:
    """Raise ValueError for a value that is not in OBSERVATIONS."""
    if not (isinstance(given, str) and given in OBSERVATIONS):
        raise InvalidValue(f"observation is {given!r}; it takes {', '.join(map(repr, OBSERVATIONS))}.")


def vector_space(game: Game, dtype: Any = None) -> gymnasium.spaces.Box:
    """Return the space of the flat observation [O], in the game's own type of numbers or another (see
    `number_type`)."""
    low, high = game.observation_bounds
    kind = low.dtype if dtype is None else np.dtype(dtype)
    return gymnasium.spaces.Box(low.astype(kind), high.astype(kind), dtype=kind.type)


def rows_space(game: Game, rows: int) -> gymnasium.spaces.Box:
    """Return the space of flat observations [rows, O]."""
    space = batch_space(vector_space(game), rows)
    assert isinstance(space, gymnasium.spaces.Box)
    return space


def dict_space(game: Game, dtype: Any = None) -> gymnasium.spaces.Dict:
    """`{"observation", "action_mask"}`."""
    mask = gymnasium.spaces.Box(0, 1, (game.num_actions,), np.int8)
    return gymnasium.spaces.Dict({"observation": vector_space(game, dtype), "action_mask": mask})


def number_type(game: Game, given: Any) -> np.dtype[Any]:
    """Return a NumPy type (`"float32"`, `np.int64`) for observations; None: the game's own.

    Raises ValueError if it is not a type of numbers, or cannot hold the observation's bounds exactly.
    """
    if given is None:
        return game.observation_base
    try:
        kind: np.dtype[Any] = np.dtype(given)
    except TypeError:
        kind = np.dtype(object)
    fits = kind.kind in "iuf"
    if fits:
        with np.errstate(all="ignore"):
            fits = all((bound.astype(kind).astype(np.float64) == bound).all() for bound in game.observation_bounds)
    if not fits:
        raise InvalidValue(
            f"dtype is {given!r}; observations of {game.name} are {game.observation_base}, and can be had in a type of "
            "numbers that holds their bounds, such as 'float32'."
        )
    return kind


class LegalDiscrete(gymnasium.spaces.Discrete):
    """`Discrete(A)` whose `sample()` without a mask draws one of the actions legal now."""

    legal: npt.NDArray[np.int8] | None = None

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A legal action; with `mask` or `probability`, as `Discrete.sample`."""
        if mask is None and probability is None and self.legal is not None and self.legal.any():
            mask = self.legal
        return super().sample(mask=mask, probability=probability)


class LegalMultiDiscrete(gymnasium.spaces.MultiDiscrete):
    """B times `Discrete(A)` whose `sample()` without a mask draws one of the actions legal now at each table."""

    legal: npt.NDArray[np.int8] | None = None
    """[B, A]; where nothing is legal, any action may be drawn."""

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Legal actions [B]; with `mask` or `probability`, as `MultiDiscrete.sample`."""
        legal = self.legal
        if mask is not None or probability is not None or legal is None:
            return super().sample(mask=mask, probability=probability)
        drawn = 1.0 - self.np_random.random(legal.shape)  # never 0
        return (drawn * (legal != 0)).argmax(1).astype(self.dtype)
