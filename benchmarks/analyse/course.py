"""How a game goes: its length, its decisions, and how early it is decided."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.match import act_rows
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game

from ..figures import stats
from ..figures.stats import Floats
from ..matches.seeding import Space, sequence
from .figure import Figure, estimated

MOST_TABLES = 512
_DRAMA_TABLES, _ROLLOUTS = 32, 16
_UNSEEN_TABLES = 64
_REDRAWN, _MOST_REDRAWN = 16, 1024
"""Determinizations that show which cards a seat has not seen: at first, and at most."""


def figures(game: Game, players: Sequence[Agent], tables: int, seed: int, left_out: list[str]) -> Iterator[Figure]:
    """Length, choice and forced decisions by the play of the first and the last agent; drama by the game's best bot."""
    for player in dict.fromkeys((players[0], players[-1])):
        yield from _course(game, player, tables, seed)
    if game.num_sides < 2:
        left_out.append("Drama: one seat plays, so nobody leads.")
    elif game.rollout_bot is None:
        left_out.append("Drama: it is estimated by rollouts, and the game has no bot fast enough for them.")
    else:
        yield from _drama(game, min(tables, _DRAMA_TABLES), seed)


def _keys(seed: int, tables: int) -> npt.NDArray[np.uint64]:
    return np.array(sequence(Space.EVALUATION, seed, 1).generate_state(tables, np.uint64), np.uint64)


def _course(game: Game, player: Agent, tables: int, seed: int) -> Iterator[Figure]:
    batch = BatchEnv(game, tables, seed=seed, autoreset=False)
    batch.reset()
    who, keys = np.zeros((tables, game.num_seats), np.int64), _keys(seed, tables)
    made, choices, forced = np.zeros((tables, game.num_seats)), np.zeros(tables), np.zeros(tables)
    hidden, random = np.zeros(min(tables, _UNSEEN_TABLES)), np.random.default_rng(sequence(Space.EVALUATION, seed, 3))
    while len(rows := np.flatnonzero(batch.arrays.seat >= 0)):
        legal = batch.arrays.mask[rows].sum(1)
        made[rows, batch.arrays.seat[rows]] += 1
        choices[rows] += legal
        forced[rows] += legal == 1
        # One decision of each game, all equally likely: the n-th replaces the one so far in one of n cases.
        few = rows[rows < _UNSEEN_TABLES]
        for row in few[random.random(len(few)) * made[few].sum(1) < 1]:
            hidden[row] = unseen(game, batch, row, random)
        batch.step(act_rows(batch, [player], who, rows, keys), rows)
    total, name = np.maximum(made.sum(1), 1), name_of(player)
    yield estimated("course", "decisions of a game", name, stats.mean_interval(made.sum(1)))
    for seat in range(game.num_seats) if game.num_seats > 1 else ():
        yield estimated("course", f"decisions of {game.seat_name(seat)}", name, stats.mean_interval(made[:, seat]))
    yield estimated("course", "legal actions of a decision", name, stats.mean_interval(choices / total))
    yield estimated("course", "share of forced decisions", name, stats.share_interval(forced / total))
    yield estimated("course", "cards that the seat to act has not seen", name, stats.mean_interval(hidden))


def unseen(game: Game, batch: BatchEnv, row: int, random: np.random.Generator) -> int:
    """Return how many cards change when all that the seat to act cannot know is drawn again, so often that twice as
    many draws change no more."""
    names = [game.card_name(card) for card in range(game.deck_size)]
    drawn, found, before = list[Mapping[str, Sequence[int]]](), 0, -1
    while found > before and len(drawn) < _MOST_REDRAWN:
        keys = random.integers(2**63, size=max(_REDRAWN, len(drawn)), dtype=np.uint64)
        drawn += [game.piles(one) for one in batch.determinize(keys, np.full(len(keys), row)).records]
        found, before = sum(_changed([one[pile] for one in drawn], names) for pile in drawn[0]), found
    return found


def _changed(piles: Sequence[Sequence[int]], names: Sequence[str]) -> int:
    """How many cards of a pile change. Where it lies in the order of the pack, places mean nothing, and those cards
    change that are not always there."""
    named = [[names[card] for card in pile] for pile in piles]
    if all([*pile] == sorted(pile) for pile in piles):
        return len(named[0]) - functools.reduce(operator.and_, map(Counter, named)).total()
    return sum(len({*place}) > 1 for place in zip(*named, strict=False))


def _drama(game: Game, tables: int, seed: int) -> Iterator[Figure]:
    """Browne's measures (2008), over decisions, of each seat's chance to win as the seat to act could estimate it."""
    assert game.rollout_bot is not None
    batch, bot = BatchEnv(game, tables, seed=seed, autoreset=False), game.rollout_bot.name
    batch.reset()
    gained, path = np.zeros((tables, game.num_seats)), list[tuple[np.ndarray, Floats]]()
    random = np.random.default_rng(sequence(Space.EVALUATION, seed, 2))
    while len(rows := np.flatnonzero(batch.arrays.seat >= 0)):
        path.append((rows, _chances(game, batch, rows, gained, bot, random)))
        gained[rows] += batch.play_bot(1, bot, rows).reward
    won = stats.win_shares(gained, game.sides).argmax(1)
    changes, behind, open_still, decisions = np.zeros((4, tables))
    leader = np.full(tables, -1)
    for rows, chance in path:
        first = chance.max(1)
        now, gap = chance.argmax(1), first - np.sort(_by_side(game, chance), axis=1)[:, -2]
        changes[rows] += (leader[rows] >= 0) & (np.array(game.sides)[now] != np.array(game.sides)[leader[rows]])
        behind[rows] += np.sqrt(first - chance[np.arange(len(rows)), won[rows]])
        open_still[rows] += 1 - gap
        decisions[rows] += 1
        leader[rows] = now
    name, decisions = f"bot:{bot}", np.maximum(decisions, 1)
    yield estimated("course", "lead changes a decision", name, stats.mean_interval(changes / decisions))
    yield estimated("course", "drama: how far the winner was behind", name, stats.mean_interval(behind / decisions))
    yield estimated("course", "uncertainty: how open the game is", name, stats.mean_interval(open_still / decisions))


def _by_side(game: Game, chance: Floats) -> Floats:
    """The chances [n, sides] of each side, from those of seats [n, N]."""
    return chance[:, [game.sides.index(side) for side in range(game.num_sides)]]


def _chances(
    game: Game, batch: BatchEnv, rows: np.ndarray, gained: Floats, bot: str, random: np.random.Generator
) -> Floats:
    """Each seat's share of the wins [n, N] in rollouts from what the seat to act may know."""
    named = np.repeat(rows, _ROLLOUTS)
    keys = random.integers(2**63, size=len(named), dtype=np.uint64)
    worlds = BatchEnv.from_states(batch.determinize(keys, named), seed=int(random.integers(2**31)))
    total = gained[named]
    while len(left := np.flatnonzero(worlds.arrays.seat >= 0)):
        total[left] += worlds.play_bot(64, bot, left).reward
    shares: Floats = stats.win_shares(total, game.sides).reshape(len(rows), _ROLLOUTS, -1).mean(1)
    return shares
