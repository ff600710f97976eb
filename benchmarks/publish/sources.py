"""Sources of reports and charts: runs, policies with their learning curves, files and folders of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.policies.policy_file import (
    CURVE_FILE,
    CURVE_JSON,
    CURVE_KIND,
    EVALUATION_FILE,
    JSON_FILE,
    RUN_FILE,
)
from backalley.agents.policies.pretrained import FOLDER
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import check_path

# Every kind of results is known once its file is imported; those of studies: `studies/kinds.py`.
from ..analyse import analysis, sweep  # noqa: F401
from ..cards import growing  # noqa: F401
from ..exact import agent_values, best_play, equilibrium, exact, exploit, walk  # noqa: F401
from ..figures import attacks  # noqa: F401
from ..figures.formatting import Found, options_in_words
from ..figures.result_kinds import KINDS
from ..matches import by_phase, report, tournament  # noqa: F401
from ..rules_to_code import score  # noqa: F401
from ..speed import speed  # noqa: F401
from ..variants import variants  # noqa: F401
from . import curves
from .curves import LearningCurve

_TRAINING = "training"
"""The kind of the file at the end of a run, which holds evaluations."""


class Source(NamedTuple):
    """Something that a report shows."""

    path: Path
    """Where it was found."""
    found: Found
    curve: LearningCurve | None = None
    """Set if `found` is a learning curve."""


def all_sources(paths: Sequence[Path], *, evaluations: bool = True) -> list[Source]:
    """Return all sources at these paths, each under a unique name. Raises what `sources` raises."""
    paths = [check_path(path) for path in paths]
    named = zip(paths, curves.names(paths), strict=True)
    return [one for path, name in named for one in sources(path, name, evaluations=evaluations)]


def sources(path: Path, name: str, *, evaluations: bool = True) -> list[Source]:
    """Return the sources at a path: the folder of a run or of a policy, a file of results, or a folder of such files;
    `name` is the name of its curve. Without `evaluations` only a run's curve is taken. Raises ValueError for anything
    else or a damaged file, and OSError."""
    if path.is_dir() and (path / RUN_FILE).is_file():
        return _of_run(path, name) if evaluations else [_of_curve(path, name)]
    if path.is_dir() and (path / CURVE_JSON).is_file():
        return [_of_curve(path, name)]
    if path.is_dir() and (path / JSON_FILE).is_file():
        raise InvalidValue(f"{path} is a policy without a learning curve; there is nothing of it to show.")
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise InvalidValue(f"{path} is no run, no policy with a learning curve, and no folder of results (JSON).")
        return [one for file in files for one in _of_file(file, file.stem)]
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return _of_file(path, name)


def _of_run(path: Path, name: str) -> list[Source]:
    found = [_of_curve(path, name)] if any((path / file).is_file() for file in (CURVE_JSON, CURVE_FILE)) else []
    if (path / EVALUATION_FILE).is_file():
        found += _of_file(path / EVALUATION_FILE, name)
    if not found:
        raise InvalidValue(f"{path} is a run with neither a learning curve nor an evaluation yet.")
    return found


def _of_curve(path: Path, name: str) -> Source:
    """The curve of a run or of a policy; one that comes with a game is called by what it is, not by its folder."""
    curve = curves.read_curve(path, name)
    if path.parent.name == FOLDER and (path.parent.parent / "game.py").is_file():
        curve = curve._replace(name=", ".join(["policy", *options_in_words(curve.found())]))
    return Source(path, {"kind": CURVE_KIND, "command": curve.command, **curve.found()}, curve)


def _of_file(path: Path, name: str) -> list[Source]:
    found = curves.read_json(path)
    kind = _kind(found)
    if kind == CURVE_KIND:
        return [_of_curve(path, name)]
    if kind == _TRAINING:
        stamp = {key: value for key, value in found.items() if key in ("command", "commit", "date", "machine")}
        reports = found.get("reports", [])
        if not isinstance(reports, list) or any(_kind(one) not in KINDS for one in reports):
            raise InvalidValue(f"{path} is damaged: its reports are no tables.")
        return [Source(path, {**one, **stamp}) for one in reports]
    if kind not in KINDS:
        known = ", ".join([*sorted(KINDS), CURVE_KIND, _TRAINING])
        raise InvalidValue(f"{path} is of the kind {found.get('kind')!r}; a report shows: {known}.")
    with whole([Source(path, found)]):
        return [Source(path, KINDS[kind].read(found))]


def _kind(found: Any) -> str:
    """The kind of a file of results, or of a table in it; an empty word where it has none."""
    kind = found.get("kind") if isinstance(found, dict) else None
    return kind if isinstance(kind, str) else ""


@contextmanager
def whole(files: Sequence[Source]) -> Iterator[None]:
    """Turn the error for a missing entry of a file into a ValueError that names the file."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
        named = ", ".join(dict.fromkeys(str(source.path) for source in files))
        kind = files[0].found["kind"]
        raise InvalidValue(f"{named}: not what a file of the kind {kind!r} holds, {error!r}.") from None


def groups(sources: Sequence[Source]) -> list[list[Source]]:
    """Return files that share a table together, and the others alone."""
    found: dict[Any, list[Source]] = {}
    for number, one in enumerate(sources):
        kind = one.found["kind"]
        same = KINDS[kind].together(one.found)
        found.setdefault(number if same is None else (kind, same), []).append(one)
    return list(found.values())
