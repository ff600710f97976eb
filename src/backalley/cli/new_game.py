"""`backalley new-game NAME DIR`: write a small complete game from `template/`, to begin one's own."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path
from typing import Any

from backalley.console.errors import InvalidValue
from backalley.envs.core.files import docs, durable
from backalley.envs.core.files.playthrough import make
from backalley.envs.core.game.catalogue import game_names, register_game

TEMPLATES = Path(__file__).parents[1] / "template"
_OTHER_OPTIONS: dict[str, dict[str, Any]] = {"small": {"fold_costs": 0.25}, "trick": {"hand_size": 3}}
"""The templates, and the other options of one of their first playthroughs."""


class NewGameError(InvalidValue):
    """A name or a place that a game cannot have; the message says why."""


def new_game(name: str, folder: Path, template: str = "small") -> Path:
    """Write a template, "small" or "trick", as the package `folder/name`, with its page's tables and three
    playthroughs; return its path. Raises NewGameError, with nothing written; OSError where the place cannot be written
    to."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise NewGameError(f"The name is {name!r}; a game is named like a Python module: small letters, digits and _.")
    if name in game_names() or name in sys.stdlib_module_names:
        what = "a game" if name in game_names() else "a module of Python's"
        raise NewGameError(f"There is {what} named {name!r}; take another name.")
    place = folder / name
    if place.exists():
        raise NewGameError(f"{place} is there already; name another game, or another folder.")
    title = name.replace("_", " ").title()
    texts = {
        path.name: path.read_text("utf-8").replace("Template", title).replace("template", name)
        for path in sorted((TEMPLATES / template).iterdir())
        if path.suffix in (".py", ".toml", ".md")
    }
    durable.write_folder(place, {file: text.encode() for file, text in texts.items()})
    sys.path.insert(0, str(folder.resolve()))
    try:
        made = register_game(f"{name}.game").bind()
    finally:
        sys.path.pop(0)
    for seed, bot, given in ((1, None, {}), (2, made.type.bots[-1].name, {}), (3, None, _OTHER_OPTIONS[template])):
        make(made.type.bind(given), seed, bot)
    page = place / "README.md"
    durable.write_file(page, docs.written(texts["README.md"], docs.parts_of(made), page).encode())
    return place
