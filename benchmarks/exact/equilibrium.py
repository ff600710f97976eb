"""Equilibria of small games of two sides that hide cards from each other: their value between two bounds, and what it
took to find them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from .solver import Bounds, Solver

WITHIN = 1e-3
"""How near each other the bounds come by default, as a share of the range of returns."""


def _equilibria(files: Files) -> Iterator[Line]:
    """Sizes, values and the time that it took."""
    for found in files:
        low, high = (found["value"][end] for end in ("low", "high"))
        span = found["span"][1] - found["span"][0]
        yield {
            "game": title(found),
            "options": options(found),
            "information sets": f"{found['information_sets']:,}",
            "with a choice": " + ".join(f"{count:,}" for count in found["choices"]),
            "histories": f"{found['histories']:,}",
            "seat 0 gains": f"{low:+.6f} to {high:+.6f}",
            "exploitability, of the range": f"{(high - low) / 2 / span:.1e}",
            "uniform play": f"{found['uniform']:.4f}",
            "steps": f"{found['steps']:,}",
            "seconds": f"{found['seconds_of_walk']:.1f} + {found['seconds_of_steps']:.1f}",
        }


@dataclass(frozen=True, kw_only=True)
class Equilibria(OfGame, kind="equilibrium", heading="Equilibria", tables={"equilibria": _equilibria}):
    """The result of `find_equilibrium`. Returns are in the game's rewards."""

    information_sets: int
    """What a seat may know when it has to act."""
    choices: tuple[int, int]
    """Those of each seat with several actions."""
    histories: int
    """Positions in which a seat has to act, each with the way that led there."""
    payoffs: int
    """Pairs of sequences of actions that end the game, but for those that gain nothing."""
    span: tuple[float, float]
    """The least and the most that seat 0 can gain."""
    value: Bounds
    """Lower and upper bound of what seat 0 gains in equilibrium."""
    uniform: float
    """The exploitability of uniform play."""
    steps: int
    """Steps of regret minimisation."""
    seconds_of_walk: float
    """Processor time of the walk through the game, with what had to be compiled."""
    seconds_of_steps: float
    """Processor time of the steps."""

    @property
    def exploitability(self) -> float:
        """What the strategies found lose to best responses, as the mean over both seats."""
        return (self.value[1] - self.value[0]) / 2

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what columns mean."""
        return [
            "Exploitability is the mean loss to a best response over both seats; that of the strategies found is a "
            "share of the range between the least and the most that a seat can gain, that of uniform play is in the "
            "game's rewards. Seconds are those of one core: the walk through the game, and the steps of PCFR+."
        ]

    def records(self) -> list[dict[str, Any]]:
        """One row."""
        return [{"game": self.game, **self.measured(), "exploitability": self.exploitability}]


def find_equilibrium(
    game: str | GameType | Game, *, within: float = WITHIN, progress: Callable[[int, int], None] | None = None
) -> Equilibria:
    """Find strategies of both seats that are `within` a share of the range of returns of an equilibrium, and so bounds
    of its value, by counterfactual regret minimisation (`Solver.equilibrium`); the bounds are exact for the strategies.

    `progress(found, most)` is called with the information sets found. Raises TooLarge for other games than small ones
    of two seats with opposite interests; RuntimeError for a game that declares no events.
    """
    game, began = game_of(game), time.process_time()
    solver = Solver(game, progress)
    walked = time.process_time()
    found = solver.equilibrium(within * (solver.span[1] - solver.span[0]))
    ended = time.process_time()
    return Equilibria(
        **of_game(game, __file__),
        information_sets=solver.information_sets,
        choices=solver.sizes,
        histories=solver.histories,
        payoffs=solver.payoffs,
        span=solver.span,
        value=Bounds(found.low, found.high),
        uniform=solver.exploitability(solver.action_mask / solver.action_mask.sum(1, keepdims=True)),
        steps=found.steps,
        seconds_of_walk=walked - began,
        seconds_of_steps=ended - walked,
    )
