"""Measures the table in chances.py and writes that file: `python -m backalley.envs.poker_duel.tune` (about a minute).

The strong bot needs the chance of a hand, in each round and with each number of exchanges left, against the hands that players end
with; which hands those are depends on how they split, and so on the table. Fictitious play closes the circle: time and again the bot
plays with the table so far, the table is measured anew against all hands it has ended with, late ones weighing more, and moves a
step towards what was measured. Without the short steps the bot rushes from one extreme split to the next and stops at any of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.kernel import kernel
from backalley.envs.poker_duel import bot
from backalley.envs.poker_duel.game import GAME, HAND, PACK, SLOT, SLOTS, Options

Array = npt.NDArray[np.float64]
GRADES = 130
ROUNDS, DEALS, SEED = 60, 20_000, 13
STEP = 0.15  # how far the table moves towards the latest measurement
SEEN_OFTEN = 40  # a grade met less often takes its chance from its neighbours


@kernel
def first_cards(deck: npt.NDArray[np.int64], start: int, count: int) -> int:
    """The set of some cards of a pack."""
    found = 0
    for index in range(start, start + count):
        found |= 1 << int(deck[index])
    return found


@kernel
def deal_hands(options: Options, chances: Array, deck: npt.NDArray[np.int64], any_order: bool, out: npt.NDArray[np.int64]) -> None:
    """The strong bot's hands for slots 1, 2, 3, or the greedy bot's in any order; then a hand of sudden death."""
    cards = first_cards(deck, 0, HAND)
    out[0], out[1], out[2] = bot.greedy_split(options, cards) if any_order else bot.strong_split(options, chances, bot.SPREAD, cards)
    if any_order:
        rng.shuffle(np.uint64(cards), out, SLOTS)
    out[SLOTS] = first_cards(deck, 52 - SLOT, SLOT)


@kernel
def play(
    options: Options, table: Array, stream: np.uint64, deals: int, any_order: bool, ends: Array, sums: Array, counts: Array
) -> np.uint64:
    """Split and exchange `deals` hands. Counts the grades they end with in `ends` [4, grades]; `counts` [3, 4, grades] the grades they
    had with so many exchanges left, and `sums` the chances that these came to. Gives back the advanced stream."""
    deck = np.empty(52, np.int64)
    hands = np.empty(SLOTS + 1, np.int64)
    graded = np.empty(3, np.int64)
    for _ in range(deals):
        for card in range(52):
            deck[card] = card
        stream = rng.shuffle(stream, deck, 52)
        deal_hands(options, table[2], deck, any_order, hands)
        drawn = HAND
        for row in range(SLOTS + 1):
            hand = int(hands[row])
            unseen = PACK & ~(hand if row == SLOTS else first_cards(deck, 0, drawn))
            graded[:] = bot.grade(hand, True)
            card = -1
            for left in (1, 0):
                if card != 0:
                    card = bot.strong_discard(hand, unseen, table[0, row], table[left, row], True)
                if card != 0:
                    new = 1 << int(deck[drawn])
                    drawn += 1
                    hand = (hand & ~card) | new
                    unseen &= ~new
                graded[left] = bot.grade(hand, True)
            ends[row, graded[0]] += 1
            for left in range(3):
                counts[left, row, graded[left]] += 1
                sums[left, row, graded[left]] += table[0, row, graded[0]]
    return stream


def chance_to_win(ends: Array) -> Array:
    """Against a field [4, grades], the chance of each final grade, equal grades counted half."""
    share = ends / ends.sum(axis=1, keepdims=True)
    result: Array = np.cumsum(share, axis=1) - share / 2
    return result


def measured(final: Array, sums: Array, counts: Array) -> Array:
    """The table [exchanges left, 4, grades] of final chances and of the mean chances that hands had before their exchanges."""
    table = np.repeat(final[None], 3, axis=0)
    for left in (1, 2):
        for row in range(SLOTS + 1):
            often = np.flatnonzero(counts[left, row] >= SEEN_OFTEN)
            mean = sums[left, row, often] / counts[left, row, often]
            table[left, row] = np.maximum(final[row], np.interp(np.arange(GRADES), often, mean))
    return table


def fictitious_play(rounds: int = ROUNDS, deals: int = DEALS, seed: int = SEED) -> Array:
    """The table after so many rounds of so many deals."""
    options: Any = GAME.options()
    stream = rng.stream_of(seed)
    table = np.repeat(np.linspace(0, 1, GRADES)[None], 3 * (SLOTS + 1), axis=0).reshape(3, SLOTS + 1, GRADES)
    field = np.zeros((SLOTS + 1, GRADES))
    for number in range(rounds):
        ends, ignored = np.zeros((2, SLOTS + 1, GRADES))
        sums, counts = np.zeros((2, 3, SLOTS + 1, GRADES))
        stream = np.uint64(play(options, table, stream, deals, False, ends, sums, counts))
        # Hands that this table would not put into a slot are looked at there too, or it could never learn better.
        stream = np.uint64(play(options, table, stream, deals // 3, True, ignored, sums, counts))
        field += (ends / ends.sum(axis=1, keepdims=True) - field) * 2 / (number + 2)
        table += (measured(chance_to_win(field), sums, counts) - table) * (1 if number == 0 else STEP)
    return table


def source_text(table: Array) -> str:
    """chances.py, for a table [3, 4, grades]."""
    lines = [
        '"""The chance of a hand to win its round, as tune.py measured it. Written by tune.py; change that, not this."""',
        "",
        "import numpy as np",
        "",
        "CHANCES = np.array(",
        "    [",
    ]
    for left in range(3):
        for row in range(SLOTS + 1):
            lines.append(f"        # {left} exchanges left, {'sudden death' if row == SLOTS else f'round {row + 1}'}")
            for start in range(0, GRADES, 13):
                values = [f"{value:.0f}" for value in 1000 * table[left, row, start : start + 13]]
                lines.append(f"        {', '.join(values)},")
    lines += [
        "    ],",
        "    np.float64,",
        f").reshape(3, {SLOTS + 1}, {GRADES}) / 1000",
        '"""[exchanges left 0..2, round 1..3 and sudden death, 13 * category + highest leading rank], see bot.grade."""',
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("chances.py").write_text(source_text(fictitious_play()))
