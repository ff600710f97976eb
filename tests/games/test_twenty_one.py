"""What vectors cannot say of Twenty-One: money, chances, options, strengths. The § are those of the game's page."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backalley.agents.base.agent import view_of
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game
from backalley.envs.core.game.game import Game
from backalley.envs.twenty_one import odds, valuation
from backalley.envs.twenty_one.bank import BANKER_SHARE, BANKER_SHARE_IN_BACK_PASSING, ends_bank, share
from backalley.envs.twenty_one.state import (
    BACK_PASS,
    BANKER,
    BET_MIN,
    BET_POT,
    BUSTED,
    DEAL,
    ENDED_BY_KING,
    HIT,
    LARGEST_MONEY,
    PUNTERS,
    ROYAL,
    STAND,
    STOOD,
)
from backalley.testing.play import random_action
from tests.common.cases import cases

GAME = game("twenty_one")
MANY = 20_000 if COMPILED else 200


def check_table(options: Any, state: Any, moved: int, mask: npt.NDArray[np.int8]) -> None:
    """What holds after every action, `moved` being the seat that made it."""
    money = int(state["purse"].sum()) + int(state["pot"]) + 2 * int(state["own"].sum())
    assert money == options.num_players * options.bankroll, "money was made or lost"
    assert state["pot"] >= 0
    assert (state["own"] >= 0).all()
    assert (state["purse"] >= (0 if options.bankroll else -(LARGEST_MONEY // options.num_players))).all()
    if state["seat"] == OVER:
        return
    seat, banker = int(state["seat"]), int(state["banker"])
    assert mask.any()
    if state["phase"] == BANKER:
        assert seat == banker
        assert state["own"].any(), "the banker plays with no stake live"
    if state["phase"] == PUNTERS:
        assert seat != banker
        assert state["status"][seat] not in (BUSTED, ROYAL)
        if not state["final_round"] and state["back_passing"]:
            assert not ends_bank(int(state["cards"][banker, 0])), (
                "the banker kept silent about a card that ends the bank"
            )
    for who in np.flatnonzero(state["status"] == STOOD):
        count = int(state["count"][who])
        assert valuation.low_total(options, state["cards"][who], count) <= 21 or state["phase"] > BANKER


@pytest.mark.slow
@pytest.mark.parametrize("game", list(cases(GAME)))
def test_money_is_whole_and_conserved_after_every_action(game: Game) -> None:
    env, random = AECEnv(game), np.random.default_rng(1)
    batch = env.engine.batch
    for seed in range(6 if COMPILED else 2):
        env.reset(seed=seed)
        returns = np.zeros(game.options.num_players)
        while not any(env.terminations.values()) and not any(env.truncations.values()):
            seat = int(batch.seat[0])
            env.step(random_action(env, random))
            returns += batch.reward[0]
            check_table(game.options, batch.state[0], seat, batch.mask[0])
        if batch.state[0]["seat"] == OVER:
            unit = (game.options.num_players - 1) * game.options.bankroll or game.options.initial_deposit
            gained = batch.state[0]["purse"] - game.options.bankroll
            assert np.allclose(returns, gained / unit, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_without_bankrolls_no_amount_passes_what_a_float_holds(seed: int) -> None:
    """All bet the pot whenever they can and draw until they are bust, so that it doubles: money stops at 2**53."""
    game = GAME.bind({"bankroll": "none", "num_players": 2, "force_back_pass_round": 0, "max_rounds": 1000})
    env = AECEnv(game)
    env.reset(seed=seed)
    state, most = env.engine.batch.state[0], 0
    for _ in range(3000):
        mask = env.engine.batch.mask[0]
        env.step(next(action for action in (DEAL, BET_POT, 4, 3, BET_MIN, HIT, STAND) if mask[action]))
        most = max(most, *(abs(int(amount)) for amount in (*state["purse"], state["pot"], 2 * state["own"].sum())))
        assert most <= LARGEST_MONEY
        if state["seat"] == OVER:
            break


@settings(deadline=None)
@given(st.integers(0, LARGEST_MONEY), st.integers(1, 1000))
@example(100, 70)  # 7, where the float 0.07 * 100 is a little more
def test_a_share_is_exact_and_rounded_up(most: int, thousandths: int) -> None:
    assert share(most, thousandths) == math.ceil(Fraction(most * thousandths, 1000))


# Hands and chances (§6)


def all_hands(size: int) -> Any:
    return (np.array(cards, np.uint8) for cards in itertools.combinations(range(32), size))


def test_two_card_hands_are_worth_what_the_page_says() -> None:
    options = GAME.options
    found: Counter[Any] = Counter()
    fifteens = 0
    for hand in all_hands(2):
        royal = valuation.is_royal(options, hand, 2)
        found["royal" if royal else int(valuation.best_total(options, hand, 2))] += 1
        fifteens += int(valuation.is_fifteen(options, hand, 2))
    by_total = {
        21: 24,
        20: 26,
        19: 36,
        18: 37,
        17: 28,
        16: 18,
        15: 12,
        14: 3,
        12: 60,
        11: 48,
        10: 48,
        9: 48,
        8: 36,
        2: 66,
    }
    assert found == {"royal": 6} | by_total
    assert fifteens == 16
    assert Fraction(found["royal"], found.total()) == Fraction(3, 248)


def test_chances_of_a_seven_and_of_five_figures() -> None:
    traded = sum(valuation.first_card_trades(GAME.options, card, False) for card in range(32))
    assert Fraction(traded, 32) == Fraction(1, 8)
    figures = sum(valuation.is_five_figures(np.array([card] * 5, np.uint8), 5) for card in range(32))
    assert Fraction(math.comb(figures, 5), math.comb(32, 5)) == Fraction(99, 25172)


@pytest.mark.uncompiled
def test_back_passing_triggers_with_five_cards_of_32() -> None:
    """Every card as the banker's, dealt by the rules themselves."""
    env = AECEnv(GAME.bind({"num_players": 2}))
    found: Counter[str] = Counter()
    for card in range(32):
        env.reset(options={"decks": [[(card + 1) % 32, card]]})
        env.step(BACK_PASS)
        state = env.engine.batch.state[0]
        found["king" if state["result"] == ENDED_BY_KING else "eight" if state["final_round"] else "silence"] += 1
    assert found == {"king": 1, "eight": 4, "silence": 27}
    trigger = Fraction(found["king"] + found["eight"], 32)
    assert (trigger, 1 / trigger) == (Fraction(5, 32), Fraction(32, 5))
    for rounds, chance in ((5, 0.427631), (10, 0.182868), (20, 0.033441), (28, 0.008590)):
        assert float((1 - trigger) ** rounds) == pytest.approx(chance, abs=5e-7)


