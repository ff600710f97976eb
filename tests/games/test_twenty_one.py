"""What vectors cannot say of Twenty-One: money, hidden cards, chances and strengths. Paragraphs are those of the game's
page."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import backalley
from backalley.agents.base import view_of
from backalley.agents.match import play_out
from backalley.agents.registry import agent
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.catalogue import game
from backalley.envs.core.kernel import COMPILED, kernel
from backalley.envs.core.parts import OVER
from backalley.envs.core.vector import BatchEnv
from backalley.envs.twenty_one import hands, observation, odds
from backalley.envs.twenty_one.bank import BANKER_SHARE, BANKER_SHARE_IN_BACK_PASSING
from backalley.envs.twenty_one.game import BACK_PASS, BET_MIN, BET_POT, DEAL, HIT, STAND, TRADE
from backalley.envs.twenty_one.table import (
    BANKER,
    BUSTED,
    CASHED,
    ENDED_BY_KING,
    LARGEST_MONEY,
    PUNTERS,
    ROYAL,
    STOOD,
    ends_bank,
)
from tests.cases import label, marks, random_action

GAME = game("twenty_one")
MANY = 20_000 if COMPILED else 200

choices = st.fixed_dictionaries(
    {"num_players": st.sampled_from([2, 4, 8])},
    optional={
        "initial_deposit": st.integers(1, 20),
        "min_bet": st.integers(1, 30),
        "bankroll": st.sampled_from([0, 20, 23, 100, 10**6]),
        "banker": st.sampled_from([0, 1, "random"]),
        "auto_stand_21": st.booleans(),
        "trade_seven": st.booleans(),
        "trade_eight_after_seven": st.booleans(),
        "trade_five_figures": st.booleans(),
        "trade_fifteen": st.booleans(),
        "fifteen_test": st.sampled_from(["any_valuation", "best_only"]),
        "eight_chain": st.sampled_from(["once", "repeat"]),
        "chantal_is_ace": st.booleans(),
        "royal_payout": st.integers(1, 3),
        "royal_after_trade": st.booleans(),
        "back_pass_trigger": st.sampled_from(["dealt_card", "first_card_after_trades", "any_card"]),
        "back_pass_earliest_round": st.integers(1, 4),
        "banker_card_open": st.booleans(),
        "decline_opening_bet": st.booleans(),
        "reshuffle": st.sampled_from(["every_round", "when_empty"]),
        "breaker": st.sampled_from(["last_winner", "largest_winner"]),
        "final_round_fifteen": st.booleans(),
        "episode": st.sampled_from(["single_bank", "fixed_rounds", "session"]),
        "rounds": st.integers(1, 5),
        "banks": st.integers(1, 3),
        "force_back_pass_round": st.sampled_from([0, 2, 3, 10]),
        "max_rounds": st.integers(1, 12),
        "bet_fractions": st.sampled_from([[0.25, 0.5, 1.0], [1.0, 0.5, 0.25], [0.1, 0.3333, 0.6667]]),
        "reward": st.sampled_from(["episode", "per_round"]),
    },
)


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
        assert hands.low_total(options, state["cards"][who], count) <= 21 or state["phase"] > BANKER


@pytest.mark.slow
@settings(max_examples=300 if COMPILED else 20, deadline=None, suppress_health_check=list(HealthCheck))
@given(choices, st.integers(0, 2**32))
def test_money_is_whole_and_conserved_after_every_action(chosen: dict[str, Any], seed: int) -> None:
    game = GAME.bind(chosen)
    env = AECEnv(game)
    env.reset(seed=seed)
    random, batch = np.random.default_rng(seed), env.engine.batch
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
    """Everybody bets the pot whenever he can, and takes cards until he is bust, so that it doubles: money stops at
    2**53."""
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


# Hands and chances (§6)


def all_hands(size: int) -> Any:
    return (np.array(cards, np.uint8) for cards in itertools.combinations(range(32), size))


def test_two_card_hands_are_worth_what_the_page_says() -> None:
    game = GAME.bind()
    found: Counter[Any] = Counter()
    fifteens = 0
    for hand in all_hands(2):
        royal = hands.is_royal(game.options, hand, 2)
        found["royal" if royal else int(hands.best_total(game.options, hand, 2))] += 1
        fifteens += int(hands.is_fifteen(game.options, hand, 2))
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
    assert Fraction(sum(hands.first_card_trades(GAME.bind(), card, False) for card in range(32)), 32) == Fraction(1, 8)
    figures = sum(hands.is_five_figures(np.array([card] * 5, np.uint8), 5) for card in range(32))
    assert Fraction(math.comb(figures, 5), math.comb(32, 5)) == Fraction(99, 25172)


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


def play(options: Any, episodes: int, seed: int, policy: Any) -> BatchEnv:
    """Play `episodes` tables to their end, `policy(records, mask)` deciding for every seat."""
    tables = BatchEnv(game, episodes, seed=seed, autoreset=False)
    tables.reset()
    rows = np.arange(episodes)
    returns = np.zeros((episodes, tables.num_seats))
    while len(rows):
        records = tables.time_step.observation[rows].copy().view(game.observation_dtype).reshape(len(rows))
        turn = tables.step(policy(records, tables.time_step.action_mask[rows]), rows)
        returns[rows] += turn.reward[rows]
        rows = rows[turn.seat[rows] >= 0]
    tables.returns = returns  # type: ignore[attr-defined]
    return tables


def test_banks_end_by_the_king_once_for_four_eights() -> None:
    def policy(records: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        return np.select(
            [mask[:, action] > 0 for action in (BACK_PASS, STAND, BET_MIN)], [BACK_PASS, STAND, BET_MIN], HIT
        )

    game = GAME.bind(
        {"num_players": 2, "bankroll": "none", "initial_deposit": 1000, "force_back_pass_round": 0, "max_rounds": 1000}
    )
    state = play(game.options, MANY, 3, policy).engine.batch.state
    kings, eights = int((state["result"] == ENDED_BY_KING).sum()), int((state["result"] == CASHED).sum())
    assert kings + eights == MANY, "with least bets nothing else ends a bank"
    assert abs(kings / MANY - 0.2) < 5 * math.sqrt(0.16 / MANY)
    rounds = state["round_number"].mean()
    assert abs(rounds - 6.4) < 5 * math.sqrt((27 / 32) / (5 / 32) ** 2 / MANY)


def test_the_rules_play_out_as_the_odds_say() -> None:
    """Two seats that draw to 15 and 16 in the game itself, without trades, lose and win what the exact calculation
    says."""
    trades = {f"trade_{name}": False for name in ("seven", "eight_after_seven", "five_figures", "fifteen")}
    game = GAME.bind({"num_players": 2, "episode": "fixed_rounds", "initial_deposit": 1, "bankroll": "none", **trades})

    def policy(records: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        wanted = np.where(records["phase"][:, BANKER] > 0, 16, 15)
        draws = (np.round(21 * records["total"][:, 1]) < wanted) | (mask[:, STAND] == 0)
        playing = np.where(draws, HIT, STAND)
        return np.select([mask[:, DEAL] > 0, mask[:, HIT] > 0], [DEAL, playing], BET_MIN)

    episodes = 10 * MANY
    returns = play(game.options, episodes, 5, policy).returns[:, 1]  # type: ignore[attr-defined]
    assert set(np.unique(returns)) == {-1.0, 1.0}
    error = math.sqrt(1 / episodes)
    assert abs(returns.mean() - odds.answer(16, 15).value[0]) < 5 * error


# Hidden cards (§2)


def worlds(env: AECEnv, viewer: int, count: int, seed: int) -> npt.NDArray[Any]:
    """Many redrawn worlds of one table."""
    states = np.repeat(env.engine.batch.state[:1], count)
    keys = np.random.default_rng(seed).integers(2**63, size=count).astype(np.uint64)
    env.engine.determinize(states, np.full(count, viewer), keys)
    return states


def chi_squared(found: Counter[Any], expected: float, kinds: int) -> float:
    return sum((count - expected) ** 2 / expected for count in found.values()) + (kinds - len(found)) * expected


def opened(decks: list[list[str]], actions: list[int], **options: Any) -> AECEnv:
    env = AECEnv(GAME.bind({"num_players": 2, **options}))
    env.reset(options={"decks": decks})
    for action in actions:
        env.step(action)
    return env


def test_a_silent_banker_has_any_card_that_ends_no_bank() -> None:
    env = opened([["TS", "9C"]], [BACK_PASS])
    drawn = worlds(env, 1, MANY, 1)
    found = Counter(drawn["cards"][:, 0, 0].tolist())
    assert set(found) == {card for card in range(32) if not ends_bank(card)} - {hands.card_number("TS")}
    # 26 kinds: with 25 degrees of freedom 67 is passed once in 100,000 fair runs
    assert chi_squared(found, MANY / 26, 26) < 67


def test_before_back_passing_he_has_any_card() -> None:
    env = opened([["TS", "9C"]], [DEAL])
    assert len(set(worlds(env, 1, max(MANY, 2000), 1)["cards"][:, 0, 0].tolist())) == 31


def test_closed_hands_are_any_that_the_course_of_the_round_allows() -> None:
    """A punter who took a third card and stood: no royal and no 21 in two cards, not bust in three. All such hands
    equally often."""
    env = opened([["8S", "9C", "JC", "QC"]], [DEAL, BET_MIN, HIT, STAND])
    options, mine = env.options, hands.card_number("9C")
    allowed = set()
    for hand in itertools.permutations([card for card in range(32) if card != mine], 3):
        cards = np.array(hand, np.uint8)
        if hands.best_total(options, cards, 2) not in (21, hands.BUST) and hands.low_total(options, cards, 3) <= 21:
            allowed.add(hand)
    drawn = worlds(env, 0, MANY, 2)
    found = Counter(map(tuple, drawn["cards"][:, 1, :3].tolist()))
    assert set(found) <= allowed
    assert (drawn["cards"][:, 0, 0] == mine).all()
    by_value = Counter(sorted_points(hand) for hand in allowed)
    seen = Counter(sorted_points(hand) for hand in found.elements())
    kinds = [kind for kind, count in by_value.items() if count * MANY / len(allowed) >= 20]
    squares = sum(
        (seen[kind] - by_value[kind] * MANY / len(allowed)) ** 2 / (by_value[kind] * MANY / len(allowed))
        for kind in kinds
    )
    assert squares < len(kinds) + 5 * math.sqrt(2 * len(kinds)) + 10


def sorted_points(hand: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(-1 if card == hands.CHANTAL else int(hands.POINTS[card & 7]) for card in hand))


def test_cards_seen_in_the_discards_before_a_shuffle_lie_in_no_older_hand() -> None:
    env = AECEnv(GAME.bind({"num_players": 2}))
    env.reset(options={"decks": [["7C", "9C", "7D", "7S"], ["7D", "7S", "7C"]]})
    env.engine.batch.state[0]["stock_size"] = 4  # the rest of the pack is out of play
    for action in (DEAL, TRADE, TRADE, TRADE):
        env.step(action)
    state = env.engine.batch.state[0]
    assert (state["shuffles"], state["stock_size"]) == (1, 3)
    assert set(worlds(env, 1, 200, 3)["cards"][:, 0, 0].tolist()) == {hands.card_number("9C")}
    orders = Counter(map(tuple, worlds(env, 1, 200, 3)["stock"][:, 1:3].tolist()))
    assert len(orders) == 2


def test_who_stood_before_the_king_of_hearts_may_hold_21() -> None:
    """The bank is offered to a seat whose closed hand stood by itself: nobody has seen whether on 21."""
    env = opened([["TS", "9C", "AS", "KH"]], [BACK_PASS, BET_MIN, HIT], back_pass_trigger="any_card", episode="session")
    assert env.engine.batch.state[0]["result"] == ENDED_BY_KING
    drawn = worlds(env, 0, 500, 4)
    best = {int(hands.best_total(env.options, hand, 2)) for hand in drawn["cards"][:, 1, :2].copy()}
    assert 21 in best
    assert len(best) > 5


@kernel
def self_contradictions(options: Any, states: Any, found: npt.NDArray[np.int64]) -> None:
    """For each true position [n] and each seat, how far it is from what `determinize` holds that the seat knows."""
    places, unseen, origins, marks = (
        np.empty(32, np.int64),
        np.empty(32, np.int64),
        np.empty(32, np.int64),
        np.empty(32, np.int64),
    )
    for row in range(states.shape[0]):
        state = states[row]
        for seat in range(options.num_players):
            size = observation.hidden_places(options, state, seat, places, unseen, origins, marks)
            found[row] += observation.contradictions(options, state, seat, places, marks, size)
            for index in range(size):
                found[row] += int(int(state.cleared[seat, observation.card_at(state, places[index])]) > origins[index])


POSITIONS: list[dict[str, Any]] = [
    {"num_players": 4},
    {
        "num_players": 2,
        "auto_stand_21": False,
        "decline_opening_bet": True,
        "chantal_is_ace": True,
        "royal_after_trade": False,
    },
    {
        "num_players": 2,
        "episode": "session",
        "reshuffle": "when_empty",
        "back_pass_trigger": "any_card",
        "force_back_pass_round": 2,
    },
    {"num_players": 8, "episode": "session", "reshuffle": "when_empty", "back_pass_trigger": "first_card_after_trades"},
]


@pytest.mark.parametrize(
    "options", [pytest.param(given, id=label(given), marks=marks(GAME, given)) for given in POSITIONS]
)
def test_a_true_position_never_contradicts_what_seats_are_held_to_know(options: dict[str, Any]) -> None:
    """Over random play; a position that did would be mended in vain."""
    tables = BatchEnv(GAME.bind(options), 1000 if COMPILED else 5, seed=9)
    random, found = np.random.default_rng(9), np.zeros(tables.num_envs, np.int64)
    turn = tables.reset()
    for _ in range(120):
        turn = tables.step((turn.action_mask * random.random(turn.action_mask.shape)).argmax(1))
        self_contradictions(tables.engine.options, tables.engine.batch.state, found)
        assert not found.any(), GAME.table_str(GAME.bind(options), tables.engine.batch.state[found.argmax()], None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"reshuffle": "when_empty", "auto_stand_21": False}, {"back_pass_trigger": "any_card"}]
)
def test_redrawn_worlds_never_contradict_the_round(options: dict[str, Any]) -> None:
    """Eight seats that take cards whenever they can within 20: large closed hands, and shuffles in mid-round."""
    env = AECEnv(GAME.bind({"num_players": 8, "trade_five_figures": False, **options}))
    random, batch = np.random.default_rng(4), env.engine.batch
    largest = shuffles = 0
    for seed in range(12 if COMPILED else 2):
        env.reset(seed=seed)
        while batch.seat[0] != OVER:
            state, mask = batch.state[0], batch.mask[0]
            for viewer in range(8):
                for world in worlds(env, viewer, 2, seed):
                    assert sorted(card for pile in GAME.piles(env.options, world).values() for card in pile) == list(
                        range(32)
                    )
                    check_closed_hands(env.options, world, viewer)
            largest = max(largest, int(state["count"].max()))
            shuffles = max(shuffles, int(state["shuffles"]))
            seat = int(batch.seat[0])
            low = int(hands.low_total(env.options, state["cards"][seat], int(state["count"][seat])))
            wish = [HIT] if low <= 12 else [STAND, HIT]
            env.step(next((action for action in [DEAL, *wish] if mask[action]), None) or random_action(env, random))
    assert not COMPILED or (largest >= 6 and shuffles >= 1)


def check_closed_hands(options: Any, state: Any, viewer: int) -> None:
    banker = int(state["banker"])
    for who in range(options.num_players):
        if who == viewer or state["status"][who] not in (1, STOOD):
            continue
        hand, count = state["cards"][who], int(state["count"][who])
        assert hands.low_total(options, hand, count) <= 21
        assert not hands.is_royal(options, hand, min(count, 2))
        if who == banker or options.auto_stand_21:
            assert all(hands.best_total(options, hand, held) != 21 for held in range(2, count))
    if (
        state["back_passing"]
        and not state["final_round"]
        and state["phase"] in (PUNTERS, BANKER)
        and options.back_pass_trigger != 0
    ):
        assert not ends_bank(int(state["cards"][banker, 0]))


def test_a_seat_does_not_see_others_cards_in_text() -> None:
    env = opened([["TS", "9C", "8D"]], [DEAL, BET_MIN])
    mine, his, all_cards = (GAME.table_str(env.options, env.engine.batch.state[0], seat) for seat in (1, 0, None))
    assert "TS 8D = 18" in mine
    assert "9C" not in mine
    assert "-- --" in his
    assert "9C = 9" in his
    assert "TS 8D" in all_cards
    assert "from the top" in all_cards


# Options and bots


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"bankroll": 10}, "bankroll 10 and initial_deposit 20"),
        ({"num_players": 2, "banker": 3}, r"seats 0\.\.1"),
        ({"chantal": False, "chantal_is_ace": True}, "needs chantal"),
        ({"force_back_pass_round": 1}, "2 and more"),
        ({"bet_fractions": [0.5, 1.0]}, "3 numbers"),
    ],
)
def test_options_that_contradict_each_other_are_sentences(chosen: dict[str, Any], says: str) -> None:
    with pytest.raises(backalley.OptionError, match=says):
        GAME.bind(chosen)


def test_none_is_a_word_for_no_bankroll_and_no_forcing() -> None:
    chosen = GAME.bind({"bankroll": "none", "force_back_pass_round": "none", "banker": "2"})
    assert (chosen.bankroll, chosen.force_back_pass_round, chosen.banker) == (0, 0, 2)


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
def test_a_search_takes_the_banker_to_keep_what_dp_bots_leave_him(earliest: int, declared: int, share: float) -> None:
    """Where `bot:dp` plays in all seats: of the pots at the start of all rounds, what the banker takes home in the
    end."""
    if not COMPILED:
        pytest.skip("The rules are the same uncompiled, and thousands of banks take long.")
    game = GAME.bind({"back_pass_earliest_round": earliest})
    tables, dp, banks = (
        BatchEnv(game, 5000, seed=3, autoreset=False),
        agent("bot:dp", game),
        np.arange(5000),
    )
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
        tables.step(dp.act(view_of(tables.engine, rows, keys)), rows)
        rows = rows[tables.time_step.seat[rows] >= 0]
    gained = taken * state["purse"][:, 0] - purses
    assert gained.sum() / pots.sum() == pytest.approx(share, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("better", "worse"), [("bot:cautious", "random"), ("bot:shark", "bot:cautious"), ("bot:dp", "bot:shark")]
)
def test_each_bot_beats_the_one_before(better: str, worse: str) -> None:
    """One of the better in each seat in turn among three of the others, on the same packs: ahead by three standard
    errors."""
    if not COMPILED:
        pytest.skip("The rules are the same uncompiled, and thousands of banks take long.")
    game = GAME.bind()
    agents = [agent(better, game), agent(worse, game)]
    deals = 5_000
    gained = np.zeros(deals)
    for seat in range(4):
        tables = BatchEnv(game, deals, seed=1, autoreset=False)
        tables.reset()
        who = np.ones((deals, 4), np.int64)
        who[:, seat] = 0
        returns, _ = play_out(tables, agents, who, np.arange(deals).astype(np.uint64))
        gained += returns[:, seat] / 4
    assert gained.mean() > 3 * gained.std() / math.sqrt(deals)
