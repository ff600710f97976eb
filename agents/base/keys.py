"""Keys: the randomness of agents, a number for each decision of each table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.compile.kernel import wrapping
from backalley.envs.core.rules import rng

_AGENT_KEYS = 1
"""Number by which the agents' randomness is forked off a table's."""


def agent_keys(streams: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Return the keys of tables that begin with these streams [n]: agents draw by them."""
    with np.errstate(over="ignore"):
        return np.array([rng.fork(stream, _AGENT_KEYS) for stream in np.asarray(streams, np.uint64)], np.uint64)


@wrapping
def decision_keys(table: npt.NDArray[np.uint64], decisions: npt.NDArray[np.int32], out: npt.NDArray[np.uint64]) -> None:
    """Write a separate key for every decision of every table: `out[k]` from the table's key and the number of decisions
    made there."""
    for k in range(out.shape[0]):
        out[k] = rng.fork(table[k], int(decisions[k]))


def forked(keys: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.uint64]:
    """Return other keys [n], which follow from these and the number."""
    out = np.empty_like(keys)
    decision_keys(keys, np.full(len(keys), number, np.int32), out)
    return out


def keys_given(given: npt.ArrayLike | None, count: int) -> npt.NDArray[np.uint64]:
    """Return a key for each of `count` rows from what a user gave: a number for all, one for each, or None for new
    ones. Raises ValueError."""
    if given is None:
        return np.random.default_rng().integers(2**64, size=count, dtype=np.uint64)
    keys = np.asarray(given)
    if keys.dtype.kind not in "iu" or keys.shape not in ((), (count,)):
        raise InvalidValue(f"key is {given!r}; it takes a whole number, or {count} of them.")
    with np.errstate(over="ignore"):
        whole = np.ascontiguousarray(np.broadcast_to(keys, (count,))).astype(np.uint64)
        return np.array([rng.fork(key, row) for row, key in enumerate(whole)], np.uint64) if keys.shape == () else whole
