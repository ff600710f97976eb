"""The window: the latest targets, from which minibatches are drawn.

A target made with an earlier policy says nearly as much as one made with the present policy. So chunks can be small,
the policy improves often, and a minibatch is still drawn from many targets. The window grows: it is a share of all
targets so far. (A sliding window over self-play data, as in AlphaGo Zero, Silver et al. 2017; one that grows with the
data, as in KataGo, Wu 2019.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game

from ..shared.checkpoint import Arrays

FEWEST = 16_384
"""A window has at least this many targets, once as many were made: a share of all would begin with too few."""
_BYTES = 256 << 20
"""The most memory that a window takes, and about the size of a checkpoint: 330,000 targets in Pitch."""


class Window:
    """The latest targets in rings of arrays, and how minibatches are drawn from them."""

    def __init__(self, game: Game, share: float, chunk: int) -> None:
        """It holds this `share` of all targets so far, within the limits above; with a share of 0 the latest chunk
        alone. `chunk` is the most targets that are added at once."""
        self.share = share
        size, base, actions = game.observation_size, game.observation_base, game.num_actions
        row_bytes = size * base.itemsize + 4 * actions + 2
        self.capacity = max(chunk, _BYTES // row_bytes if share else 0)
        self._rings: Arrays = {
            "flat": np.zeros((self.capacity, size), base),
            "gain": np.zeros((self.capacity, actions), np.float32),
            "advice": np.zeros(self.capacity, np.int16),
        }
        self.made = self.held = self.fresh = 0
        """Targets added so far, those in the window, and those added last."""

    def add(
        self,
        flat: npt.NDArray[Any],
        gain: npt.NDArray[np.float32],
        advice: npt.NDArray[np.int16],
    ) -> None:
        """Add a chunk: observations [n, O], gains of all actions [n, A], NaN where illegal, and the
        bot's actions [n]."""
        self.fresh, places = len(flat), (self.made + np.arange(len(flat))) % self.capacity
        for ring, values in zip(self._rings.values(), (flat, gain, advice), strict=True):
            ring[places] = values
        self.made += self.fresh
        wanted = max(FEWEST, int(self.share * self.made)) if self.share else self.fresh
        self.held = min(wanted, self.made, self.capacity)

    def minibatches(self, generator: np.random.Generator, size: int, reuse: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the targets of each minibatch, as numbers from 0, the oldest in the window. As many are drawn as makes
        `reuse` uses of each target added last; without a share, each of these is used `reuse` times."""
        if self.share:
            for _ in range(round(reuse * self.fresh / size)):
                yield generator.integers(self.held, size=size)
            return
        for _ in range(reuse if self.fresh else 0):
            order = generator.permutation(self.fresh)
            yield from np.array_split(order, max(1, round(self.fresh / size)))

    def targets(
        self, numbers: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.int16]]:
        """Return copies of the targets of these `numbers` [n], as they were added."""
        places = (self.made - self.held + numbers) % self.capacity
        flat, gain, advice = (ring[places] for ring in self._rings.values())
        return flat, gain, advice

    def arrays(self) -> Arrays:
        """Return the targets in the window, the oldest first; none without a share, since none is used again."""
        if not self.share:
            return {}
        return dict(zip(self._rings, self.targets(np.arange(self.held)), strict=True))

    def restore(self, arrays: Arrays, made: int) -> None:
        """Restore from `arrays()` after `made` targets."""
        self.made = made - len(arrays.get("advice", ()))
        if arrays:
            self.add(**arrays)
