"""What pages show of a game besides its tables, served or not: its first sentence, its rules, the colours."""

from __future__ import annotations

import functools
import re

from backalley.envs.core.drawing.pictures.colours import DARK, LIGHT, Colours
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import paragraphs

_ASIDES = re.compile(
    r" \((?:as by the letter, )?`[^`]*`(?:,? (?:or )?`[^`]*`)*\)|, as by the letter \(`[^`]*`\),?"
    r"|\n\n\| (?:option|preset) \|(?s:.*?)(?=\n\n|\Z)"
)
"""What rules have for those who write options: names in brackets, and tables of them."""
_OF_PICTURES = ("ground", "panel", "middle", "edge", "word", "quiet", "accent", "on_accent")


def colour_rules() -> str:
    """The colours of the page, by the names that `page.css` uses: those of the pictures on it."""

    def rule(shades: Colours) -> str:
        named = {name: getattr(shades, name) for name in _OF_PICTURES} | {"red": shades.signs["H"]}
        return f":root {{ {' '.join(f'--{name}: {shade};' for name, shade in named.items())} }}".replace("_", "-")

    return f"{rule(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {rule(DARK)} }}\n"


@functools.cache
def about(game: Game) -> str:
    """The first sentence of a game's page."""
    page = game.type.folder / "README.md"
    if not page.is_file():
        return ""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|\*", r"\1", page.read_text("utf-8").split("\n\n")[1])
    return " ".join(plain.split()).partition(". ")[0].removesuffix(".") + "."


@functools.cache
def chapters(game: Game) -> list[dict[str, str]]:
    """The rules on a game's page, by paragraph."""
    every = paragraphs(game)
    found = [number for number, text in every.items() if re.match(r"## §\d+ Rules", text)]
    plain = ((number, _ASIDES.sub("", text)) for number, text in every.items())
    return [{"number": number, "text": text} for number, text in plain if number.partition(".")[0] in found]
