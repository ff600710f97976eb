"""A person at a terminal, playing one episode against agents.

The person sees what the seat may see and nothing else: other seats' actions are not announced, since some are hidden (a
card laid face down); what is public of them shows on the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.parts import OVER
from backalley.envs.core.render import table_text

from .base import Agent, answer, view_of

_AGENT_KEYS = 1
"""Number under which the agents' randomness is forked off the table's seed."""
HELP = "Type an action's name, the beginning of one, or its number; ? lists the legal actions, q leaves the table."


class LeftTable(Exception):
    """The person has left before the end."""


def read_action(engine: Engine, text: str) -> int:
    """The legal action that a person means: a name, the beginning of just one legal name, or a number; nothing where
    only one is legal.

    Raises ValueError in a sentence.
    """
    game = engine.game
    legal = [int(action) for action in np.flatnonzero(engine.batch.mask[0])]
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
    raise engine.refuse(0, number)


def _legal_lines(engine: Engine) -> str:
    legal = np.flatnonzero(engine.batch.mask[0])
    return "\n".join(f"  {int(action):3}  {engine.game.action_str(int(action))}" for action in legal)


def _ask(engine: Engine, ask: Callable[[], str], show: Callable[[str], None]) -> int:
    while True:
        try:
            text = ask()
        except EOFError:
            raise LeftTable from None
        if text.strip().lower() in ("q", "quit"):
            raise LeftTable
        if text.strip() in ("?", "help"):
            show(f"{HELP}\n{_legal_lines(engine)}")
            continue
        try:
            return read_action(engine, text)
        except ValueError as error:
            show(str(error))


def play(
    game: Game,
    opponents: Sequence[Agent],
    *,
    seat: int,
    seed: int,
    ask: Callable[[], str],
    show: Callable[[str], None],
) -> list[float]:
    """Play one episode in `seat` against `opponents` (one for all other seats, or one for each, clockwise from the
    left).

    `ask()` gives a line that the person typed, `show(text)` shows one. Gives every seat's return. Raises LeftTable when
    the person leaves, ValueError for a line-up that does not fit the table.
    """
    seats = game.num_seats
    if not 0 <= seat < seats:
        raise ValueError(f"The seat is {seat}; {game.name} has seats 0 to {seats - 1} under these options.")
    if seats == 1 and opponents:
        raise ValueError(f"{game.name} has one seat under these options; there is no opponent to name.")
    if seats > 1 and len(opponents) not in (1, seats - 1):
        others = f"{game.name} has {seats - 1} other seats"
        raise ValueError(f"{others}, and {len(opponents)} opponents were given; give one for all, or one for each.")
    env = AECEnv(game)
    env.reset(seed=seed)
    engine, row, returns = env.engine, np.zeros(1, np.int64), np.zeros(seats)
    with np.errstate(over="ignore"):
        keys = np.array([rng.fork(rng.stream_of(seed), _AGENT_KEYS)], np.uint64)
    show(HELP)
    while (acting := int(engine.batch.seat[0])) != OVER:
        if acting == seat:
            show("\n" + table_text(engine, 0, seat))
            action = _ask(engine, ask, show)
        else:
            other = opponents[(acting - seat) % seats - 1 if len(opponents) > 1 else 0]
            action = int(answer(other, view_of(engine, row, keys))[0])
        env.step(action)
        returns += engine.batch.reward[0]
    show("\n" + game.table_str(engine.batch.state[0], None))
    return [float(value) for value in returns]
