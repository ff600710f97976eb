"""Learning curves on disk: `curve.json` beside a policy, and `curve.csv` in the folder of an unfinished run."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.policies.policy_file import CURVE_FILE, CURVE_JSON, CURVE_KIND, RUN_FILE
from backalley.console.errors import InvalidValue, one_line
from backalley.envs.core.files import reading

from ..figures.formatting import Found, bound
from ..figures.stats import Estimate

ACROSS = ("seconds", "processor_seconds", "decisions", "samples")
"""Horizontal axes of a curve; curves of earlier versions have no processor seconds."""
MEASURES = ("win_share", "mean_return", "lead")
"""Vertical axes: share of wins, mean return, and its lead over the opponent's on the same decks."""


class LearningCurve(NamedTuple):
    """A policy's strength against one opponent while it was trained."""

    name: str
    """Its name in a picture."""
    game: str
    options: Mapping[str, Any]
    opponent: str
    deals: int | None
    """Deals of each point; None where that is not known."""
    command: str
    points: Sequence[Mapping[str, float]]

    def found(self) -> Found:
        """Return game and options, in the form of files of results."""
        return {"game": self.game, "options": self.options}

    def series(self, measure: str, across: str) -> list[tuple[float, Estimate]]:
        """Return a measure against time or experience, in order. Raises ValueError if the curve does not have it."""
        wanted = (across, measure, f"{measure}_low", f"{measure}_high")
        lacking = next((name for name in wanted for point in self.points if name not in point), None)
        if lacking:
            raise InvalidValue(f"The curve of {self.name} has no {lacking}; there are: {', '.join(self.points[0])}.")
        rows = [[point[name] for name in wanted] for point in self.points]
        return sorted((row[0], Estimate(*row[1:])) for row in rows)


def names(paths: Sequence[Path]) -> list[str]:
    """Return short names of paths: as many of the last parts as distinguish each from the others."""
    whole = [tuple(map(one_line, Path(os.path.realpath(path)).parts)) for path in paths]
    found = []
    for one in whole:
        others = [other for other in whole if other != one]
        enough = (n for n in range(1, len(one)) if all(other[-n:] != one[-n:] for other in others))
        found.append("/".join(one[-next(enough, len(one)) :]))
    return found


def read_json(path: Path) -> dict[str, Any]:
    """Return a file of results. Raises ValueError for another file, OSError for one that cannot be read."""
    try:
        found = reading.read_json(path)
    except ValueError as error:
        raise InvalidValue(f"{path} holds no results: {error}.") from None
    if not isinstance(found, dict):
        raise InvalidValue(f"{path} holds no results: its JSON is not an object.")
    return found


def read_curve(path: Path, name: str) -> LearningCurve:
    """Return the learning curve of a run's folder, a policy's folder, or a `curve.json`. Raises ValueError where there
    is none or it is damaged; OSError where it cannot be read."""
    file = path / CURVE_JSON if path.is_dir() else path
    if file.is_file():
        return curve_of(read_json(file), file, name)
    if path.is_dir() and (path / CURVE_FILE).is_file() and (path / RUN_FILE).is_file():
        return _unfinished(path, name)
    if path.exists():
        raise InvalidValue(
            f"{path} holds no learning curve: neither {CURVE_JSON}, nor {CURVE_FILE} and {RUN_FILE} as a run has them."
        )
    raise FileNotFoundError(f"There is no {path}.")


def curve_of(found: Mapping[str, Any], file: Path, name: str) -> LearningCurve:
    """Return the curve in a file. Raises ValueError for another kind, or a damaged one."""
    if found.get("kind") != CURVE_KIND:
        raise InvalidValue(f"{file} is of the kind {found.get('kind')!r}; a curve's is {CURVE_KIND!r}.")
    try:
        made = LearningCurve(
            name, found["game"], found["options"], found["opponent"], found["deals"], found["command"],
            [_point(one) for one in found["points"]],
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidValue(f"{file} is no whole learning curve: {error!r}.") from None
    return _checked(made, file)


def _unfinished(run: Path, name: str) -> LearningCurve:
    """The curve of an unfinished or stopped run: its points so far."""
    found, file = read_json(run / RUN_FILE), run / CURVE_FILE
    try:
        game = bound(found)
        opponent = "its best bot" if game is None else BotAgent(game).name if game.bots else RandomAgent().name
        lines = reading.file_text(file, reading.JSON_BYTES).splitlines()
        points = [_point(row) for row in csv.DictReader(lines)]
        made = LearningCurve(name, found["game"], found["options"], opponent, None, found["command"], points)
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as error:
        raise InvalidValue(f"{run} is no whole run: {error!r}.") from None
    return _checked(made, file)


def _point(row: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items()}


_TYPES = {"game": str, "options": Mapping, "opponent": str, "command": str}


def _checked(curve: LearningCurve, file: Path) -> LearningCurve:
    for name, kind in _TYPES.items():
        if not isinstance(getattr(curve, name), kind):
            raise InvalidValue(f"{file} is no whole learning curve: its {name} is {getattr(curve, name)!r}.")
    if not curve.points:
        raise InvalidValue(f"{file} has no points yet; the first comes after `run.curve_every` seconds of training.")
    if not all(math.isfinite(value) for point in curve.points for value in point.values()):
        raise InvalidValue(f"{file} is damaged: a point of it is no finite number.")
    return curve
