"""The tables of pages that follow from the code. `backalley dev docs` writes them, with measured results.

A generated part is between `<!-- generated: KIND -->` and `<!-- /generated -->`. In a game's page KIND is `options`,
`presets`, `actions`, `observation`, `state`, `events` or `bots`; in `docs/games.md` it is `games`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from backalley.console.errors import InvalidValue

from ..game.catalogue import games, games_root
from ..game.game import Game
from ..rules import options as option_rules
from ..rules import record
from ..rules.events import ACTION, OWN
from . import durable

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
        page = f"../envs/{game.name}/README.md"
        lines.append(
            f"| [{game.title}]({page}) `{game.id}` | {game.num_seats} | {game.num_actions} | {size} | {bots} |"
        )
    return "\n".join(lines)


def _events(game: Game) -> str:
    lines = ["| kind | event | number | meaning |", "|---|---|---|---|"]
    first = ("action", "its number", "an action"), ("part of an action", "its first number", "what others see of it")
    lines += [f"| {kind} | {name} | {what} | {said} |" for kind, (name, what, said) in enumerate(first, ACTION)]
    declared = () if game.type.events is None else game.type.events.kinds
    for kind, each in enumerate(declared, OWN):
        named = () if each.what == "card" else each.words
        words = ", ".join(f"{number} {word}" for number, word in enumerate(named))
        lines.append(f"| {kind} | {each.name} | {words or each.what} | {each.meaning} |")
    return "\n".join(lines)


GAME_PARTS: dict[str, Callable[[Game], str]] = {
    "options": lambda game: option_rules.table(game.type.Options),
    "presets": _presets,
    "actions": _actions,
    "observation": lambda game: record.table(game.type.Observation, game.options, with_bounds=True),
    "state": lambda game: record.table(game.type.State, game.options, with_bounds=False),
    "events": _events,
    "bots": _bots,
}


def written(text: str, parts: dict[str, Callable[[], str]], page: Path) -> str:
    """Return the page with every generated part made again. Raises ValueError for a part of an unknown kind."""

    def part(found: re.Match[str]) -> str:
        kind = found[1]
        if kind not in parts:
            raise InvalidValue(f"{page} has a generated part {kind!r}; it can have: {', '.join(parts)}.")
        return f"<!-- generated: {kind} -->\n{parts[kind]()}\n<!-- /generated -->"

    return _PART.sub(part, text)


def parts_of(game: Game) -> dict[str, Callable[[], str]]:
    """Return the functions that write a game's generated parts, by kind."""
    return {kind: functools.partial(write, game) for kind, write in GAME_PARTS.items()}


def pages() -> dict[Path, str]:
    """Return every page with generated parts, as it should read."""
    found: dict[Path, str] = {}
    for game in games():
        page = game.type.folder / "README.md"
        if page.is_file():
            found[page] = written(page.read_text("utf-8"), parts_of(game), page)
    every = games_root().parent / "docs" / "games.md"
    if every.is_file():
        found[every] = written(every.read_text("utf-8"), {"games": _games}, every)
    return found


def stale(fresh: Mapping[Path, str | None]) -> list[Path]:
    """Return the files that do not read as they should; None means a file that should not exist."""
    return [file for file, text in fresh.items() if (file.read_text("utf-8") if file.is_file() else None) != text]


def write(fresh: Mapping[Path, str | None]) -> Iterator[str]:
    """Write these files where they are stale, and say which."""
    for file in stale(fresh):
        text = fresh[file]
        if text is None:
            file.unlink()
        else:
            durable.write_file(file, text.encode())
        yield f"{'deleted' if text is None else 'wrote'} {file}"
