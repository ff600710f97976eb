"""Poker Duel searched: splits as wholes, and opponents who split as a sensible player would."""

from __future__ import annotations

import pickle

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.policies.planner import PlannerAgent
from backalley.agents.registry import agent
from backalley.agents.search.determinizations import digest_of
from backalley.agents.search.racing import RacingAgent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.poker_duel import slots
from backalley.envs.poker_duel.bots import around
from backalley.envs.poker_duel.bots.splits import greedy_split
from backalley.envs.poker_duel.state import ARRANGE, HAND, SLOTS
from tests.games.test_poker_duel_splits import card_set

GAME = game_type("poker_duel").bind()
DETERMINIZATIONS = 12


def split_by(search: RacingAgent, tables: BatchEnv, forgets: bool) -> list[npt.NDArray[np.int64]]:
    """The fifteen actions that a search assigns each table's first hand by."""
    made = []
    for step in range(HAND):
        if forgets:
            search._kept.clear()
        view = view_of(tables, np.arange(tables.num_envs), np.full(tables.num_envs, step, np.uint64))
        made.append(search.act(view))
        tables.step(made[-1])
    return made


@pytest.mark.slow
def test_all_steps_of_a_split_choose_the_same_with_no_memory_of_each_other() -> None:
    """Each decision has a key of its own; without what it remembers the search has to find the same plan again."""
    found = []
    for forgets in (False, True):
        tables = BatchEnv(GAME, 2, seed=8)
        tables.reset()
        search = RacingAgent(GAME, DETERMINIZATIONS, num_threads=1)
        found.append(np.array(split_by(search, tables, forgets)))
        assert (search.rollouts > 2 * DETERMINIZATIONS * SLOTS) == forgets or not forgets
    assert (found[0] == found[1]).all()


@pytest.mark.slow
def test_what_is_remembered_is_of_the_same_decision() -> None:
    """The bots' dice follow from how many decisions were made: the same cards later in a match are another question."""
    tables = BatchEnv(GAME, 2, seed=8)
    tables.reset()
    engine = tables.engine
    engine.batch.state[1] = engine.batch.state[0]
    engine.batch.flat[1] = engine.batch.flat[0]
    engine.batch.decisions[1] += 36
    together = RacingAgent(GAME, DETERMINIZATIONS, num_threads=1).analyse(
        view_of(tables, np.arange(2), np.zeros(2, np.uint64))
    )
    assert (together.value[0] != together.value[1]).any()
    for k in range(2):
        alone = RacingAgent(GAME, DETERMINIZATIONS, num_threads=1).analyse(
            view_of(tables, np.array([k]), np.zeros(2, np.uint64))
        )
        np.testing.assert_array_equal(alone.value[0], together.value[k])
    sent = pickle.loads(pickle.dumps(RacingAgent(GAME, DETERMINIZATIONS, num_threads=1)))
    np.testing.assert_array_equal(
        sent.analyse(view_of(tables, np.arange(2), np.zeros(2, np.uint64))).value, together.value
    )


def test_observations_that_differ_have_their_own_numbers() -> None:
    shown = [np.zeros(4, np.float32), *np.eye(4, dtype=np.float32) / 4, *np.eye(4, dtype=np.float32) / 2]
    assert len({int(digest_of(one)) for one in shown}) == len(shown)


@pytest.mark.slow
def test_a_split_that_was_begun_otherwise_is_gone_on_with() -> None:
    tables = BatchEnv(GAME, 4, seed=9)
    dice = np.random.default_rng(9)
    step = tables.reset()
    for _ in range(7):
        step = tables.step(np.array([int(dice.choice(np.flatnonzero(mask))) for mask in step.action_mask]))
    view = view_of(tables, np.arange(4), np.arange(4, dtype=np.uint64))
    found = RacingAgent(GAME, DETERMINIZATIONS, num_threads=1).analyse(view)
    assert (found.action == PlannerAgent(GAME).act(view)).all(), "around other cards the planner knows one split only"
    assert not np.isfinite(found.value).any()


@pytest.mark.slow
def test_the_best_bot_plays_on_where_splits_are_compared() -> None:
    """What takes it long is to draw up a split, and here splits are laid down as they are."""
    tables = BatchEnv(GAME, 2, seed=8)
    tables.reset()
    view = view_of(tables, np.arange(2), np.zeros(2, np.uint64))
    found, strong, greedy = (
        RacingAgent(GAME, DETERMINIZATIONS, num_threads=1, player=player).analyse(view).value
        for player in (None, agent("bot:strong", GAME), agent("bot:greedy", GAME))
    )
    np.testing.assert_array_equal(found, strong)
    assert (found != greedy).any()


