"""Grades of five cards: what the tables of chances are measured and read by."""

from __future__ import annotations

from ...core.compile.kernel import kernel
from ...core.rules.pokerhands import CATEGORY_SHIFT, LEADING_SHIFT, SUIT, Category, set_strength
from ..card_sets import TOP_RANK

GRADES = 13 * len(Category)
"""The columns of CHANCES."""


@kernel
def grade(cards: int, ace_low_straight: bool) -> int:
    """The column of CHANCES for five cards: `13 * category + highest leading rank` (of a hand of nothing, its highest
    rank)."""
    strength = set_strength(cards, ace_low_straight)
    leading = (strength >> LEADING_SHIFT) & SUIT
    return 13 * (strength >> CATEGORY_SHIFT) + int(TOP_RANK[leading if leading != 0 else strength & SUIT])


NOTHING_GRADES = 13 * 12 // 2
MISERE_GRADES = NOTHING_GRADES + len(Category) - 1
"""The columns of MISERE_CHANCES."""


@kernel
def misere_grade(cards: int, ace_low_straight: bool) -> int:
    """The column of MISERE_CHANCES for five cards, the best misère hands first: of a hand of nothing by its highest and
    second highest rank, after these by category."""
    strength = set_strength(cards, ace_low_straight)
    category = strength >> CATEGORY_SHIFT
    if category != Category.NOTHING:
        return NOTHING_GRADES + category - 1
    ranks = strength & SUIT
    top = int(TOP_RANK[ranks])
    return top * (top - 1) // 2 + int(TOP_RANK[ranks ^ (1 << top)])
