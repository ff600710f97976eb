"""Exact chances of one draw of Twenty-One: what a hand becomes that draws to a total, and the best answer to a banker
who does (§6).

Heads-up, from a whole pack, for one coin that is bet before the first card is known. Hands differ only by their
composition: how many they hold of each of seven kinds of cards. 254 compositions are not bust. Without trades all is
exact; with them, the cards traded away are taken to be in the pack still.

    backalley dev odds twenty_one
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue

from ..core.game.game import Game
from .state import BUST, CHANTAL, CHANTAL_EXTRA, FIFTEEN, FIGURES_TRADED, NUM_CARDS, POINTS, TARGET

Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

KINDS = ("7", "8", "9", "10", "ace", "figure", "Chantal")
PLAIN_SEVEN, EIGHT_KIND, ACE_KIND, FIGURE_KIND, CHANTAL_KIND = 0, 1, 4, 5, 6
KIND_OF = np.array(
    [CHANTAL_KIND if card == CHANTAL else (0, 1, 2, 3, 5, 5, 5, 4)[card & 7] for card in range(NUM_CARDS)], np.int64
)
"""The kind of each card."""
PACK = np.bincount(KIND_OF)
"""How many of each kind the pack has."""
_LEAST = np.array([POINTS[0], POINTS[1], POINTS[2], POINTS[3], POINTS[7], 1, 1], np.int64)
ROYAL = -2
"""In NEXT: two aces."""
BUST_END, ROYAL_END, ENDS = TARGET + 1, TARGET + 2, TARGET + 3
"""Columns of `draw_until` after those of the totals 0..21."""


class Compositions(NamedTuple):
    """All hands that are not bust, by what they hold, those with fewer cards first; 0 is no card at all."""

    held: Whole
    """[254, 7] cards of each kind."""
    size: Whole
    """[254] cards."""
    best: Whole
    """[254] best total."""
    next: Whole
    """[254, 7] the composition with one more card of a kind, BUST or ROYAL."""


def _compositions() -> Compositions:
    numbers: dict[tuple[int, ...], int] = {(0,) * len(KINDS): 0}
    hands = list(numbers)
    following: list[list[int]] = []
    for hand in hands:  # grows while it is walked
        after = []
        for kind in range(len(KINDS)):
            more = tuple(count + (other == kind) for other, count in enumerate(hand))
            if sum(hand) == 1 and more[ACE_KIND] == 2:
                after.append(ROYAL)
            elif np.dot(more, _LEAST) > TARGET or more[kind] > PACK[kind]:
                after.append(BUST)
            else:
                if more not in numbers:
                    numbers[more] = len(hands)
                    hands.append(more)
                after.append(numbers[more])
        following.append(after)
    held = np.array(hands, np.int64)
    low = held @ _LEAST
    best = low.copy()
    for extra in sorted(CHANTAL_EXTRA):
        fits = (held[:, CHANTAL_KIND] > 0) & (low + extra <= TARGET)
        best[fits] = low[fits] + extra
    return Compositions(held, held.sum(1), best, np.array(following, np.int64))


ALL = _compositions()


TRADED = (
    ((ALL.size == 1) & (ALL.held[:, PLAIN_SEVEN] == 1))
    | ((ALL.size >= 2) & (ALL.best == FIFTEEN))
    | ((ALL.size == FIGURES_TRADED) & (ALL.held[:, FIGURE_KIND] == FIGURES_TRADED))
)
"""[254] hands that nobody keeps who may trade them: a lone plain seven, a fifteen at best, five figures (§1.5)."""


def draw_until(threshold: int, gone: Whole | None = None, *, first: int | None = None, trades: bool = False) -> Numbers:
    """The chances [n, ENDS] of each total, of a bust and of a royal for a hand that draws two cards at least, and until
    it has `threshold`, from a pack without the cards of `gone` [n, 7]; by default from a whole pack.

    `first` is the kind of its first card, if it is known. With `trades` the hands of TRADED begin again, from the same
    pack: the cards traded away are not missed.
    """
    left = PACK - (np.zeros((1, len(KINDS)), np.int64) if gone is None else gone)
    ends = np.zeros((len(left), ENDS))
    begins_again = trades and first is not None
    begun = draw_until(threshold, gone, trades=True) if begins_again else ends
    chance = np.zeros((len(left), len(ALL.size)))
    chance[:, 0 if first is None else ALL.next[0, first]] = 1.0
    traded = np.zeros(len(left))
    for hand, (held, size, best) in enumerate(zip(ALL.held, ALL.size, ALL.best, strict=True)):
        if trades and TRADED[hand]:
            traded += chance[:, hand]
            continue
        if size >= 2 and best >= threshold:
            ends[:, best] += chance[:, hand]
            continue
        share = chance[:, hand, None] * np.maximum(left - held, 0) / np.maximum(left.sum(1) - size, 1)[:, None]
        for kind, after in enumerate(ALL.next[hand]):
            if after >= 0:
                chance[:, after] += share[:, kind]
            else:
                ends[:, BUST_END if after == BUST else ROYAL_END] += share[:, kind]
    return ends + traded[:, None] * begun if begins_again else ends / (1.0 - traded[:, None])


class Answer(NamedTuple):
    """What a punter's hands are worth against a banker, in coins for each coin staked."""

    stand: Numbers
    """[254] for standing."""
    hit: Numbers
    """[254] for a card, and going on as the policy says."""
    value: Numbers
    """[254] for what the policy does."""


