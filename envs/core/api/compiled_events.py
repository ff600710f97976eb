"""Tables with a history in compiled code: what `compiled_play.py` is for those without. It is apart, since most tables
keep no events, and need not load this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ..engine.engine import logged_kernels
from ..engine.event_log import History, learn, visible
from .tables import Tables

__all__ = ["History", "learn", "logged_kernels", "put_histories", "visible"]


def put_histories(tables: Tables, histories: Sequence[tuple[npt.NDArray[Any], int]]) -> None:
    """Give the first tables of a batch that keeps events a history each: its entries [T, 4] as in `Log`, and how many
    of them were there before the latest deal. They are trusted."""
    tables.engine.make_room(max((len(entries) for entries, _ in histories), default=0))
    history = tables.engine.history
    assert history is not None
    for row, (entries, dealt) in enumerate(histories):
        history.entries[row, : len(entries)] = entries
        history.filled[row], history.dealt[row] = len(entries), dealt
