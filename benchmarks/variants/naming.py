"""Other words for a game: its title, suits, ranks, actions and terms, one for one and the same in every text.

Numbers keep their names, and so do options and their choices: they are identifiers of the interface.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import Any

_SUITS = ("club", "diamond", "heart", "spade")
_RANKS = ("jack", "queen", "king", "ace")
_TERMS = (
    *("trump", "trick", "stub", "stock", "brisque", "joker", "bust", "bid", "pass", "pitch", "bezique", "baccarat"),
    *("backhand", "poker", "duel", "killer", "bridge", "missouri", "buffalo", "bayou", "twenty-one", "smudge"),
    *("nikki", "katz", "louis", "ginns", "hoyle"),  # names of sources
)
"""Words of the table that are renamed wherever they are, besides those of a game's title and actions."""
ORDINARY = {
    *(
        "player",
        "seat",
        "name",
        "back",
        "board",
        "deal",
        "take",
        "tie",
        "the",
        "and",
        "with",
        "min",
        "city",
        "once",
        "off",
    ),
    *("twice", "times", "half", "quarter", "double", "two", "three", "four", "five", "six", "seven", "eight"),
}
"""Words of actions that are ordinary English, or numbers."""
_STARTS, _VOWELS, _ENDS = "bfglmnprvwxz", "aeiou", "bgklmnprvx"
_LETTERS = "FGMNPRVWXZ"
"""Letters of new suits and ranks: none is one of a card's name today, nor the mark of a copy."""
_SIGNS = "♣♦♥♠"
_CODE = r"(?<![A-Za-z0-9])([2-9TJQKA])([CDHS])(?=(?:[ab]|\.\d+)?(?![A-Za-z0-9]))"
_LISTED = r"(?:, and | and | or |, | \| |/|–| )"
_RANK_LIST = re.compile(rf"(?<![\w=])(?:10|[2-9TJQKA])(?:{_LISTED}(?:10|[2-9TJQKA]))+(?!\w)")
_SUIT_LIST = re.compile(rf"(?<![\w=])[CDHS](?:{_LISTED}[CDHS])+(?!\w)")


class Naming:
    """New words for the words of a game, drawn from a seed. A text in new words stays as it is when reworded."""

    def __init__(self, words: Iterable[str], seed: Any) -> None:
        """`words` are those of the game's title and actions; equal words and seeds give equal names."""
        draw = random.Random(f"words {seed}")
        letters = draw.sample(_LETTERS, len(_SUITS) + len(_RANKS))
        cards = dict(zip((*_SUITS, *_RANKS), letters, strict=True))
        ordinary = {word.lower() for word in words if len(word) > 2} - ORDINARY - {f"{suit}s" for suit in _SUITS}
        stems = sorted({*cards, *_TERMS, *ordinary})
        self.words: dict[str, str] = {}
        """New words by the old ones."""
        for stem in stems:
            start = cards.get(stem, "").lower()
            new = _word(draw, start)
            while new in self.words.values() or new in stems:
                new = _word(draw, start)
            self.words[stem] = new
        self._ranks = {stem[0].upper(): cards[stem] for stem in _RANKS}
        self._suits = {stem[0].upper(): cards[stem] for stem in _SUITS}
        self._old = {new: old for one in (self._ranks, self._suits) for old, new in one.items()}
        self._forms = {form: self.words[stem] + end for stem in stems for form, end in _forms(stem)}
        found = "|".join(sorted(map(re.escape, self._forms), key=len, reverse=True))
        self._pattern = re.compile(rf'(?<!["=\w])(?:(a)n )?({found})(?![\w=])', re.IGNORECASE)

    def reworded(self, text: str) -> str:
        """Return a text in the new words."""
        text = re.sub(_CODE, lambda card: self._ranks.get(card[1], card[1]) + self._suits[card[2]], text)
        text = _RANK_LIST.sub(
            lambda found: _letters(found[0], self._ranks) if set("JQK") & set(found[0]) else found[0], text
        )
        text = _SUIT_LIST.sub(lambda found: _letters(found[0], self._suits), text)
        text = re.sub(f"[{_SIGNS}]", lambda sign: self._suits["CDHS"[_SIGNS.index(sign[0])]], text)
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        """A new word for an old one; all new ones begin with a consonant, so that "an" before it becomes "a"."""
        return (f"{found[1]} " if found[1] else "") + _cased(self._forms[found[2].lower()], found[2])

    def original(self, card: str) -> str:
        """Return the old name of a card."""
        stem = next((old for old, new in self.words.items() if new == card.strip().lower()), None)
        return stem or "".join(self._old.get(sign, sign) for sign in card.strip())

    def everywhere(self, value: Any) -> Any:
        """Return a value with every text in it reworded: of lists, tuples, named ones too, and dictionaries."""
        if isinstance(value, str):
            return self.reworded(value)
        if isinstance(value, tuple):
            parts = map(self.everywhere, value)
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, list):
            return [*map(self.everywhere, value)]
        return {name: self.everywhere(one) for name, one in value.items()} if isinstance(value, dict) else value


def _word(draw: random.Random, start: str) -> str:
    """A word of two syllables that is in no dictionary: its forms are regular."""
    first = start or draw.choice(_STARTS)
    parts = (first, *map(draw.choice, (_VOWELS, _ENDS, _STARTS, _VOWELS, _ENDS)))
    return "".join(parts)


def _forms(stem: str) -> list[tuple[str, str]]:
    """The forms of a word, each with the ending that it has on a new one; `play` is no `player`."""
    doubled = stem + stem[-1]
    bare = stem.removesuffix("e")
    found = [(stem, ""), (f"{stem}s", "s"), (f"{stem}es", "s"), (f"{bare}ed", "ed"), (f"{bare}ing", "ing")]
    found += [(f"{doubled}ed", "ed"), (f"{doubled}ing", "ing")]
    if stem not in ("play", "tie"):
        found += [(f"{one}{end}", end) for one in (bare, doubled) for end in ("er", "ers")]
    return found


def _letters(text: str, names: dict[str, str]) -> str:
    return "".join(names.get(sign, sign) for sign in text)


def _cased(new: str, old: str) -> str:
    return new.upper() if old.isupper() and len(old) > 1 else new.capitalize() if old[0].isupper() else new
