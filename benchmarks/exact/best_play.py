"""Exact values of every action at a table of a game that `exact.solve` can solve: optimal play, decision by
decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.analysis import view_at
from backalley.agents.base.agent import View
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files.playthrough import table_in
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..figures.formatting import Line, options, options_text, title
from ..figures.result_kinds import Files, OfGame, of_game
from .exact import COLUMNS, SMALLEST, check_counted, check_solvable, larger, objective_of
from .expectimax import FULL, FURTHER, TRIED, Objective, linked_worths, memory
from .hash_table import rehash

Progress = Callable[[int, int, str], None]
"""Called with the first cards tried and those to try, and how many positions are solved, in words."""
_EVERY = 0.2
"""Seconds between two calls."""


class BestPlay:
    """Exact values of actions, one table after another; positions solved for one are kept for the next."""

    def __init__(self, game: str | GameType | Game, objective: Objective | str = Objective.REWARD) -> None:
        """Raises Unsolvable for a game with hidden cards, or where seats would have to share an `objective` other than
        the reward; `objective` is as in `exact.solve`."""
        self.game, self.objective = game_of(game), objective_of(objective)
        check_solvable(self.game, self.objective)
        self._store = memory(self.game, SMALLEST, self.objective)
        self._entry = linked_worths(self.game, self._store)

    @property
    def positions(self) -> int:
        """The number of positions kept."""
        return int(self._store.used[0])

    @property
    def goes_on(self) -> bool:
        """Whether another deal may follow in the same episode; its value is then the game's leaf value."""
        return bool(self._store.marks[FURTHER])

    def values(self, table: Any, *, row: int = 0, progress: Progress | None = None) -> npt.NDArray[np.float64]:
        """Return the mean gain of the seat to act by each action [A], with optimal play by all seats afterwards, in the
        game's rewards, or the probability of the objective; NaN where an action is not legal.

        If the episode continues with another deal, its value is the game's leaf value (`goes_on`). `table` is an
        environment, or a View, as in `backalley.analyse`. Raises as that does; ValueError for a table of another game,
        Unsolvable where there are too many positions ahead.
        """
        view = view_at(table, row)
        if view.game != self.game:
            raise InvalidValue(f"The table is of {view.game!r}; what is solved here is {self.game!r}.")
        # Any determinization works: only the order of the cards to come is hidden, and all orders are enumerated.
        state = view.redrawn(np.zeros(1, np.int64), view.key)[0]
        if self.goes_on:  # what follows depends on the score, which is not part of a position's key
            self._store = memory(self.game, len(self._store.keys), self.objective)
        out, tries = np.zeros(self.game.num_actions), _tries(self.game, view, state)
        while not self._solved(state, out, tries, progress):
            self._grow()
        check_counted(self.game, self._store)
        return out if view.seat[0] == 0 else -out

    def _grow(self) -> None:
        """Enlarge the memory of solved positions, which are kept."""
        roomy = larger(self.game, self._store)
        rehash(self._store.keys, self._store.values, roomy.keys, roomy.values)
        roomy.used[0], roomy.marks[FURTHER] = np.count_nonzero(roomy.keys), self._store.marks[FURTHER]
        self._store = roomy

    def _solved(self, state: Any, out: npt.NDArray[np.float64], tries: int, progress: Progress | None) -> bool:
        self._store.state[0] = state
        self._store.marks[TRIED] = 0
        if progress is None:
            self._entry(self.game.options, self._store, (), out)
            return self.positions != FULL
        with ThreadPoolExecutor(1) as pool:
            job = pool.submit(self._entry, self.game.options, self._store, (), out)
            try:
                while not job.done():
                    wait([job], _EVERY)
                    progress(int(self._store.marks[TRIED]), tries, f"{max(self.positions, 0):,} positions")
            except BaseException:
                while not job.done():  # nothing continues once the memory is full
                    self._store.used[0] = FULL
                    wait([job], _EVERY)
                self._store = memory(self.game, SMALLEST, self.objective)
                raise
            job.result()
        return self.positions != FULL


def _tries(game: Game, view: View, state: Any) -> int:
    """The number of kinds of first cards there are to try, over all actions."""
    face = game.type.enumeration
    assert face is not None
    left = face.deck(state)[int(face.next_card(state)) :]
    return len({int(face.kind(int(card))) for card in left}) * int(view.action_mask[0].sum())


