"""Keys: the randomness of agents, a number for each decision of each table.

An agent is handed the key of its decision and a number that names its table. Both follow from the table's stream of
chance by a hash that cannot be undone, from the seat, and from how many decisions that seat made itself: neither the
cards to come nor what others decided unseen can be reckoned from them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.kernels import wrapping
from backalley.envs.core.rules import rng

_AGENTS, _DECISION, _TABLE = np.uint64(0x61676E74), np.uint64(0x64636E), np.uint64(0x74626C)
"""What is hashed: a table's key from its stream; from that key a decision's key, and the table's name."""


@wrapping
def table_key(stream: np.uint64) -> np.uint64:
    """Return the key of the agents at a table that begins with this stream."""
    return rng.hashed(stream, _AGENTS, 0, 0)


@wrapping
def decision_key(table: np.uint64, seat: int, made: int) -> np.uint64:
    """Return the key of a seat's decision at a table of that key, after `made` decisions of its own."""
    return rng.hashed(table, _DECISION, seat, made)


@wrapping
def table_name(table: np.uint64) -> np.uint64:
    """Return the number that names a table of that key."""
    return rng.hashed(table, _TABLE, 0, 0)


def agent_keys(streams: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Return the keys of tables that begin with these streams [n]: agents draw by them."""
    return np.array([table_key(stream) for stream in np.asarray(streams, np.uint64)], np.uint64)


def table_names(tables: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the numbers that name tables of these keys [n]."""
    return np.array([table_name(table) for table in tables], np.uint64)


@wrapping
def decision_keys(
    tables: npt.NDArray[np.uint64],
    seats: npt.NDArray[np.int64],
    made: npt.NDArray[np.int32],
    out: npt.NDArray[np.uint64],
) -> None:
    """Write to `out[k]` the key of the decision of `seats[k]` at a table of the key `tables[k]`, after `made[k]`
    decisions of its own."""
    for k in range(out.shape[0]):
        out[k] = decision_key(tables[k], seats[k], made[k])


def forked(keys: npt.NDArray[np.uint64], number: int) -> npt.NDArray[np.uint64]:
    """Return other keys [n], which follow from these and the number."""
    with np.errstate(over="ignore"):
        return np.array([rng.fork(key, number) for key in keys], np.uint64)


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
