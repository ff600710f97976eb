"""Every coup of six cards, dealt to the game's own kernels and weighed by how often it comes.

Suits do not matter, so a coup is a sequence of six values; a million sequences, each with its weight, are all there
are. What is made of the counts is `odds.py`. The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from . import rules
from .answers import FIVE
from .bets import bet_on
from .coup import two_cards
from .state import BANK, DRAW, NATURAL, PLAYER, PLAYER_TURN, SHOWN, STAND, STOOD, Options

Counts = npt.NDArray[np.int64]

PATTERNS = 3 * 2**5
"""Kinds of a coup: who won; a third card of the Player, of the Banker; a natural of the Player, of the Banker; the
Player had a five."""
HANDS, THIRDS = 100, 11
"""What the Banker of chemin de fer can see: two values, and the Player's third card or 10 where the Player stood."""
STANDING, DRAWING = 0, 1
"""The Banker's answers, or the Player's to a five."""
OTHER, FIVE_STOOD, FIVE_DREW = 0, 1, 2
"""What the Player of chemin de fer did: nothing by choice, or which on a five."""


@kernel
def card_of(value: int, number: int) -> int:
    """The `number`-th card of a value, over the packs; values of nought have sixteen in each, the others four."""
    if value == 0:
        return number // 16 * 52 + number % 4 * 13 + 8 + number // 4 % 4
    return number // 4 * 52 + number % 4 * 13 + (value - 2) % 13


@kernel
def next_coup(values: Counts, deck: npt.NDArray[np.int64], counts: Counts, replaced: bool, number: int) -> int:
    """Lay out the coup of that number, its decimal digits being the six values; gives how many orders of real cards it
    stands for."""
    weight = 1
    for place in range(6):
        value = number // 10 ** (5 - place) % 10
        values[place] = value
        before = 0
        for earlier in range(place):
            before += int(values[earlier] == value)
        weight *= counts[value] - (0 if replaced else before)
        if weight <= 0:
            return 0
        deck[place] = card_of(value, 0 if replaced else before)
    return weight


@kernel
def count_coups(
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, five: int, tally: Counts
) -> None:
    """Deal every coup to one bettor who backs PLAYER, and to a five plays `five`; add the weights to `tally`
    [PATTERNS]."""
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state = states[0]
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        if weight > 0:
            raw[0, :] = 0
            rules.start(options, state, 0)
            rules.deal(options, state, deck)
            rules.step(options, state, bet_on(0, PLAYER))
            if state.seat >= 0:
                rules.step(options, state, five)
            player, banker = two_cards(state, PLAYER), two_cards(state, BANK)
            pattern = (int(state.winner) - 1) * 2 + int(state.player_drew)
            pattern = pattern * 2 + int(state.banker_drew)
            pattern = (pattern * 2 + int(player >= NATURAL)) * 2 + int(banker >= NATURAL)
            tally[pattern * 2 + int(player == FIVE)] += weight


@kernel
def count_fives(
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, tally: Counts
) -> int:
    """Deal every coup in which the Player has a choice on a five, and play both answers; add the weights to `tally`
    [NATURAL, 2, 3]: the Banker's two-card total, the answer, who won. Gives the weight of all coups."""
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state, total = states[0], 0
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        total += weight
        if weight == 0 or (values[0] + values[2]) % 10 != FIVE:
            continue
        for answer in range(2):
            raw[0, :] = 0
            rules.start(options, state, 0)
            rules.deal(options, state, deck)
            rules.step(options, state, bet_on(0, PLAYER))
            if state.phase == PLAYER_TURN:
                rules.step(options, state, DRAW if answer == DRAWING else STAND)
                tally[two_cards(state, BANK), answer, int(state.winner) - 1] += weight
    return total


@kernel
def count_chemin(
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, table: Counts
) -> int:
    """Deal every coup of chemin de fer and play it in every way that is left open.

    Adds the Player's gains to `table` [3, HANDS, THIRDS, 2]: what the Player did, what the Banker sees, whether the
    Banker draws. Gives the gains of coups that naturals decided.
    """
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state, decided = states[0], 0
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        if weight == 0:
            continue
        for choice in range(FIVE_DREW + 1):
            for draws in range(2):
                raw[0, :] = 0
                rules.start(options, state, 0)
                rules.deal(options, state, deck)
                if state.phase == SHOWN:
                    decided += weight * int(state.reward[0]) * int(choice == OTHER and draws == 0)
                elif (state.phase == PLAYER_TURN) == (choice != OTHER):
                    if choice != OTHER:
                        rules.step(options, state, DRAW if choice == FIVE_DREW else STAND)
                    low, high = min(values[1], values[3]), max(values[1], values[3])
                    third = values[4] if state.player_drew else STOOD
                    state.reward[0] = 0.0
                    rules.step(options, state, DRAW if draws else STAND)
                    table[choice, 10 * low + high, third, draws] += weight * int(state.reward[0])
    return decided
