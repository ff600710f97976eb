"""People at a terminal: `human` wherever an agent is named, and `play`, one episode with people in some of its seats.

A person sees what the seat to act may see and nothing else: other seats' actions are not announced, since some are
hidden (a card laid face down); what is public of them shows on the table. Between two people the screen is cleared, and
nothing is drawn before the next one says that they look. Who asks for a hint is told what an agent would play there,
which sees no more than they do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.parts import OVER

from .advice import hint
from .base import Agent, View, answer, follow, name_of, view_of
from .watching import table_keys

HELP = "Type an action's name, the beginning of one, or its number; ? lists the legal actions, q leaves the table."
_CLEAR = "\033[2J\033[3J\033[H"
"""Erases a terminal's screen and what it would scroll back to, and begins at the top (xterm's control sequences)."""


class LeftTable(KeyboardInterrupt):
    """A person has left before the end. What stops politely at Ctrl-C stops so for them, too."""


def _typed() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise EOFError
    return input("> ")


def _clear() -> None:
    if sys.stdout.isatty():
        click.echo(_CLEAR, nl=False)


class Terminal:
    """Where people look and type.

    `ask()` gives a line that was typed (EOFError: nobody is there), `show(text)` shows one, `clear()` takes away all
    that was shown. With `hides` the screen is cleared between two people.
    """

    def __init__(
        self,
        ask: Callable[[], str] = _typed,
        show: Callable[[str], None] = click.echo,
        clear: Callable[[], None] = _clear,
        *,
        hides: bool = True,
    ) -> None:
        self._ask, self.show, self._clear, self.hides = ask, show, clear, hides
        self._looked: Any = None
        """Who looked at it last."""

    def ask(self) -> str:
        """A line that a person typed. Raises LeftTable where they leave."""
        try:
            line = self._ask()
        except EOFError:
            raise LeftTable from None
        if line.strip().lower() in ("q", "quit"):
            raise LeftTable
        return line

    def turn_to(self, person: Any, name: str, how: str = HELP) -> None:
        """Let `person` look, who is told `how` to play at first; after somebody else on an empty screen, and not before
        they ask for it."""
        before, self._looked = self._looked, person
        if before is None:
            self.show(how)
        elif self.hides and before != person:
            self._clear()
            self.show(f"The screen is for {name} alone. Press Enter to look.")
            self.ask()


TERMINAL = Terminal()
"""The one that this process runs at."""


class HumanAgent(Agent):
    """A person at `terminal`, who may ask the agent `adviser` for hints; with `each_seat`, a person in each of the
    seats that it plays."""

    name = "human"
    one_table = True

    def __init__(self, terminal: Terminal = TERMINAL, *, each_seat: bool = False, adviser: Agent | None = None) -> None:
        self._terminal, self._each_seat, self._adviser = terminal, each_seat, adviser

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """What the person answers, table by table. Raises LeftTable when they leave."""
        return np.array([self._choose(view, k) for k in range(len(view))], np.int64)

    def _choose(self, view: View, k: int) -> int:
        seat, terminal = int(view.seat[k]), self._terminal
        terminal.turn_to(seat if self._each_seat else id(self), view.game.seat_name(seat), self._help)
        terminal.show(f"\n{view.table_text(k)}")
        while True:
            text = terminal.ask()
            if text.strip() in ("?", "help"):
                legal = (f"  {action:3}  {view.game.action_str(action)}" for action in _legal(view, k))
                terminal.show("\n".join([self._help, *legal]))
                continue
            try:
                if text.strip().lower() != "hint" or self._adviser is None:
                    return read_action(view, k, text)
                terminal.show(f"Asking {name_of(self._adviser)} ...")  # the first time it may have to be compiled
                terminal.show(hint(self._adviser, view, k))
            except ValueError as error:
                terminal.show(str(error))

    @property
    def _help(self) -> str:
        return HELP if self._adviser is None else f"{HELP}\nhint asks {name_of(self._adviser)} what to do."


def _legal(view: View, k: int) -> list[int]:
    return [int(action) for action in np.flatnonzero(view.action_mask[k])]


def read_action(view: View, k: int, text: str) -> int:
    """The legal action that a person means at table `k` of a view: a name, the beginning of just one legal name, or a
    number; nothing where only one is legal.

    Raises ValueError in a sentence.
    """
    game, legal = view.game, _legal(view, k)
    names = {game.action_str(action): action for action in legal}
    typed = " ".join(text.lower().split())
    if not typed and len(legal) == 1:
        return legal[0]
    exact = [action for name, action in names.items() if name.lower() == typed]
    begun = [action for name, action in names.items() if typed and name.lower().startswith(typed)]
    if exact or len(begun) == 1:
        return (exact or begun)[0]
    if typed.isdecimal() and int(typed) in legal:
        return int(typed)
    if len(begun) > 1:
        shown = [game.action_str(action) for action in begun]
        raise ValueError(
            f"{text.strip()!r} could be {', '.join(shown[:8])}{' ...' if len(shown) > 8 else ''}; type more of it."
        )
    number = int(typed) if typed.isdecimal() else game.action_number(typed) if typed else None
    if number is None:
        raise ValueError(HELP)
    raise view.refuse(k, number)


def play(
    game: Game,
    opponents: Sequence[Agent],
    *,
    seat: int,
    seed: int,
    terminal: Terminal = TERMINAL,
    adviser: Agent | None = None,
) -> list[float]:
    """Play one episode in `seat` against `opponents` (one for all other seats, or one for each, clockwise from the
    left), at `terminal`, where people may ask `adviser` for hints.

    A HumanAgent among the opponents is another person at the same terminal, one in each seat that it has. Gives every
    seat's return. Raises LeftTable when somebody leaves, ValueError for a line-up that does not fit the table.
    """
    seats = game.num_seats
    if not 0 <= seat < seats:
        raise ValueError(f"The seat is {seat}; {game.name} has seats 0 to {seats - 1} under these options.")
    if seats == 1 and opponents:
        raise ValueError(f"{game.name} has one seat under these options; there is no opponent to name.")
    if seats > 1 and len(opponents) not in (1, seats - 1):
        others = f"{game.name} has {seats - 1} other seats"
        raise ValueError(f"{others}, and {len(opponents)} opponents were given; give one for all, or one for each.")
    if isinstance(adviser, HumanAgent):
        raise ValueError("A hint is an agent's; human is the one who asks for it.")
    people = HumanAgent(terminal, each_seat=True, adviser=adviser)
    around = list(opponents) * (seats - 1 if len(opponents) == 1 else 1)
    at_table: list[Agent] = [people, *(people if isinstance(other, HumanAgent) else other for other in around)]
    env = AECEnv(game)
    follow(env.engine, [*at_table, adviser])
    env.reset(seed=seed)
    engine, row, returns = env.engine, np.zeros(1, np.int64), np.zeros(seats)
    keys = table_keys(seed)
    while (acting := int(engine.batch.seat[0])) != OVER:
        env.step(int(answer(at_table[(acting - seat) % seats], view_of(engine, row, keys))[0]))
        returns += engine.batch.reward[0]
    terminal.show("\n" + game.table_str(engine.batch.state[0], None))
    return [float(value) for value in returns]
