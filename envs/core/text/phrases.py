"""Phrases for actions and cards, brought to one form: "Play the jack of ♣" and `play JC` are the same phrase.

Only the way of writing is tolerated. No word is guessed: what is not understood makes another phrase.
"""

from __future__ import annotations

import re

_SUITS = {
    **dict.fromkeys("♣♧", "clubs"),
    **dict.fromkeys("♦♢", "diamonds"),
    **dict.fromkeys("♥♡❤", "hearts"),
    **dict.fromkeys("♠♤", "spades"),
}
_SIGNS = str.maketrans({sign: f" {name} " for sign, name in _SUITS.items()} | {"\ufe0e": "", "\ufe0f": ""})
"""Suit signs, and what may follow them to choose how they are drawn."""
_SUIT = {word: name[0] for name in dict.fromkeys(_SUITS.values()) for word in (name[0], name[:-1], name)}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTED = {word: str(number) for number, word in enumerate(_DIGITS)}
_RANK = {
    **{str(number): str(number) for number in range(2, 10)},
    **dict.fromkeys(("t", "10"), "t"),
    **dict.fromkeys(("j", "jack"), "j"),
    **dict.fromkeys(("q", "queen"), "q"),
    **dict.fromkeys(("k", "king"), "k"),
    **dict.fromkeys(("a", "ace"), "a"),
}
_PLURALS = {f"{word}s": rank for word, rank in _RANK.items() if len(word) > 2}
_JOKERS = {("big", "joker"): "bj", ("little", "joker"): "lj"}
_GLUED = re.compile(r"([tjqka])([cdhs])([ab]?)")
"""A card in one word: `jc`, or with the mark of its copy `jcb`."""
_SUIT_AND_COPY = re.compile(r"([cdhs])([ab])")
_PART = re.compile(r"[a-z]+|[0-9]+")
_BETWEEN = re.compile(r"[\s_]+|(?<=[a-z0-9])-(?=[a-z0-9])")
"""What is between words: blanks, underscores, and hyphens inside a phrase."""
_SKIPPED = {"the", "my", "of", "in"}
CARD = re.compile(r"(?:[2-9tjqka][cdhs]|bj|lj|joker)[ab]?")
"""A card in a phrase."""
_COPY = re.compile(r"([2-9tjqka][cdhs])[ab]")

Phrase = tuple[str, ...]


def phrase(text: str) -> Phrase:
    """Return a text as a phrase: its words in lower case, a card as one word such as `jc`, suits and ranks as letters,
    numbers as digits, without articles. Empty where it holds anything but ASCII letters, digits and suit signs."""
    plain = " ".join(text.translate(_SIGNS).split())
    if not plain.isascii():
        return ()
    words: list[str] = []
    for part in _BETWEEN.split(plain.lower()):
        pieces = _PART.findall(part)
        if "".join(pieces) != part:
            return ()
        words += pieces
    return tuple(_with_cards(words))


def _with_cards(words: list[str]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(words):
        card, length = _card_at(words, at)
        found += [card] if card else _plain(words, at)
        at += length
    return found


def _card_at(words: list[str], at: int) -> tuple[str, int]:
    """The card that begins at a word, and how many words it takes; nothing and 1 where there is none."""
    if tuple(words[at : at + 2]) in _JOKERS:
        return _JOKERS[words[at], words[at + 1]], 2
    glued = _GLUED.fullmatch(words[at])
    if glued:
        card, copy, end = glued[1] + glued[2], glued[3], at + 1
    else:
        rank = _RANK.get(_COUNTED.get(words[at], words[at]))
        end = at + 1 + (words[at + 1 : at + 2] == ["of"])
        suit = words[end] if end < len(words) else ""
        marked = _SUIT_AND_COPY.fullmatch(suit)
        if rank is None or not (marked or suit in _SUIT):
            return "", 1
        card, copy, end = (rank + marked[1], marked[2], end + 1) if marked else (rank + _SUIT[suit], "", end + 1)
    after = end + (words[end : end + 1] == ["copy"])
    if not copy and words[after : after + 1] in (["a"], ["b"]):
        return card + words[after], after + 1 - at
    return card + copy, end - at


def _plain(words: list[str], at: int) -> list[str]:
    """A word that belongs to no card."""
    word = words[at]
    article = word in ("a", "an") and at + 1 < len(words)
    if article or word in _SKIPPED:
        return []
    if word.isdigit():
        return [word]
    return [_COUNTED.get(word) or _SUIT.get(word) or _PLURALS.get(word) or _RANK.get(word, word)]


def has_rank(words: Phrase, number: int) -> bool:
    """Return whether a phrase names a card of the rank of that number, from 2 to 10."""
    rank = _RANK.get(str(number), "")
    return bool(rank) and any(word[0] == rank and CARD.fullmatch(word) for word in words)


def without_copies(words: Phrase) -> Phrase:
    """Return a phrase with cards named without the mark of their copy."""
    return tuple(_COPY.sub(r"\1", word) for word in words)
