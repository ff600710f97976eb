"""Input and output of people at a terminal, and whose turn it is to look."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any

import click

from backalley.envs.core.drawing.pictures.cards import face_of
from backalley.envs.core.drawing.pictures.letters import SIGN_OF
from backalley.envs.core.rules.table import CARD, broken

HELP = "Type an action's name, the beginning of one, or its number; ? lists the legal actions, q leaves the table."
UNDO = "undo takes your last action back, and all that followed it."
_CLEAR = "\033[2J\033[3J\033[H"
"""Erases a terminal's screen and what it would scroll back to, and begins at the top (xterm's control sequences)."""


class LeftTable(KeyboardInterrupt):
    """A person has left before the end. It is handled like Ctrl-C."""


def _typed() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise EOFError
    return input("> ")


_CARD = re.compile(rf"(?<![A-Za-z0-9])(?:{CARD.pattern})(?![A-Za-z0-9])")


def shown(text: str) -> None:
    """Show text in lines of up to 80 columns unless one word is longer. At a terminal cards have their suits' signs,
    where it can write them, and red suits are red unless the user has turned colours off (no-color.org)."""
    text = "\n".join(part for line in text.split("\n") for part in broken(line) or [line])
    signs, colours = _writes_signs(), not os.environ.get("NO_COLOR")
    click.echo(_CARD.sub(lambda found: _card(found[0], signs, colours), text))


def _card(name: str, signs: bool, colours: bool) -> str:
    face = face_of(name)
    written = name[0] + SIGN_OF[face.suit] + name[2:] if signs and face.suit in SIGN_OF else name
    return click.style(written, fg="red") if colours and face.red else written


def _writes_signs() -> bool:
    try:
        "".join(SIGN_OF.values()).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return sys.stdout.isatty()


def redraw() -> None:
    """Begin again at the top of a terminal, so that a table stays where it is; what scrolls back is kept."""
    click.echo("\033[H\033[J", nl=False)


def _clear() -> None:
    if sys.stdout.isatty():
        click.echo(_CLEAR, nl=False)


class Terminal:
    """A terminal that people share.

    `ask()` returns a typed line (EOFError: no input), `show(text)` shows one, `clear()` clears the screen. With `hides`
    the screen is cleared between two people.
    """

    def __init__(
        self,
        ask: Callable[[], str] = _typed,
        show: Callable[[str], None] = shown,
        clear: Callable[[], None] = _clear,
        *,
        hides: bool = True,
    ) -> None:
        self._ask, self.show, self._clear, self.hides = ask, show, clear, hides
        self._looked: Any = None
        """Who looked at it last."""

    def ask(self) -> str:
        """Return a line that a person typed. Raises LeftTable where they leave."""
        try:
            line = self._ask()
        except EOFError:
            raise LeftTable from None
        if line.strip().lower() in ("q", "quit"):
            raise LeftTable
        return line

    def turn_to(self, person: Any, name: str, how: str = HELP) -> None:
        """Let `person` look, and show them `how` to play at first; after somebody else the screen is empty until they
        confirm."""
        before, self._looked = self._looked, person
        if before is None:
            self.show(how)
        elif self.hides and before != person:
            self._clear()
            self.show(f"The screen is for {name} alone. Press Enter to look.")
            self.ask()


TERMINAL = Terminal()
"""The terminal of this process."""
