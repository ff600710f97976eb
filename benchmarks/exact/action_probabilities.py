"""The probabilities of an agent's actions, position by position, for computations that enumerate all positions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, DirectAgent, Rows, name_of
from backalley.agents.base.rule_based import played_by, seen_by
from backalley.console.errors import InvalidValue
from backalley.envs.core.compile.kernel import Bound
from backalley.envs.core.compile.templates import specialise, template, unbound
from backalley.envs.core.engine.engine import kernel_names
from backalley.envs.core.game.game import Game, GameType

_KEYS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x2545F4914F6CDD1D)
"""Two keys: an agent that uses its key answers them differently at one of many positions."""
_DRAWS = 1 << 14
_ASKED_AT_ONCE = 1 << 16


class Unasked(InvalidValue):
    """An agent whose probabilities cannot be computed; the message says why."""


ACT = CHANCES = SEEN = unbound
"""The agent's kernels in the templates below, and their views."""


@template
def chances_rows(by: Any, rows: Rows, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> int:
    """Write the probabilities that an agent states for row k to `out[k]`; return -1."""
    for k in range(out.shape[0]):
        CHANCES(by, SEEN(rows, k), mask[k], out[k])
    return -1


@template
def action_rows(by: Any, rows: Rows, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> int:
    """Do the same for an agent that always answers alike; return -1, or the first row where its answers to two keys
    differ or are not legal."""
    for k in range(out.shape[0]):
        action = ACT(by, SEEN(rows, k), mask[k], _KEYS[0])
        if action < 0 or action >= mask.shape[1] or mask[k, action] == 0:
            return k
        if ACT(by, SEEN(rows, k), mask[k], _KEYS[1]) != action:
            return k
        out[k, :] = 0.0
        out[k, action] = 1.0
    return -1


@functools.cache
def _batch_kernel(
    game: GameType, chances: Callable[..., None] | None, act: Callable[..., int] | None, seen: Callable[..., Any]
) -> Any:
    """The templates for an agent's kernels. Their machine code is cached for each game separately: one file with every
    game's options in it could not be read where one of those games cannot be imported."""
    names = {**kernel_names(game), "SEEN": seen}
    if chances is not None:
        return specialise([chances_rows], {**names, "CHANCES": chances})["chances_rows"]
    assert act is not None
    return specialise([action_rows], {**names, "ACT": act})["action_rows"]


class Asked:
    """A compiled agent of a game, with exact probabilities; every thread needs its own."""

    def __init__(self, game: Game, agent: Agent) -> None:
        """Raises Unasked for an agent without a kernel."""
        self.game, self.agent = game, agent
        self._chances, self._act = getattr(agent, "chances", None), getattr(agent, "kernel", None)
        if self._chances is None and self._act is None:
            raise Unasked(
                f"{name_of(agent)} cannot be enumerated: it is no compiled agent. Bots and policies from disk are."
            )
        self._by = played_by(agent, game)
        self._rows = Bound(functools.partial(_batch_kernel, game.type, self._chances, self._act, seen_by(agent)))

    def __call__(self, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
        """Write to `out` [n, A] the probability of each action where the agent is shown `shown` [n, O] and `mask` [n,
        A]. Raises Unasked where it draws without stating probabilities, or chooses an illegal action."""
        rows = Rows(self.game.records(shown), shown)
        row = self._rows(self._by, rows, mask, out)
        if row >= 0:
            raise Unasked(
                f"{name_of(self.agent)} cannot be enumerated: it draws its actions without stating their "
                "probabilities, or chooses one that is not legal."
            )


def probabilities(
    game: Game, agent: Agent, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8]
) -> tuple[npt.NDArray[np.float64], bool]:
    """Return the probability of each action [n, A] where an agent is shown `shown` [n, O] and `mask` [n, A], and
    whether that is exact: for an agent that draws without stating probabilities, they are the shares of many answers.
    Raises Unasked for one that needs a table."""
    out = np.zeros(mask.shape)
    if getattr(agent, "chances", None) is not None:
        Asked(game, agent)(shown, mask, out)
        return out, True
    if not isinstance(agent, DirectAgent):
        raise Unasked(f"{name_of(agent)} cannot be asked at every information set: it has to see a table.")
    keys = np.random.default_rng(0).integers(2**64, size=_DRAWS, dtype=np.uint64)
    some = max(1, _ASKED_AT_ONCE // _DRAWS)
    for low in range(0, len(mask), some):
        which = np.arange(low, min(low + some, len(mask))).repeat(_DRAWS)
        actions = agent.choose(shown[which], mask[which], np.tile(keys, len(which) // _DRAWS))
        np.add.at(out, (which, actions), 1 / _DRAWS)
    return out, bool(np.isin(out, (0.0, 1.0)).all())
