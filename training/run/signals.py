"""Signals and the lock of a run: Ctrl-C and SIGTERM end it after the present update, and a lock keeps a second trainer
out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .budget import TrainingError


@contextmanager
def asked_to_stop(log: Callable[[str], None]) -> Iterator[threading.Event]:
    """Return an event that Ctrl-C and SIGTERM set, so that an update is never interrupted; a second Ctrl-C does not
    wait.

    Only a process's main thread receives signals; elsewhere the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()
        log("Stopping after this update.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second trainer out of the folder, which is made if needed, and deleted again if nothing was written to it.
    The system releases the lock when the process ends, however it ends. Raises TrainingError where another process has
    it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(folder):
            yield
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: no lock
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(
                f"Another process is training in {folder}; wait for it, or name another folder."
            ) from None
        yield
    finally:
        os.close(handle)
