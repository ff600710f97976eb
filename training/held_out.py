"""How much the policy gains on the bot it corrects, told by whole episodes that nothing was learned from, for several
margins at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MARGINS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, np.inf)
"""The margins tried, in units of the labels' standard deviation; infinite, the bot plays alone and gains nothing."""
_KEPT = 8192
_FEWEST = 32
"""Fewer episodes than this say nothing yet."""


def choices(advantages: npt.NDArray[Any], advice: npt.NDArray[Any], gain: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """What is played with each margin [n, M], from advantages [n, A] and the bot's actions [n]; `gain` [n, A] is NaN
    where an action is illegal."""
    each = np.arange(len(advice))
    others = np.where(np.isnan(gain), -np.inf, advantages)
    others[each, advice] = -np.inf
    best = others.argmax(1)
    departs = others[each, best][:, None] > np.array(MARGINS)[None, :]
    return np.where(departs, best[:, None], advice[:, None].astype(np.int64))


class HeldOut:
    """Sums of gains by episode of H tables, in the labels' units, and the latest whole episodes of them all."""

    def __init__(self, tables: int) -> None:
        self.running = np.zeros((tables, len(MARGINS)))
        self.episode = np.full(tables, -1, np.int64)
        """The episode that each table's sum belongs to; the first one may have begun before it was looked at."""
        self.finished = np.zeros((0, len(MARGINS)))
        self.chunk = np.zeros(0, np.int64)
        """In which chunk each of them ended."""

    def add(
        self, rows: npt.NDArray[np.int64], episodes: npt.NDArray[np.int32], gains: npt.NDArray[Any], chunk: int
    ) -> None:
        """Count labels in, in the order of play: their tables [n], episodes [n] and what each margin gains [n, M]."""
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

    def best(self, chunk: int) -> tuple[float, float, float]:
        """The smallest margin whose gain is within one standard error of the best one's; its gain an episode, with
        standard error. Of the later half of the run: before, the policy was another. With too few
        episodes, the largest finite margin and no gain."""
        seen = self.finished[self.chunk >= chunk // 2]
        if len(seen) < _FEWEST:
            return MARGINS[-2], 0.0, 0.0
        # Of the best one's own gain: that of a difference is greatest where a small margin departs most, and lets in
        # what loses.
        gain, error = seen.mean(0), seen.std(0, ddof=1) / np.sqrt(len(seen))
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
        """Take up from `arrays()`."""
        self.running, self.episode = arrays["running"].copy(), arrays["episode"].copy()
        self.finished, self.chunk = arrays["finished"], arrays["chunk"]
