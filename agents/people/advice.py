"""An agent's choice at one table, and a search's value of every legal action: as a list, and in words for a
terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backalley.console.errors import InvalidValue

from ..base.agent import Agent, View, answer, name_of

_LONGEST = 34
"""Letters of an action's name beside its numbers, so that lines stay within 80 columns."""


class AnalysedAction(NamedTuple):
    """A legal action, and what a search found about it."""

    action: int
    name: str
    """Its name in the game."""
    value: float
    """The mean gain of the seat to act by it, in the game's rewards, from here to where rollouts end; NaN where the
    search has not tried it, and where nothing else is legal."""
    error: float
    """The standard error of `value`. All actions meet the same determinizations, so a difference of two is often more
    precise than these errors suggest."""
    determinizations: int
    """The number of determinizations it was tried in: fewer for actions dropped early."""
    played: bool
    """Whether the agent would play it."""


def analysis_by(agent: Agent, view: View) -> list[AnalysedAction]:
    """Return the legal actions of a view of one table, the agent's choice first, then from best to worst. Raises
    ValueError for an agent that has no `analyse(view)`."""
    if not hasattr(agent, "analyse"):
        raise InvalidValue(
            f"{name_of(agent)} does not compute the values of actions; use a search, such as 'search:96'."
        )
    found, name = agent.analyse(view), view.game.action_str
    chosen = int(found.action[0])
    legal = [
        AnalysedAction(
            action,
            name(action),
            float(found.value[0, action]),
            float(found.error[0, action]),
            int(found.determinizations[0, action]),
            action == chosen,
        )
        for action in np.flatnonzero(view.action_mask[0]).tolist()
    ]
    return sorted(legal, key=lambda one: (not one.played, -one.value if one.determinizations else math.inf))


def hint(agent: Agent, view: View, k: int) -> str:
    """Return in words what an agent would play at table `k` of a view; for a search with the value of each action.
    Raises ValueError or TypeError for an agent that cannot play there."""
    mine = view.only(k)
    if not hasattr(agent, "analyse"):
        action = int(answer(agent, mine)[0])
        return f"{name_of(agent)} would play: {view.game.action_str(action)} ({action})"
    return analysis_text(analysis_by(agent, mine), name_of(agent))


def analysis_text(judged: Sequence[AnalysedAction], who: str) -> str:
    """Return the result of `analysis_by` in lines of up to 80 letters."""
    first, *others = judged
    head = f"{who} would play: {_short(first.name)} ({first.action})"
    if not others:
        return f"{head}; nothing else is legal"
    digits = _digits([one.error for one in judged if one.determinizations])
    width = min(_LONGEST, max(len(one.name) for one in judged))
    lines = [f"  {one.action:4}  {_short(one.name):{width}}  {_worth(one, digits)}" for one in judged]
    return "\n".join([head, "Your mean gain by each, ± its standard error, and the determinizations tried:", *lines])


def _digits(errors: Sequence[float]) -> int:
    """Digits after the point, so that the smallest error has two significant digits."""
    least = min((error for error in errors if error > 0), default=0.1)
    return min(5, max(2, 1 - math.floor(math.log10(least))))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 4]} ..."


def _worth(one: AnalysedAction, digits: int) -> str:
    if not one.determinizations:
        return "not tried"
    return f"{one.value + 0.0:+.{digits}f} ± {one.error:.{digits}f}  {one.determinizations:,}"
