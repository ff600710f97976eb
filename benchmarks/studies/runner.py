"""What the studies share: a measurement becomes a result with its machine and commit; rows that a file already has are
not made again; and programs of the guides are run as a reader would."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of

from ..figures import results
from ..figures.formatting import Found
from ..figures.result_kinds import Kept

Progress = Callable[[float, float, str], None]
"""Takes the work done, all work, and some words."""
R = TypeVar("R", bound=Kept)
_SAME = ("kind", "game", "options", "processor_seconds")
"""What rows of one file have in common."""
_GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"


def quiet(done: float, total: float, words: str = "") -> None:
    """Show no progress."""


def finds(kind: type[R], *names: str) -> Callable[[Callable[..., Found]], Callable[..., R]]:
    """Turn a function that measures into one that returns a result of `kind`, stamped, with the `command` that runs it
    again. What was measured are the argument `game`, which may be a name, or `games`; else the games of those names."""

    def of(measure: Callable[..., Found]) -> Callable[..., R]:
        signature = inspect.signature(measure)

        @functools.wraps(measure)
        def measured(*given: Any, command: str = "", **more: Any) -> R:
            there = signature.bind(*given, **more)
            about: Found = {"kind": kind.kind, "command": command}
            games = there.arguments.get("games", names)
            if "game" in there.arguments:
                game = there.arguments["game"] = game_of(there.arguments["game"])
                games, about = [game], {**about, "game": game.id, "options": game.changed_options}
            found = measure(*there.args, **there.kwargs)
            stamp = results.stamp(inspect.getfile(measure), *map(game_of, games))
            # A file that is whole already says when it was measured, but not how it was asked for now.
            return kind({**about, **stamp, **found, "command": command})

        return measured

    return of


def kept_rows(path: Path | None, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a file of results; none where there is no file. Raises InvalidValue where it holds something
    else than `about`."""
    if path is None or not path.exists():
        return []
    try:
        found = read_json(path)
        other = next((name for name in _SAME if found[name] != about[name]), "")
        rows: list[dict[str, Any]] = [] if other else found["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidValue(f"{path} holds no {about['kind']}; move it away, or name another.") from None
    if other:
        raise InvalidValue(f"{path} has {other} {found[other]!r}, not {about[other]!r}; move it away, or name another.")
    return rows


def code_of_the_guide(program: str = "ppo.py", page: str = "ppo.md") -> str:
    """Return a program of a guide: the example after its name. Raises InvalidValue outside a checkout, which has the
    pages."""
    path = _GUIDES / page
    if not path.is_file():
        raise InvalidValue(f"There is no {path}: only a checkout of the repository has the guide.")
    after = rf"`{re.escape(program)}`:\n\n(?:<!-- needs: [\w.]+ -->\n)?```python\n(.*?)```"
    (code,) = re.findall(after, path.read_text("utf-8"), re.DOTALL)
    return str(code)


def program_of_the_guide(program: str = "ppo.py", page: str = "ppo.md") -> dict[str, Any]:
    """Run a program of a guide; return its names."""
    scope: dict[str, Any] = {"__name__": program.removesuffix(".py")}
    exec(compile(code_of_the_guide(program, page), program, "exec", dont_inherit=True), scope)
    return scope