def _positions(files: Files) -> Iterator[Line]:
    """Exact values of every action at given positions."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        best = max(found["actions"], key=lambda one: one["value"])
        for one in found["actions"]:
            yield {
                "game": title(found) if several else "",
                "options": options(found),
                "deal": f"`{found['deck']}`" if found["deck"] else "",
                "to act": found["seat"],
                "action": f"`{one['action']}`",
                COLUMNS[objective_of(found["objective"])]: f"{one['value']:+.9f}",
                "": "best" if one is best else "",
                "positions": f"{found['positions']:,}",
            }


@dataclass(frozen=True)
class PositionValues(OfGame, kind="position", heading="Exact values at a position", tables={"positions": _positions}):
    """The result of `position_values`, for the seat to act."""

    in_title = frozenset({"game", "options", "deal", "to act"})

    deck: str
    """The cards dealt, where they were given; "" where a file was."""
    seat: str
    table_text: str
    """The table, all cards open."""
    actions: list[tuple[str, float]]
    """Every legal action and its value with optimal play afterwards, best first."""
    objective: Objective
    goes_on: bool
    positions: int
    seconds: float

    @property
    def title(self) -> str:
        """The table, all cards open."""
        return f"{self.game}{options_text(self.changed)}, exactly: {self.seat} to act\n\n{self.table_text}"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Whether anything is an estimate."""
        if not any(found.get("another_deal_by_leaf_value") for found in files):
            return []
        return ["Exact for this deal; another that may follow counts for the game's leaf value, which is an estimate."]

    def records(self) -> list[dict[str, Any]]:
        """A row for each action."""
        return [
            {"game": self.game, "seat": self.seat, "action": name, self.objective.name.lower(): value}
            for name, value in self.actions
        ]

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {
            "deck": self.deck,
            "seat": self.seat,
            "table": self.table_text,
            "objective": self.objective.name.lower(),
            "actions": [{"action": name, "value": value} for name, value in self.actions],
            "another_deal_by_leaf_value": self.goes_on,
            "positions": self.positions,
            "seconds": self.seconds,
        }


def position_values(
    env: AECEnv, *, objective: Objective | str = Objective.REWARD, deck: str = "", progress: Progress | None = None
) -> PositionValues:
    """Return the exact value of every action at a table. Raises as `BestPlay` and its `values` do."""
    began, game = time.perf_counter(), env.game
    best = BestPlay(game, objective)
    seat = int(env.arrays.seat[0])
    values = best.values(env, progress=progress)
    legal = sorted((action for action in np.flatnonzero(np.isfinite(values))), key=lambda action: -values[action])
    return PositionValues(
        **of_game(game, __file__),
        deck=deck,
        seat=game.seat_name(seat),
        table_text=game.table_str(env.arrays.state[0], None),
        actions=[(game.action_str(int(action)), float(values[action])) for action in legal],
        objective=best.objective,
        goes_on=best.goes_on,
        positions=best.positions,
        seconds=time.perf_counter() - began,
    )


def dealt_table(game: Game, deck: str, start_outcome: int | None = None, moves: Sequence[str] = ()) -> AECEnv:
    """Return a table of a game after a deal of these cards, separated by blanks, in the order of dealing, and after
    these actions. Raises ValueError for cards that are not in the pack, or too few, for actions that are not legal or
    end the deal, and where chance decides something before."""
    check_solvable(game)
    if start_outcome is None and game.num_start_outcomes > 1:
        raise InvalidValue(
            f"Before the deal chance decides one of {game.num_start_outcomes} things in {game.name}: say which "
            f"(--start-outcome 0..{game.num_start_outcomes - 1}), or give an option that settles it."
        )
    cards, env = deck.split(), AECEnv(game)
    env.reset(seed=0, options={"decks": [cards], "start_outcome": start_outcome or 0})
    face = game.type.enumeration
    assert face is not None
    pack = face.deck(env.arrays.state[0]).copy()
    for move in moves:
        env.step(game.action_number(move))
        if not env.agents or env.terminations[env.agent_selection] or (face.deck(env.arrays.state[0]) != pack).any():
            raise InvalidValue(f"The deal is over after these actions: {' '.join(moves)}. Leave the last one out.")
    taken = int(face.next_card(env.arrays.state[0]))
    if taken > len(cards):
        raise InvalidValue(f"The table takes {taken} cards so far, and {len(cards)} were given: {deck!r}.")
    return env


def recorded_table(game: Game, path: Path, decisions: int | None = None) -> AECEnv:
    """Return the table of a recorded game of `game` after that many decisions, by default after all in the file. Raises
    PlaythroughError, or ValueError where it is of another game, or already over."""
    check_solvable(game)
    env, left = table_in(path, decisions)
    if env.game.type is not game.type:
        raise InvalidValue(f"{path} is a game of {env.game.name}; {game.name} is to be solved.")
    if not left:
        raise InvalidValue(f"The game in {path} is over by then; --decisions takes fewer.")
    return env
