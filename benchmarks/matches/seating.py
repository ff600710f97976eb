"""Seatings: who plays which seat. Every deck is played in all seatings, so that cards and seats favour nobody."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game


def seatings(game: Game, num_agents: int) -> npt.NDArray[np.int64]:
    """Return which agent plays which seat in each seating of a deal [R, N].

    A side is a seat, or the seats of partners. One seat: each agent in turn plays the deck alone. As many agents as
    sides: each has one side, and they rotate around the table. Two agents and more sides: the first has each side in
    turn, the second all others. As many agents as seats: partners are different agents. Raises ValueError for any other
    number.
    """
    sides = np.array(game.sides)
    seats, num_sides = len(sides), game.num_sides
    around: npt.NDArray[np.int64] = (sides[None, :] - np.arange(num_sides)[:, None]) % num_sides
    if seats == 1 and num_agents >= 1:
        return np.arange(num_agents)[:, None]
    if num_agents == num_sides:
        return around
    if num_agents == 2:
        return np.where(around == 0, 0, 1)
    if num_agents == seats:
        return (np.arange(seats)[None, :] - np.arange(seats)[:, None]) % seats
    more = "".join(
        f", or {number}, one for each {what}" for number, what in ((num_sides, "side"), (seats, "seat")) if number != 2
    )
    if num_sides == seats:
        more = "" if seats == 2 else f", or {seats}, one for each seat"
    given = "1 agent was given" if num_agents == 1 else f"{num_agents} agents were given"
    raise InvalidValue(
        f"{game.name} has {seats} seat{'' if seats == 1 else 's'} under these options, and {given}; give 2{more}."
    )