@pytest.mark.slow
def test_a_final_round_is_dealt_from_any_pack_with_an_eight_for_the_banker() -> None:
    """All pairs of the banker's eight and another card for the punter are equally likely."""
    tables = BatchEnv(GAME.bind({"num_players": 2, "episode": "final_round"}), MANY, seed=4)
    tables.reset()
    cards = tables.engine.batch.state["cards"][:, :, 0]
    found = Counter(map(tuple, cards.tolist()))
    pairs = [(eight, other) for eight in (1, 9, 17, 25) for other in range(32) if other != eight]
    assert set(found) <= set(pairs)
    squares = sum((found[pair] - MANY / len(pairs)) ** 2 / (MANY / len(pairs)) for pair in pairs)
    degrees = len(pairs) - 1
    assert squares < degrees + 5 * math.sqrt(2 * degrees)


# Options and bots


def test_none_is_a_word_for_no_bankroll_and_no_forcing() -> None:
    chosen = GAME.bind({"bankroll": "none", "force_back_pass_round": "none", "banker": "2"}).options
    assert (chosen.bankroll, chosen.force_back_pass_round, chosen.banker) == (0, 0, 2)


@pytest.mark.parametrize("spelt", [[0.07, 0.5, 1.0], (0.07, 0.5, 1), "0.07, 0.5, 1"])
def test_shares_are_given_and_shown_as_fractions_and_kept_in_thousandths(spelt: Any) -> None:
    game = GAME.bind(bet_fractions=spelt)
    assert game.options.bet_fractions == (70, 500, 1000)
    assert game.changed_options == {"bet_fractions": [0.07, 0.5, 1.0]}
    assert repr(game) == "backalley.game('twenty_one', bet_fractions=[0.07, 0.5, 1.0])"
    assert game == GAME.bind(game.option_values)
    assert game.bind(bet_fractions=[0.25, 0.5, 1.0]) == GAME


@pytest.mark.slow
@pytest.mark.uncompiled
def test_an_endless_evening_is_truncated() -> None:
    endless = {
        "decline_opening_bet": True,
        "force_back_pass_round": 0,
        "max_rounds": 1000,
        "episode": "session",
        "banks": 100,
    }
    env = AECEnv(GAME.bind({"num_players": 2, **endless}))
    env.reset(seed=0)
    steps = 0
    while not any(env.truncations.values()):
        mask = env.engine.batch.mask[0]
        env.step(next(action for action in (DEAL, STAND, BET_MIN, 9, 10, HIT) if mask[action]))
        steps += 1
    assert steps == 4000


