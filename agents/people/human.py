"""People at a terminal: the agent `human`, and `play`, one episode with people in some of its seats.

A person sees only what the seat to act may see. Of others' actions they see what the game shows to other seats
(`GameType.action_told`). Between two people the screen is cleared, and nothing is drawn before the next one confirms
that they look. A hint says what an agent would play there; the agent sees no more than the person.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files import playthrough
from backalley.envs.core.game import arguments
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER
from backalley.envs.core.rules import rng
from backalley.envs.core.text import read_phrase

from ..base.agent import Agent, View, answer, name_of, read_events, view_of
from ..base.keys import agent_keys
from .advice import hint
from .terminal import HELP, TERMINAL, UNDO, Terminal
from .watching import action_words


class TakenBack(Exception):
    """A person takes back their last action."""


class HumanAgent(Agent):
    """A person at `terminal`, who may ask the agent `adviser` for hints; with `each_seat`, a different person in each
    of the seats that it plays. With `undoes` a person may take an action back: TakenBack is then raised."""

    name = "human"
    one_table = True

    def __init__(
        self,
        terminal: Terminal = TERMINAL,
        *,
        each_seat: bool = False,
        adviser: Agent | None = None,
        undoes: bool = False,
    ) -> None:
        self._terminal, self._each_seat, self._adviser, self._undoes = terminal, each_seat, adviser, undoes
        self.news = ""
        """Text to show before the next table."""

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the person's answers, table by table. Raises LeftTable when they leave."""
        return np.array([self._choose(view, k) for k in range(len(view))], np.int64)

    def _choose(self, view: View, k: int) -> int:
        seat, terminal = int(view.seat[k]), self._terminal
        terminal.turn_to(seat if self._each_seat else id(self), view.game.seat_name(seat), self._help)
        news, self.news = self.news, ""
        terminal.show("\n".join(["", *([news] if news else []), view.table_text(k)]))
        while True:
            text = terminal.ask()
            word = text.strip().lower()
            if word in ("?", "help"):
                legal = (f"  {action:3}  {view.game.action_str(action)}" for action in _legal(view, k))
                terminal.show("\n".join([self._help, *legal]))
            elif word == "undo" and self._undoes:
                raise TakenBack
            else:
                try:
                    if word != "hint" or self._adviser is None:
                        return self._read(view, k, text)
                    terminal.show(f"Asking {name_of(self._adviser)} ...")  # the first time it may have to be compiled
                    terminal.show(hint(self._adviser, view, k))
                except ValueError as error:
                    terminal.show(str(error))

    def _read(self, view: View, k: int, text: str) -> int:
        """The action that was typed; an empty line is one where only one is legal."""
        legal = _legal(view, k)
        return legal[0] if not text.strip() and len(legal) == 1 else read_phrase(view.game, legal, text, begun=True)

    @property
    def _help(self) -> str:
        hints = [] if self._adviser is None else [f"hint asks {name_of(self._adviser)} what to do."]
        return "\n".join([HELP, *hints, *([UNDO] if self._undoes else [])])


def _legal(view: View, k: int) -> list[int]:
    return [int(action) for action in np.flatnonzero(view.action_mask[k])]


