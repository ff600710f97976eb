"""The exact solution of chemin de fer for one to eight packs, and with totals for infinitely many."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from backalley.envs.baccarat.odds import chemin as solved
from backalley.envs.core.game.catalogue import game as game_of

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ..runner import Progress, quiet, study

MODELS: tuple[tuple[Any, str], ...] = (("inf", "total"), *((decks, "composition") for decks in range(1, 9)))
"""Packs, and what the Banker sees."""


def _exact(words: str) -> str:
    return f"{words} = {float(Fraction(words)):.10f}"


_COLUMNS: Columns = {
    "packs": "{decks}",
    "Banker sees": "{banker_sees}",
    "Player draws to a five": lambda row: _exact(row["draws"]),
    "Banker mixes, no third card dealt": lambda row: f"on {row['mixed']}",
    "draws there": lambda row: _exact(row["mixed_draws"]),
    "value to the Player": lambda row: _exact(row["value"]),
    "if fives always draw": lambda row: f"{float(Fraction(row['always_draws'])):.10f}",
    "if fives always stand": lambda row: f"{float(Fraction(row['always_stands'])):.10f}",
}


class ChemindeFer(Kept, kind="chemin", heading="Chemin de fer, solved", tables={"chemin": lines(_COLUMNS, "rows")}):
    """Equilibria of chemin de fer, as exact fractions."""

    says = "Chemin de fer: the Player chooses on a five, the Banker on everything"


@study("chemin", ChemindeFer, of=["baccarat"])
def chemin(*, progress: Progress = quiet) -> Found:
    """Solve chemin de fer exactly, for one to eight packs and with totals for infinitely many."""
    rows = []
    for place, (decks, sees) in enumerate(MODELS):
        progress(place, len(MODELS), f"{decks} packs")
        found = solved(game_of("baccarat", mode="chemin", decks=decks, banker_sees=sees))
        best = found.equilibrium()
        assert best.mixed is not None
        low, high, _ = best.mixed
        shares = {
            "draws": best.draws,
            "mixed_draws": best.mixed_draws,
            "value": best.value,
            "always_draws": found.value(Fraction(1)),
            "always_stands": found.value(Fraction(0)),
        }
        mixed = f"{low}" if high < 0 else f"{low} and {high}"
        rows.append({"decks": str(decks), "banker_sees": sees, "mixed": mixed} | {k: str(v) for k, v in shares.items()})
    return {"rows": rows}
