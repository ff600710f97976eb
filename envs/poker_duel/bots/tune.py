"""Measures the tables of chances in tables.json: `backalley dev tune poker_duel chances`, a minute each.

The strong bot needs the chance of a hand, in each round and with each number of exchanges left, against the hands that
players end with; which hands those are depends on how they split, and so on the table. Fictitious play closes the
circle: time and again the bot plays with the table so far, and the table is measured again against all hands it has
ended with, late ones weighing more. No single table is the equilibrium, which mixes, so the rounds circle around it;
kept is the table that does best against two opponents together: the greedy bot, and that of all rounds' players
which suits it worst. Where the lower hand wins, the same is done with the misère player.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules import rng
from ..game import GAME
from ..state import HAND, PACK, SLOT, SLOTS, Options
from ..tables import FILE
from .exchanges import low_discard, strong_discard
from .grading import GRADES, MISERE_GRADES, grade, misere_grade
from .splits import greedy_split, misere_split
from .splitter import SPREAD, low_split, strong_split

Array = npt.NDArray[np.float64]
ROUNDS, DEALS, SEED = 60, 20_000, 1
SETTLED = 5  # rounds whose tables are too raw to be kept
STRONG, GREEDY, GREEDY_IN_ANY_ORDER = 0, 1, 2
SEEN_OFTEN = 40  # a grade met less often takes its chance from its neighbours


@kernel
def first_cards(deck: npt.NDArray[np.int64], start: int, count: int) -> int:
    """The set of some cards of a pack."""
    found = 0
    for index in range(start, start + count):
        found |= 1 << int(deck[index])
    return found


@kernel
def deal_hands(
    options: Options, chances: Array, deck: npt.NDArray[np.int64], split: int, out: npt.NDArray[np.int64]
) -> None:
    """Some split of fifteen cards, slot by slot, and a hand of sudden death."""
    cards = first_cards(deck, 0, HAND)
    if options.misere and split == STRONG:
        out[0], out[1], out[2] = low_split(options, chances, SPREAD, cards)
    elif options.misere:
        out[0], out[1], out[2] = misere_split(options, cards)
    elif split == STRONG:
        out[0], out[1], out[2] = strong_split(options, chances, SPREAD, cards)
    else:
        out[0], out[1], out[2] = greedy_split(options, cards)
    if split == GREEDY_IN_ANY_ORDER:
        rng.shuffle(np.uint64(cards), out, SLOTS)
    out[SLOTS] = first_cards(deck, 52 - SLOT, SLOT)


@kernel
def column(options: Options, hand: int) -> int:
    """The column of a hand in the tables."""
    return misere_grade(hand, True) if options.misere else grade(hand, True)


@kernel
def thrown(options: Options, hand: int, unseen: int, now: Array, after: Array) -> int:
    """What is thrown of a hand by the tables."""
    return (
        low_discard(hand, unseen, now, after, True)
        if options.misere
        else strong_discard(hand, unseen, now, after, True)
    )


@kernel
def play(
    options: Options, table: Array, stream: np.uint64, deals: int, split: int, ends: Array, sums: Array, counts: Array
) -> np.uint64:
    """Split and exchange `deals` hands. Counts the grades they end with in `ends` [4, grades]; `counts` [3, 4, grades]
    the grades they had with so many exchanges left, and `sums` the chances that these came to. Gives back the advanced
    stream."""
    deck = np.empty(52, np.int64)
    hands = np.empty(SLOTS + 1, np.int64)
    graded = np.empty(3, np.int64)
    for _ in range(deals):
        for card in range(52):
            deck[card] = card
        stream = rng.shuffle(stream, deck, 52)
        deal_hands(options, table[2], deck, split, hands)
        drawn = HAND
        for row in range(SLOTS + 1):
            hand = int(hands[row])
            unseen = PACK & ~(hand if row == SLOTS else first_cards(deck, 0, drawn))
            graded[:] = column(options, hand)
            card = -1
            for left in (1, 0):
                if card != 0:
                    card = thrown(options, hand, unseen, table[0, row], table[left, row])
                if card != 0:
                    new = 1 << int(deck[drawn])
                    drawn += 1
                    hand = (hand & ~card) | new
                    unseen &= ~new
                graded[left] = column(options, hand)
            ends[row, graded[0]] += 1
            for left in range(3):
                counts[left, row, graded[left]] += 1
                sums[left, row, graded[left]] += table[0, row, graded[0]]
    return stream


def chance_to_win(ends: Array, misere: bool = False) -> Array:
    """Against a field [4, grades], the chance of each final grade, equal grades counted half."""
    share = ends / ends.sum(axis=1, keepdims=True)
    order = slice(None, None, -1 if misere else 1)  # misère grades begin with the best
    result: Array = np.cumsum(share[:, order], axis=1)[:, order] - share / 2
    return result


def measured(final: Array, sums: Array, counts: Array) -> Array:
    """The table [exchanges left, 4, grades] of final chances and of the mean chances that hands had before their
    exchanges."""
    table = np.repeat(final[None], 3, axis=0)
    for left in (1, 2):
        for row in range(SLOTS + 1):
            often = np.flatnonzero(counts[left, row] >= SEEN_OFTEN)
            mean = sums[left, row, often] / counts[left, row, often]
            table[left, row] = np.maximum(final[row], np.interp(np.arange(final.shape[1]), often, mean))
    return table


def points(ends: Array, field: Array, misere: bool = False) -> float:
    """Points of a game for players whose hands end as `ends` [4, grades] against a field that ends as `field`."""
    share = ends / ends.sum(axis=1, keepdims=True)
    return float(np.array(Options().round_points) @ (share * chance_to_win(field, misere)).sum(axis=1)[:SLOTS])


def fictitious_play(rounds: int = ROUNDS, deals: int = DEALS, seed: int = SEED, misere: bool = False) -> Array:
    """The best table [3, 4, grades] of so many rounds of so many deals."""
    options: Any = GAME.bind(misere=misere).options
    grades = MISERE_GRADES if misere else GRADES
    stream = rng.stream_of(seed)
    rising = np.linspace(1, 0, grades) if misere else np.linspace(0, 1, grades)
    table = np.broadcast_to(rising, (3, SLOTS + 1, grades)).copy()
    greedy, field = np.zeros((2, SLOTS + 1, grades))
    stream = np.uint64(play(options, table, stream, 5 * deals, GREEDY, greedy, *np.zeros((2, 3, SLOTS + 1, grades))))
    tables, players = [], []
    for number in range(rounds):
        ends, ignored = np.zeros((2, SLOTS + 1, grades))
        sums, counts = np.zeros((2, 3, SLOTS + 1, grades))
        stream = np.uint64(play(options, table, stream, deals, STRONG, ends, sums, counts))
        # Hands that this table would not put into a slot are looked at there too, or it could never learn better.
        stream = np.uint64(play(options, table, stream, deals // 3, GREEDY_IN_ANY_ORDER, ignored, sums, counts))
        tables.append(table)
        players.append(ends)
        field += (ends / ends.sum(axis=1, keepdims=True) - field) * 2 / (number + 2)
        table = measured(chance_to_win(field, misere), sums, counts)
    scores = [min(points(ends, other, misere) for other in players) + points(ends, greedy, misere) for ends in players]
    return tables[max(range(SETTLED, rounds), key=scores.__getitem__)]


def written(name: str, numbers: npt.NDArray[Any]) -> Path:
    """The file of all tables, with one of them written again."""
    found = json.loads(FILE.read_text("utf-8")) | {name: numbers.tolist()}
    FILE.write_text(text_of(found), "utf-8")
    return FILE


def text_of(found: dict[str, Any]) -> str:
    """The text of the file: a row of numbers a line."""
    return re.sub(r"\], (?=[\[\"])", "],\n", json.dumps(found)) + "\n"


def chances(name: str, misere: bool) -> Path:
    """A table of chances, measured again, in thousandths."""
    return written(name, np.rint(1000 * fictitious_play(misere=misere)).astype(int))


def game_chances() -> Path:
    """How games end between players of these tables (`tune_match.py`), measured again."""
    from . import tune_match

    counts, leads = tune_match.measured()
    written("dealers_lead", leads)
    return written("game_chances", counts)


TABLES = {
    "chances": functools.partial(chances, "chances", False),
    "misere_chances": functools.partial(chances, "misere_chances", True),
    "game_chances": game_chances,
}
"""What `backalley dev tune` writes; the last is to be measured after the others, whose tables it plays by."""