class Sitting:
    """One episode that people play, and what they may take back of it."""

    def __init__(self, game: Game, seed: int, agents: Sequence[Agent]) -> None:
        self.env, self.seed = AECEnv(game, events=read_events(agents, game)), seed
        self.env.reset(seed=seed)
        self.returns = np.zeros(game.num_seats)
        self.actions: list[tuple[int, int]] = []
        """Seats and what they played."""
        self._ended: list[tuple[int, npt.NDArray[np.void]]] = []
        """Finished deals that another followed: how many actions had been played, and the table at that time."""
        self._kept: list[tuple[int, int, npt.NDArray[np.void], npt.NDArray[np.float64]]] = []
        """A person's seat, how many actions had been played, and the state at that time."""

    def remember(self, seat: int) -> None:
        """Save the state before a person's action."""
        self._kept.append((seat, len(self.actions), self.env.snapshot(), self.returns.copy()))

    def take_back(self, seat: int) -> bool:
        """Go back to before the last action of this person; return whether there was one."""
        before = [number for number, kept in enumerate(self._kept[:-1]) if kept[0] == seat]
        if not before:
            self._kept.pop()
            return False
        _, made, snapshot, returns = self._kept[before[-1]]
        del self._kept[before[-1] :], self.actions[made:]
        self._ended = [ended for ended in self._ended if ended[0] <= made]
        self.env.restore(snapshot)
        self.returns = returns
        return True

    def play(self, seat: int, action: int) -> None:
        """A legal action."""
        ended = self._end_of_deal(action)
        self.env.step(action)
        self.actions.append((seat, action))
        if ended is not None:
            self._ended.append((len(self.actions), ended))
        self.returns += self.env.arrays.reward[0]

    def _end_of_deal(self, action: int) -> npt.NDArray[np.void] | None:
        """The table after a legal action and before the next cards are dealt, if any are; else None."""
        after = self.env.position()
        after.apply(action)
        return after.record() if after.is_chance else None

    def news(self, seat: int) -> str:
        """Return what has been done since this seat's last action, one line for each action, and how finished deals
        ended, as this seat saw them."""
        game, lines = self.env.game, list[str]()
        begun = len(self.actions) - next(
            (since for since, (who, _) in enumerate(reversed(self.actions)) if who == seat), len(self.actions)
        )
        for until, state in [*self._ended, (len(self.actions), None)]:
            if until >= begun:
                found = (action_words(game, who, action, seat) for who, action in self.actions[begun:until])
                counted = [(line, len(list(same))) for line, same in itertools.groupby(found)]
                lines += [line if count == 1 else f"{line} ({count} times)" for line, count in counted]
                begun = until
                if state is not None:
                    lines += ["So the deal ended; the next follows.", game.table_str(state, seat), ""]
        return "\n".join(lines)

    def save(self, path: Path) -> None:
        """Write the whole episode as a playthrough."""
        actions = [action for _, action in self.actions]
        playthrough.save(path, playthrough.recorded(self.env.game, self.seed, actions))


def play(
    game: Game,
    opponents: Sequence[Agent],
    *,
    seat: int,
    seed: int,
    terminal: Terminal = TERMINAL,
    adviser: Agent | None = None,
    save: Path | None = None,
) -> list[float]:
    """Play one episode in `seat` against `opponents` (one for all other seats, or one for each, clockwise from the
    left), at `terminal`, where people may ask `adviser` for hints and take actions back. At the end the episode is
    written to `save`, for `backalley replay`.

    A HumanAgent among the opponents is another person at the same terminal, one in each of its seats. Return every
    seat's return. Raises LeftTable when somebody leaves, ValueError for a number of opponents that does not fit the
    table.
    """
    seats = game.num_seats
    arguments.seat(seat, game)
    if seats == 1 and opponents:
        raise InvalidValue(f"{game.name} has one seat under these options; there is no opponent to name.")
    if seats > 1 and len(opponents) not in (1, seats - 1):
        others = f"{game.name} has {seats - 1} other seats"
        raise InvalidValue(f"{others}, and {len(opponents)} opponents were given; give one for all, or one for each.")
    if isinstance(adviser, HumanAgent):
        raise InvalidValue("A hint is an agent's; human is the one who asks for it.")
    people = HumanAgent(terminal, each_seat=True, adviser=adviser, undoes=True)
    around = list(opponents) * (seats - 1 if len(opponents) == 1 else 1)
    at_table: list[Agent] = [people, *(people if isinstance(other, HumanAgent) else other for other in around)]
    sitting = Sitting(game, seed, [*at_table, *([adviser] if adviser else [])])
    row, keys = np.zeros(1, np.int64), agent_keys([rng.stream_of(seed)])
    env = sitting.env
    while (acting := int(env.arrays.seat[0])) != OVER:
        player = at_table[(acting - seat) % seats]
        if player is people:
            people.news = sitting.news(acting)
            sitting.remember(acting)
        try:
            sitting.play(acting, int(answer(player, view_of(env, row, keys))[0]))
        except TakenBack:
            if not sitting.take_back(acting):
                terminal.show("There is nothing to take back yet.")
    ended = sitting.news(seat)
    terminal.show("\n".join(["", *([ended] if ended else []), game.table_str(env.arrays.state[0], None)]))
    if save is not None:
        sitting.save(save)
    return [float(value) for value in sitting.returns]
