"""Targets made by other processes: the tables of a chunk are work in ranges, and one learner takes in what they find.

A task is given the weights, and where its tables stand; it gives back where they stand then, and their targets. So
nothing is lost with a machine, and the learned weights are those of a run on one. What makes targets is a phase of
rollouts (`rollouts.py`), here and on every machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.cluster.work import Found, Sizes

from ..shared.checkpoint import Arrays


class TargetWork:
    """The tables of one chunk by their numbers: see `cluster.work.Work`."""

    sizes = Sizes(1 << 20, first=1 << 20, result_bytes=1 << 24)

    def __init__(self, make: Callable[..., Any], settings: tuple[Any, ...], weights: Arrays, facts: dict[str, Any],
                 tables: Arrays) -> None:  # fmt: skip
        """`settings` are game, config, seed and precision, for `make`; `facts` are what a chunk's targets depend on
        besides the weights, by the names of the phase's attributes; `tables` are the `table_arrays`."""
        self.make, self.settings, self.weights, self.facts, self.tables = make, settings, weights, facts, tables

    def begin(self, part: int) -> float:
        """Set up tables and machine code, which stay for the next chunk."""
        _maker_of(self.make, self.settings)
        return 0.0

    def do(self, part: int, low: int, high: int) -> Found:
        """Make targets on some tables; return all that changed on them."""
        maker = _maker_of(self.make, self.settings)
        rows = np.arange(low, high)
        vars(maker).update(self.facts)
        for name, array in maker.table_arrays().items():
            array[rows] = self.tables[name][rows]
        maker.batch.refresh(rows)
        maker.tables.counts[rows] = 0
        maker.make_targets(self.weights, rows)
        return tuple(array[rows] for array in _changed(maker))

    def close(self) -> None:
        """Tables and machine code stay for the next chunk."""


_makers: dict[str, Any] = {}
"""That of this process, by its settings."""


def _maker_of(make: Callable[..., Any], settings: tuple[Any, ...]) -> Any:
    name = repr((make, settings))
    if name not in _makers:
        while _makers:
            _makers.popitem()[1].close()
        game, config, seed, precision = settings
        folder = Path(tempfile.gettempdir())  # in which nothing is written: only the learner saves
        _makers[name] = make(game, config, seed=seed, folder=folder, precision=precision, num_threads=1)
    return _makers[name]


def _changed(maker: Any) -> list[npt.NDArray[Any]]:
    """The arrays that `make_targets` writes, a row for each table."""
    return [*maker.table_arrays().values(), maker.tables.counts, *maker.upcoming]


def make_remotely(maker: Any, weights: Arrays) -> None:
    """Make the targets of all tables on the machines of `maker.executor`."""
    settings = (maker.game, maker.config_elsewhere, maker.seed, maker.precision)
    facts = {name: getattr(maker, name) for name in ("margin", "unit", "frozen")}
    work = TargetWork(type(maker), settings, weights, facts, maker.table_arrays())
    with closing(maker.executor.in_order(work, [(0, len(maker.upcoming.made))])) as ranges:
        for done in ranges:
            for mine, found in zip(_changed(maker), done.found, strict=True):
                mine[done.low : done.high] = found
