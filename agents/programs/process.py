"""`Process`: a program that is running, and the lines that go to it and come from it.

Nothing that the program does can stop its caller: lines are read and written by threads, of limited length, and
whoever waits for a line says how long. What it does wrong is a `ProgramFailed`, whose message is a clause.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import IO

from backalley.console.errors import BackAlleyError, InvalidValue
from backalley.console.printable import one_line

MOST_BYTES = 1 << 20
"""The greatest length of a line from a program."""
_MOST_LINES = 1024
"""Lines that are kept until they are asked for; a program that writes more has to wait."""
_SHOWN_LINES, _SHOWN_LETTERS = 200, 300
"""Lines of a program's standard error that are passed on, and how much of each."""
_GRACE = 2.0
"""Seconds that a program has to end after the end of its input."""
_LONGEST = 86_400
"""The longest limit of a decision, in seconds."""
_LOOK = 0.1
"""Seconds after which a reader looks whether the program has ended."""
_CHUNK = 1 << 16

_Lines = queue.Queue["bytes | ProgramFailed | None"]
"""What a program wrote; None after the last line."""


class ProgramFailed(BackAlleyError):
    """What a program did wrong."""


class Process:
    """A program that is running. `words` are its command and arguments; no shell reads them. `name` stands before what
    it writes to standard error, which is passed on to ours. Raises ProgramFailed where it cannot be started."""

    def __init__(self, words: Sequence[str], name: str) -> None:
        try:
            self._popen = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C at the terminal is for us, and its own children end with it
            )
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise ProgramFailed(f"{shlex.join(words)} cannot be started: {one_line(str(said))}") from None
        self._in: queue.Queue[bytes | None] = queue.Queue()
        self._out: _Lines = queue.Queue(_MOST_LINES)
        self._last_words: list[str] = []
        running = self._popen
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        self._threads = [
            threading.Thread(target=_write, args=(running.stdin, self._in), daemon=True),
            threading.Thread(target=_read, args=(running, self._out), daemon=True),
            threading.Thread(target=_pass_on, args=(running, name, self._last_words), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._pid = os.getpid()
        self.close = weakref.finalize(self, _end, self._pid, running, self._in, self._out, self._threads)
        """End the program, at first by the end of its input; also done when this object is gone or Python ends."""

    @property
    def is_ours(self) -> bool:
        """Whether this Python process started it; after a fork, the program belongs to the parent."""
        return self._pid == os.getpid()

    def send(self, line: bytes) -> None:
        """Hand over a line, without its end. Never waits."""
        self._in.put(line + b"\n")

    def receive(self, seconds: float) -> bytes:
        """Return the next line that is not empty, without its end. Raises ProgramFailed if none comes in time, if the
        program has ended, and for a line of more than MOST_BYTES."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self._out.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise ProgramFailed(f"it gave no answer for {seconds:g} s") from None
            if line is None:
                raise ProgramFailed(self._how_it_ended())
            if isinstance(line, ProgramFailed):
                raise line
            if line.strip():
                return line

    def kill(self) -> None:
        """End the program at once."""
        _kill(self._popen)
        self.close()

    def _how_it_ended(self) -> str:
        """What became of a program that writes no more, with its last words on standard error."""
        try:
            status = self._popen.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its standard output"
        self._threads[-1].join(_GRACE)
        said = f" after saying: {self._last_words[-1]}" if self._last_words else ""
        return f"it ended with {f'exit status {status}' if status >= 0 else f'signal {-status}'}{said}"


def _write(pipe: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError), pipe:  # a closed pipe shows in what is read, too
        while (line := lines.get()) is not None:
            sent = 0
            while sent < len(line):
                sent += pipe.write(memoryview(line)[sent:])


def _chunks(running: subprocess.Popen[bytes], pipe: IO[bytes]) -> Iterator[bytes]:
    """What comes from a pipe of a program, until it is closed, or the program has ended and no more comes: a process
    that it left behind may hold the pipe open."""
    with pipe:
        while True:
            ended = running.poll() is not None
            if os.name == "posix" and not select.select([pipe], [], [], _LOOK)[0]:
                if ended:
                    return
            elif chunk := pipe.read(_CHUNK):
                yield chunk
            else:
                return


def _read(running: subprocess.Popen[bytes], lines: _Lines) -> None:
    held = bytearray()
    assert running.stdout is not None
    with contextlib.closing(_chunks(running, running.stdout)) as chunks:
        for chunk in chunks:
            first, *rest = chunk.split(b"\n")
            held += first
            for line in rest:
                lines.put(bytes(held))
                held = bytearray(line)
            if len(held) > MOST_BYTES:
                lines.put(ProgramFailed(f"it wrote a line of more than {MOST_BYTES:,} bytes"))
                return
    lines.put(None)


def _pass_on(running: subprocess.Popen[bytes], name: str, last_words: list[str]) -> None:
    """Show what a program writes to standard error, line by line; of much, the beginning."""
    shown, held = 0, b""
    assert running.stderr is not None
    with contextlib.closing(_chunks(running, running.stderr)) as chunks:
        for chunk in chunks:
            *whole, held = (held + chunk).split(b"\n")
            held = held[: 4 * _SHOWN_LETTERS]
            for line in whole:
                text = one_line(line[: 4 * _SHOWN_LETTERS].decode("utf-8", "replace"))[:_SHOWN_LETTERS]
                last_words[:] = [text] if text.strip() else last_words
                shown += 1
                if shown <= _SHOWN_LINES:
                    print(f"{name}: {text}", file=sys.stderr)
                elif shown == _SHOWN_LINES + 1:
                    print(f"{name}: (what else it writes to standard error is not shown)", file=sys.stderr)


def _kill(running: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(running.pid, signal.SIGKILL)
        else:
            running.kill()


def _end(
    pid: int,
    running: subprocess.Popen[bytes],
    to: queue.Queue[bytes | None],
    lines: _Lines,
    threads: Sequence[threading.Thread],
) -> None:
    if pid != os.getpid():
        return  # after a fork
    to.put(None)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(_GRACE)
    _kill(running)
    running.wait()
    until = time.monotonic() + _GRACE
    for thread in threads:
        while thread.is_alive() and time.monotonic() < until:  # the reader may wait for room
            with contextlib.suppress(queue.Empty):
                while True:
                    lines.get_nowait()
            thread.join(0.01)


def seconds_and_rest(text: str, default: float) -> tuple[float, str]:
    """Return the time limit that a text begins with, as in `30s:REST`, or the default, and the rest. Raises ValueError
    for a limit that is none."""
    head, colon, rest = text.partition(":")
    if not colon or not re.fullmatch(r"-?[0-9.]+(e[0-9]+)?s|-?(inf|nan)s", head):
        return default, text
    try:
        seconds = float(head[:-1])
    except ValueError:
        return default, text
    if not 0 < seconds <= _LONGEST:
        raise InvalidValue(f"The limit of a decision is {head}; it takes more than 0s and at most {_LONGEST}s (a day).")
    return seconds, rest