@pytest.mark.parametrize(
    ("earliest", "declared", "share"), [(1, 1, BANKER_SHARE_IN_BACK_PASSING), (2, 0, BANKER_SHARE)]
)
def test_a_search_takes_the_banker_to_keep_what_dp_bots_leave_it(earliest: int, declared: int, share: float) -> None:
    """Where `bot:dp` plays in all seats: of the pots at the start of all rounds, what the banker takes home in the
    end."""
    if not COMPILED:
        pytest.skip("The rules are the same uncompiled, and thousands of banks take long.")
    game = GAME.bind({"back_pass_earliest_round": earliest})
    tables, dp, banks = (BatchEnv(game, 5000, seed=3, autoreset=False), agent("bot:dp", game), np.arange(5000))
    tables.reset()
    state, rows, keys = tables.engine.batch.state, banks, banks.astype(np.uint64)
    asked = np.zeros(len(banks), np.int64)  # the latest round that was looked at
    pots, taken, purses = np.zeros(len(banks)), np.zeros(len(banks)), np.zeros(len(banks))
    while len(rows):
        new = rows[(asked[rows] < state["round_number"][rows]) & (state["back_passing"][rows] == declared)]
        asked[new] = state["round_number"][new]
        pots[new] += state["pot"][new]
        purses[new] += state["purse"][new, 0]
        taken[new] += 1
        tables.step(dp.act(view_of(tables, rows, keys)), rows)
        rows = rows[tables.time_step.seat[rows] >= 0]
    gained = taken * state["purse"][:, 0] - purses
    assert gained.sum() / pots.sum() == pytest.approx(share, abs=0.05)


def test_the_bankers_cards_seen_are_on_average_worth_as_much_as_unseen() -> None:
    """A punter who plays to a total does not look at the banker's card."""
    seen = [odds.answer(16, 15, banker_card=kind).value[0] for kind in range(len(odds.KINDS))]
    assert np.dot(seen, odds.PACK) / odds.PACK.sum() == pytest.approx(answer(16, 15), abs=1e-12)


def answer(banker: int, punter: int) -> float:
    return float(odds.answer(banker, punter).value[0])


# The page's figures


def test_drawing_to_sixteen_ends_as_the_page_says() -> None:
    assert len(odds.ALL.size) == 254
    ends = odds.draw_until(16)[0]
    assert ends.sum() == pytest.approx(1)
    assert ends[odds.BUST_END] == pytest.approx(119980907 / 752642800, abs=1e-14)
    page = {odds.BUST_END: 0.159413, 21: 0.161603, 20: 0.167141, 19: 0.180917, 18: 0.142123, 17: 0.098050, 16: 0.078657}
    for end, chance in {**page, odds.ROYAL_END: 0.012097}.items():
        assert ends[end] == pytest.approx(chance, abs=5e-7)
    assert ends[:16].sum() == 0


def test_fifteen_against_sixteen_is_a_saddle_point() -> None:
    worth = {(punter, banker): answer(banker, punter) for punter in range(12, 20) for banker in range(12, 20)}
    assert worth[15, 16] == pytest.approx(-0.131026, abs=5e-7)
    assert all(worth[punter, 16] < worth[15, 16] for punter in range(12, 20) if punter != 15)
    assert all(worth[15, banker] > worth[15, 16] for banker in range(12, 20) if banker != 16)


def test_the_best_answer_to_a_banker_who_draws_to_sixteen() -> None:
    best = odds.answer(16)
    assert best.value[0] == pytest.approx(-0.126377, abs=5e-7)
    page = {
        "Chantal": 0.3973,
        "ace": 0.1021,
        "10": -0.0039,
        "9": -0.0957,
        "figure": -0.1726,
        "8": -0.2670,
        "7": -0.4375,
    }
    assert odds.first_cards(best) == pytest.approx(page, abs=5e-5)
    assert best.value[0] > max(answer(16, punter) for punter in range(12, 20))


def test_the_best_answers_where_both_trade() -> None:
    ordinary, final = odds.answer(16, trades=True), odds.answer(16, banker_card=odds.EIGHT_KIND, trades=True)
    assert ordinary.value[0] == pytest.approx(-0.1422, abs=5e-5)
    first = odds.first_cards(ordinary)
    assert (first["10"], first["ace"]) == pytest.approx((-0.0784, 0.0533), abs=5e-5)
    assert final.value[0] == pytest.approx(0.0499, abs=5e-5)