@pytest.mark.slow
@pytest.mark.parametrize("of_plans", [False, True])
def test_splits_and_exchanges_each_have_a_caution_of_their_own(of_plans: bool) -> None:
    """Who is bold in one alone departs there alone: from the planner in splits, from the bot in exchanges."""
    tables, bot, planner = BatchEnv(GAME, 8, seed=8), agent("bot", GAME), PlannerAgent(GAME)
    search = RacingAgent(GAME, DETERMINIZATIONS, num_threads=1)
    search.z_threshold, search.plans_caution = (np.inf, 0.0) if of_plans else (0.0, np.inf)
    tables.reset()
    departed = {True: 0, False: 0}
    for number in range(2 * HAND + 8):
        view = view_of(tables, np.arange(8), np.full(8, number, np.uint64))
        splits = tables.engine.batch.state["phase"] == ARRANGE
        if number in (0, HAND) or not splits.any():
            found = search.analyse(view).action
            usual = np.where(splits, planner.act(view), bot.act(view))
            for kind in (True, False):
                departed[kind] += int((found != usual)[splits == kind].sum())
        tables.step(planner.act(view))
    assert departed[of_plans] > 0
    assert departed[not of_plans] == 0


def test_taking_a_split_back_gives_what_was_dealt() -> None:
    tables = BatchEnv(GAME, 1, seed=10)
    step = tables.reset()
    state, dice = tables.engine.batch.state, np.random.default_rng(10)
    dealt = state.copy()
    for number in range(HAND - 1):
        again = state.copy()
        assert slots.restart(GAME.options, again[0]) == number
        assert again.tobytes() == dealt.tobytes()
        step = tables.step(np.array([int(dice.choice(np.flatnonzero(step.action_mask[0])))]))
    while state[0].phase == ARRANGE:
        step = tables.step(np.array([int(np.flatnonzero(step.action_mask[0])[0])]))
    before = state.copy()
    assert slots.restart(GAME.options, state[0]) == 0
    assert state.tobytes() == before.tobytes()


@pytest.mark.parametrize("misere", [False, True])
def test_an_imagined_split_is_of_the_same_cards_and_shows_the_seat_the_same(misere: bool) -> None:
    """Whatever is imagined, the seat to act sees what it saw, and the opponent holds the cards that were redrawn."""
    game = GAME.bind(misere=misere)
    tables, dice, changed = BatchEnv(game, 16, seed=11), np.random.default_rng(11), 0
    step = tables.reset()
    for number in range(60 if COMPILED else 34):
        rows = np.arange(16)
        if number % 6 == 0:
            for row in rows:
                determinizations = tables.engine.batch.state[[row]].copy()
                seat = int(determinizations[0].seat)
                before = tables.engine.observe(np.array([row]), np.array([seat])).tobytes()
                closed = np.sort(determinizations[0].slots[1 - seat], axis=None).tolist()
                was = determinizations[0].slots[1 - seat].tobytes()
                around.imagine(game.options, determinizations[0], seat, np.uint64(number))
                assert np.sort(determinizations[0].slots[1 - seat], axis=None).tolist() == closed
                changed += determinizations[0].slots[1 - seat].tobytes() != was
                kept = tables.engine.batch.state[row].copy()
                tables.engine.batch.state[row] = determinizations[0]
                assert tables.engine.observe(np.array([row]), np.array([seat])).tobytes() == before
                tables.engine.batch.state[row] = kept
        step = tables.step(np.array([int(dice.choice(np.flatnonzero(mask))) for mask in step.action_mask]))
    assert changed > 10


def test_an_opponent_is_taken_for_one_who_splits_as_the_bots_do() -> None:
    """Before anything lies open: half of the determinizations hold the simple split of their fifteen cards."""
    tables = BatchEnv(GAME, 1, seed=12)
    step = tables.reset()
    for _ in range(HAND):
        step = tables.step(step.action_mask.argmax(1))
    seat, simple, count = int(tables.engine.batch.seat[0]), 0, 200 if COMPILED else 8
    determinizations = np.repeat(tables.engine.batch.state, count)
    tables.engine.determinize(determinizations, np.full(count, seat), np.arange(count, dtype=np.uint64))
    for number in range(count):
        around.imagine(GAME.options, determinizations[number], seat, np.uint64(number))
        made = tuple(card_set(determinizations[number].slots[1 - seat, slot]) for slot in range(SLOTS))
        simple += made == greedy_split(GAME.options, made[0] | made[1] | made[2])
    assert 0.4 * count < simple or not COMPILED
    assert simple < 0.9 * count or not COMPILED


@pytest.mark.slow
@pytest.mark.release
def test_the_search_beats_the_strong_bot() -> None:
    """Played on by `greedy` it came to half of this."""
    found = evaluate(GAME, ["search:12", "bot:strong"], deals=200, num_threads=2)
    assert found.agents[0].mean_return.low > 0.05
