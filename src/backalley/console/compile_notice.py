"""The compile notice: a compilation that takes longer than a moment prints a message, once in a process."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

AFTER = 1.5
"""Seconds of compiling before the message."""
MESSAGE = "Back Alley compiles this game for your machine, once; `backalley compile` does all games ahead of time."
_waiting = threading.local()
_announced = threading.Event()


def _tell() -> None:
    if not _announced.is_set():
        _announced.set()
        print(MESSAGE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def announced() -> Iterator[None]:
    """Print MESSAGE on standard error if this block takes more than AFTER seconds."""
    if _announced.is_set() or getattr(_waiting, "on", False):
        yield
        return
    timer = threading.Timer(AFTER, _tell)
    timer.daemon = True
    _waiting.on = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _waiting.on = False
