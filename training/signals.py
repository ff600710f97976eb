"""Ctrl-C and SIGTERM as a wish: a run ends after the update it is in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def asked_to_stop(say: Callable[[str], None]) -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that an update is never cut in half; a second Ctrl-C does not wait.

    Only a process's main thread is told of signals; elsewhere the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()
        say("Stopping after this update.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
