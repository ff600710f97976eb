"""Exact values of games that hide nothing but the order of the pack, with one seat, or two with opposite interests.

Openings are solved group by group, on several threads; a run that was stopped goes on with the groups that are left.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.durable import Unfinished

from . import results
from .enumeration import EARLY, EMPTY, FULL, OBJECTIVE, Memory, Objective, linked, memory, openings
from .report import options_text
from .tabular import Figures, Tabular

SMALLEST, _LARGEST = 1 << 20, 1 << 28
"""Slots of a memory."""
PLAYS = ("best", "random")
GOALS = {Objective.REWARD: "gain the most", Objective.WIN: "win", Objective.WIN_OR_TIE: "win or tie"}
COLUMNS = {Objective.REWARD: "expected return", Objective.WIN: "wins", Objective.WIN_OR_TIE: "wins and ties"}
"""What an objective comes to, in words."""


class Unsolvable(ValueError):
    """A game that this solver cannot take, or that is too large for it."""


Group = list[tuple[float, int, npt.NDArray[np.int64]]]
"""Openings with the same cards in another order, which lead to many of the same positions and so share a memory: of
each its probability, start outcome and leading cards."""


@dataclass(frozen=True)
class Solution(Tabular):
    """What `solve` found. Returns are those of seat 0, in the game's rewards; `even_money` reads them as chances."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    """Those options that differ from their defaults."""
    best_return: float
    """What the objective comes to with best play: the expected return, or how often seat 0 wins, or does not lose."""
    random_return: float
    positions: int
    openings: int
    seconds: float
    stamp: dict[str, Any]
    objective: Objective = Objective.REWARD
    command: str = ""

    @property
    def even_money(self) -> tuple[float, float]:
        """The returns as winning chances, for games that end at +1, 0 or -1 (a tie counts half): best and random
        play."""
        return (1 + self.best_return) / 2, (1 + self.random_return) / 2

    def figures(self) -> Figures:
        """Expected returns of best and of random play, and what it took to find them."""
        best, drifting = self.even_money
        title = f"{self.game}{options_text(self.changed)}, exactly"
        notes = [f"{self.positions:,} positions solved after {self.openings:,} openings in {self.seconds:.1f} s."]
        if self.objective != Objective.REWARD:
            shares = [["best", f"{self.best_return:.9f}"], ["random", f"{self.random_return:.9f}"]]
            return Figures(
                f"{title}, played to {GOALS[self.objective]}", ["play", COLUMNS[self.objective]], shares, notes
            )
        return Figures(
            title,
            ["play", "expected return", "wins (a tie counts half)"],
            [
                ["best", f"{self.best_return:+.9f}", f"{best:.9f}"],
                ["random", f"{self.random_return:+.9f}", f"{drifting:.9f}"],
            ],
            notes,
        )

    def records(self) -> list[dict[str, Any]]:
        """A row for best play, and one for random play."""
        gains = (self.best_return, self.random_return)
        if self.objective != Objective.REWARD:
            column = self.objective.name.lower()
            return [{"game": self.game, "play": play, column: gain} for play, gain in zip(PLAYS, gains, strict=True)]
        plays = zip(PLAYS, gains, self.even_money, strict=True)
        return [{"game": self.game, "play": play, "return": gain, "wins": wins} for play, gain, wins in plays]

    def to_json(self) -> dict[str, Any]:
        """The solution as `results.write` takes it."""
        return {
            "kind": "solution",
            "command": self.command,
            "game": self.game,
            "options": self.options,
            "objective": self.objective.name.lower(),
            "best_return": self.best_return,
            "random_return": self.random_return,
            "positions": self.positions,
            "openings": self.openings,
            "seconds": self.seconds,
            **self.stamp,
        }


def solve(
    game: str | GameType | Game,
    *,
    objective: Objective | str = Objective.REWARD,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
) -> Solution:
    """The exact expected return of seat 0 under best play (of both seats, where there are two) and under random play.

    With an `objective` other than `reward`, in a game of one seat: how often it wins (`win`), or does not lose
    (`win_or_tie`), where it plays for that alone; a win is a return above 0, a tie one of 0.
    `progress(done, all)` is called after every group of openings. With `keep`, the file that the solution will be
    written to (`results.write`), solved groups are kept beside it until then, and the same call goes on from them.
    Raises Unsolvable for a game with hidden cards, or with too many deals, ValueError where unfinished work of another
    task lies beside `keep`.
    """
    game, objective = game_of(game), objective_of(objective)
    check_whole(game, objective)
    began = time.perf_counter()
    stamp = results.stamp(__file__, game)
    task = {"solution of": game.id, "options": game.option_values}
    task |= {} if objective == Objective.REWARD else {"objective": objective.name.lower()}
    unfinished = Unfinished(keep, task, stamp["sources"])
    work = _Work(game, objective, unfinished, progress)
    try:
        work.share_out(num_threads)
    except BaseException:
        unfinished.save(work.to_arrays())
        raise
    found = work.solved.values()
    return Solution(
        game=game.id,
        options=game.option_values,
        changed=game.changed_options,
        best_return=math.fsum(best for best, _, _ in found),
        random_return=math.fsum(drifting for _, drifting, _ in found),
        positions=int(sum(used for _, _, used in found)),
        openings=work.total,
        seconds=time.perf_counter() - began,
        stamp=stamp,
        objective=objective,
    )


