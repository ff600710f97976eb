"""Exact values of games that hide nothing but the order of the pack, with one seat, or two with opposite interests.

Openings are solved group by group, on several threads; a stopped run continues with the remaining groups.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.cluster.machines import machines
from backalley.cluster.work import Executor, Found, Sizes
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from .expectimax import EARLY, EMPTY, FULL, OBJECTIVE, Memory, Objective, linked, memory, openings

SMALLEST, _LARGEST = 1 << 20, 1 << 28
"""Slots of a memory."""
PLAYS = ("best", "random")
GOALS = {Objective.REWARD: "gain the most", Objective.WIN: "win", Objective.WIN_OR_TIE: "win or tie"}
COLUMNS = {Objective.REWARD: "expected return", Objective.WIN: "wins", Objective.WIN_OR_TIE: "wins and ties"}
"""The value of an objective, in words."""


class Unsolvable(InvalidValue):
    """A game that this solver cannot solve, or that is too large for it."""


Group = list[tuple[float, int, npt.NDArray[np.int64]]]
"""Openings with the same cards in another order, which lead to many of the same positions and so share a memory: for
each its probability, start outcome and leading cards."""


def _exact(files: Files) -> Iterator[Line]:
    """Exact values, best and random play."""
    for found in files:
        goal = objective_of(found.get("objective", "reward"))
        for play in PLAYS:
            gain = found[f"{play}_return"]
            reward = {"return": f"{gain:+.9f}", "wins, a tie counting half": f"{(1 + gain) / 2:.9f}"}
            yield {
                "game": title(found),
                "options": options(found),
                "play": f"{play}, to {GOALS[goal]}" if goal else play,
                **(reward if goal == Objective.REWARD else {COLUMNS[goal]: f"{gain:.9f}"}),
                "positions": f"{found['positions']:,}",
            }


@dataclass(frozen=True)
class Solution(OfGame, kind="solution", heading="Exact values", tables={"exact": _exact}):
    """The result of `solve`. Returns are those of seat 0, in the game's rewards; `even_money` reads them as chances."""

    best_return: float
    """The value of the objective with optimal play: the expected return, or how often seat 0 wins, or does not lose."""
    random_return: float
    positions: int
    openings: int
    seconds: float
    objective: Objective = Objective.REWARD

    @property
    def title(self) -> str:
        """What was solved, and the work it took."""
        return f"{super().title}, exactly: {self.openings:,} openings in {self.seconds:.1f} s"

    @property
    def even_money(self) -> tuple[float, float]:
        """The returns as winning chances, for games that end at +1, 0 or -1 (a tie counts half): best and random
        play."""
        return (1 + self.best_return) / 2, (1 + self.random_return) / 2

    def records(self) -> list[dict[str, Any]]:
        """A row for best play, and one for random play."""
        gains = (self.best_return, self.random_return)
        if self.objective != Objective.REWARD:
            column = self.objective.name.lower()
            return [{"game": self.game, "play": play, column: gain} for play, gain in zip(PLAYS, gains, strict=True)]
        plays = zip(PLAYS, gains, self.even_money, strict=True)
        return [{"game": self.game, "play": play, "return": gain, "wins": wins} for play, gain, wins in plays]

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {
            "objective": self.objective.name.lower(),
            "best_return": self.best_return,
            "random_return": self.random_return,
            "positions": self.positions,
            "openings": self.openings,
            "seconds": self.seconds,
        }


