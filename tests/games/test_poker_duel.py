"""What vectors cannot say of Poker Duel: how many splits there are, what is hidden, and how its bots think."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.base.agent import view_of
from backalley.agents.search.determinizations import Determinizations
from backalley.benchmarks.studies.strength import poker_duel_chances as tune
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.core.rules.pokerhands import strengths
from backalley.envs.poker_duel import bot, rules
from backalley.envs.poker_duel.bots import splits
from backalley.envs.poker_duel.bots.grading import GRADES, MISERE_GRADES, misere_grade
from backalley.envs.poker_duel.match import match_value
from backalley.envs.poker_duel.slots import stock_left
from backalley.envs.poker_duel.state import ARRANGE, ASSIGN, EXCHANGE, HAND, SLOT, SLOTS, STAND
from backalley.envs.poker_duel.tables import CHANCES, FILE, GAME_CHANCES, MISERE_CHANCES
from tests.common.cases import by_count, determinizations_of, marks, observed
from tests.core.rules.test_symmetry import Tables

GAME = game_type("poker_duel").bind()

Fill = tuple[int, ...]
Chooser = Callable[[npt.NDArray[Any]], int]


def opened(**given: Any) -> AECEnv:
    env = backalley.make("poker_duel-v0", **given)
    env.reset(seed=3)
    return env


def table(env: AECEnv) -> Any:
    return env.engine.batch.state[0]


def legal_actions(env: AECEnv) -> npt.NDArray[Any]:
    return np.flatnonzero(env.engine.batch.mask[0])


def play_until(env: AECEnv, done: Callable[[], bool], choose: Chooser) -> list[np.ndarray[Any, Any]]:
    """Play until `done` or the end; the rewards of each action."""
    rewards = []
    while not done() and env.engine.batch.seat[0] != OVER:
        env.step(int(choose(legal_actions(env))))
        rewards.append(env.engine.batch.reward[0].copy())
    return rewards


def card_set(cards: Any) -> int:
    return sum(1 << int(card) for card in np.ravel(cards))


@pytest.mark.parametrize("skip_forced", [False, True])
def test_every_split_has_one_way_to_be_made(skip_forced: bool) -> None:
    """15! / (5!)^3 ways through the arrangement, counted over the 216 ways to have filled the slots."""
    env = opened(skip_forced=skip_forced)
    start = env.engine.batch.state.copy()
    seat, step = int(start[0].seat), GAME.kernels.step
    ways: dict[Fill, int] = {(0, 0, 0): 1}
    finished = 0
    for fill in itertools.product(range(SLOT + 1), repeat=SLOTS):
        if sum(fill) == HAND or fill not in ways:
            continue
        state = start.copy()
        for slot, count in enumerate(fill):
            state[0].filled[seat, slot] = count
        mask = np.zeros(GAME.num_actions, np.int8)
        GAME.kernels.legal(env.game.options, state[0], mask)
        assert set(np.flatnonzero(mask)) == {ASSIGN + slot for slot in range(SLOTS) if fill[slot] < SLOT}
        for action in np.flatnonzero(mask):
            after = state.copy()
            step(env.game.options, after[0], int(action))
            reached = tuple(after[0].filled[seat].tolist())
            if sum(reached) == HAND:
                finished += ways[fill]
            else:
                ways[reached] = ways.get(reached, 0) + ways[fill]
    assert finished == math.factorial(15) // math.factorial(5) ** 3 == 756_756


@pytest.mark.parametrize(
    ("exchanges", "decisions"),
    [pytest.param(number, 30 + 6 * number, marks=marks(GAME, {"exchanges_per_round": number})) for number in range(4)],
)
def test_decisions_of_a_game_in_which_nobody_stands(exchanges: int, decisions: int) -> None:
    env = opened(num_games=1, sudden_death=False, exchanges_per_round=exchanges)
    dice = np.random.default_rng(2)
    rewards = play_until(env, lambda: False, lambda legal: int(dice.choice(legal[legal != STAND])))
    assert len(rewards) == decisions
    assert stock_left(env.game.options, table(env)) == 22 - 6 * exchanges


def test_unseen_cards_are_equally_likely_in_every_hidden_place() -> None:
    """In round 2, with exchanges of both, each unseen card: five places in slot 2, five in slot 3, the discards, the
    deck."""
    env = opened()
    dice = np.random.default_rng(5)
    play_until(env, lambda: bool(table(env).phase == EXCHANGE), lambda legal: int(dice.choice(legal)))
    play_until(env, lambda: bool(table(env).round_index == 1), lambda legal: int(legal[0]))
    state, seat, count = table(env), 0, 4_000 if COMPILED else 400
    assert state.exchanges[1].tolist() == [2, 0, 0]
    determinizations = determinizations_of(env, seat, count)
    assert all(np.array_equal(np.sort(hand), np.sort(state.slots[1, 0])) for hand in determinizations["slots"][:, 1, 0])
    places = {
        "slot 2": determinizations["slots"][:, 1, 1],
        "slot 3": determinizations["slots"][:, 1, 2],
        "discards": determinizations["discards"][:, 1, :2],
    }
    places["deck"] = determinizations["stock"][:, state.drawn : state.drawn + stock_left(env.game.options, state)]
    unseen = sorted(np.concatenate([cards[0] for cards in places.values()]).tolist())
    assert len(unseen) == 5 + 5 + 2 + stock_left(env.game.options, state)
    for name, cards in places.items():
        share = cards.shape[1] / len(unseen)
        found = np.bincount(cards.ravel(), minlength=52)[unseen]
        assert found.sum() == cards.size
        deviation = (found - count * share) / math.sqrt(count * share * (1 - share))
        assert np.abs(deviation).max() < 5, f"{name}: a card lies there too often or too seldom"


@pytest.mark.parametrize("placed", [0, 4, 14])
def test_how_far_an_opponent_has_come_with_his_split_is_hidden(placed: int) -> None:
    env = opened()
    dice = np.random.default_rng(6)
    first = int(env.engine.batch.seat[0])
    play_until(env, lambda: bool(table(env).filled[first].sum() == placed), lambda legal: int(dice.choice(legal)))
    before = observed(opened(), 1 - first)
    assert observed(env, 1 - first).tobytes() == before.tobytes()
    for determinization in determinizations_of(env, 1 - first, 20):
        assert (determinization.phase, determinization.seat, determinization.filled[first].sum()) == (ARRANGE, first, 0)
        cards = determinization.offer[first].tolist()
        assert cards == sorted(set(cards), key=lambda card: (card % 13, card // 13))
        assert len(cards) == HAND


def test_blotto_mixes_its_three_orders() -> None:
    env, count = opened(), 2_000 if COMPILED else 100
    dice = np.random.default_rng(8)
    orders = {"high": 0, "swapped low": 0, "swapped high": 0}
    for _ in range(count):
        cards = card_set(dice.permutation(52)[:HAND])
        shown = np.zeros(1, GAME.observation_dtype)
        shown["phase"][0, 0] = 1
        shown["unassigned"][0] = [(cards >> card) & 1 for card in range(52)]
        low, middle, high = splits.greedy_split(env.game.options, cards)
        slots = []
        for hand in (low, middle, high):
            shown["next_card"][0] = [(hand >> card) & 1 for card in range(52)]
            slots.append(
                int(bot.blotto(env.game.options, shown[0], np.ones(GAME.num_actions, np.int8), np.uint64(0))) - ASSIGN
            )
        orders[{(0, 1, 2): "high", (1, 0, 2): "swapped low", (0, 2, 1): "swapped high"}[tuple(slots)]] += 1
    for name, share in (("high", 0.8), ("swapped low", 0.1), ("swapped high", 0.1)):
        assert abs(orders[name] - count * share) < 5 * math.sqrt(count * share * (1 - share)), orders


@pytest.mark.parametrize("ace_low_straight", [True, False])
def test_the_best_five_are_the_best_of_all_five(ace_low_straight: bool) -> None:
    dice = np.random.default_rng(9)
    for size in (5, 6, 10, 15):
        choices = np.array(list(itertools.combinations(range(size), 5)))
        for _ in range(60 if COMPILED else 3):
            hand = dice.permutation(52)[:size]
            best = splits.best_five(card_set(hand), ace_low_straight)
            found = [card for card in range(52) if (best >> card) & 1]
            assert set(found) <= set(hand.tolist())
            all_strengths = strengths(hand[choices], ace_low_straight)
            assert strengths(np.array([found]), ace_low_straight)[0] == all_strengths.max()


@pytest.mark.parametrize(("table", "grades", "up"), [(CHANCES, GRADES, 1), (MISERE_CHANCES, MISERE_GRADES, -1)])
def test_the_tables_of_chances_are_tables_of_chances(table: npt.NDArray[Any], grades: int, up: int) -> None:
    assert table.shape == (3, SLOTS + 1, grades)
    assert table.min() >= 0
    assert table.max() <= 1
    assert (up * np.diff(table[0]) >= 0).all(), "the better hand wins more often"
    assert (table[1:] >= table[0] - 1e-9).all(), "an exchange is a right, and no duty"
    text = FILE.read_text("utf-8")
    assert text == tune.text_of(json.loads(text)), "the file is what `backalley dev tune` writes"


def test_misere_grades_never_put_the_higher_hand_first() -> None:
    hands = np.array([np.random.default_rng(number).permutation(52)[:SLOT] for number in range(500)])
    by_strength = hands[np.argsort(strengths(hands))]
    grades = [misere_grade(card_set(hand), True) for hand in by_strength]
    assert grades == sorted(grades)
    assert len(set(grades)) > 30


@pytest.mark.parametrize("misere", [False, True])
def test_in_misere_the_strong_player_is_the_misere_player(misere: bool) -> None:
    env, dice = opened(misere=misere, num_games=1), np.random.default_rng(10)
    alike = 0
    for seed in range(5 if COMPILED else 1):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            shown, mask = env.engine.batch.observation[0], env.engine.batch.mask[0]
            answers = [
                int(GAME.bots[name].act(env.game.options, shown, mask, np.uint64(seed)))
                for name in ("misere", "strong")
            ]
            alike += answers[0] == answers[1]
            env.step(int(dice.choice(answers)))
        assert (alike == env.engine.batch.decisions[0]) == misere
        alike = 0


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="thousands of deals")
def test_the_table_of_chances_can_be_measured_again() -> None:
    """A short fictitious play gives a table that plays nearly as the long one's: it beats greedy splits against the
    same field."""
    short = tune.fictitious_play(rounds=25, deals=4_000, seed=5)
    assert short.shape == CHANCES.shape
    ends = np.zeros((3, SLOTS + 1, GRADES))
    game = GAME.bind()
    for split, measured, found in (
        (tune.STRONG, short, ends[0]),
        (tune.STRONG, CHANCES, ends[1]),
        (tune.GREEDY, CHANCES, ends[2]),
    ):
        tune.play(game.options, measured, np.uint64(17), 20_000, split, found, *np.zeros((2, 3, SLOTS + 1, GRADES)))
    assert tune.points(ends[0], ends[2]) > 3.1
    assert tune.points(ends[1], ends[2]) > 3.2


def test_the_order_in_which_cards_of_a_rank_are_offered_matters_to_no_split() -> None:
    """§3: it is that of the suits, so permuted tables are offered another; who gives each card its slot all the same
    comes to the same table."""
    game, orders = GAME.bind(num_games=1), set()
    for seed, symmetry in enumerate(game.symmetries):
        tables = Tables(game, [game.symmetries[0], symmetry], seed)
        engine, state = tables.engine, tables.engine.batch.state
        offered = state["offer"].copy()
        slot_of = {int(card): tables.random.permutation(np.repeat(np.arange(SLOTS), SLOT)) for card in range(2)}
        wanted = {
            int(card): int(slot_of[seat][place]) for seat in range(2) for place, card in enumerate(offered[0, seat])
        }
        state["offer"][1] = [sorted(cards, key=lambda card: (card % 13, card)) for cards in offered[1].tolist()]
        orders.add(np.array_equal(state["offer"][1], offered[1]))
        back = np.argsort(symmetry.cards)
        for _ in range(2 * HAND):
            for row in range(2):
                seat = int(state["seat"][row])
                card = int(state["offer"][row, seat, state["filled"][row, seat].sum()])
                engine.apply_one(ASSIGN + wanted[card if row == 0 else int(back[card])], row)
                engine.finish_one(row)
        assert (state["phase"] != ARRANGE).all()
        tables.compare()
        while engine.batch.seat[0] != OVER:
            assert not tables.noticed
            tables.step()
        assert not tables.noticed
    assert orders == {True, False}


def between_games(game: Any, points: tuple[float, float], finished: int = 1, sudden_death: int = 0) -> Any:
    state = np.zeros(1, game.state_dtype)[0]
    state.points[:] = points
    state.game, state.sudden_death = finished, sudden_death
    state.seat = -1
    return state


def leaf(points: tuple[float, float], *, finished: int = 1, sudden_death: int = 0, **given: Any) -> float:
    game = GAME.bind(given)
    state = between_games(game, points, finished, sudden_death)
    mine, theirs = (float(rules.leaf_value(game.options, state, seat)) for seat in range(2))
    assert mine == pytest.approx(-theirs)
    return mine


def test_the_chances_of_a_game_are_shares_and_alike_for_both() -> None:
    assert GAME_CHANCES.shape == (2, 2, 3, 3, 3)
    assert GAME_CHANCES.min() >= 0
    assert GAME_CHANCES.sum(axis=(2, 3, 4)) == pytest.approx(np.ones((2, 2)))
    assert np.abs(GAME_CHANCES - GAME_CHANCES[:, :, ::-1, ::-1, ::-1]).max() < 1e-12


def test_a_lead_is_worth_the_more_the_greater_it_is_and_the_fewer_games_are_left() -> None:
    values = [leaf((max(lead, 0), max(-lead, 0))) for lead in range(-7, 8)]
    assert values == sorted(values)
    assert values[7] == pytest.approx(0, abs=1e-12)
    assert values[0] == pytest.approx(-1)
    assert values[-1] == pytest.approx(1), "seven points cannot be made up in one game"
    assert -1 < values[1] < values[6] < 0
    later = [match_value(GAME.options, 2, games) for games in range(6)]
    assert later == sorted(later, reverse=True)
    assert later[0] == 1


@pytest.mark.parametrize(
    ("points", "given", "value"),
    [
        ((4, 1), {"reward": "points"}, 0.25),
        ((4.5, 1.5), {"reward": "points", "tie_points": "split"}, 0.25),
        ((4, 1), {"reward": "points", "num_games": 4}, 0.125),
        ((4, 1), {"reward": "per_round"}, 0),
        ((5, 5), {"sudden_death": 1, "finished": 2}, 0),
        ((5, 5), {"sudden_death": 3, "finished": 2, "reward": "points"}, 0),
        ((0, 0), {"sudden_death": 2, "finished": 0, "episode": "sudden_death"}, 0),
        ((0, 0), {"sudden_death": 2, "finished": 0, "episode": "sudden_death", "misere": True}, 0),
    ],
)
def test_what_is_left_to_gain_by_the_other_rewards_and_in_sudden_death(
    points: tuple[float, float], given: dict[str, Any], value: float
) -> None:
    options = {name: item for name, item in given.items() if name not in ("sudden_death", "finished")}
    found = leaf(points, finished=given.get("finished", 1), sudden_death=given.get("sudden_death", 0), **options)
    assert found == pytest.approx(value)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"misere": True},
        pytest.param({"num_games": 3, "nothing_scores": False, "tie_points": "split"}, marks=pytest.mark.slow),
        pytest.param({"round_points": (2, 1, 5), "reward": "points"}, marks=pytest.mark.slow),
    ],
)
def test_after_a_game_the_leaf_value_is_what_comes_of_the_lead(given: dict[str, Any]) -> None:
    """Over matches of `strong` with itself, by lead and by dealer of the next game."""
    game = GAME.bind(given)
    states, paid = by_count(game, "bot:strong", "game", 4_000 if COMPILED else 10, seed=3)
    states, paid = states[states["game"] == 1], paid[states["game"] == 1]
    hoped = np.array([rules.leaf_value(game.options, one, 0) for one in states])
    for which in [states["dealer"] == 0, states["dealer"] == 1, *(hoped == value for value in np.unique(hoped))]:
        if which.sum() >= 100:
            error = max(paid[which].std(), 0.02) / np.sqrt(which.sum())
            assert abs(paid[which].mean() - hoped[which].mean()) < 4 * error, f"{hoped[which].mean()}"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="thousands of games")
@pytest.mark.parametrize("misere", [False, True])
def test_the_chances_of_a_game_can_be_measured_again(misere: bool) -> None:
    games = 8_000
    counts = tune.played(games, seed=10**6, misere=misere)
    found, expected = tune.for_either(counts) / (2 * games), GAME_CHANCES[int(misere)]
    assert np.abs(found - expected).max() < 4 * np.sqrt(0.25 / games)
    lead, half = tune.dealers_lead(counts[1])
    assert abs(lead) < 2 * half


@pytest.mark.parametrize("reward", ["match", "points"])
def test_a_search_stops_at_the_end_of_a_game(reward: str) -> None:
    """What a rollout of a match's first game gains is what some lead is worth; a match played out would be won, lost,
    or have other leads."""
    game = GAME.bind(num_games=4, reward=reward)
    batch = BatchEnv(game, 2, seed=6)
    batch.reset()
    view = view_of(batch, np.arange(2), np.arange(2, dtype=np.uint64))
    gained = Determinizations(game, 1).play(view, np.arange(2), view.action_mask, 0, 8)[:, :, view.action_mask[0] == 1]
    leads = {
        round(float(rules.leaf_value(game.options, between_games(game, (max(lead, 0), max(-lead, 0))), 0)), 5)
        for lead in range(-6, 7)
    }
    assert {round(float(value), 5) for value in gained.ravel()} <= leads
    assert 0 < np.abs(gained).max() < 1
