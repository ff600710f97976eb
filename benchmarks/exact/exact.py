"""Exact values of games that hide nothing but the order of the pack, with one seat, or two with opposite interests.

Openings are solved group by group, on several threads; a stopped run continues with the remaining groups.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.cluster import machines
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from .expectimax import EARLY, FULL, OBJECTIVE, Memory, Objective, linked, memory
from .hash_table import EMPTY
from .openings import Group, Row, grouped_openings, share_out

SMALLEST, _LARGEST = 1 << 20, 1 << 28
"""Slots of a memory."""
PLAYS = ("best", "random")
GOALS = {Objective.REWARD: "gain the most", Objective.WIN: "win", Objective.WIN_OR_TIE: "win or tie"}
COLUMNS = {Objective.REWARD: "expected return", Objective.WIN: "wins", Objective.WIN_OR_TIE: "wins and ties"}
"""The value of an objective, in words."""


class Unsolvable(InvalidValue):
    """A game that this solver cannot solve, or that is too large for it."""


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

    objective: Objective = field(default=Objective.REWARD, kw_only=True)
    best_return: float
    """The value of the objective with optimal play: the expected return, or how often seat 0 wins, or does not lose."""
    random_return: float
    positions: int
    openings: int
    seconds: float

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


def solve(
    game: str | GameType | Game,
    *,
    objective: Objective | str = Objective.REWARD,
    win_pays: float = 1.0,
    without: int | None = None,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
    cluster: str | None = None,
) -> Solution:
    """Compute the exact expected return of seat 0 under optimal play (of both seats, if there are two) and under random
    play.

    With an `objective` other than `reward`, in a game of one seat: how often it wins (`win`), or does not lose
    (`win_or_tie`), if it plays only for that; a win is a return above 0, a tie one of 0. With `win_pays`, a win is paid
    that many times its reward; for another number than 1 the game must have one seat and reward only its end.
    `without` is the number of a card that is out of the pack, which must never be drawn to its end.
    `progress(done, all)` is called after every group of openings. With `keep`, the file of the solution
    (`results.write`), solved groups are saved beside it until it is written, and the same call continues from them.
    `cluster` is the address of a Ray cluster that solves the groups instead. Raises Unsolvable for a game with hidden
    cards, or with too many deals, ValueError if unfinished work of another task is beside `keep`.
    """
    game, objective = game_of(game), objective_of(objective)
    check_solvable(game, objective, whole=True)
    if not 0 < win_pays < math.inf or (win_pays != 1 and game.num_seats > 1):
        raise InvalidValue(f"win_pays is {win_pays!r}; it is a number above 0, and 1 in games of several seats.")
    if without is not None and without not in range(game.deck_size):
        raise InvalidValue(f"without is {without!r}; it is the number of a card, below {game.deck_size}.")
    num_threads = threads_of(num_threads)
    began = time.perf_counter()
    about = of_game(game, __file__)
    task: dict[str, Any] = {"solution of": game.id, "options": game.option_values}
    task |= {} if objective == Objective.REWARD else {"objective": objective.name.lower()}
    task |= {} if win_pays == 1 else {"win pays": win_pays}
    task |= {} if without is None else {"without": without}
    unfinished = Unfinished(keep, task, about["stamp"]["sources"])
    groups, kept = grouped_openings(game, without), unfinished.load()
    solved: dict[str, Row] = dict(zip(map(str, kept.get("groups", [])), kept.get("values", []), strict=True))
    left, total = [name for name in groups if name not in solved], sum(map(len, groups.values()))

    def arrays() -> dict[str, npt.NDArray[Any]]:
        values = np.array([*solved.values()], np.float64).reshape(-1, 3)
        return {"groups": np.array([*solved], np.str_), "values": values}

    def note(name: str, found: Row) -> None:
        solved[name] = found
        unfinished.save_at_times(arrays)
        if progress is not None:
            progress(sum(len(groups[one]) for one in solved), total)

    try:
        if left:
            with machines(cluster) as executor:
                share_out(partial(_Solver, game, objective, win_pays, without), left, note, num_threads, executor)
    except BaseException:
        unfinished.save(arrays())
        raise
    best, drifting, used = zip(*solved.values(), strict=True)
    return Solution(
        **about,
        best_return=math.fsum(best),
        random_return=math.fsum(drifting),
        positions=int(sum(used)),
        openings=total,
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


def check_solvable(game: Game, objective: Objective = Objective.REWARD, *, whole: bool = False) -> None:
    """Raise Unsolvable for a game that hides more than the order of its pack, where seats would have to share an
    objective, and with `whole` for one that cannot be solved from its beginning."""
    if game.type.enumeration is None:
        raise Unsolvable(
            f"{game.name} cannot be solved by enumeration: its players hold hidden cards, or its pack is too large."
        )
    if whole and game.type.enumeration_split is None:
        raise Unsolvable(
            f"{game.name} is solved from a position, not from its beginning: all is public but the order of the stub, "
            "but there are too many deals to go through. Give a deal (--deck) or a recorded game (--from)."
        )
    if game.num_seats > 1 and objective != Objective.REWARD:
        raise Unsolvable(
            f"{game.name} has {game.num_seats} seats, of which one gains what the other loses: it is solved for the "
            f"reward, and not for {objective.name.lower()}."
        )


def check_counted(game: Game, store: Memory) -> None:
    """Raise Unsolvable where rewards came before the end, since only their sum says who won."""
    if store.marks[EARLY]:
        raise Unsolvable(f"{game.name} rewards before the end, so it is solved for the reward alone.")


def larger(game: Game, store: Memory, without: int | None = None) -> Memory:
    """Return an empty memory for four times as many positions. Raises Unsolvable where that is too much."""
    slots = 4 * len(store.keys)
    if slots > _LARGEST:
        raise Unsolvable(
            f"{game.name} has more than {_LARGEST:,} positions after one opening; that is too many to solve."
        )
    return memory(game, slots, Objective(int(store.marks[OBJECTIVE])), float(store.pays[0]), without)


class _Solver:
    """Solves groups of openings, by their names, in a memory that grows where that is needed."""

    def __init__(self, game: Game, objective: Objective, win_pays: float, without: int | None) -> None:
        self._game, self._without, self._groups = game, without, grouped_openings(game, without)
        self._store = memory(game, SMALLEST, objective, win_pays, without)
        self._entry = linked(game, self._store)

    def __call__(self, name: str) -> Row:
        """Return a group's share of both returns, and its number of positions. Raises Unsolvable."""
        while (found := self._try(self._groups[name]))[2] == FULL:
            self._store = larger(self._game, self._store, self._without)
        check_counted(self._game, self._store)
        return found

    def _try(self, group: Group) -> Row:
        store = self._store
        store.keys[:] = EMPTY
        store.used[0] = 0
        best, drifting = [], []
        for chance, start_outcome, leading in group:
            store.state[0] = np.zeros((), store.state.dtype)
            one, other = self._entry(self._game.options, store, (), start_outcome, leading)
            best.append(chance * one)
            drifting.append(chance * other)
        return np.array([math.fsum(best), math.fsum(drifting), store.used[0]])
