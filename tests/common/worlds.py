"""Redrawn worlds: whether some history that a seat cannot tell from its own leads to them.

The search goes from one such history to another. Two cards of the pack change places, or another seat takes an unseen
action in place of another; where the seat is then told the same, that history is as good as its own. Steps lead to
where every seat observes what the redrawn world shows it. A world that no history leads to is never reached; one that
few lead to may be missed, so a world that was not reached is a suspicion, and `unreached` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.game.game import Game

WORLDS, STEPS = 20, 3000
"""Redrawn worlds that are looked at, and histories that are tried for each."""
_HISTORIES = 4
"""Positions that are looked at for each world, at most: where nothing is hidden, there is none."""


class History(NamedTuple):
    """A history within the first deal."""

    seed: int
    start: int
    deck: tuple[int, ...]
    actions: tuple[int, ...]


class _Reached(NamedTuple):
    """Where a history leads."""

    told: str
    shown: npt.NDArray[Any]
    """[seats, numbers]"""
    piles: dict[str, list[int]]
    """In places of the pack."""


class Unreached(NamedTuple):
    """A redrawn world to which no history was found."""

    history: History
    viewer: int
    key: int
    distance: int
    """How many observed numbers were still wrong, in the best history."""


def unreached(
    game: Game, *, seed: int = 0, worlds: int = WORLDS, steps: int = STEPS, keys: int = 2
) -> Iterator[Unreached | None]:
    """Redraw `worlds` positions of random play for the seat to act, and look for a history that leads there, in up to
    `steps` tries: yields None where one was found."""
    random, env, found = np.random.default_rng(seed), AECEnv(game, events=True), 0
    for _ in range(_HISTORIES * worlds):  # in some games little is hidden
        history = _played(env, random)
        if history is None or found >= worlds:
            continue
        viewer, position = int(env.arrays.seat[0]), env.position()
        for key in random.integers(2**63, size=keys).tolist():
            world = position.determinize(viewer, key)
            search = _Search(env, history, viewer, world, random)
            if search.distance() == 0 or found >= worlds:
                continue  # nothing was hidden, or the same was drawn
            found += 1
            distance = search.distance_after(steps)
            yield Unreached(history, viewer, key, distance) if distance else None


def _played(env: AECEnv, random: np.random.Generator) -> History | None:
    """Play at random to a decision within the first deal."""
    game, actions = env.game, list[int]()
    history = History(
        int(random.integers(2**31)),
        int(random.integers(game.num_start_outcomes)),
        tuple(random.permutation(game.deck_size).tolist()),
        (),
    )
    _begin(env, history)
    wanted, batch = int(random.integers(1, 80)), env.arrays
    last: History | None = None
    while batch.seat[0] >= 0 and len(actions) <= wanted:
        if not _in_first_deal(env):
            break
        last = history._replace(actions=tuple(actions))
        action = int(random.choice(np.flatnonzero(batch.mask[0])))
        actions.append(action)
        env.step(action)
    if last is None:
        return None
    at = history._replace(actions=last.actions[: int(random.integers(len(last.actions) + 1))])
    return at if _replayed(env, at) else None


def _in_first_deal(env: AECEnv) -> bool:
    agent = env.agent_selection
    return len(env.events(agent)) == len(env.events(agent, since="deal"))


def _begin(env: AECEnv, history: History) -> None:
    env.reset(seed=history.seed, options={"decks": [list(history.deck)], "start_outcome": history.start})


def _replayed(env: AECEnv, history: History) -> bool:
    """Whether every action of a history is legal; the table is then where it leads, and somebody is to act."""
    _begin(env, history)
    batch = env.arrays
    for action in history.actions:
        if batch.seat[0] < 0 or not batch.mask[0, action]:
            return False
        env.step(action)
    return bool(batch.seat[0] >= 0)


class _Search:
    """A walk through the histories of a seat, towards a redrawn world."""

    def __init__(
        self, env: AECEnv, history: History, viewer: int, world: GameState, random: np.random.Generator
    ) -> None:
        self.env, self.game, self.viewer, self.random = env, env.game, viewer, random
        self.place = {card: place for place, card in enumerate(self.game.pack)}
        self.words = [self.game.action_str(action) for action in range(self.game.num_actions)]
        self.of_words = {words: action for action, words in enumerate(self.words)}
        self.alike: dict[str, list[int]] = {}
        for action in range(self.game.num_actions):
            self.alike.setdefault(self.game.action_told(action), []).append(action)
        reached = self._look(history)
        assert reached is not None
        self.told, self.history, self.now = reached.told, history, reached
        self.wanted, self.wanted_piles = self._shown(world), self._piles(world)

    def distance_after(self, steps: int) -> int:
        """How far from the redrawn world the nearest history is that up to `steps` tries come to; 0: it leads there."""
        distance = best = self.distance()
        for _ in range(steps):
            if distance == 0:
                return 0
            history = self._changed()
            reached = self._look(history)
            if reached is None or reached.told != self.told:
                continue
            other = self.distance(reached)
            if other <= distance or self.random.random() < 0.05:
                self.history, self.now, distance = history, reached, other
                best = min(best, distance)
        return best

    def _look(self, history: History) -> _Reached | None:
        if not _replayed(self.env, history) or int(self.env.arrays.seat[0]) != self.viewer:
            return None
        state = self.env.position()
        told = state.information_state_string(self.viewer) + "\n" + state.table_str(self.viewer)
        return _Reached(told, self._shown(state), self._piles(state))

    def _shown(self, state: GameState) -> npt.NDArray[Any]:
        return np.stack([state.observation(seat) for seat in range(self.game.num_seats)])

    def _piles(self, state: GameState) -> dict[str, list[int]]:
        return {name: [self.place[card] for card in pile] for name, pile in self.game.piles(state.record()).items()}

    def distance(self, reached: _Reached | None = None) -> int:
        """How many numbers that seats observe differ from those of the redrawn world."""
        return int(((reached or self.now).shown != self.wanted).sum())

    def _changed(self) -> History:
        """The history with two cards exchanged, or several pairs; or with another unseen action."""
        deck, actions = list(self.history.deck), list(self.history.actions)
        for _ in range(1 + int(self.random.integers(3)) * int(self.random.random() < 0.3)):
            one, other = self._pair()
            places = deck.index(one), deck.index(other)
            deck[places[0]], deck[places[1]] = other, one
            actions = [self._renamed(action, one, other) for action in actions]
        if actions and self.random.random() < 0.2:
            place = int(self.random.integers(len(actions)))
            actions[place] = int(self.random.choice(self.alike[self.game.action_told(actions[place])]))
        return self.history._replace(deck=tuple(deck), actions=tuple(actions))

    def _pair(self) -> tuple[int, int]:
        """Two cards to exchange: mostly one that lies where the world has it not, and one that should be there."""
        if self.random.random() < 0.6:
            names = [name for name in self.now.piles if set(self.now.piles[name]) != set(self.wanted_piles[name])]
            if names:
                name = names[int(self.random.integers(len(names)))]
                its, wanted = set(self.now.piles[name]), set(self.wanted_piles[name])
                if its - wanted and wanted - its:
                    return self._one_of(its - wanted), self._one_of(wanted - its)
        one, other = self.random.choice(self.game.deck_size, 2, replace=False).tolist()
        return one, other

    def _one_of(self, cards: set[int]) -> int:
        return int(self.random.choice(sorted(cards)))

    def _renamed(self, action: int, one: int, other: int) -> int:
        """An action with two cards exchanged in its words, if the seat is told the same of it."""
        names = [self.game.card_name(self.game.pack[place]) for place in (one, other)]
        swap = {names[0]: names[1], names[1]: names[0]}
        words = " ".join(swap.get(word, word) for word in self.words[action].split(" "))
        renamed = self.of_words.get(words, action)
        return renamed if self.game.action_told(renamed) == self.game.action_told(action) else action
