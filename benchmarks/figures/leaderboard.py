"""Agents in ladders and tables of all against all: their labels, and how they were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .formatting import Found

MET = "†"
"""The mark of a policy that met this bot in training."""


def label(row: Found) -> str:
    """Return an agent's label: its name as one types it, or its own label."""
    return f"`{row['label']}`" if "made" not in row or row["label"].startswith("policy:") else row["label"]


def met(row: Found, against: str) -> bool:
    """Return whether the policy of a row met a bot in training."""
    return against.removeprefix("bot:") in row.get("met", ())


def notes(files: Sequence[Found]) -> list[str]:
    """Return what a reader of a ladder or a cross table should know of its agents, in sentences."""
    rows = [row for found in files for row in _rows(found)]
    said = [f"{label(row)}: {row['note']}" for row in rows if row.get("note")]
    if any(map(_has_marks, files)):
        said.append(f"{MET} The policy of this row met that bot in training.")
    return list(dict.fromkeys(said))


def _has_marks(found: Found) -> bool:
    """Whether a policy of a table met somebody there in training."""
    if "tables" in found:
        return any(met(row, table["against"]) for table in found["tables"] for row in table["rows"])
    labels = [row["label"] for row in found["agents"]]
    return any(met(row, label) for row in found["agents"] for label in labels)


def makers(files: Sequence[Found]) -> list[str]:
    """Return the commands that made the policies of these tables."""
    return [row["made"] for found in files for row in _rows(found) if "made" in row]


def _rows(found: Found) -> Iterable[Found]:
    if "tables" in found:
        return (row for table in found["tables"] for row in table["rows"])
    rows: Iterable[Found] = found["agents"]
    return rows
