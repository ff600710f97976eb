"""The progress of a long command, in the same form for all: a name, a bar, the share done, the time left, a few words.

A terminal gets one line, which never exceeds its width; a file gets a line every half minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

LINE_SECONDS = 30.0
"""Seconds between two lines if there is no terminal."""
_MOST_BAR, _LEAST_BAR = 16, 4


class Progress:
    """The progress of the work named `what`. Call it with the work done and all work, in any unit, and some words.

    Until the first call, it shows a wait for compiling. The time left is estimated from the speed since the first call;
    other work (another `total`, or `done` falls) starts the clock again.
    """

    def __init__(self, what: str) -> None:
        self.what, self.words = what, ""
        self.done, self.total = 0.0, 0.0
        self._begun = self._called = time.monotonic()
        self._done_then = 0.0
        self._left: float | None = None

    def __call__(self, done: float, total: float, words: str = "") -> None:
        """Show `done` of `total`; without `words` the two numbers are shown."""
        now = time.monotonic()
        if total != self.total or done < self.done:
            self._called, self._done_then = now, done
        self.done, self.total = done, total
        self.words = words or f"{done:,.0f} of {total:,.0f}"
        pace = (done - self._done_then) / max(now - self._called, 1e-9)
        self._left = max(total - done, 0.0) / pace if pace > 0 else None

    def log(self, sentence: str) -> None:
        """Print a sentence, above the bar if there is one. A command in it stays on one line, to be copied."""
        click.echo(sentence)

    @property
    def share(self) -> float:
        """The share done, 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 0.0

    @property
    def left(self) -> str:
        """The time left, in words."""
        return "-:--:-- left" if self._left is None else f"{_clock(self._left)} left"

    def line(self) -> str:
        """Return all of it, for a file."""
        return f"{self.what}: {100 * self.share:.0f} %, {self.left}, {self.words}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw one line of the terminal's width: always bar, share and time left, and as many whole words as fit."""
        width = options.max_width
        if not self.total:
            waited = _clock(time.monotonic() - self._begun)
            yield Text(cut(f"{self.what} {waited} compiling what is not compiled yet", width), no_wrap=True)
            return
        share, left = f"{100 * self.share:3.0f} %", self.left
        room = width - len(share) - len(left) - 2
        what = self.what if len(self.what) + 1 + _LEAST_BAR <= room else ""
        room -= len(what) + 1 if what else 0
        bar = max(min(_MOST_BAR, room), 1)
        words = cut(self.words, room - bar - 1)
        row: list[Text | ProgressBar] = [Text(what)] if what else []
        row += [ProgressBar(self.total, min(self.done, self.total), width=bar), Text(share), Text(left)]
        row += [Text(words)] if words else []
        grid = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
        for cell in row:
            grid.add_column(no_wrap=True, width=bar if isinstance(cell, ProgressBar) else len(cell))
        grid.add_row(*row)
        yield grid


class _Bar(Progress):
    """The same for a terminal."""

    def __init__(self, what: str, console: Console) -> None:
        super().__init__(what)
        self._console = console

    def log(self, sentence: str) -> None:
        if sys.stdout.isatty():
            self._console.print(sentence, soft_wrap=True, markup=False, highlight=False)
        else:
            click.echo(sentence)


class _Lines(Progress):
    """The same for a file: now and then a line on standard error."""

    def __call__(self, done: float, total: float, words: str = "") -> None:
        super().__call__(done, total, words)
        if time.monotonic() - self._begun >= LINE_SECONDS:
            self._begun = time.monotonic()
            click.echo(self.line(), err=True)


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Show the progress of a block of work on standard error; nothing if `quiet`. Other output of the block goes to
    `log`."""
    if quiet:
        yield Progress(what)
        return
    console = Console(stderr=True)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield _Lines(what)
        return
    progress = _Bar(what, console)
    shown = Live(progress, console=console, transient=True, refresh_per_second=5, redirect_stdout=sys.stdout.isatty())
    with shown:
        yield progress


def cut(words: str, room: int) -> str:
    """Return as much of `words` as fits into `room` characters: whole parts between commas, or else whole words."""
    if len(words) <= room:
        return words
    start = words[: max(room + 2, 0)]
    return start.rpartition(", ")[0] or start[:-1].rpartition(" ")[0]


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
