"""The check of a game's events: each seat is shown exactly what its observations show.

For two tables that a seat cannot tell one from the other, one and the same action (or, of another seat, one that is
shown alike) tells the seat the same if and only if it then observes the same. By induction over an episode, two
histories of a seat are equal if and only if its sequences of observations and actions are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.compiled_events import visible
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import CHANCE
from backalley.envs.core.rules.events import ACTION, HIDDEN_ACTION, LOG_TYPE, NOTHING, OWN, Events

from .play import EPISODES, Table, random_action, random_pack, walks
from .report import NOT_TRIED

_SWAPS = 20
"""Packs with two cards exchanged that are tried at each deal."""
_Made = tuple[npt.NDArray[Any], list[list[int]]]
"""A state [1], and what was shown on the way to it."""


def check_events(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check what each seat is shown of each deal and action, the bounds `Events.most` and `Events.length`, and that
    fields that are not `private` show what everybody sees."""
    if game.type.events is None:
        return f"{NOT_TRIED}the game declares no events."
    looks = _Looks(game, game.type.events)
    found = walks(game, [looks.look], seed, episodes, events=True)
    return (
        f"At {found} each seat was shown what it then observed, and no more: {found.tried:,} deals and actions were "
        "tried on tables with other hidden cards."
    )


class _Looks:
    """What the check knows of one game."""

    def __init__(self, game: Game, declared: Events) -> None:
        self.game, self.declared = game, declared
        self.most = declared.most(game.options)
        self.kinds = OWN + len(declared.kinds)
        words = [game.action_told(action) for action in range(game.num_actions)]
        self.named = np.array([words.index(word) for word in words])
        self.two = BatchEnv(game, 2, seed=0, autoreset=False)

    def look(self, table: Table) -> int:
        """Check the present position, the deals that could have led to it, and one action."""
        for agent in table.env.agents:
            table.env.information_state_tensor(agent)  # raises where more is shown than declared
        tried = self._look_at_deal(table) if int(table.batch.decisions[0]) == 0 else 0
        action = random_action(table.env, table.random)
        for viewer in range(self.game.num_seats):
            self._look_at_public(table, viewer)
            tried += self._look_at_action(table, viewer, action)
        return tried

    # Deals -----------------------------------------------------------------------------------------------------------

    def _look_at_deal(self, table: Table) -> int:
        """Compare deals of packs that differ in two cards."""
        tried, state = 0, np.zeros(1, self.game.state_dtype)
        start = int(table.random.integers(self.game.num_start_outcomes))
        self.game.kernels.start(self.game.options, state[0], start)
        if state[0].seat != CHANCE:
            return 0
        cards = random_pack(self.game, table.random)
        first = self._dealt(state, cards)
        for _ in range(_SWAPS):
            one, other = table.random.integers(len(cards), size=2)
            swapped = cards.copy()
            swapped[[one, other]] = cards[[other, one]]
            second = self._dealt(state, swapped)
            for viewer in range(self.game.num_seats):
                self._hold_same(table, viewer, "a deal", first, second)
                tried += 1
        return tried

    def _dealt(self, state: npt.NDArray[Any], cards: npt.NDArray[np.int64]) -> _Made:
        made = state.copy()
        self.game.kernels.deal(self.game.options, made[0], cards.copy())
        return made, self._written(self.declared.deal, made[0])

    # Actions ---------------------------------------------------------------------------------------------------------

    def _look_at_action(self, table: Table, viewer: int, action: int) -> int:
        """Compare an action with one that is shown alike at a table that the viewer cannot tell from this one."""
        game, other = self.game, table.batch.state.copy()
        other[0] = table.env.position().determinize(viewer, int(table.random.integers(2**63))).record()
        actor, mask = int(table.batch.seat[0]), np.zeros(game.num_actions, np.int8)
        game.kernels.legal(game.options, other[0], mask)
        alike = [action] if actor == viewer else np.flatnonzero(mask & (self.named == self.named[action])).tolist()
        if not alike or not mask[alike[0]]:
            return 0
        choice = int(table.random.choice(alike))
        first, second = self._stepped(table.batch.state, action), self._stepped(other, choice)
        self._hold_same(table, viewer, f"{game.action_str(action)} by seat {actor}", first, second)
        return 1

    def _stepped(self, state: npt.NDArray[Any], action: int) -> _Made:
        made = state.copy()
        self.game.kernels.step(self.game.options, made[0], action)
        return made, self._written(self.declared.step, state[0], made[0], action)

    def _look_at_public(self, table: Table, viewer: int) -> None:
        position = table.env.position()
        redrawn = position.determinize(viewer, int(table.random.integers(2**63)))
        self.two.set_states([position.states(), redrawn.states()])
        before, after = self.two.state_tensor(public=True)
        table.hold(
            np.array_equal(before, after),
            f"a field of the observation that is not declared private shows what seat {viewer} cannot see.",
        )

    # Comparisons -----------------------------------------------------------------------------------------------------

    def _written(self, kernel: Callable[..., None] | None, *given: Any) -> list[list[int]]:
        """The events that a kernel writes."""
        if kernel is None:
            return []
        entries, log = np.zeros((self.most + self.game.deck_size, 4), np.int16), np.zeros(1, LOG_TYPE)
        log["room"], log["address"] = len(entries), entries.ctypes.data
        kernel(self.game.options, *given, log[0])
        found: list[list[int]] = entries[: int(log["filled"][0])].tolist()
        return found

    def _shown(self, written: list[list[int]], viewer: int) -> list[list[int]]:
        for _, kind, who, _ in written:
            if kind in (NOTHING, ACTION, HIDDEN_ACTION) or kind >= self.kinds or not -1 <= who < self.game.num_seats:
                raise BrokenPromise(
                    f"{self.game!r} tells of an event of kind {kind} by seat {who}. A game's own kinds are {OWN} to "
                    f"{self.kinds - 1}, and seats are 0..{self.game.num_seats - 1}, or -1 for nobody."
                )
        return [entry[1:] for entry in written if visible(entry[0], viewer)]

    def _seen(self, table: Table, viewer: int, state: npt.NDArray[Any]) -> bytes:
        """What a seat observes and, where it is to act, may do."""
        mask = np.zeros(self.game.num_actions, np.int8)
        if state[0].seat == viewer:
            self.game.kernels.legal(self.game.options, state[0], mask)
        shown = np.zeros(1, self.game.observation_dtype)
        self.game.kernels.observe(self.game.options, state[0], viewer, shown[0])
        return shown.tobytes() + mask.tobytes()

    def _hold_same(self, table: Table, viewer: int, what: str, first: _Made, second: _Made) -> None:
        known = [self._shown(written, viewer) for _, written in (first, second)]
        seen = [self._seen(table, viewer, state) for state, _ in (first, second)]
        gained = [state["reward"].tobytes() for state, _ in (first, second)]
        more = known[0] != known[1] and seen[0] == seen[1] and gained[0] == gained[1]
        if more:  # the table may show more of a seat's own cards than the observation, such as their copies
            more = self.game.table_str(first[0][0], viewer) == self.game.table_str(second[0][0], viewer)
        table.hold(not more, f"{what} tells seat {viewer} more than its observations show: {known[0]}, not {known[1]}.")
        less = known[0] == known[1] and seen[0] != seen[1]
        table.hold(not less, f"{what} changes what seat {viewer} observes, and the seat is shown nothing of it.")
