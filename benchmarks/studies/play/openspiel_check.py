"""Calibration: what OpenSpiel's algorithms find in our games, and in OpenSpiel's own where it has the same."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ..runner import Progress, count, quiet, study

SAME = 1e-9
"""The greatest difference that counts as none."""
_VALUES: Columns = {
    "game": "{game}",
    "measured": "{what}",
    "here": "{ours:.9f}",
    "OpenSpiel's own": "{theirs:.9f}",
    "difference": lambda row: f"{abs(row['ours'] - row['theirs']):.0e}",
}
_ALGORITHMS: Columns = {
    "game": "{game}",
    "method": "{method}",
    "did": "{did}",
    "measured": "{what}",
    "before": "{before:+.3f}",
    "after": "{after:+.3f}",
    "seconds": "{seconds:.1f}",
}


class OpenSpielCheck(
    Kept,
    kind="openspiel",
    heading="OpenSpiel",
    tables={"openspiel": lines(_VALUES, "values"), "openspiel_algorithms": lines(_ALGORITHMS, "algorithms")},
):
    """What OpenSpiel's algorithms find in our games."""

    in_title = frozenset()
    brief = frozenset({"openspiel_algorithms"})

    @property
    def title(self) -> str:
        """What came of it."""
        agree = "Our Kuhn and Leduc poker and Liar's Dice agree with OpenSpiel's."
        return agree if self.kept else "Our games DIFFER from OpenSpiel's."

    @property
    def kept(self) -> bool:
        """Whether all values agree."""
        return all(abs(row["ours"] - row["theirs"]) <= SAME for row in self.found["values"])


@study("openspiel", OpenSpielCheck, count("--iterations", 100, "Of CFR, in each game."))
def openspiel_check(iterations: int, *, progress: Progress = quiet) -> Found:
    """Compare Kuhn and Leduc poker and Liar's Dice with OpenSpiel's, and run its algorithms. Needs PyTorch, dm-tree."""
    from .openspiel_algorithms import steps

    values: list[dict[str, Any]] = []
    done: list[dict[str, Any]] = []
    every = steps(iterations)
    for number, step in enumerate(every):
        progress(number, len(every), "OpenSpiel")
        for row in step:
            (values if "ours" in row else done).append(row)
    return {"values": values, "algorithms": done, "open_spiel": metadata.version("open_spiel")}
