"""Worlds weighed by what others have done: weights are right, they change what is drawn, and they follow from nothing
that a seat cannot know."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base import View, view_of
from backalley.agents.match import Match
from backalley.agents.race import RaceAgent
from backalley.agents.registry import agent
from backalley.agents.seat_tables import SeatTables
from backalley.agents.weighing import BLOCK, IMPOSSIBLE, POOL, SURPRISE, WeighedWorlds, blocks, resample, temper
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.kernel import uncompiled
from backalley.envs.core.vector import BatchEnv
from tests.cases import GAMES
from tests.test_search import all_rows, found_by, keys
from tests.test_trail import follows, replayed

WORLDS = 2 * BLOCK
RECALLING = [game for game in GAMES if game.type.recall is not None]
QUICK = ("pitch",)
BY_NAME = pytest.mark.parametrize(
    "game",
    [pytest.param(game, id=game.name, marks=[] if game.name in QUICK else [pytest.mark.slow]) for game in RECALLING],
)
ONE = pytest.mark.parametrize("game", [game for game in RECALLING if game.name in QUICK], ids=lambda game: game.name)


def inferring(game: Game, num_threads: int = 1) -> RaceAgent:
    return RaceAgent(game, WORLDS, num_threads=num_threads, infers=True)


def played_by_bots(game: Game, count: int, steps: int) -> BatchEnv:
    """Tables that keep what is played, at different points of nearly sensible play."""
    batch, bot, dice = BatchEnv(game, count, seed=0), agent("bot", game), np.random.default_rng(3)
    batch.engine.keep_trail()
    shown = batch.reset()
    for step in range(steps):
        rows = np.flatnonzero(np.arange(count) * steps >= step * count)
        actions = bot.act(view_of(batch.engine, rows, keys(count)))
        for k, row in enumerate(rows.tolist()):
            if dice.random() < 0.1:
                actions[k] = dice.choice(np.flatnonzero(shown.action_mask[row]))
        shown = batch.step(actions, rows)
    return batch


def pool_keys(game: Game, view: View) -> npt.NDArray[np.uint64]:
    """By which worlds are redrawn for every table of a view [n, WORLDS]."""
    return WeighedWorlds(game, 1)._keys(view, np.arange(len(view)), view.key, 0, WORLDS)[0]


# Weights --------------------------------------------------------------------------------------------------------------


def drawn_from(surprises: list[int], count: int, key: int = 5) -> Counter[int]:
    out = np.full(count, -1)
    resample(np.array(surprises), np.uint64(key), out)
    assert (np.diff(out) >= 0).all()
    return Counter(out.tolist())


def test_worlds_are_drawn_as_often_as_they_weigh() -> None:
    """A pool of 40, of which ten are surprised once less than ten others, and twenty impossible."""
    pool = [3] * 10 + [2] * 10 + [IMPOSSIBLE + 2] * 20
    total: Counter[int] = Counter()
    for key in range(300):
        total += drawn_from(pool, 8, key)
    assert sum(total.values()) == 2400
    assert not any(world >= 20 for world in total)
    fewer, more = (sum(total[world] for world in group) for group in (range(10, 20), range(10)))
    assert more / fewer == pytest.approx(np.exp(-SURPRISE), rel=0.25)
    assert max(total[world] for world in range(10, 20)) < 2 * min(total[world] for world in range(10, 20))


def test_equal_worlds_are_drawn_evenly() -> None:
    assert set(drawn_from([4] * 48, 12).values()) == {1}
    assert drawn_from([0] * 3, 12) == {0: 4, 1: 4, 2: 4}
    assert set(drawn_from([IMPOSSIBLE] * 12, 12).values()) == {1}, "then nothing was learned"


def test_no_few_worlds_take_all_the_weight() -> None:
    """One world that explains everything, among forty that are surprised nine times."""
    drawn = drawn_from([9] * 40 + [0], 12)
    assert 3 <= drawn[40] <= 6, "an effective size of three"
    number, weight = np.array([1, 0, 0, 40]), np.zeros(4)
    temper(number, 3.0, weight)
    total = (number * weight).sum()
    assert total**2 / (number * weight**2).sum() == pytest.approx(3.0, abs=0.5)
    temper(number, 1.0, weight)
    assert weight[3] == pytest.approx(np.exp(-3 * SURPRISE))


def test_blocks_do_not_depend_on_how_many_worlds_are_asked_for() -> None:
    assert list(blocks(0, 4 * BLOCK)) == [(0, BLOCK), (BLOCK, 2 * BLOCK), (2 * BLOCK, 4 * BLOCK)]
    assert list(blocks(BLOCK - 1, 2)) == [(0, BLOCK), (BLOCK, 2 * BLOCK)]
    assert list(blocks(3 * BLOCK, 5)) == [(2 * BLOCK, 4 * BLOCK)]


# What is drawn --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BY_NAME
def test_worlds_drawn_explain_what_others_did(game: Game) -> None:
    batch = played_by_bots(game, 24, 12)
    view, worlds = all_rows(batch), WeighedWorlds(game, 1)
    rows = np.arange(len(view))
    past = worlds.past(view, rows)
    assert past is not None
    known = np.flatnonzero(past.end > past.first)
    assert len(known) > 8

    engine = worlds._engines[0]

    def surprises(redraw: npt.NDArray[np.uint64]) -> float:
        def run(thread, states, which, dice, value):  # type: ignore[no-untyped-def]
            some = past.some(known)
            worlds._call(
                "count_surprises", game.options, engine.batch, some, view.seat[known], states, which, dice, value
            )

        return float(worlds._spread(view, known, redraw, redraw, 1, run).mean())

    weighed, uniform = pool_keys(game, view)[known], WeighedWorlds(game, 1)._keys(view, known, view.key, 0, 1)[1]
    uniform = np.random.default_rng(1).integers(2**63, size=weighed.shape).astype(np.uint64)
    assert surprises(weighed) < 0.9 * surprises(uniform)


@BY_NAME
def test_worlds_are_the_same_alone_and_in_any_batch_pieces_and_threads(game: Game) -> None:
    batch = played_by_bots(game, 12, 10)
    view = all_rows(batch)
    whole = found_by(inferring(game), view)
    threaded = inferring(game, 2)
    assert found_by(threaded, view) == whole
    assert found_by(pickle.loads(pickle.dumps(threaded)), view) == whole
    threaded.close()
    keyed = pool_keys(game, view)
    alone = view_of(batch.engine, np.array([5]), keys(batch.num_envs))
    assert (pool_keys(game, alone) == keyed[5]).all()
    pieces = [
        WeighedWorlds(game, 1)._keys(view, np.arange(len(view)), view.key, *part)[0] for part in ((0, 5), (5, 19))
    ]
    assert (np.concatenate(pieces, 1) == keyed).all()


@BY_NAME
def test_neither_unseen_cards_nor_what_others_did_with_them_changes_anything(game: Game) -> None:
    """Another deal, in which others did before all eyes what they did in this one: the same weights, values, choice."""
    assert game.type.recall is not None
    batch = played_by_bots(game, 16, 14)
    view, trail, scratch = all_rows(batch), batch.engine.trail, Engine(game, 1)
    assert trail is not None
    drawn, found = pool_keys(game, view), found_by(inferring(game), view)
    recall, others = uncompiled(game.type.recall), 0
    state, seats = batch.engine.batch.state, batch.engine.batch.seat.astype(np.int64)
    redrawn = state.copy()
    batch.engine.determinize(redrawn, seats, keys(len(state)) + np.uint64(9))
    assert (redrawn != state).any()
    for row in range(batch.num_envs):
        states, actions = replayed(trail, row, scratch), trail.played.action[row]
        recalled = [past.copy() for past in states]
        for past in recalled:
            recall(game.options, past[0], states[-1][0], redrawn[row], int(seats[row]))
        other = follows(game, scratch, recalled, actions)
        others += int((recalled[0] != states[0]).any())
        trail.played.start[row], trail.played.length[row] = recalled[0][0], len(other)
        trail.played.action[row, : len(other)] = other
        state[row] = redrawn[row]
    assert others > 8
    second = all_rows(batch)
    assert (pool_keys(game, second) == drawn).all()
    assert found_by(inferring(game), second) == found


@ONE
def test_where_it_is_not_known_what_was_played_worlds_are_uniform(game: Game) -> None:
    batch = played_by_bots(game, 12, 8)
    view = all_rows(batch)
    weighed, plain = found_by(inferring(game), view), found_by(RaceAgent(game, WORLDS, num_threads=1), view)
    assert weighed != plain
    kept = batch.engine.batch.state.copy()
    batch.engine.batch.state[:] = np.roll(kept, 1)  # set by hand
    rows = np.arange(12)
    for row in rows:
        batch.engine.show_one(int(row))
    other = all_rows(batch)
    assert found_by(inferring(game), other) == found_by(RaceAgent(game, WORLDS, num_threads=1), other)
    batch.engine.batch.state[:] = kept
    for row in rows:
        batch.engine.show_one(int(row))
    assert found_by(inferring(game), all_rows(batch)) == weighed
    batch.engine.forget(rows)
    assert found_by(inferring(game), all_rows(batch)) == plain


@ONE
def test_tables_keep_what_is_played_where_an_agent_asks_for_it(game: Game) -> None:
    seatings = np.array([[0] + [1] * (game.num_seats - 1)])
    for asks in (True, False):
        players = [RaceAgent(game, BLOCK, num_threads=1, infers=asks), agent("random", game)]
        match = Match(game, players, seatings)
        match.play(np.arange(2, dtype=np.uint64), np.zeros((2, 1), np.uint64))
        assert match._tables is not None
        assert players[0].identity == ({"infers": True} if asks else None), "told from the one that asks for nothing"
        assert (match._tables.engine.trail is not None) == asks
        table = SeatTables(game, 1, 0, players[0])
        assert (table.tables.engine.trail is not None) == asks


def test_a_game_that_cannot_recall_is_refused() -> None:
    game = next((game for game in GAMES if game.type.recall is None), None)
    if game is not None:
        with pytest.raises(ValueError, match="cannot recall earlier states"):
            RaceAgent(game, 12, infers=True)
    assert POOL >= 2
