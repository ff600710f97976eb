"""Colours of pictures: light and dark, suits in two colours or in four."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from backalley.console.errors import InvalidValue


class Colours(NamedTuple):
    """What is drawn in which colour."""

    ground: str
    panel: str
    middle: str
    edge: str
    word: str
    quiet: str
    accent: str
    on_accent: str
    card: str
    card_faded: str
    card_edge: str
    card_note: str
    back: str
    back_sign: str
    black: str
    red: str
    red_joker: str
    clubs: str
    diamonds: str
    signs: Mapping[str, str]
    """Colours of suits among words; others are drawn like the words."""

    def suit(self, suit: str) -> str:
        """The colour of a suit; of the little joker, black."""
        return {"C": self.clubs, "D": self.diamonds, "H": self.red}.get(suit, self.black)


LIGHT = Colours(
    ground="#f4f1ea", panel="#ffffff", middle="#dfeadf", edge="#d5cfc2", word="#22262b", quiet="#5d646d",
    accent="#b4460f", on_accent="#ffffff", card="#ffffff", card_faded="#dcdcd8", card_edge="#8d939b",
    card_note="#5d646d", back="#2f5d8a", back_sign="#9dbbd8", black="#15181c", red="#c8102e", red_joker="#c8102e",
    clubs="#15181c", diamonds="#c8102e", signs={"D": "#c8102e", "H": "#c8102e"},
)  # fmt: skip
DARK = LIGHT._replace(
    ground="#15191e", panel="#20262d", middle="#1d3229", edge="#39424c", word="#eceff2", quiet="#a5afba",
    accent="#ff9e5e", on_accent="#1b1206", card="#f6f4ee", card_faded="#c4c3bc", card_edge="#0b0d10",
    signs={"D": "#ff8593", "H": "#ff8593"},
)  # fmt: skip
THEMES = {"light": LIGHT, "dark": DARK}
_FOUR = {"light": {"C": "#0a7a34", "D": "#1658c9"}, "dark": {"C": "#5ccb89", "D": "#8ab6ff"}}
"""Signs among words, where suits have four colours."""


def colours(theme: str, four_colours: bool) -> Colours:
    """The colours of a theme; with `four_colours` clubs are green and diamonds blue. Raises ValueError for no theme."""
    if theme not in THEMES:
        raise InvalidValue(f"theme is {theme!r}; it is one of {', '.join(map(repr, THEMES))}.")
    found = THEMES[theme]
    if not four_colours:
        return found
    return found._replace(clubs="#0a7a34", diamonds="#1658c9", signs={**found.signs, **_FOUR[theme]})
