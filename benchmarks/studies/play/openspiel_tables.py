"""Tables of the check against OpenSpiel; `openspiel_check.py` makes it."""

from __future__ import annotations

from collections.abc import Iterator

from ...figures.formatting import Line
from ...figures.result_kinds import Files, Kept

SAME = 1e-9
"""The greatest difference that counts as none."""


def _values(files: Files) -> Iterator[Line]:
    """Kuhn and Leduc poker through the adapter, and OpenSpiel's own."""
    for found in files:
        for row in found["values"]:
            yield {
                "game": row["game"],
                "measured": row["what"],
                "through the adapter": f"{row['ours']:.9f}",
                "OpenSpiel's own": f"{row['theirs']:.9f}",
                "difference": f"{abs(row['ours'] - row['theirs']):.0e}",
            }


def _algorithms(files: Files) -> Iterator[Line]:
    """What OpenSpiel's algorithms reached, and in how many seconds."""
    for found in files:
        for row in found["algorithms"]:
            yield {
                "game": row["game"],
                "method": row["method"],
                "did": row["did"],
                "measured": row["what"],
                "before": f"{row['before']:+.3f}",
                "after": f"{row['after']:+.3f}",
                "seconds": f"{row['seconds']:.1f}",
            }


class OpenSpielCheck(
    Kept, kind="openspiel", heading="OpenSpiel", tables={"openspiel": _values, "openspiel_algorithms": _algorithms}
):
    """What OpenSpiel's algorithms find in our games."""

    in_title = frozenset()
    brief = frozenset({"openspiel_algorithms"})

    @property
    def title(self) -> str:
        """What came of it."""
        return "Our Kuhn and Leduc poker agree with OpenSpiel's." if self.kept else "Our games DIFFER from OpenSpiel's."

    @property
    def kept(self) -> bool:
        """Whether all values agree."""
        return all(abs(row["ours"] - row["theirs"]) <= SAME for row in self.found["values"])
