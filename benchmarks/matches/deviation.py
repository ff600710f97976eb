"""Deviation ratings: what an agent loses to the mixture of a table's agents that leaves every agent the least.

Copies of an agent change no rating, and neither do agents that nobody would choose: no opponent counts more for being
in the table more often. Marris et al. 2025, "Deviation Ratings: A General, Clone-Invariant Rating Method" (arXiv
2502.11645), algorithm 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..figures.stats import Floats

_TIGHT = 1e-6
"""The dual value from which a bound counts as tight. Those of one program sum to 1, so that one of them always is."""
_TOLERANCE = 1e-10
"""HiGHS's tolerance for bounds and dual values; payoffs are scaled to 1 at most."""


def deviation_ratings(payoffs: Floats) -> tuple[Floats, Floats]:
    """Return the ratings [K] of agents and their mixture [K] in the equilibrium, from `payoffs` [K, K]: the mean return
    of each agent (row) against each (column), 0 against itself.

    A rating is the agent's mean return against the mixture, less the most that any agent gains there: 0 at best. In
    the paper it is an agent's deviation gain in the strictest coarse correlated equilibrium: the greatest gain is
    minimised, then the next greatest while that stays, and so on. With two players and sum zero each player's part of
    that equilibrium can be chosen for itself; this is the part of the player whom the rows meet. Each linear program
    fixes the gains that are tight in all of its solutions, which are those with a dual value, so that ratings do not
    depend on the order of the agents. Raises ArithmeticError if a program cannot be solved, as with payoffs that are
    not finite.
    """
    if len(alone := _best_alone(payoffs)):
        return payoffs[:, alone[0]] - payoffs[alone[0], alone[0]], np.eye(len(payoffs))[alone[0]]
    from scipy.optimize import linprog

    agents = len(payoffs)
    scale = float(np.abs(payoffs).max()) or 1.0
    gains, mixture = payoffs / scale, np.zeros(agents)
    fixed = np.full(agents, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        found = linprog(
            np.append(np.zeros(agents), 1.0),  # the greatest gain that is not fixed
            A_ub=np.column_stack([gains, -free.astype(float)]),
            b_ub=np.where(free, 0.0, fixed),
            A_eq=[[1.0] * agents + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * agents + [(None, None)],
            options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
        )
        if found.status != 0:
            raise ArithmeticError(f"The linear program of the ratings was not solved: {found.message}")
        fixed[free & (found.ineqlin.marginals < -_TIGHT)] = found.fun
        mixture = np.abs(found.x[:-1]) / found.x[:-1].sum()
    return scale * (fixed - fixed.max()), mixture


def _best_alone(payoffs: Floats) -> npt.NDArray[np.int64]:
    """Return the number of the agent that gains on every other and on which nobody gains, as an array; empty where
    there is none. It is the whole mixture, since any other mixture leaves it more, and no program is needed."""
    own, others = payoffs.diagonal(), ~np.eye(len(payoffs), dtype=bool)
    wins = (payoffs > own[:, None]).all(1, where=others)
    return np.flatnonzero(wins & (payoffs <= own).all(0))