def standing(ends: Numbers) -> Numbers:
    """[254] what it is worth to stand against a banker who ends so [254, ENDS]. Level totals are the banker's. §1.6"""
    below = np.cumsum(ends[:, : TARGET + 1], axis=1)
    won = ends[:, BUST_END] + below[np.arange(len(ALL.best)), np.maximum(ALL.best - 1, 0)]
    return 2.0 * won - 1.0


def _play(stand: Numbers, pack: Whole, punter_threshold: int | None, fresh: float | None) -> Answer:
    """All hands, those with most cards first, for a punter who draws from `pack` [7] and can also have a fresh hand for
    those of TRADED. Hands that the pack does not hold have numbers without a meaning."""
    hit, value = np.zeros_like(stand), np.zeros_like(stand)
    for hand in range(len(stand) - 1, -1, -1):
        left = np.maximum(pack - ALL.held[hand], 0)
        following = [1.0 if after == ROYAL else -1.0 if after == BUST else value[after] for after in ALL.next[hand]]
        hit[hand] = np.dot(left, following) / left.sum()
        stands = stand[hand] >= hit[hand] if punter_threshold is None else ALL.best[hand] >= punter_threshold
        may = ALL.size[hand] >= 2
        value[hand] = stand[hand] if may and (stands or ALL.best[hand] == TARGET) else hit[hand]
        if fresh is not None and TRADED[hand]:
            value[hand] = max(value[hand], fresh)
    return Answer(stand, hit, value)


def answer(
    banker_threshold: int, punter_threshold: int | None = None, *, banker_card: int | None = None, trades: bool = False
) -> Answer:
    """The worth of all hands for a punter who draws to a total too; None: for the best answer to the banker.

    `banker_card` is the kind of the banker's first card, if it is known: the punter cannot draw that card. With
    `trades` both trade the hands of TRADED; what a new hand is worth then depends on itself, and is found by
    repetition.
    """
    stand = standing(draw_until(banker_threshold, ALL.held, first=banker_card, trades=trades))
    pack = PACK.copy()
    if banker_card is not None:
        pack[banker_card] -= 1
    found = _play(stand, pack, punter_threshold, None)
    fresh = 0.0
    while trades and abs(fresh - found.value[0]) > 1e-9:
        fresh = float(found.value[0])
        found = _play(stand, pack, punter_threshold, fresh)
    return found


def first_cards(found: Answer) -> dict[str, float]:
    """What each kind of first card is worth."""
    return {kind: float(found.value[ALL.next[0, number]]) for number, kind in enumerate(KINDS)}


def text(game: Game) -> str:
    """All of it in lines. Raises ValueError in a sentence for other options than the default ones."""
    if game.changed_options:
        raise InvalidValue("The odds of Twenty-One are those under its default options; leave the options out.")
    ends = draw_until(16)[0]
    named = {"bust": BUST_END, **{str(total): total for total in range(TARGET, 15, -1)}, "royal": ROYAL_END}
    lines = [f"drawing to 16: {', '.join(f'{name} {ends[end]:.6f}' for name, end in named.items())}"]
    for threshold in range(13, 18):
        worth = ", ".join(f"{answer(banker, threshold).value[0]:+.6f}" for banker in range(14, 19))
        lines.append(f"punter draws to {threshold}, banker to 14..18: {worth}")
    for name, best in (
        ("without trades", answer(16)),
        ("with trades", answer(16, trades=True)),
        ("with trades, an eight announced", answer(16, banker_card=EIGHT_KIND, trades=True)),
    ):
        worth = ", ".join(f"{kind} {value:+.4f}" for kind, value in first_cards(best).items())
        lines.append(f"best answer to a banker who draws to 16, {name}: {best.value[0]:+.6f}; first cards: {worth}")
    return "\n".join(lines)