def solve(
    game: str | GameType | Game,
    *,
    objective: Objective | str = Objective.REWARD,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
    cluster: str | None = None,
) -> Solution:
    """Compute the exact expected return of seat 0 under optimal play (of both seats, if there are two) and under random
    play.

    With an `objective` other than `reward`, in a game of one seat: how often it wins (`win`), or does not lose
    (`win_or_tie`), if it plays only for that; a win is a return above 0, a tie one of 0. `progress(done, all)` is
    called after every group of openings. With `keep`, the file of the solution (`results.write`), solved groups are
    saved beside it until it is written, and the same call continues from them. `cluster` is the address of a Ray
    cluster that solves the groups instead. Raises Unsolvable for a game with hidden
    cards, or with too many deals, ValueError if unfinished work of another task is beside `keep`.
    """
    game, objective = game_of(game), objective_of(objective)
    check_whole(game, objective)
    num_threads = threads_of(num_threads)
    began = time.perf_counter()
    about = of_game(game, __file__)
    task = {"solution of": game.id, "options": game.option_values}
    task |= {} if objective == Objective.REWARD else {"objective": objective.name.lower()}
    unfinished = Unfinished(keep, task, about["stamp"]["sources"])
    work = _Work(game, objective, unfinished, progress)
    try:
        if cluster is None:
            work.share_out(num_threads)
        else:
            with machines(cluster) as executor:
                work.hand_out(executor)
    except BaseException:
        unfinished.save(work.to_arrays())
        raise
    found = work.solved.values()
    return Solution(
        **about,
        best_return=math.fsum(best for best, _, _ in found),
        random_return=math.fsum(drifting for _, drifting, _ in found),
        positions=int(sum(used for _, _, used in found)),
        openings=work.total,
        seconds=time.perf_counter() - began,
        objective=objective,
    )


def objective_of(given: Objective | str) -> Objective:
    """Return an objective by name. Raises ValueError."""
    if isinstance(given, Objective):
        return given
    names = [one.name.lower() for one in Objective]
    if given not in names:
        raise InvalidValue(f"The objective is {given!r}; there are {', '.join(names)}.")
    return Objective(names.index(given))


def check_solvable(game: Game) -> None:
    """Raise Unsolvable for a game that hides more than the order of its pack."""
    if game.type.enumeration is None:
        raise Unsolvable(
            f"{game.name} cannot be solved by enumeration: its players hold hidden cards, or its pack is too large."
        )


def check_whole(game: Game, objective: Objective) -> None:
    """Raise Unsolvable for a game that cannot be solved from its beginning, or not by this objective."""
    check_solvable(game)
    if game.type.enumeration_split is None:
        raise Unsolvable(
            f"{game.name} is solved from a position, not from its beginning: all is public but the order of the stub, "
            "but there are too many deals to go through. Give a deal (--deck) or a recorded game (--from)."
        )
    check_objective(game, objective)


def check_objective(game: Game, objective: Objective) -> None:
    """Raise Unsolvable where seats would have to share an objective."""
    if game.num_seats > 1 and objective != Objective.REWARD:
        raise Unsolvable(
            f"{game.name} has {game.num_seats} seats, of which one gains what the other loses: it is solved for the "
            f"reward, and not for {objective.name.lower()}."
        )


def check_counted(game: Game, store: Memory) -> None:
    """Raise Unsolvable where rewards came before the end, since only their sum says who won."""
    if store.marks[EARLY]:
        raise Unsolvable(f"{game.name} rewards before the end, so it is solved for the reward alone.")


def larger(game: Game, store: Memory) -> Memory:
    """Return an empty memory for four times as many positions. Raises Unsolvable where that is too much."""
    slots = 4 * len(store.keys)
    if slots > _LARGEST:
        raise Unsolvable(
            f"{game.name} has more than {_LARGEST:,} positions after one opening; that is too many to solve."
        )
    return memory(game, slots, Objective(int(store.marks[OBJECTIVE])))


