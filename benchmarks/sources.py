"""What reports and charts are made of: runs, policies with their learning curves, files and folders of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.policy_file import CURVE_JSON, JSON_FILE
from backalley.envs.core.reading import check_path

from . import curves
from .cells import Found
from .curves import EVALUATION_FILE, RUN_FILE, LearningCurve

SHOWN = {
    "evaluation": ("strength", "Matches"),
    "tournament": ("cross", "Tournament"),
    "ladder": ("ladder", "Ladder"),
    "cross": ("cross", "Each against each"),
    "methods": ("methods", "Ways to train"),
    "searches": ("searches", "Searches"),
    "crowds": ("crowds", "What a decision costs"),
    "solution": ("exact", "Exact values"),
    "position": ("positions", "Exact values at a position"),
    "agent_values": ("gaps", "Gaps to best play"),
    "exploitability": ("exploitability", "Losses to best replies"),
    "speed": ("speed", "Speed"),
    "endurance": ("endurance", "Played with every promise checked"),
    "throughput": ("throughput", "Throughput of training"),
}
"""For each kind of file the kind of its table (`kinds.KINDS`), and its heading."""
_TRAINING = "training"
"""The kind of the file at the end of a run, which holds evaluations."""


class Source(NamedTuple):
    """Something that a report shows."""

    path: Path
    """Where it was found."""
    found: Found
    curve: LearningCurve | None = None
    """Where `found` is a learning curve."""


def all_sources(paths: Sequence[Path], *, evaluations: bool = True) -> list[Source]:
    """What there is at all these paths, each under a name that tells it from the others. Raises what `sources` does."""
    paths = [check_path(path) for path in paths]
    named = zip(paths, curves.names(paths), strict=True)
    return [one for path, name in named for one in sources(path, name, evaluations=evaluations)]


def sources(path: Path, name: str, *, evaluations: bool = True) -> list[Source]:
    """What there is at a path: the folder of a run or of a policy, a file of results, or a folder of such files; `name`
    is what its curve goes by. Without `evaluations` a run is its curve alone. Raises ValueError in a sentence for what
    is none of these or damaged, OSError."""
    if path.is_dir() and (path / RUN_FILE).is_file():
        return _of_run(path, name) if evaluations else [_of_curve(path, name)]
    if path.is_dir() and (path / CURVE_JSON).is_file():
        return [_of_curve(path, name)]
    if path.is_dir() and (path / JSON_FILE).is_file():
        raise ValueError(f"{path} is a policy without a learning curve; there is nothing of it to show.")
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise ValueError(f"{path} is no run, no policy with a learning curve, and no folder of results (JSON).")
        return [one for file in files for one in _of_file(file, file.stem)]
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return _of_file(path, name)


def _of_run(path: Path, name: str) -> list[Source]:
    found = [_of_curve(path, name)] if any((path / file).is_file() for file in (CURVE_JSON, curves.CURVE_FILE)) else []
    if (path / EVALUATION_FILE).is_file():
        found += _of_file(path / EVALUATION_FILE, name)
    if not found:
        raise ValueError(f"{path} is a run with neither a learning curve nor an evaluation yet.")
    return found


def _of_curve(path: Path, name: str) -> Source:
    curve = curves.read_curve(path, name)
    return Source(path, {"kind": curves.KIND, "command": curve.command, **curve.found()}, curve)


def _of_file(path: Path, name: str) -> list[Source]:
    found = curves.read_json(path)
    kind = _kind(found)
    if kind == curves.KIND:
        return [_of_curve(path, name)]
    if kind == _TRAINING:
        stamp = {key: value for key, value in found.items() if key in ("command", "commit", "date", "machine")}
        reports = found.get("reports", [])
        if not isinstance(reports, list) or any(_kind(one) not in SHOWN for one in reports):
            raise ValueError(f"{path} is damaged: its reports are no tables.")
        return [Source(path, {**one, **stamp}) for one in reports]
    if kind not in SHOWN:
        known = ", ".join([*SHOWN, curves.KIND, _TRAINING])
        raise ValueError(f"{path} is of the kind {found.get('kind')!r}; a report shows: {known}.")
    one = Source(path, found)
    if kind == "tournament":  # its agents go by their names, where those of a cross table have labels
        with whole([one]):
            found["agents"] = [{**agent, "label": agent["name"]} for agent in found["agents"]]
    return [one]


def _kind(found: Any) -> str:
    """The kind of a file of results, or of a table in it; an empty word where it says none."""
    kind = found.get("kind") if isinstance(found, dict) else None
    return kind if isinstance(kind, str) else ""


@contextmanager
def whole(files: Sequence[Source]) -> Iterator[None]:
    """What a file lacks becomes a sentence that names it, as a ValueError."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
        named = ", ".join(dict.fromkeys(str(source.path) for source in files))
        kind = files[0].found["kind"]
        raise ValueError(f"{named}: not what a file of the kind {kind!r} holds, {error!r}.") from None


def groups(sources: Sequence[Source]) -> list[list[Source]]:
    """Evaluations of a game under the same options go together, those of pairs apart from others; other files stand
    alone."""
    found: dict[Any, list[Source]] = {}
    for number, one in enumerate(sources):
        same = (repr(one.found.get("options")), in_pairs(one.found)) if one.found["kind"] == "evaluation" else number
        found.setdefault(same, []).append(one)
    return list(found.values())


def in_pairs(found: Found) -> bool:
    """Whether an evaluation is one agent against another."""
    return len(found.get("agents", ())) == 2 and len(set(found.get("sides", ()))) > 1
