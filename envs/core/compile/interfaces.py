"""The groups of kernels that a game declares, and the two special values of `state.seat`.

This file imports nothing of the package but its errors: the machine code of rules and bots depends on the text of all
files they import, so a change elsewhere should not recompile them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from backalley.console.errors import InvalidType

CHANCE = -1
"""Value of `state.seat` while the engine has to shuffle a pack and call `deal`."""
OVER = -2
"""Value of `state.seat` after the last action of an episode."""


def check_state(game: str, found: Mapping[str, tuple[str, Any]]) -> None:
    """Raise TypeError where a State lacks a field that the engine reads in every game: `seat` (who is to act, or
    CHANCE, or OVER) or `reward` (what each seat gained by the latest action). `found` has each field's type code and
    its shape, or a function of the options that returns the shape."""
    for name, codes, meant in (
        ("seat", ("i1", "i2", "i4", "i8"), "a signed whole number"),
        ("reward", ("f4",), "a 32-bit float"),
    ):
        if name not in found:
            raise InvalidType(f"{game}: its State has no field {name!r}; every State has `seat` and `reward`.")
        if found[name][0] not in codes:
            raise InvalidType(f"{game}: its State's {name!r} is of type {found[name][0]!r}; it has to be {meant}.")
    shape = found["reward"][1]
    if not callable(shape) and len(shape) != 1:
        raise InvalidType(f"{game}: its State's 'reward' has shape {shape}; it has to be one number for each seat.")


class Kernels(NamedTuple):
    """A game's rules as compiled functions, in the form that the batch kernels call.

    The engine clears `mask` and `out` before a kernel fills them. Before each action it clears `state.reward`, and
    nothing else.
    """

    start: Callable[..., None]
    """`start(options, state, start_outcome)`: begin an episode in a zeroed state; `start_outcome` is uniform in
    `range(num_start_outcomes(options))`."""
    deal: Callable[..., None]
    """`deal(options, state, deck)`: deal from a shuffled deck; `deck[0]` is the first card dealt."""
    legal: Callable[..., None]
    """`legal(options, state, mask)`: write 1 for each legal action of `state.seat`."""
    step: Callable[..., None]
    """`step(options, state, action)`: play a legal action; add what each seat gains to `state.reward`."""
    observe: Callable[..., None]
    """`observe(options, state, seat, out)`: write what `seat` may know, with seats rotated so that 0 is that seat."""
    determinize: Callable[..., None]
    """`determinize(options, state, seat, key)`: redraw all that `seat` cannot see, using only what it knows and the
    key."""


class Bot(NamedTuple):
    """A rule-based player: a kernel `act(options, observation, mask, key) -> action` that sees an Observation record,
    never a State."""

    name: str
    act: Callable[..., int]
    doc: str
    fast: bool = True
    """Whether it decides fast enough (a few microseconds) to play thousands of rollouts. Where a game has macro-actions
    (`GameType.plans`), rollouts continue with the best bot even if it is slow."""
    solves: Callable[..., bool] | None = None
    """`solves(options, observation)`, a kernel for a bot that is not fast: whether its play is exact here, so that
    there is nothing to learn."""
    chances: Callable[..., None] | None = None
    """`chances(options, observation, mask, out)`, a kernel for a bot that draws actions by its key: write to `out` [A]
    float64, which is not cleared before, the probability of each action. None: the bot plays alike whatever its key."""
    quick: Callable[..., int] | None = None
    """A kernel like `act` that plays alike except where `solves` says so: it plays this bot's rollouts. None: `act`
    does."""

    @property
    def plays_rollouts(self) -> bool:
        """Whether it can play rollouts: it is fast, or has a quick kernel."""
        return self.fast or self.quick is not None

    @property
    def in_rollouts(self) -> Bot:
        """The same bot as rollouts play it."""
        return self if self.quick is None else self._replace(act=self.quick)


class ActionFeatures(NamedTuple):
    """What a learned policy may rate each action by, in place of reading the whole observation: numbers of the action
    itself, which mean the same for every suit, card and seat. All actions then share one small network."""

    write: Callable[..., None]
    """`write(options, observation, mask, out)`, a kernel: write to `out[a]`, float32 [A, number], the numbers of each
    legal action a, from about -1 to 1. Rows of other actions may be left as they are."""
    number: int


class Planner(NamedTuple):
    """What the kernels of `Plans` need, for one thread."""

    options: Any
    values: Any
    """The learned value of each feature class: float32 [classes]."""
    memory: Any
    """Memory in which the game may cache plans, zeros at first: int64 [rows, MEMORY]. It only saves time; its contents
    follow from these options and values."""
    luck: np.uint64
    """0: play the best plan. Otherwise explore: change some plans at random, decided by this number and the seat's own
    cards, so that all steps of a plan agree."""


MEMORY = 8
"""Numbers in each row of a planner's memory."""


class Plans(NamedTuple):
    """How a game plays macro-actions (plans): sequences of actions built from parts whose values are learned.

    A part has an outcome of its own. Parts are grouped into classes, the features; the value of a class is the mean
    outcome of its parts, and these values are all that is learned. The kernels see Observation records, never a State,
    and keep nothing between decisions. So a plan may depend only on what does not change while it is carried out, and
    on the cards it has laid down.
    """

    parts: int
    """The greatest number of parts in a deal."""
    steps: int
    """The greatest number of actions in a plan."""
    act: Callable[..., int]
    """`act(planner, observation, mask, key) -> action`: the next step of the best plan, from any position. It also
    answers every other decision of the game."""
    candidates: Callable[..., int]
    """`candidates(planner, observation, mask, out) -> n`: write the best plans that agree with what has been laid down,
    best first, each as its remaining actions: out int64 [most, steps], -1 after a plan's last action. Return 0 where
    the decision is not part of a plan."""
    restart: Callable[..., int]
    """`restart(options, state) -> n`: take back the n steps that the seat to act has made of its plan; 0 where the
    decision is not part of one. What others have done, and what they know, does not change."""
    look: Callable[..., None]
    """`look(options, observation, classes, outcomes)`: write each part's class, int64 [parts], -1 while it has none,
    and its outcome, float64 [parts], NaN while it is open. Called after every action, before the next deal."""
    values: Callable[[Any], Any]
    """`values(options)`: the value of each class before anything is learned, float32 [classes]; not a kernel."""
    refuses: Callable[[Any], str]
    """`refuses(options)`: why plans cannot be used under these options, as a clause; empty where they can. Not a
    kernel."""
    z_threshold: float = 1.0
    """The z-threshold for plans: by how many standard errors a plan must lead the planner's first choice before a
    search prefers it. Other decisions use `GameType.z_threshold`."""


class Enumeration(NamedTuple):
    """What an exact solver needs to know of a game where only the order of the undealt cards is hidden. All four fields
    are kernels."""

    deck: Callable[..., Any]
    """`deck(state)`: the pack in the order of dealing, as an array that may be written to."""
    next_card: Callable[..., int]
    """`next_card(state)`: how many of its cards have been dealt. Rules take the next card from this index."""
    kind: Callable[..., int]
    """`kind(card)`: a number below 63, equal for cards that the rules treat alike."""
    key: Callable[..., int]
    """`key(options, state)`: a non-negative number, equal for two positions only if play continues alike from both."""
