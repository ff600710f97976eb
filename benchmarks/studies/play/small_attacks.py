"""What attackers find of what a best response gains exactly, in Leduc poker and Liar's Dice."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.envs.core.game.game import Game
from backalley.training.attack.attack import attack

from ...exact.tree import tree as tree_of
from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ..runner import Progress, count, quiet, study

ATTACKERS = ("table", "ppo")
DEALS = 40
"""An attack's deals, which tell nothing here: what its responses gain is reckoned."""
_COLUMNS: Columns = {
    "game": "{game}",
    "agent": "{agent}",
    "best response gains": "{exact:+.4f}",
    "attacker": "{attacker}",
    "its response gains": "{gain:+.4f}",
    "share": lambda row: f"{100 * row['gain'] / row['exact']:.0f} %",
    "decisions": "{decisions:,}",
    "processor seconds": "{processor_seconds:.0f}",
}


class SmallAttacks(Kept, kind="small_attacks", heading="Attacks", tables={"small_attacks": lines(_COLUMNS, "rows")}):
    """What attackers find where the most that can be found is known."""

    in_title = frozenset()

    @property
    def title(self) -> str:
        """What came of it."""
        least = min(max(one["gain"] / row["exact"] for one in self._of(row)) for row in self.found["rows"])
        return f"The best attacker finds at least {100 * least:.0f} % of what a best response gains."

    def _of(self, row: Found) -> list[Found]:
        return [one for one in self.found["rows"] if (one["game"], one["agent"]) == (row["game"], row["agent"])]


@study("small-attacks", SmallAttacks, count("--iterations", 10, "Of CFR."), count("--decisions", 1_000_000))
def small_attacks(iterations: int, decisions: int, *, progress: Progress = quiet) -> Found:
    """Attack uniform play, and what OpenSpiel's CFR learned in its own Leduc poker and Liar's Dice. Needs OpenSpiel."""
    import pyspiel

    from backalley.openspiel import SpielAgent

    from .openspiel_algorithms import DICE, LEDUC, position

    rows: list[Found] = []
    for number, (path, name, dealt) in enumerate(((LEDUC, "leduc_poker", "card"), (DICE, "liars_dice", "die"))):
        tree, theirs = tree_of(path), pyspiel.load_game(name)
        solver = pyspiel.CFRSolver(theirs)
        for _ in range(iterations):
            solver.evaluate_and_update_policy()
        learned = SpielAgent(
            solver.tabular_average_policy(), tree.game, name=f"CFR, {iterations:,}", position=position(theirs, dealt)
        )
        for victim in (RandomAgent(), learned):
            progress(number, 2, f"{tree.game.title}, {victim.name}")
            rows += _attacked(tree, victim, decisions)
    return {"rows": rows}


def _attacked(tree: Any, victim: Agent, decisions: int) -> Iterator[Found]:
    """What each attacker's last response gains, exactly, and what a best response does."""
    game: Game = tree.game
    plays = tree.strategy(victim)
    seats, acting = range(game.num_seats), tree.set_seat[tree.set_of_choice]
    about = {"game": game.title, "agent": victim.name}
    with tempfile.TemporaryDirectory() as place:
        found = attack(
            game, victim, attackers=ATTACKERS, decisions=decisions * len(ATTACKERS), deals=DEALS, out=Path(place) / "a"
        )
        for one in found.attackers:
            last = one.points[-1]
            answer = tree.strategy(Path(place) / "a" / last.policy)
            gains = [tree.expected(np.where(acting == seat, answer, plays))[seat] for seat in seats]
            yield {
                **about,
                "exact": tree.nash_conv(plays) / game.num_seats,
                "attacker": one.name,
                "gain": float(np.mean(gains)),
                "decisions": last.decisions,
                "processor_seconds": last.processor_seconds,
            }
