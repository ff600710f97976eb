"""Bezique: what vectors cannot say. Exact figures, invariants, rewards, options, bots. Redrawn determinizations and the
solver of the last eight tricks are in `test_bezique_worlds.py`."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from backalley import testing
from backalley.agents.base.rule_based import BotAgent
from backalley.envs.bezique import declarations, groups, pack
from backalley.envs.bezique.rules import DEAL_POINTS, DEAL_SPREAD, leaf_value
from backalley.envs.bezique.state import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    EXCHANGE_SEVEN,
    IN_BEZIQUE,
    MARRIAGE,
    NO_DECLARATION,
    NONE,
    SEQUENCE,
)
from backalley.envs.bezique.text import card_number
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.catalogue import game as game_of
from backalley.testing.play import random_action

GAME = game_of("bezique")


def table(**options: Any) -> AECEnv:
    return AECEnv(GAME.bind(options))


def holding(cards: list[int], trump: int) -> Any:
    """A state in which seat 0 holds these cards."""
    state = np.zeros(1, GAME.state_dtype)[0]
    state.hand[0, : len(cards)] = sorted(cards)
    state.held[0] = len(cards)
    state.trump = trump
    return state


def chance_in_eight(special: list[str], wanted: Any) -> Fraction:
    """The probability that eight of the 64 cards hold a set of `special` cards for which `wanted(cards)` holds."""
    numbers = [card_number(name) for name in special]
    found = 0
    for size in range(len(numbers) + 1):
        for held in itertools.combinations(numbers, size):
            if wanted(list(held)):
                found += comb(64 - len(numbers), 8 - size)
    return Fraction(found, comb(64, 8))


def test_a_seven_is_turned_up_once_in_eight_deals() -> None:
    sevens = 0
    for card in range(64):
        deck = np.arange(64)
        deck[[16, card]] = deck[[card, 16]]
        state = np.zeros(1, GAME.state_dtype)[0]
        GAME.kernels.deal(GAME.options, state, deck)
        assert state.turn_up == card
        sevens += int(state.score[0] == 10)
    assert Fraction(sevens, 64) == Fraction(1, 8)


@pytest.mark.slow
def test_chances_of_a_dealt_hand() -> None:
    """A bezique, a double bezique, a seven of trumps among eight cards: the exact figures of the page."""

    def declares(action: int) -> Any:
        return lambda cards: declarations.declarable(GAME.options, holding(cards, 0), 0) >> (action - DECLARE_SEVEN) & 1

    pair = ["QSa", "QSb", "JDa", "JDb"]
    assert chance_in_eight(pair, declares(BEZIQUE)) == Fraction(6847, 136152)
    assert chance_in_eight(pair, declares(DOUBLE_BEZIQUE)) == Fraction(5, 45384)
    chance = chance_in_eight(["7Ha", "7Hb"], lambda cards: groups.fresh_seven(holding(cards, 2), 0) != NONE)
    assert chance == 1 - Fraction(comb(62, 8), comb(64, 8))
    assert float(chance) == pytest.approx(0.236111, abs=1e-6)


@pytest.mark.parametrize("given", [{}, {"last_trick": "trick_24", "endgame": "classic"}, {"seven_rule": "both"}])
def test_points_of_a_deal_add_up(given: dict[str, Any]) -> None:
    """Both scores are 16 brisques, ten for one trick, the declarations, and ten for a seven turned up."""
    env, random = table(**given), np.random.default_rng(5)
    for seed in range(15):
        env.reset(seed=seed)
        state = env.engine.batch.state[0]
        declared = int(state.score.sum())
        while env.engine.batch.seat[0] != OVER:
            before, action = state.score.copy(), random_action(env, random)
            env.step(action)
            if DECLARE_SEVEN <= action != NO_DECLARATION:
                declared += int((state.score - before).sum())
        assert int(state.brisques.sum()) == 16
        assert int(state.score.sum()) == 160 + 10 + declared


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mode": "match", "target": 300, "last_trick": "trick_24"},
        {"seven_rule": "trick", "reuse": "free"},
        {"seven_rule": "both"},
    ],
)
def test_points_as_they_are_made_sum_to_the_scores(given: dict[str, Any]) -> None:
    """The same play under both rewards."""
    by_points, by_result = table(reward="points", **given), table(**given)
    random = np.random.default_rng(3)
    for seed in range(6):
        by_points.reset(seed=seed)
        by_result.reset(seed=seed)
        state, paid, result = by_points.engine.batch.state[0], np.zeros(2), np.zeros(2)
        while by_points.engine.batch.seat[0] != OVER:
            action = random_action(by_points, random)
            for env, sums in ((by_points, paid), (by_result, result)):
                env.step(action)
                sums += env.engine.batch.reward[0]
        points = 0.001 * (state.total + state.score)
        assert np.allclose(paid, points - points[::-1], atol=1e-5)
        assert np.allclose(result, np.sign(paid) if by_result.game.options.mode else paid, atol=1e-5)


@pytest.mark.slow
def test_a_lead_in_a_match_is_worth_what_leaf_value_says() -> None:
    """Points of a deal between equals, and matches played on from given totals."""
    planner = BotAgent(GAME, "planner")
    env = table()
    points = np.array([play_deal(env, seed, planner) for seed in range(400)], float)
    difference = points[:, 0] - points[:, 1]
    assert abs(points.mean() - DEAL_POINTS) < 4 * points.std() / np.sqrt(points.size)
    assert abs(difference.std() - DEAL_SPREAD) < 0.15 * DEAL_SPREAD
    game = GAME.bind({"mode": "match"})
    state = np.zeros(1, game.state_dtype)[0]
    random = np.random.default_rng(7)
    for ahead, behind in ((600, 400), (900, 850), (300, 300), (800, 200)):
        state.total[:] = ahead, behind
        won = 0
        for _ in range(3000):
            totals = np.array([ahead, behind])
            while totals.max() < game.options.target or totals[0] == totals[1]:
                totals = totals + points[random.integers(len(points))][:: random.choice([1, -1])]
            won += int(np.sign(totals[0] - totals[1]))
        assert leaf_value(game.options, state, 0) == pytest.approx(won / 3000, abs=0.1)
        assert leaf_value(game.options, state, 1) == -leaf_value(game.options, state, 0)


def play_deal(env: AECEnv, seed: int, player: BotAgent) -> list[int]:
    """The points of both seats after a deal between equals."""
    env.reset(seed=seed)
    batch = env.engine.batch
    while batch.seat[0] != OVER:
        env.step(int(player.bot.act(env.game.options, batch.observation[0], batch.mask[0], np.uint64(0))))
    points: list[int] = batch.state[0].score.tolist()
    return points


def test_words_for_a_trick_and_names_of_cards() -> None:
    assert GAME.bind({"last_trick": "trick_24"}).options.last_trick == -1
    with pytest.raises(ValueError, match="There is no card 'QS'"):
        card_number("QS")


# --- §4.1


def test_the_stock_is_shown_from_its_top() -> None:
    env = AECEnv(GAME)
    env.reset(seed=3)
    state, out = env.engine.batch.state[0], np.zeros(64, np.int64)
    for action in (0, 1):
        env.step(int(np.flatnonzero(env.engine.batch.mask[0])[action]))
    left = GAME.type.stock(GAME.options, state, out)
    assert left == int(state.stock_left)
    assert out[:left].tolist() == state.stock[len(state.stock) - left :].tolist()


def test_a_seat_is_shown_the_copies_of_its_own_cards_alone() -> None:
    """Which of two copies may be played hangs on the one that is held."""
    strings, legal = [], []
    for swapped in (False, True):
        deck = np.arange(64)
        deck[[0, 40]] = [41, 0] if swapped else [40, 0]  # the opponent's first card is one copy of 9H
        deck[41] = 40 if swapped else 41
        env = AECEnv(GAME.bind(first_dealer=0), events=True)
        env.reset(options={"decks": [deck.tolist()]})
        strings.append([env.information_state_string(agent) for agent in env.possible_agents])
        legal.append(np.flatnonzero(env.engine.batch.mask[0]).tolist())
    assert strings[0][0] == strings[1][0]
    assert strings[0][1] != strings[1][1]
    assert (40 in legal[0], 41 in legal[1]) == (True, True)
    assert legal[0] != legal[1]


# A smaller pack, §2 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"preset": "tiny"},
        {"lowest": "queen", "highest": "king", "suits": 2, "cards_dealt": 2, "turn_up": "taken_first", "reuse": "free"},
        {"suits": 3, "cards_dealt": 6, "seven_rule": "both"},
    ],
    ids=str,
)
def test_cut_down_games_keep_what_every_game_keeps(given: dict[str, Any]) -> None:
    game = GAME.bind(given)
    for check in (testing.check_masks, testing.check_leaks, testing.check_events, testing.check_cards):
        check(game, episodes=3)
    testing.check_redraws(game)
    testing.check_bots(game, episodes=2)


@pytest.mark.parametrize("suits", [1, 2, 3, 4])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_pack_has_its_suits_ranks_and_copies(suits: int, copies: int) -> None:
    """Spades first, then the diamonds of the bezique; as the redraw counts them."""
    game = GAME.bind(suits=suits, copies=copies, lowest="queen", cards_dealt=1)
    names = {game.card_name(card) for card in game.pack}
    kept = {1: "S", 2: "DS", 3: "DHS", 4: "CDHS"}[suits]
    assert names == {rank + suit + copy for rank in "QKTA" for suit in kept for copy in "ab"[:copies]}
    assert [pack.copies_of(game.options, kind) for kind in range(32)] == [
        sum(card >> 1 == kind for card in game.pack) for kind in range(32)
    ]


JUNK = [card for card in range(64) if (card >> 1) & 7 in (1, 2)]  # eights and nines make no declaration


def shown_to(state: Any, seat: int, options: Any) -> tuple[Any, Any]:
    """Observation and mask of a state."""
    seen, mask = np.zeros(1, GAME.observation_dtype)[0], np.zeros(GAME.num_actions, np.int8)
    GAME.kernels.observe(options, state, seat, seen)
    GAME.kernels.legal(options, state, mask)
    return seen, mask


def test_search_plays_out_with_the_strongest_fast_bot() -> None:
    assert GAME.rollout_bot.name == "planner"


def test_bots_know_what_bars_what() -> None:
    """One bezique before the double, not two; a marriage before its sequence, and at the end the most points at once
    (§1.6)."""
    game = GAME.bind()
    pair = [card_number(name) for name in ("JDa", "JDb", "QSa", "QSb")]
    run = [card_number(name) for name in ("AHa", "THa", "KHa", "QHa", "JHa")]
    for cards, trick, scored, wanted in (
        (pair, 5, [], BEZIQUE),
        (pair, 5, [pair[0], pair[2]], DOUBLE_BEZIQUE),
        (pair, 22, [], DOUBLE_BEZIQUE),
        (run, 5, [], MARRIAGE + 2),
        (run, 22, [], SEQUENCE + 2),
    ):
        state = holding([*cards, *JUNK[: 7 - len(cards)]], trump=2)
        state.declaring, state.trick, state.turn_up = 1, trick, card_number("AHb")
        state.scored[scored] = IN_BEZIQUE
        for bot in GAME.bots.values():
            most = {BEZIQUE: DOUBLE_BEZIQUE, MARRIAGE + 2: SEQUENCE + 2}.get(wanted, wanted)
            chosen = most if bot.name == "early" else wanted  # which never waits
            assert bot.act(game.options, *shown_to(state, 0, game.options), np.uint64(0)) == chosen


@pytest.mark.parametrize(
    ("turn_up", "hand", "wanted"),
    [
        ("THb", ["7Ha"], EXCHANGE_SEVEN),  # ten points, and a brisque
        ("9Hb", ["7Ha"], EXCHANGE_SEVEN),  # the one in the hand can wait
        ("THb", ["QCa", "KCa"], EXCHANGE_SEVEN),  # as much as a marriage, which can wait
        ("9Hb", ["QCa", "KCa"], MARRIAGE),
        ("THb", ["QHa", "KHa"], MARRIAGE + 2),
    ],
)
def test_bots_exchange_a_seven_before_what_can_wait(turn_up: str, hand: list[str], wanted: int) -> None:
    game = GAME.bind(seven_rule="both")
    cards = [card_number(name) for name in hand]
    state = holding([*cards, *JUNK[: 7 - len(cards)]], trump=2)
    state.declaring, state.trick, state.turn_up = 1, 5, card_number(turn_up)
    state.taken[:] = card_number("7Hb"), card_number("9Sb")
    for bot in GAME.bots.values():
        assert bot.act(game.options, *shown_to(state, 0, game.options), np.uint64(0)) == wanted


def test_early_takes_a_trick_to_declare() -> None:
    """With a marriage in hand it takes a worthless trick; without, it throws its least card."""
    early = GAME.bots["early"]
    for court, wanted in (("KCa", "9Sb"), ("KDa", "7Da")):
        cards = [card_number(name) for name in ("QCa", court, "9Sb", "7Da", "8Da", "8Db", "9Da", "9Db")]
        state = holding(cards, trump=2)
        state.trick, state.turn_up, state.led = 5, card_number("9Hb"), card_number("8Sb")
        state.leader, state.stock_left = 1, 30
        assert early.act(GAME.options, *shown_to(state, 0, GAME.options), np.uint64(0)) == card_number(wanted)
