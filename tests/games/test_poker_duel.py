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
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.core.rules.pokerhands import strengths
from backalley.envs.poker_duel import bot
from backalley.envs.poker_duel.bots import splits, splitter, tune
from backalley.envs.poker_duel.bots.grading import GRADES, MISERE_GRADES, misere_grade
from backalley.envs.poker_duel.slots import stock_left
from backalley.envs.poker_duel.state import ARRANGE, ASSIGN, EXCHANGE, HAND, SLOT, SLOTS, STAND
from backalley.envs.poker_duel.tables import CHANCES, FILE, MISERE_CHANCES
from tests.common.cases import determinizations_of, marks, observed
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


def test_cards_go_where_they_are_assigned_in_order_of_rank_and_suit() -> None:
    env = opened()
    seat = int(env.engine.batch.seat[0])
    cards = table(env).offer[seat].tolist()
    assert cards == sorted(cards, key=lambda card: (card % 13, card // 13))
    dice = np.random.default_rng(1)
    chosen: list[int] = []
    for card in cards:
        assert np.flatnonzero(observed(env, seat).next_card).tolist() == [card]
        chosen.append(int(dice.choice(legal_actions(env))) - ASSIGN)
        env.step(ASSIGN + chosen[-1])
    for slot in range(SLOTS):
        assert table(env).slots[seat, slot].tolist() == [
            card for card, where in zip(cards, chosen, strict=True) if where == slot
        ]


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


def test_a_games_points_are_six_less_those_of_tied_rounds() -> None:
    env = opened(num_games=1, sudden_death=False, reward="per_round")
    dice = np.random.default_rng(3)
    for seed in range(300 if COMPILED else 10):
        env.reset(seed=seed)
        rewards = play_until(env, lambda: False, lambda legal: int(dice.choice(legal)))
        state = table(env)
        by_slot = [strengths(state.slots[:, slot]) for slot in range(SLOTS)]
        points = np.zeros(2)
        for worth, (mine, theirs) in zip(env.game.options.round_points, by_slot, strict=True):
            points += worth * np.array([mine > theirs, mine < theirs])
        assert points.tolist() == state.points.tolist()
        assert sum(rewards)[0] == pytest.approx((points[0] - points[1]) / 6, abs=1e-6)


@pytest.mark.parametrize(
    "public", [pytest.param(public, marks=marks(GAME, {"discards_public": public})) for public in (False, True)]
)
def test_a_seat_sees_its_own_cards_and_what_has_been_laid_open(public: bool) -> None:
    env = opened(num_games=1, discards_public=public)
    dice = np.random.default_rng(4)
    while env.engine.batch.seat[0] != OVER:
        state = table(env)
        for seat in range(2):
            shown, other = observed(env, seat), 1 - seat
            for slot in range(SLOTS):
                mine = state.slots[seat, slot, : state.filled[seat, slot]]
                theirs = state.slots[other, slot] if slot < state.round_index else []
                assert card_set(np.flatnonzero(shown.slots[slot])) == card_set(mine)
                assert card_set(np.flatnonzero(shown.exposed[slot])) == card_set(theirs)
            thrown = [state.discards[who, : state.exchanges[who].sum()] for who in (seat, other)]
            assert [card_set(np.flatnonzero(row)) for row in shown.discards] == [
                card_set(cards) for cards in thrown[: 1 + public]
            ]
            assert shown.my_turn == (state.seat == seat)
            assert shown.exchanges.tolist() == [state.exchanges[who].tolist() for who in (seat, other)]
        env.step(int(dice.choice(legal_actions(env))))


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


@pytest.mark.parametrize("name", list(GAME.bots))
@pytest.mark.parametrize("options", [{}, {"misere": True}, {"skip_forced": True, "ace_low_straight": False}])
def test_a_bot_carries_out_one_split_over_its_fifteen_decisions(name: str, options: dict[str, Any]) -> None:
    """Every prefix of the arrangement must lead to the split that the bot has in mind at the first card, whatever its
    keys."""
    env = opened(num_games=1, **options)
    act, dice = GAME.bots[name].act, np.random.default_rng(7)
    for seed in range(20 if COMPILED else 2):
        env.reset(seed=seed)
        hands = table(env).offer.copy()
        while table(env).phase == ARRANGE:
            seat = int(env.engine.batch.seat[0])
            key = np.uint64(dice.integers(2**63))
            env.step(int(act(env.game.options, observed(env, seat), env.engine.batch.mask[0], key)))
        for seat in range(2):
            cards = card_set(hands[seat])
            made = [card_set(table(env).slots[seat, slot]) for slot in range(SLOTS)]
            chosen, low = env.game.options, name == "misere" or options.get("misere", False)
            if name in ("misere", "strong"):
                chances = (MISERE_CHANCES if low else CHANCES)[2]
                search = splitter.search_by(chosen, chances, splitter.SPREAD, cards, low)
                first, second, third = splitter.split_by(chosen, search, cards)
            else:
                first, second, third = splits.greedy_split(chosen, cards, low)
            if name == "blotto":
                assert made in ([first, second, third], [second, first, third], [first, third, second])
            else:
                assert made == [first, second, third]


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


def test_the_table_of_chances_is_one_of_chances() -> None:
    assert CHANCES.shape == (3, SLOTS + 1, GRADES)
    assert CHANCES.min() >= 0
    assert CHANCES.max() <= 1
    assert (np.diff(CHANCES[0]) >= 0).all(), "the better hand wins more often"
    assert (CHANCES[1:] >= CHANCES[0] - 1e-9).all(), "an exchange is a right, and no duty"
    text = FILE.read_text("utf-8")
    assert text == tune.text_of(json.loads(text)), "the file is what tune.py writes"


def test_the_table_of_misere_chances_is_one_of_chances() -> None:
    assert MISERE_CHANCES.shape == (3, SLOTS + 1, MISERE_GRADES)
    assert MISERE_CHANCES.min() >= 0
    assert MISERE_CHANCES.max() <= 1
    assert (np.diff(MISERE_CHANCES[0]) <= 0).all(), "the lower hand wins more often"
    assert (MISERE_CHANCES[1:] >= MISERE_CHANCES[0] - 1e-9).all(), "an exchange is a right, and no duty"


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


def test_a_drill_of_sudden_death_alone_is_one_hand_or_as_many_as_tie() -> None:
    env, dice = opened(episode="sudden_death"), np.random.default_rng(11)
    for seed in range(200 if COMPILED else 10):
        env.reset(seed=seed)
        assert table(env).sudden_death == 1
        assert table(env).phase == EXCHANGE
        assert stock_left(env.game.options, table(env)) == 42
        for seat in range(2):
            assert observed(env, seat).phase.tolist() == [0, 0, 1]
        dealer = int(table(env).dealer)
        assert env.engine.batch.seat[0] == 1 - dealer
        rewards = play_until(env, lambda: False, lambda legal: int(dice.choice(legal)))
        assert len(rewards) <= 4 * int(table(env).sudden_death)
        assert abs(rewards[-1][0]) == 1
        assert table(env).points.tolist() == [0, 0]


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