def objective_of(given: Objective | str) -> Objective:
    """An objective by name. Raises ValueError in a sentence."""
    if isinstance(given, Objective):
        return given
    names = [one.name.lower() for one in Objective]
    if given not in names:
        raise ValueError(f"The objective is {given!r}; there are {', '.join(names)}.")
    return Objective(names.index(given))


def check_solvable(game: Game) -> None:
    """Raises Unsolvable in a sentence for a game that hides more than the order of its pack."""
    if game.type.enumeration is None:
        raise Unsolvable(
            f"{game.name} cannot be solved by enumeration: its players hold hidden cards, or its pack is too large."
        )


def check_whole(game: Game, objective: Objective) -> None:
    """Raises Unsolvable in a sentence for a game that cannot be solved from its beginning, or not by this objective."""
    check_solvable(game)
    if game.type.enumeration_split is None:
        raise Unsolvable(
            f"{game.name} is solved from a position, not from its beginning: all is public but the order of the stub, "
            "but there are too many deals to go through. Give a deal (--deck) or a recorded game (--from)."
        )
    check_objective(game, objective)


def check_objective(game: Game, objective: Objective) -> None:
    """Raises Unsolvable in a sentence where seats would have to share an objective."""
    if game.num_seats > 1 and objective != Objective.REWARD:
        raise Unsolvable(
            f"{game.name} has {game.num_seats} seats, of which one gains what the other loses: it is solved for the "
            f"reward, and not for {objective.name.lower()}."
        )


def check_counted(game: Game, store: Memory) -> None:
    """Raises Unsolvable in a sentence where rewards came before the end, of which only the sum says who won."""
    if store.marks[EARLY]:
        raise Unsolvable(f"{game.name} rewards before the end, so it is solved for the reward alone.")


def larger(game: Game, store: Memory) -> Memory:
    """An empty memory for four times as many positions. Raises Unsolvable where that is too much."""
    slots = 4 * len(store.keys)
    if slots > _LARGEST:
        raise Unsolvable(
            f"{game.name} has more than {_LARGEST:,} positions after one opening; that is too many to solve."
        )
    return memory(game, slots, Objective(int(store.marks[OBJECTIVE])))


def grouped_openings(game: Game) -> dict[str, Group]:
    """All openings in their groups, by the kinds of their cards."""
    assert game.type.enumeration is not None
    groups: dict[str, Group] = {}
    for chance, leading in openings(game):
        kinds = str(sorted(int(game.type.enumeration.kind(card)) for card in leading))
        groups.setdefault(kinds, []).extend(
            (chance / game.num_start_outcomes, start_outcome, np.array(leading, np.int64))
            for start_outcome in range(game.num_start_outcomes)
        )
    return groups


class _Work:
    """The groups of openings: those that are solved, and those that are left."""

    def __init__(
        self, game: Game, objective: Objective, unfinished: Unfinished, progress: Callable[[int, int], None] | None
    ) -> None:
        self.game, self.objective = game, objective
        self.groups = grouped_openings(game)
        self.total = sum(len(group) for group in self.groups.values())
        kept = unfinished.load()
        self.solved: dict[str, tuple[float, float, int]] = {
            str(name): (float(best), float(drifting), int(used))
            for name, (best, drifting, used) in zip(kept.get("groups", []), kept.get("values", []), strict=True)
        }
        """Of each group its share of both returns, and the positions that it took."""
        self._unfinished, self._progress = unfinished, progress
        self._left = iter([name for name in self.groups if name not in self.solved])
        self._lock, self._stopped = threading.Lock(), threading.Event()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The groups that are solved, for `durable.Unfinished`."""
        names, values = list(self.solved), list(self.solved.values())
        return {"groups": np.array(names, np.str_), "values": np.array(values, np.float64).reshape(-1, 3)}

    def share_out(self, num_threads: int) -> None:
        """Solve what is left on so many threads. Raises what one of them raised."""
        stores = [memory(self.game, SMALLEST, self.objective) for _ in range(num_threads)]
        entry = linked(self.game, stores[0], next(iter(self.groups.values()))[0][2])
        with ThreadPoolExecutor(num_threads) as pool:
            try:
                for thread in [pool.submit(self._solve_on, store, entry) for store in stores]:
                    thread.result()
            finally:
                self._stopped.set()  # Ctrl-C ends the others after the group they are at

    def _solve_on(self, store: Memory, entry: Callable[..., tuple[float, float]]) -> None:
        """Take group after group, until none is left."""
        while True:
            with self._lock:
                name = next(self._left, None)
            if name is None or self._stopped.is_set():
                return
            while (found := self._solve(self.groups[name], store, entry))[2] == FULL:
                store = larger(self.game, store)
            check_counted(self.game, store)
            with self._lock:
                self.solved[name] = found
                self._unfinished.save_at_times(self.to_arrays)
                if self._progress is not None:
                    self._progress(sum(len(self.groups[done]) for done in self.solved), self.total)

    def _solve(
        self, group: Group, store: Memory, entry: Callable[..., tuple[float, float]]
    ) -> tuple[float, float, int]:
        store.keys[:] = EMPTY
        store.used[0] = 0
        best, drifting = [], []
        for chance, start_outcome, leading in group:
            store.state[0] = np.zeros((), store.state.dtype)
            one, other = entry(self.game.options, store, start_outcome, leading)
            best.append(chance * one)
            drifting.append(chance * other)
        return math.fsum(best), math.fsum(drifting), int(store.used[0])
