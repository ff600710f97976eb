"""Measures the tables of chances in `envs/poker_duel/tables.json`: `backalley dev tune poker_duel chances`, a minute
each.

The strong bot needs the chance of a hand, in each round and with each number of exchanges left, against the hands that
players end with; which hands those are depends on how they split, and so on the table. Fictitious play closes the
circle: time and again the bot plays with the table so far, and the table is measured again against all hands it has
ended with, late ones weighing more. No single table is the equilibrium, which mixes, so the rounds circle around it;
kept is the table that does best against two opponents together: the greedy bot, and that of all rounds' players
which suits it worst. Where the lower hand wins, the same is done with the misère player.

`backalley dev tune poker_duel game_chances` measures how games between players of these tables end (about a minute). A
game is counted once for each player, so that the table is as good for one as for the other. How much the dealer is
ahead is measured too, and written down with its interval: the strong player's choices do not depend on who deals.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import pokerhands, rng
from backalley.envs.poker_duel.bots.exchanges import best_discard
from backalley.envs.poker_duel.bots.grading import GRADE, GRADES, MISERE_GRADE, MISERE_GRADES, Grading, class_of
from backalley.envs.poker_duel.bots.splits import greedy_split
from backalley.envs.poker_duel.bots.splitter import SPREAD, search_by, split_by
from backalley.envs.poker_duel.game import GAME
from backalley.envs.poker_duel.rules import compare_slots
from backalley.envs.poker_duel.slots import slot_strength
from backalley.envs.poker_duel.state import HAND, PACK, SLOT, SLOTS, Options, State
from backalley.envs.poker_duel.tables import FILE

from ..runner import COMMANDS

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
ROUNDS, DEALS, SEED = 60, 20_000, 1
SETTLED = 5  # rounds whose tables are too raw to be kept
STRONG, GREEDY, GREEDY_IN_ANY_ORDER = 0, 1, 2
GAMES, TABLES_PLAYED = 200_000, 4_000
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
    if split == STRONG:
        search = search_by(options, chances, SPREAD, cards, options.misere)
        out[0], out[1], out[2] = split_by(options, search, cards)
    else:
        out[0], out[1], out[2] = greedy_split(options, cards, options.misere)
    if split == GREEDY_IN_ANY_ORDER:
        rng.shuffle(np.uint64(cards), out, SLOTS)
    out[SLOTS] = first_cards(deck, 52 - SLOT, SLOT)


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
    grading = Grading(MISERE_GRADE if options.misere else GRADE, 0, True)
    for _ in range(deals):
        for card in range(52):
            deck[card] = card
        stream = rng.shuffle(stream, deck, 52)
        deal_hands(options, table[2], deck, split, hands)
        drawn = HAND
        for row in range(SLOTS + 1):
            hand = int(hands[row])
            unseen = PACK & ~(hand if row == SLOTS else first_cards(deck, 0, drawn))
            graded[:] = class_of(grading, hand)
            card = -1
            for left in (1, 0):
                if card != 0:
                    card = best_discard(hand, unseen, table[0, row], table[left, row], grading, grading)
                if card != 0:
                    new = 1 << int(deck[drawn])
                    drawn += 1
                    hand = (hand & ~card) | new
                    unseen &= ~new
                graded[left] = class_of(grading, hand)
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


# How games end --------------------------------------------------------------------------------------------------------


@kernel
def count_ends(options: Options, states: npt.NDArray[Any], counts: Counts) -> None:
    """Adds the finished games to `counts` [nothing_scores, 3, 3, 3]: the dealer has lost, tied or won each round."""
    for index in range(len(states)):
        state: State = states[index]
        for scores in range(2):
            place = np.ones(SLOTS, np.int64)
            for slot in range(SLOTS):
                best = max(slot_strength(options, state, 0, slot), slot_strength(options, state, 1, slot))
                if scores or best >> pokerhands.CATEGORY_SHIFT != pokerhands.Category.NOTHING:
                    order = compare_slots(options, state, slot)
                    place[slot] += order if state.dealer == 0 else -order
            counts[scores, place[0], place[1], place[2]] += 1


def played(games: int = GAMES, seed: int = SEED, misere: bool = False) -> Counts:
    """How so many games end for the dealer [nothing_scores, 3, 3, 3]."""
    game = GAME.bind(num_games=1, sudden_death=False, misere=misere)
    counts = np.zeros((2, 3, 3, 3), np.int64)
    for start in range(0, games, TABLES_PLAYED):
        batch = BatchEnv(game, min(TABLES_PLAYED, games - start), seed=seed + start, autoreset=False)
        batch.reset()
        batch.play_bot(2 * (HAND + SLOTS * game.options.exchanges_per_round), "strong")
        count_ends(game.options, batch.arrays.state, counts)
        batch.close()
    return counts


def dealers_lead(counts: Counts) -> tuple[float, float]:
    """By how many points the dealer of a game is ahead on average [3, 3, 3], and the half width of the 95 % interval of
    that."""
    gains = np.arange(-1, 2)
    first, second, third = GAME.bind().options.round_points
    lead = first * gains[:, None, None] + second * gains[None, :, None] + third * gains
    share = counts / counts.sum()
    mean = float((share * lead).sum())
    return mean, 1.96 * math.sqrt(float((share * (lead - mean) ** 2).sum()) / float(counts.sum()))


def for_either(counts: Counts) -> Counts:
    """How the games end [nothing_scores, 3, 3, 3] for both players, each game counted twice."""
    return counts + counts[:, ::-1, ::-1, ::-1]


def measured_games(games: int = GAMES) -> tuple[Counts, npt.NDArray[np.float64]]:
    """How many games end in each way [misère, nothing_scores, 3, 3, 3], and by how many points the dealer is ahead,
    with half the 95 % interval [misère, 2]."""
    found = [played(games, misere=misere) for misere in (False, True)]
    leads = np.array([dealers_lead(counts[1]) for counts in found])
    return np.array([for_either(counts) for counts in found]), leads.round(3)


# The file ------------------------------------------------------------------------------------------------------------


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
    """How games end between players of these tables, measured again."""
    counts, leads = measured_games()
    written("dealers_lead", leads)
    return written("game_chances", counts)


TABLES: dict[str, Callable[[], Path]] = {
    "chances": functools.partial(chances, "chances", False),
    "misere_chances": functools.partial(chances, "misere_chances", True),
    "game_chances": game_chances,
}
"""What `backalley dev tune` writes; the last is to be measured after the others, whose tables it plays by."""


@click.command()
@click.argument("game")
@click.argument("table")
def tune(game: str, table: str) -> None:
    """Measure a TABLE that the bots of GAME use, and write it again. Poker Duel has some."""
    if game_of(game).name != GAME.name:
        raise InvalidValue(f"{game} has no tables of chances; {GAME.name} has.")
    if table not in TABLES:
        raise InvalidValue(f"{game} has no table {table!r}; there are: {', '.join(TABLES)}.")
    click.echo(f"Written to {TABLES[table]()}.")


COMMANDS["tune"] = tune
