"""Advantages along each seat's own decisions; this file needs no library that learns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import kernel


@kernel
def seat_advantages(
    seat: npt.NDArray[np.int8],
    learned: npt.NDArray[np.bool_],
    ended: npt.NDArray[np.bool_],
    reward: npt.NDArray[np.float32],
    value: npt.NDArray[np.float32],
    last_value: npt.NDArray[np.float32],
    gamma: float,
    lam: float,
    advantage: npt.NDArray[np.float32],
) -> None:
    """Compute generalised advantages (Schulman et al. 2016) along each seat's own decisions, for T steps of B tables
    with N seats.

    seat, learned, ended, value [T, B]: who decided, whether the learner decided, whether the episode ended there, and
    the critic's value; reward [T, B, N]: what every seat gained by the step; last_value [B, N]: each seat's value after
    the last step. Fills advantage [T, B], with 0 where the learner did not decide. `gamma` discounts per decision of
    the same seat. What a seat gains before its first decision of an episode counts for no decision.
    """
    steps, tables = seat.shape
    seats = reward.shape[2]
    next_value, next_advantage, gained = np.empty(seats), np.empty(seats), np.empty(seats)
    for table in range(tables):
        for who in range(seats):
            next_value[who] = last_value[table, who]
            next_advantage[who] = 0.0
            gained[who] = 0.0
        for step in range(steps - 1, -1, -1):
            if ended[step, table]:
                next_value[:] = 0.0
                next_advantage[:] = 0.0
                gained[:] = 0.0
            for who in range(seats):
                gained[who] += float(reward[step, table, who])
            advantage[step, table] = 0.0
            if learned[step, table]:
                who = int(seat[step, table])
                now = float(value[step, table])
                found = gained[who] + gamma * next_value[who] - now + gamma * lam * next_advantage[who]
                advantage[step, table] = found
                next_value[who] = now
                next_advantage[who] = found
                gained[who] = 0.0
