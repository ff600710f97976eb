"""What has been played at each table since its last deal, for searches that draw conclusions from it.

An engine keeps it once somebody asks (`Engine.keep_trail`): the state after the deal, and the actions since; states in
between come by playing these again. It is the truth, so agents are never shown it: what draws worlds for them uses it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_ACTIONS = 256
"""Actions after one deal that are kept; a hand of more is not known, up to the next deal."""
UNKNOWN = -1
"""`length` of a table of which it is not known what was played: one that was set by hand, for one."""


class Played(NamedTuple):
    """What has been played at n tables since their last deals, where an episode's beginning counts as one."""

    start: npt.NDArray[Any]
    """The states after it [n]."""
    action: npt.NDArray[np.int16]
    """The actions since [n, MOST_ACTIONS], the first `length` of each row."""
    length: npt.NDArray[np.int32]
    """How many these are [n], or UNKNOWN."""


class Trail:
    """The record of B tables. Rows share nothing, so threads may write to different ones."""

    def __init__(self, state: npt.NDArray[Any], fresh: npt.NDArray[np.bool_]) -> None:
        """Tables [B] as they stand; of those that are `fresh` [B] nothing has been played yet."""
        self.played = Played(
            state.copy(),
            np.zeros((len(state), MOST_ACTIONS), np.int16),
            np.where(fresh, 0, UNKNOWN).astype(np.int32),
        )

    def deal(self, rows: npt.NDArray[np.int64], state: npt.NDArray[Any]) -> None:
        """Cards have been dealt at tables `rows` [n], whose states are now `state` [n]."""
        start, _, length = self.played
        start[rows], length[rows] = state, 0
        start["reward"][rows] = 0  # what is yet to be handed out when a pack is dealt by hand

    def play(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """`actions[k]` has been played at table `rows[k]`."""
        _, action, length = self.played
        full = length[rows] >= MOST_ACTIONS
        length[rows[full]] = UNKNOWN
        known = length[rows] >= 0
        action[rows[known], length[rows[known]]] = actions[known]
        length[rows[known]] += 1

    def forget(self, rows: npt.NDArray[np.int64]) -> None:
        """Tables `rows` have become others by no play."""
        self.played.length[rows] = UNKNOWN

    def of(self, rows: npt.NDArray[np.int64]) -> Played:
        """That of some tables, as copies."""
        start, action, length = self.played
        return Played(start[rows], action[rows], length[rows])