def grouped_openings(game: Game) -> dict[str, Group]:
    """Return all openings in their groups, by the kinds of their cards."""
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
    """The groups of openings: those solved, and those left."""

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
        """Each group's share of both returns, and its number of positions."""
        self._unfinished, self._progress = unfinished, progress
        self._left = iter([name for name in self.groups if name not in self.solved])
        self._lock, self._stopped = threading.Lock(), threading.Event()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the solved groups, for `durable.Unfinished`."""
        names, values = list(self.solved), list(self.solved.values())
        return {"groups": np.array(names, np.str_), "values": np.array(values, np.float64).reshape(-1, 3)}

    def share_out(self, num_threads: int) -> None:
        """Solve the rest on that many threads. Raises what one of them raised."""
        solvers = [_Solver(self.game, self.objective, next(iter(self.groups.values()))) for _ in range(num_threads)]
        with ThreadPoolExecutor(num_threads) as pool:
            try:
                for thread in [pool.submit(self._solve_on, solver) for solver in solvers]:
                    thread.result()
            finally:
                self._stopped.set()  # Ctrl-C ends the others after their present group

    def hand_out(self, executor: Executor) -> None:
        """Let the machines of a cluster solve the rest. Raises what one of them raised."""
        names = [name for name in self.groups if name not in self.solved]
        with closing(executor.in_order(Groups(self.game, self.objective, names), [(0, len(names))])) as ranges:
            for done in ranges:
                for name, (best, drifting, used) in zip(names[done.low : done.high], done.found[0], strict=True):
                    self._note(name, (float(best), float(drifting), int(used)))

    def _note(self, name: str, found: tuple[float, float, int]) -> None:
        self.solved[name] = found
        self._unfinished.save_at_times(self.to_arrays)
        if self._progress is not None:
            self._progress(sum(len(self.groups[done]) for done in self.solved), self.total)

    def _solve_on(self, solver: _Solver) -> None:
        """Take group after group, until none is left."""
        while True:
            with self._lock:
                name = next(self._left, None)
            if name is None or self._stopped.is_set():
                return
            found = solver.solve(self.groups[name])
            with self._lock:
                self._note(name, found)


class _Solver:
    """A memory in which one thread solves group after group; it grows where that is needed."""

    def __init__(self, game: Game, objective: Objective, group: Group) -> None:
        """`group` is any of the game's."""
        self.game, self._store = game, memory(game, SMALLEST, objective)
        self._entry = linked(game, self._store, group[0][2])

    def solve(self, group: Group) -> tuple[float, float, int]:
        """Return a group's share of both returns, and its number of positions. Raises Unsolvable."""
        while (found := self._try(group))[2] == FULL:
            self._store = larger(self.game, self._store)
        check_counted(self.game, self._store)
        return found

    def _try(self, group: Group) -> tuple[float, float, int]:
        store = self._store
        store.keys[:] = EMPTY
        store.used[0] = 0
        best, drifting = [], []
        for chance, start_outcome, leading in group:
            store.state[0] = np.zeros((), store.state.dtype)
            one, other = self._entry(self.game.options, store, start_outcome, leading)
            best.append(chance * one)
            drifting.append(chance * other)
        return math.fsum(best), math.fsum(drifting), int(store.used[0])


class Groups:
    """Groups of openings by their numbers among `names`: see `cluster.work.Work`."""

    sizes = Sizes(4096)

    def __init__(self, game: Game, objective: Objective, names: list[str]) -> None:
        self.game, self.objective, self.names = game, objective, names
        self._solver: _Solver | None = None
        self._groups: dict[str, Group] = {}

    def begin(self, part: int) -> float:
        """Take memory and link the solver."""
        if self._solver is None:
            self._groups = grouped_openings(self.game)
            self._solver = _Solver(self.game, self.objective, self._groups[self.names[0]])
        return 0.0

    def do(self, part: int, low: int, high: int) -> Found:
        """Solve groups; return each one's share of both returns and its number of positions [n, 3]."""
        assert self._solver is not None
        return (np.array([self._solver.solve(self._groups[name]) for name in self.names[low:high]], np.float64),)

    def close(self) -> None:
        """Give the memory back."""
        self._solver = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Groups, (self.game, self.objective, self.names)
