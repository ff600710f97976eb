"""Writes the tables that follow from the code into every page: `python -m backalley.envs.core.docs`, and `--check`
where they must be fresh already. `python -m backalley.benchmarks.docs` does this, and writes the measured figures too.

A generated part stands between `<!-- generated: KIND -->` and `<!-- /generated -->`. In a game's page KIND is
`options`, `presets`, `actions`, `observation`, `state` or `bots`; in the top page it is `games`.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from . import durable, record
from . import options as option_rules
from .base import Game
from .catalogue import games, games_root

_PART = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- /generated -->", re.DOTALL)


def _actions(game: Game) -> str:
    lines, number = ["| action | name |", "|---|---|"], 0
    while number < game.num_actions:
        first = game.action_str(number)
        last = number
        # Runs such as "discard 2C" ... "discard AS" take one line.
        while last + 1 < game.num_actions and _stem(game.action_str(last + 1)) == _stem(first) and " " in first:
            last += 1
        if last == number:
            lines.append(f"| {number} | `{first}` |")
        else:
            lines.append(f"| {number}–{last} | `{first}` … `{game.action_str(last)}` |")
        number = last + 1
    return "\n".join(lines)


def _stem(name: str) -> str:
    return name.rpartition(" ")[0]


def _bots(game: Game) -> str:
    bots = list(game.bots.values())
    rows = [f"| `bot:{bot.name}`{' (`bot`)' if bot is bots[-1] else ''} | {bot.doc} |" for bot in bots]
    return "\n".join(["| agent | how it plays |", "|---|---|", *rows])


def _presets(game: Game) -> str:
    rows = []
    for name, preset in game.type.presets.items():
        given = " ".join(f"`{option}={option_rules.typed(value)}`" for option, value in preset.options.items())
        rows.append(f"| `{name}` | {given or 'the defaults'} | {preset.doc} |")
    return "\n".join(["| preset | options | what it is |", "|---|---|---|", *rows])


def _games() -> str:
    lines = ["| game | seats | actions | observation | bots |", "|---|---|---|---|---|"]
    for game in games():
        bots = ", ".join(f"`{name}`" for name in game.bots)
        size = f"{game.observation_size} × {game.observation_base.name}"
        page = f"envs/{game.name}/README.md"
        lines.append(
            f"| [{game.title}]({page}) `{game.id}` | {game.num_seats} | {game.num_actions} | {size} | {bots} |"
        )
    return "\n".join(lines)


GAME_PARTS: dict[str, Callable[[Game], str]] = {
    "options": lambda game: option_rules.table(game.type.Options),
    "presets": _presets,
    "actions": _actions,
    "observation": lambda game: record.table(game.type.Observation, game.options, with_bounds=True),
    "state": lambda game: record.table(game.type.State, game.options, with_bounds=False),
    "bots": _bots,
}


def written(text: str, parts: dict[str, Callable[[], str]], page: Path) -> str:
    """The page with every generated part made anew. Raises ValueError for a part of an unknown kind."""

    def part(found: re.Match[str]) -> str:
        kind = found[1]
        if kind not in parts:
            raise ValueError(f"{page} has a generated part {kind!r}; it can have: {', '.join(parts)}.")
        return f"<!-- generated: {kind} -->\n{parts[kind]()}\n<!-- /generated -->"

    return _PART.sub(part, text)


def parts_of(game: Game) -> dict[str, Callable[[], str]]:
    """What writes each kind of a game's generated parts."""
    return {kind: functools.partial(write, game) for kind, write in GAME_PARTS.items()}


def pages() -> dict[Path, str]:
    """Every page with generated parts, as it should read."""
    found: dict[Path, str] = {}
    for game in games():
        page = game.type.folder / "README.md"
        if page.is_file():
            found[page] = written(page.read_text("utf-8"), parts_of(game), page)
    top = games_root().parent / "README.md"
    if top.is_file():
        found[top] = written(top.read_text("utf-8"), {"games": _games}, top)
    return found


def stale(fresh: Mapping[Path, str | None]) -> list[Path]:
    """Those files that do not read as they should; None stands for one that should not be there."""
    return [file for file, text in fresh.items() if (file.read_text("utf-8") if file.is_file() else None) != text]


def main(fresh: Mapping[Path, str | None], command: str, *, check: bool) -> None:
    """Write these files where they are stale; with `check`, name those, say which command writes them, and exit
    with 1."""
    found = stale(fresh)
    if check:
        for file in found:
            print(f"{file} is not fresh; run {command}.")
        sys.exit(bool(found))
    for file in found:
        text = fresh[file]
        if text is None:
            file.unlink()
        else:
            durable.write_file(file, text.encode())
        print(f"{'deleted' if text is None else 'wrote'} {file}")


if __name__ == "__main__":
    main(pages(), "python -m backalley.envs.core.docs", check="--check" in sys.argv[1:])
