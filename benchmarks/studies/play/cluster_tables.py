"""Tables of the check of a cluster; `cluster_check.py` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backalley.cluster.work import Sizes

from ...figures.formatting import Line
from ...figures.result_kinds import Files, Kept

_CORES = 64
"""The cores of a machine."""


def _checks(files: Files) -> Iterator[Line]:
    """What was done on four nodes, and whether it was right."""
    for found in files:
        for row in found["checks"]:
            yield {"check": row["check"], "seconds": f"{row['seconds']:.0f}", "kept": "yes" if row["kept"] else "NO"}


def _measures(files: Files) -> Iterator[Line]:
    """What a task costs, and what a core gives."""
    for found in files:
        for row in found["measures"]:
            yield {"measured": row["what"], "value": row["shown"]}


def by_name(found: Any) -> dict[str, float]:
    """Return the measures of a file by their names."""
    return {row["name"]: row["value"] for row in found["measures"]}


def _hundred(files: Files) -> Iterator[Line]:
    """What one, ten and a hundred machines of 64 cores would give, worked out from the measures."""
    for found in files:
        value = by_name(found)
        for machines in (1, 10, 100):
            cores = _CORES * machines
            most = Sizes(1).result_bytes / value["bytes_a_deal"] / value["deals_a_core_second"]
            seconds = min(max(found["range_seconds"], cores / found["tasks_a_second_aim"]), most)
            yield {
                "machines of 64 cores": f"{machines}",
                "seconds of a range": f"{seconds:.0f}",
                "tasks a second": f"{cores / seconds:,.0f}",
                "share of what the head can hand out": f"{100 * cores / seconds / value['tasks_a_second']:.0f} %",
                "deals of `search:20` a second": f"{cores * value['deals_a_core_second']:,.0f}",
                "bytes to the head a second": f"{cores * value['deals_a_core_second'] * value['bytes_a_deal']:,.0f}",
                "training runs at the same time": f"{machines}",
            }


def _learners(files: Files) -> Iterator[Line]:
    """How many cores could make targets for one core that learns."""
    for found in files:
        for row in found["learners"]:
            yield {
                "game": f"`{row['game']}`",
                "targets that one core makes a second": f"{row['made']:,.0f}",
                "targets that one core learns from a second": f"{row['learned']:,.0f}",
                "cores that keep one learning core busy": f"{row['learned'] / row['made']:.1f}",
            }


class ClusterCheck(
    Kept,
    kind="cluster",
    heading="A cluster of four nodes",
    tables={
        "cluster": _checks,
        "cluster_measures": _measures,
        "cluster_hundred": _hundred,
        "cluster_learners": _learners,
    },
):
    """What was checked on a Ray of four local nodes, and what was measured there."""

    in_title = frozenset()
    brief = frozenset({"cluster_measures", "cluster_hundred", "cluster_learners"})

    @property
    def title(self) -> str:
        """What came of it."""
        kept = all(row["kept"] for row in self.found["checks"])
        return "Four nodes on one machine: every promise was kept." if kept else "A promise was BROKEN."

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(row["kept"] for row in self.found["checks"])
