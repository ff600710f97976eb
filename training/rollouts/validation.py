"""Validation: measure, for several margins, the policy's gain over the bot it corrects, in episodes not learned
from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MARGINS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, np.inf)
"""The margins tried, in units of the targets' standard deviation; with an infinite one the bot plays alone and gains
nothing."""
_KEPT = 8192
_FEWEST = 32
"""With fewer episodes than this, no margin is chosen."""


def choices(advantages: npt.NDArray[Any], advice: npt.NDArray[Any], gain: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the action played with each margin [n, M], from advantages [n, A] and the bot's actions [n]; `gain` [n, A]
    is NaN where an action is illegal."""
    each = np.arange(len(advice))
    others = np.where(np.isnan(gain), -np.inf, advantages)
    others[each, advice] = -np.inf
    best = others.argmax(1)
    departs = others[each, best][:, None] > np.array(MARGINS)[None, :]
    return np.where(departs, best[:, None], advice[:, None].astype(np.int64))


class HeldOut:
    """Sums of gains by episode of H tables, in the targets' units, and their latest whole episodes."""

    def __init__(self, tables: int) -> None:
        self.running = np.zeros((tables, len(MARGINS)))
        self.episode = np.full(tables, -1, np.int64)
        """The episode of each table's sum; the first one may have begun before the first chunk."""
        self.finished = np.zeros((0, len(MARGINS)))
        self.chunk = np.zeros(0, np.int64)
        """The chunk in which each of them ended."""

    def add(
        self, rows: npt.NDArray[np.int64], episodes: npt.NDArray[np.int32], gains: npt.NDArray[Any], chunk: int
    ) -> None:
        """Add targets in the order of play: their tables [n], episodes [n] and the gain of each margin [n, M]."""
        ended = []
        for row, episode, gain in zip(rows.tolist(), episodes.tolist(), gains, strict=True):
            if episode != self.episode[row]:
                if self.episode[row] >= 0:
                    ended.append(self.running[row].copy())
                self.running[row], self.episode[row] = 0, episode
            self.running[row] += gain
        if ended:
            self.finished = np.concatenate([self.finished, ended])[-_KEPT:]
            self.chunk = np.concatenate([self.chunk, np.full(len(ended), chunk)])[-_KEPT:]

    def best(self, chunk: int, only: float | None = None) -> tuple[float, float, float]:
        """Return the smallest margin whose gain is within one standard error of the best one's, or the one of `MARGINS`
        next to `only`; its gain per episode, and the standard error. Uses the later half of the run, since the policy
        was another before. With too few episodes, return the largest finite margin, or `only`, and no gain."""
        seen = self.finished[self.chunk >= chunk // 2]
        if len(seen) < _FEWEST:
            return MARGINS[-2] if only is None else only, 0.0, 0.0
        # The standard error of the best one's own gain: that of a difference is greatest where a small margin departs
        # most, and would let in a margin that loses.
        gain, error = seen.mean(0), seen.std(0, ddof=1) / np.sqrt(len(seen))
        if only is not None:
            near = int(np.abs(np.array(MARGINS[:-1]) - only).argmin())
            return only, float(gain[near]), float(error[near])
        best = int(gain.argmax())
        chosen = int(np.flatnonzero(gain >= gain[best] - error[best])[0])
        return MARGINS[chosen], float(gain[chosen]), float(error[chosen])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything in arrays."""
        return {
            "running": self.running,
            "episode": self.episode,
            "finished": self.finished,
            "chunk": self.chunk,
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore from `arrays()`."""
        self.running, self.episode = arrays["running"].copy(), arrays["episode"].copy()
        self.finished, self.chunk = arrays["finished"], arrays["chunk"]
