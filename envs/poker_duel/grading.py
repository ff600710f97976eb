"""Grades of five cards, by category and highest rank: what the table of chances is measured and read by."""

from __future__ import annotations

from ..core.kernel import kernel
from ..core.pokerhands import CATEGORY_SHIFT, LEADING_SHIFT, SUIT, Category, set_strength
from .card_sets import TOP_RANK

GRADES = 13 * len(Category)
"""The columns of CHANCES."""


@kernel
def grade(cards: int, ace_low_straight: bool) -> int:
    """The column of CHANCES for five cards: `13 * category + highest leading rank` (of a hand of nothing, its highest
    rank)."""
    strength = set_strength(cards, ace_low_straight)
    leading = (strength >> LEADING_SHIFT) & SUIT
    return 13 * (strength >> CATEGORY_SHIFT) + int(TOP_RANK[leading if leading != 0 else strength & SUIT])
