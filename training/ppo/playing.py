"""A network as it plays in training: compiled, in single precision, on several threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.policies.inference import Net, drawn, forward, net_of, own_room
from backalley.agents.policies.network import PolicyNetwork, weights_of
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng

from ..shared.thread_pool import Task, ThreadPool

stream_of = rng.stream_of

_FEWEST_ROWS = 16
"""Rows that a thread plays at once."""


@kernel
def next_keys(stream: np.uint64, out: npt.NDArray[np.uint64]) -> np.uint64:
    """Write the next keys of a stream, one per row; return the advanced stream."""
    for k in range(out.shape[0]):
        stream = rng.advance(stream)
        out[k] = rng.mix(stream)
    return stream


@kernel
def play_rows(
    net: Net,
    shown: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_],
    wanted: npt.NDArray[np.bool_],
    keys: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    log_probs: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
) -> None:
    """Draw an action for each row that is `wanted`, by its key, and write it with its log-probability and the value of
    the observation."""
    legal = mask.view(np.int8)
    for row in range(wanted.shape[0]):
        if wanted[row]:
            outputs = forward(net, shown[row])
            action = drawn(outputs, legal[row], keys[row])
            highest, total = float(outputs[action]), 0.0
            for one in range(legal.shape[1]):
                if legal[row, one]:
                    total += math.exp(float(outputs[one]) - highest)
            actions[row], log_probs[row], values[row] = action, -math.log(total), outputs[legal.shape[1]]


@kernel
def value_rows(net: Net, shown: npt.NDArray[Any], values: npt.NDArray[np.float32]) -> None:
    """Write the value of each observation."""
    for row in range(values.shape[0]):
        outputs = forward(net, shown[row])
        values[row] = outputs[outputs.shape[0] - 1]


class Playing:
    """A network as it plays during one rollout: compiled, in single precision, on every thread of a pool."""

    def __init__(self, network: PolicyNetwork, pool: ThreadPool) -> None:
        bound = 1 / network.scale.cpu().numpy().astype(np.float64)
        net = net_of(weights_of(network), bound, greedy=False, value=True)
        self._pool, self._nets = pool, [own_room(net) for _ in range(pool.num_threads)]

    def act(
        self,
        shown: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        wanted: npt.NDArray[np.bool_],
        keys: npt.NDArray[np.uint64],
        actions: npt.NDArray[np.int64],
        log_probs: npt.NDArray[np.float32],
        values: npt.NDArray[np.float32],
        first: Sequence[Task] = (),
    ) -> None:
        """Play as `play_rows` does, after the tasks `first`."""

        def work(thread: int, low: int, high: int) -> None:
            rows = slice(low, high)
            drawn_by, written = keys[rows], (actions[rows], log_probs[rows], values[rows])
            play_rows(self._nets[thread], shown[rows], mask[rows], wanted[rows], drawn_by, *written)

        self._pool.share_rows(len(shown), _FEWEST_ROWS, work, first)

    def values(self, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the values of observations [n, O]."""
        found = np.empty(len(shown), np.float32)
        self._pool.share_rows(
            len(shown),
            _FEWEST_ROWS,
            lambda thread, low, high: value_rows(self._nets[thread], shown[low:high], found[low:high]),
        )
        return found
