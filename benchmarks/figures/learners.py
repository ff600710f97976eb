"""Tables of learning algorithms by exact exploitability; `training/compare/learners.py` measures them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .charts import Dots, dots
from .formatting import Found, Line, title, with_options
from .result_kinds import Files, Kept
from .stats import Estimate


def _of(found: Found, learner: str) -> list[Found]:
    return [row for row in found["rows"] if row["learner"] == learner]


def _names(found: Found) -> list[str]:
    return list(dict.fromkeys(row["learner"] for row in found["rows"]))


def _spread(losses: Sequence[float]) -> str:
    """The mean, and the standard deviation of the seeds in brackets."""
    shown = f"{float(np.mean(losses)):.4f}"
    return f"{shown} ({float(np.std(losses, ddof=1)):.4f})" if len(losses) > 1 else shown


def _learners(files: Files) -> Iterator[Line]:
    """What the policies of each learner lose to a best response, at equal processor time."""
    for found in files:
        shares = [f"after {share:g} of the time" for share in found["marks"][:-1]]
        still = dict.fromkeys(["seeds", *shares], "")
        yield {"game": with_options(found), "learner": "uniform play", **still, "at the end": f"{found['uniform']:.4f}"}
        for name in _names(found):
            rows = _of(found, name)
            losses = np.array([[point["mean_loss"] for point in row["points"]] for row in rows])
            seconds = [point["processor_seconds"] for point in rows[0]["points"]]
            pace = np.mean([row["decisions"] for row in rows]) / found["processor_seconds"]
            yield {
                "game": with_options(found),
                "learner": f"`{name}`",
                "seeds": f"{len(rows)}",
                **{share: _spread(losses[:, k]) for k, share in enumerate(shares)},
                "at the end": _spread(losses[:, -1]),
                "processor seconds": f"{seconds[-1]:.0f}",
                "decisions a second": f"{pace:,.0f}",
            }


class Learners(
    Kept,
    kind="learners",
    heading="Learners by exploitability",
    tables={"learners": _learners},
    made_by="backalley dev learners",
):
    """Learning algorithms beside each other in a game that is small enough to compute exploitability."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Notes for readers, in sentences."""
        return [
            "The figures are what a policy loses to a best response, the mean over both seats in the game's rewards "
            "(half of NashConv); exact. They are means over training seeds, with the standard deviation of the seeds "
            "in brackets."
        ]

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """The final losses; lines reach from the best seed to the worst."""
        for found in files:
            ends = {name: [row["points"][-1]["mean_loss"] for row in _of(found, name)] for name in _names(found)}
            rows = [(name, Estimate(float(np.mean(all_)), min(all_), max(all_))) for name, all_ in ends.items()]
            about = f"After {found['processor_seconds']:g} s of processor time; lines reach from best to worst seed."
            yield dots(f"{title(found)}: learners by exploitability", about, "loss to a best response", rows)
