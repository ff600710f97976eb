"""A fault of Numba, mended from outside: what its symbols call a record type.

The symbols of machine code name a record by a number that counts types in the order a process meets them (since
github.com/numba/numba/pull/1008; the same kind of fault: github.com/numba/numba/issues/10486). So code kept by two
processes could use one symbol for different records, and a third process, loading both, ran the one in the other's
place (seen: cards dealt to the offsets of another table's state). Here a record is named by a digest of its fields.

A test fails as soon as Numba names records so that two processes agree: then this file goes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numba

SEEN_IN = (0, 61), (0, 68)
"""The first and the last minor version of Numba in which the fault was looked at; pyproject.toml admits no others."""


def _symbol(record: Any) -> tuple[str, tuple[str]]:
    """What symbols call a record type: a digest of its fields."""
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:16],)


def repair() -> None:
    """Name records by their fields from now on. Raises ImportError for a version of Numba that nobody has looked at."""
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    if not SEEN_IN[0] <= version <= SEEN_IN[1]:
        low, high = (".".join(map(str, bound)) for bound in SEEN_IN)
        raise ImportError(
            f"Numba is here in version {numba.__version__}; Back Alley mends a fault in how Numba keeps compiled code, "
            f"and has been checked with {low} to {high}: install one of those (pip install 'numba<={high}.*')."
        )
    numba.types.Record.mangling_args = property(_symbol)
