"""What an agent would play at one table, and what a search takes every legal action to be worth there: as a list, and
in words for people who ask at the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .base import Agent, View, answer, name_of

_LONGEST = 34
"""Letters of an action's name beside its figures, so that lines stay within 80 columns."""


class Judged(NamedTuple):
    """A legal action, and what a search found of it."""

    action: int
    name: str
    """The game's own words for it."""
    value: float
    """What the seat to act gains by it on average, in the game's rewards, from here to where playouts end; NaN where
    the search has not tried it, and where nothing else is legal."""
    error: float
    """The standard error of `value`. All actions meet the same worlds, so that two of them are often told apart more
    surely than their errors say."""
    worlds: int
    """The worlds that it was tried in: those that fell behind met fewer."""
    played: bool
    """Whether the agent would play it."""


def judged_by(agent: Agent, view: View) -> list[Judged]:
    """The legal actions of a view of one table, what the agent would play first, then from the best to the worst.
    Raises ValueError in a sentence for an agent that has no `judge(view)`."""
    if not hasattr(agent, "judge"):
        raise ValueError(
            f"{name_of(agent)} plays without saying what actions are worth; ask a search, such as 'search:96'."
        )
    found, name = agent.judge(view), view.game.action_str
    chosen = int(found.action[0])
    legal = [
        Judged(
            action,
            name(action),
            float(found.value[0, action]),
            float(found.error[0, action]),
            int(found.worlds[0, action]),
            action == chosen,
        )
        for action in np.flatnonzero(view.action_mask[0]).tolist()
    ]
    return sorted(legal, key=lambda one: (not one.played, -one.value if one.worlds else math.inf))


def hint(agent: Agent, view: View, k: int) -> str:
    """What an agent would play at table `k` of a view, in words; of one that judges actions with what each is worth.
    Raises ValueError or TypeError in a sentence for an agent that cannot play there."""
    mine = view.only(k)
    if not hasattr(agent, "judge"):
        action = int(answer(agent, mine)[0])
        return f"{name_of(agent)} would play: {view.game.action_str(action)} ({action})"
    return judged_text(judged_by(agent, mine), name_of(agent))


def judged_text(judged: Sequence[Judged], who: str) -> str:
    """What `judged_by` gave, in lines of up to 80 letters."""
    first, *others = judged
    head = f"{who} would play: {_short(first.name)} ({first.action})"
    if not others:
        return f"{head}; nothing else is legal"
    digits = _digits([one.error for one in judged if one.worlds])
    width = min(_LONGEST, max(len(one.name) for one in judged))
    lines = [f"  {one.action:4}  {_short(one.name):{width}}  {_worth(one, digits)}" for one in judged]
    return "\n".join([head, "Your gain by each on average, ± its standard error:", *lines])


def _digits(errors: Sequence[float]) -> int:
    """Digits after the point, so that the smallest error shows one that counts and one more."""
    least = min((error for error in errors if error > 0), default=0.1)
    return min(5, max(2, 1 - math.floor(math.log10(least))))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 4]} ..."


def _worth(one: Judged, digits: int) -> str:
    if not one.worlds:
        return "not tried"
    worlds = f"{one.worlds:,} world{'' if one.worlds == 1 else 's'}"
    return f"{one.value + 0.0:+.{digits}f} ± {one.error:.{digits}f}  {worlds}"
