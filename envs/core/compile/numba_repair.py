"""Work around a fault of Numba: the names that its symbols give to record types.

The symbols of machine code name a record by a number that counts types in the order a process meets them (since
github.com/numba/numba/pull/1008; a fault of the same kind: github.com/numba/numba/issues/10486). So code cached by two
processes could use one symbol for different records, and a third process that loads both ran the wrong one (seen: cards
dealt to the offsets of another table's state). Here a record is named by a digest of its fields.

A test fails as soon as Numba names records so that two processes agree; then this file can be deleted.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numba

from backalley.console.errors import NotInstalled

SEEN_IN = (0, 61), (0, 68)
"""The first and the last minor version of Numba in which the fault was checked; pyproject.toml allows no others."""


def _symbol(record: Any) -> tuple[str, tuple[str]]:
    """The name of a record type in symbols: a digest of its fields."""
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:16],)


def repair() -> None:
    """Name records by their fields from now on. Raises NotInstalled, an ImportError, for a version of Numba that has
    not been checked."""
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    if not SEEN_IN[0] <= version <= SEEN_IN[1]:
        low, high = (".".join(map(str, bound)) for bound in SEEN_IN)
        raise NotInstalled(
            f"Numba is here in version {numba.__version__}; Back Alley mends a fault in how Numba keeps compiled code, "
            f"and has been checked with {low} to {high}: install one of those (pip install 'numba<={high}.*')."
        )
    numba.types.Record.mangling_args = property(_symbol)
