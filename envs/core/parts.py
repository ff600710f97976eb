"""The parts that a game's declaration is put together from, and the two numbers that every rule knows.

This file imports nothing of the package: the machine code of rules and bots depends on the text of all that they
import, and should outlive a change to anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

CHANCE = -1
"""`state.seat` while the engine has to shuffle a pack and call `deal`."""
OVER = -2
"""`state.seat` after the last action of an episode."""


def check_state(game: str, found: Mapping[str, tuple[str, Any]]) -> None:
    """Raise TypeError in a sentence where a State lacks what the engine reads of every game: `seat`, who is to act (or
    CHANCE, or OVER), and `reward`, what each seat gained by the latest action. `found` has each field's type code and
    its shape, or a function of the options that gives it."""
    for name, codes, meant in (
        ("seat", ("i1", "i2", "i4", "i8"), "a signed whole number"),
        ("reward", ("f4",), "a 32-bit float"),
    ):
        if name not in found:
            raise TypeError(f"{game}: its State has no field {name!r}; every State has `seat` and `reward`.")
        if found[name][0] not in codes:
            raise TypeError(f"{game}: its State's {name!r} is of type {found[name][0]!r}; it has to be {meant}.")
    shape = found["reward"][1]
    if not callable(shape) and len(shape) != 1:
        raise TypeError(f"{game}: its State's 'reward' has shape {shape}; it has to be one number for each seat.")


class Kernels(NamedTuple):
    """A game's rules as compiled functions, in the form that drivers take.

    The engine clears what a kernel fills: `mask`, `out` and, before `step` and `deal`, nothing but `state.reward`
    before each action.
    """

    start: Callable[..., None]
    """`start(options, state, start_outcome)`: begin an episode in a zeroed state; `start_outcome` is uniform in
    `range(num_start_outcomes(options))`."""
    deal: Callable[..., None]
    """`deal(options, state, deck)`: chance has shuffled; `deck[0]` is the first card dealt."""
    legal: Callable[..., None]
    """`legal(options, state, mask)`: write 1 for each legal action of `state.seat`."""
    step: Callable[..., None]
    """`step(options, state, action)`: play a legal action; add what each seat gains to `state.reward`."""
    observe: Callable[..., None]
    """`observe(options, state, seat, out)`: what `seat` may know, seats turned so that 0 is that seat."""
    determinize: Callable[..., None]
    """`determinize(options, state, seat, key)`: redraw all that `seat` cannot see, from its knowledge and the key
    alone."""


class Bot(NamedTuple):
    """A rule-based player: a kernel `act(options, observation, mask, key) -> action` that sees an Observation record,
    never a State."""

    name: str
    act: Callable[..., int]
    doc: str
    fast: bool = True
    """Whether it decides fast enough (a few microseconds) for a search to play games out with it by the thousand. Where
    decisions are planned in one go (`GameType.plans`) a search plays on with the best bot all the same."""
    solves: Callable[..., bool] | None = None
    """`solves(options, observation)`, a kernel for a bot that is not fast: whether it plays exactly here, so that there
    is nothing to be learned. Everywhere else it plays as the game's best fast bot does."""


class Planner(NamedTuple):
    """What the kernels of `Plans` play by, for one thread."""

    options: Any
    values: Any
    """What each class is worth: float32 [classes]."""
    memory: Any
    """Room for the game to remember plans in, zeros at first: int64 [rows, MEMORY]. It may save time, and nothing
    else; what it holds came of these options and values."""
    luck: np.uint64
    """0: play the best plan. Else explore: alter some plans, by lot, which this number and the seat's own cards decide,
    so that all steps of a plan agree."""


MEMORY = 8
"""Numbers in a row of a planner's memory."""


class Plans(NamedTuple):
    """How a game takes decisions in one go, as whole plans, by what it has learned of their parts.

    A part is something that a plan puts together and that has an outcome of its own. Parts fall into classes, and what
    a class is worth is the mean outcome of its parts: that can be learned by playing, and is all that is learned. The
    kernels see Observation records, never a State, and keep nothing between decisions, so a plan may depend on nothing
    that its own steps change but what they have laid down.
    """

    parts: int
    """How many parts a deal has at most."""
    steps: int
    """How many actions a plan has at most."""
    act: Callable[..., int]
    """`act(planner, observation, mask, key) -> action`: the next step of the best plan, from any position, and whatever
    else the game asks."""
    candidates: Callable[..., int]
    """`candidates(planner, observation, mask, out) -> n`: the best plans that agree with what has been laid down, best
    first, each as the actions that are left of it: out int64 [most, steps], -1 after a plan's last action. 0 where the
    decision is not part of a plan."""
    restart: Callable[..., int]
    """`restart(options, state) -> n`: take back the n steps that the seat to act has made of its plan; 0 where the
    decision is not part of one. What others have done, and what they know, stays."""
    look: Callable[..., None]
    """`look(options, observation, classes, outcomes)`: for each part, the class it is in, int64 [parts], -1 while there
    is none, and its outcome, float64 [parts], NaN while it is open. Asked after every action, before the next deal."""
    values: Callable[[Any], Any]
    """`values(options)`: what each class is taken for before anything is learned, float32 [classes]; no kernel."""
    refuses: Callable[[Any], str]
    """`refuses(options)`: why nothing can be planned under these options, in a clause; empty where it can. No
    kernel."""
    caution: float = 1.0
    """Standard errors by which a plan must lead the planner's first choice for a search to prefer it; other decisions
    of the game have `GameType.caution`."""


class Enumeration(NamedTuple):
    """What an exact solver has to know of a game where all is public but the order of the cards not yet dealt. All four
    are kernels."""

    deck: Callable[..., Any]
    """`deck(state)`: the pack in the order of dealing, as an array that may be written to."""
    next_card: Callable[..., int]
    """`next_card(state)`: how many of its cards have been dealt. Rules take cards from there, one after another."""
    kind: Callable[..., int]
    """`kind(card)`: a number below 63, the same for cards that the rules never tell apart."""
    key: Callable[..., int]
    """`key(options, state)`: a non-negative number, the same for two positions only where play goes on alike in
    both."""
