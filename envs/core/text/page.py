"""A game's rules by paragraph, from its page (the README.md beside its game.py)."""

from __future__ import annotations

import re
from pathlib import Path

from backalley.console.errors import InvalidValue, did_you_mean

from ..game.game import Game

_HEADING = re.compile(r"^(#{1,4}) +(?:(§\d+(?:\.\d+)*) +)?(.*)$")
_MEASURED = re.compile(r"<!-- (results|picture|plot|summary|policies)\b.*?<!-- /\1 -->\n?", re.DOTALL)
"""What a page shows of measurements and pictures, which are no rules."""
_MARK = re.compile(r"<!--.*?-->\n?|^```.*?^```\n", re.DOTALL | re.MULTILINE)
"""Marks of generated parts, and examples in code."""
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SHARED = re.compile(r"(§\d+) of\s+\[[^\]]*\]\(([\w./-]+/README\.md)\)")
"""Where a page says that its rules begin on another one: `§1 of [Backhand's page](../backhand/README.md)`."""
_RULES = ("Rules", "Actions")
"""How the headings begin under which a game's rules and its actions stand."""


def paragraphs(game: Game) -> dict[str, str]:
    """Return the numbered paragraphs of a game's page, in Markdown, by their numbers: `§1` is the heading and what
    is before `§1.1`. Those of another page on which its rules begin come first. Raises ValueError for a game
    without a page."""
    found: dict[str, str] = {}
    for number, _, _, text in _sections(game):
        if number:
            found.setdefault(number, text)
    return found


def rules_text(game: Game, paragraph: str | None = None) -> str:
    """Return the rules of a game and the names of its actions, as its page has them, or one paragraph (`§1.3`, `1.3`)
    with those under it. Raises ValueError for a game without a page and for a paragraph that the page does not have."""
    if paragraph is None:
        return "\n\n".join(_rules(game))
    known, number = paragraphs(game), f"§{str(paragraph).strip().lstrip('§').rstrip('.')}"
    if number not in known:
        raise InvalidValue(
            f"The page of {game.name} has no paragraph {str(paragraph)[:40]!r}; it has {', '.join(known)}."
            f"{did_you_mean(number, known)}"
        )
    return "\n\n".join(text for key, text in known.items() if key == number or key.startswith(f"{number}."))


def _rules(game: Game) -> list[str]:
    """The sections that state the rules, each with those under it."""
    chosen, within = [], 0
    for _, level, title, text in _sections(game):
        if within and level > within:
            chosen.append(text)
            continue
        within = level if title.startswith(_RULES) else 0
        if within or level == 1:
            chosen.append(text)
    return chosen


def _sections(game: Game) -> list[tuple[str, int, str, str]]:
    """Each section of a game's page: its number if it has one, the level and the words of its heading, and its text, to
    the next heading. Before them stand the sections of other pages on which its rules begin."""
    page = game.type.folder / "README.md"
    if not page.is_file():
        raise InvalidValue(f"{game.name} has no page: there is no README.md beside its game.py.")
    own = _split(page)
    shared = [
        section
        for number, place in _SHARED.findall(own[0][3])
        for section in _split(page.parent / place)
        if section[0] == number or section[0].startswith(f"{number}.")
    ]
    every = [own[0], *shared, *own[1:]]
    return [(number, level, title, game.type.reworded(_LINK.sub(r"\1", text))) for number, level, title, text in every]


def _split(page: Path) -> list[tuple[str, int, str, str]]:
    text = _MARK.sub("", _MEASURED.sub("", page.read_text("utf-8")))
    found: list[tuple[str, int, str, list[str]]] = []
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            found.append((heading[2] or "", len(heading[1]), heading[3], [line]))
        elif found:
            found[-1][3].append(line)
    if not found:
        raise InvalidValue(f"{page} has no heading.")
    return [(number, level, title, "\n".join(lines).strip()) for number, level, title, lines in found]
