"""`Process`: a program that is running, and the lines that go to it and come from it.

Nothing that the program does can stop its caller: lines are read and written by threads, of limited length, and
whoever waits for a line says how long. A program may leave processes behind that hold the other ends of our pipes: the
threads end when we say so, not when the pipes do. What it does wrong is a `ProgramFailed`, whose message is a clause.
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

from backalley.console.errors import BackAlleyError, InvalidValue, one_line

_LONGEST = 86_400
"""The longest limit of a decision, in seconds."""
MOST_BYTES = 1 << 20
"""The greatest length of a line from a program."""
_MOST_LINES = 1024
"""Lines that are kept until they are asked for; a program that writes more has to wait."""
_SHOWN_LINES, _SHOWN_LETTERS = 200, 300
"""Lines of a program's standard error that are passed on, and how much of each."""
_GRACE = 2.0
"""Seconds that a program has to end after the end of its input."""
_SOON = 0.25
"""Seconds in which what an ended program has written arrives, and in which a thread ends that was to end."""
_CHUNK = 1 << 16
_IN, _OUT = (select.POLLIN, select.POLLOUT) if hasattr(select, "POLLIN") else (0, 0)

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
        if os.name == "posix":
            os.set_blocking(running.stdin.fileno(), False)
        self._halt = halt = _Halt()
        self._threads = [
            threading.Thread(target=_write, args=(running.stdin, halt, self._in), daemon=True),
            threading.Thread(target=_read, args=(running.stdout, halt, self._out), daemon=True),
            threading.Thread(target=_pass_on, args=(running.stderr, halt, name, self._last_words), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._pid = os.getpid()
        self.close = weakref.finalize(self, _end, self._pid, running, halt, self._in, self._out, self._threads)
        """End the program, at first by the end of its input; also done when this object is gone or Python ends."""

    @property
    def is_ours(self) -> bool:
        """Whether this Python process started it; after a fork, the program belongs to the parent."""
        return self._pid == os.getpid()

    def send(self, line: bytes) -> None:
        """Hand over a line, without its end. Never waits."""
        rest = line + b"\n"
        if os.name == "posix" and self._in.unfinished_tasks == 0:  # the thread sleeps: what fits is written without it
            assert self._popen.stdin is not None
            with contextlib.suppress(OSError, ValueError):  # a closed pipe shows in what is read, too
                rest = rest[self._popen.stdin.write(rest) or 0 :]
        if rest:
            self._in.put(rest)

    def receive(self, seconds: float) -> bytes:
        """Return the next line that is not empty, without its end. Raises ProgramFailed if none comes in time, if the
        program has ended, and for a line of more than MOST_BYTES."""
        until, ended = time.monotonic() + seconds, False
        while True:
            left = until - time.monotonic()
            try:
                line = self._out.get(timeout=max(0.0, min(_SOON, left)))
            except queue.Empty:
                if ended:  # what holds its output now is not the program
                    raise ProgramFailed(self._how_it_ended()) from None
                if left <= 0:
                    raise ProgramFailed(f"it gave no answer for {seconds:g} s") from None
                ended = self._popen.poll() is not None
                continue
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
        self._threads[-1].join(_SOON)
        said = f" after saying: {self._last_words[-1]}" if self._last_words else ""
        return f"it ended with {f'exit status {status}' if status >= 0 else f'signal {-status}'}{said}"


class _Halt:
    """The word to threads that wait at a pipe to wait no longer. Where pipes cannot be waited for (Windows) they are
    left waiting, and end with Python."""

    def __init__(self) -> None:
        self._heard, self._said = os.pipe() if os.name == "posix" else (-1, -1)

    def say(self) -> None:
        """Tell all threads."""
        if self._said >= 0:
            os.write(self._said, b".")  # closing it would not do: a fork of ours may hold it

    def forget(self) -> None:
        """Let go of what it is said by; no thread waits any more."""
        if self._said >= 0:
            os.close(self._heard)
            os.close(self._said)

    def ready(self, pipe: IO[bytes], event: int) -> bool:
        """Wait until a pipe can be read or written (`select.POLLIN`, `select.POLLOUT`) or has lost its other end; False
        once the word has been said."""
        if self._heard < 0:
            return True
        waiting = select.poll()
        waiting.register(pipe, event)
        waiting.register(self._heard, select.POLLIN)
        return all(found != self._heard for found, _ in waiting.poll())


def _chunks(pipe: IO[bytes], halt: _Halt) -> Iterator[bytes]:
    """What comes from a pipe, up to its end or the word to stop."""
    with pipe:
        while halt.ready(pipe, _IN) and (chunk := pipe.read(_CHUNK)):
            yield chunk


def _write(pipe: IO[bytes], halt: _Halt, lines: queue.Queue[bytes | None]) -> None:
    with contextlib.suppress(OSError), pipe:  # a closed pipe shows in what is read, too
        while (line := lines.get()) is not None:
            sent = 0
            while sent < len(line):
                if not halt.ready(pipe, _OUT):
                    return
                sent += pipe.write(memoryview(line)[sent:]) or 0
            lines.task_done()


def _read(pipe: IO[bytes], halt: _Halt, lines: _Lines) -> None:
    held = bytearray()
    for chunk in _chunks(pipe, halt):
        first, *rest = chunk.split(b"\n")
        held += first
        for line in rest:
            lines.put(bytes(held))
            held = bytearray(line)
        if len(held) > MOST_BYTES:
            lines.put(ProgramFailed(f"it wrote a line of more than {MOST_BYTES:,} bytes"))
            return
    lines.put(None)


def _pass_on(pipe: IO[bytes], halt: _Halt, name: str, last_words: list[str]) -> None:
    """Show what a program writes to standard error, line by line; of much, the beginning."""
    shown, held = 0, b""
    for chunk in _chunks(pipe, halt):
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
    halt: _Halt,
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
    if not _ended(threads, lines):
        halt.say()
        if not _ended(threads, lines):
            return
    halt.forget()


def _ended(threads: Sequence[threading.Thread], lines: _Lines) -> bool:
    """Whether the threads end soon; the reader may wait for room among the lines."""
    until = time.monotonic() + _SOON
    while alive := [thread for thread in threads if thread.is_alive()]:
        if time.monotonic() >= until:
            return False
        with contextlib.suppress(queue.Empty):
            while True:
                lines.get_nowait()
        alive[0].join(0.01)
    return True


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
