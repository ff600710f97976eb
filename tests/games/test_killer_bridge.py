"""Killer Back Alley Bridge Substitute: every size of table, reference figures, what a hand shows of others, bots."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.match import play_out
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.catalogue import game
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import cards, trick_hand, tricks
from backalley.envs.killer_bridge import rules, schedule, scoring
from backalley.envs.killer_bridge.bots import steering
from backalley.envs.killer_bridge.state import BOARD, PACK, PLAY, largest_hand
from backalley.testing.play import random_action
from tests.common.cases import asked, determinizations_of, label, marks, observed, played

GAME: Game = game("killer_bridge")
# --- §1.2


SCHEDULE = {
    1: (54, 0, 108, 3078),
    2: (27, 0, 54, 1620),
    3: (18, 0, 36, 1134),
    4: (13, 2, 26, 832),
    5: (10, 4, 20, 650),
    6: (9, 0, 18, 648),
    7: (7, 5, 14, 490),
    8: (6, 6, 12, 432),
    9: (6, 0, 12, 486),
    10: (5, 4, 10, 400),
    18: (3, 0, 6, 324),
    27: (2, 0, 4, 270),
    28: (1, 26, 2, 112),
    37: (1, 17, 2, 148),
    54: (1, 0, 2, 216),
}


@pytest.mark.parametrize("players", SCHEDULE)
def test_the_schedule_is_the_published_one(players: int) -> None:
    game = GAME.bind({"num_players": players})
    sizes = schedule.hand_sizes(game.options)
    largest = largest_hand(game.options)
    decisions = sum(players * (size + 1) for size in sizes)
    assert (largest, schedule.left_over(game.options, 0), len(sizes), decisions) == SCHEDULE[players]
    assert sizes == [*range(largest, 0, -1), *range(1, largest + 1)]


@pytest.mark.parametrize("players", [4, pytest.param(37, marks=pytest.mark.uncompiled)])
def test_a_full_game_takes_as_many_decisions_as_the_table_says(players: int) -> None:
    env = AECEnv(GAME.bind({"num_players": players}))
    random = np.random.default_rng(0)
    env.reset(seed=0)
    while env.engine.batch.seat[0] != OVER:
        env.step(random_action(env, random))
    assert env.engine.batch.decisions[0] == SCHEDULE[players][3]


def test_nothing_is_left_over_for_eight_numbers_of_players_only() -> None:
    full = [players for players in range(1, 55) if schedule.left_over(GAME.bind(num_players=players).options, 0) == 0]
    assert full == [1, 2, 3, 6, 9, 18, 27, 54]


# --- §1.3: RAINBOW


def rainbow_share(trump: int, gone: str | None, quarter: int) -> Fraction:
    """The share of hands of 4 * quarter cards that may bid RAINBOW, from the sizes of the code's own suits."""
    pack = PACK & ~(1 << cards.card_number(gone) if gone else 0)
    ways = 1
    for suit in range(4):
        ways *= comb((pack & tricks.suit_set(suit, trump)).bit_count(), quarter)
    return Fraction(ways, comb(pack.bit_count(), 4 * quarter))


def with_leftover(quarter: int) -> Fraction:
    """A card is turned up: a joker twice in 54."""
    return Fraction(52, 54) * rainbow_share(3, "6S", quarter) + Fraction(2, 54) * rainbow_share(4, "LJ", quarter)


def test_the_chances_of_a_rainbow_are_the_published_ones() -> None:
    assert with_leftover(1) == Fraction(63713, 608175)
    assert with_leftover(2) == Fraction(35152, 725305)
    assert [float(with_leftover(quarter)) for quarter in (1, 2, 3)] == pytest.approx(
        [0.104761, 0.048465, 0.031665], abs=5e-7
    )
    assert float(rainbow_share(3, "6S", 1)) == pytest.approx(0.105039, abs=5e-7)
    assert float(rainbow_share(4, "BJ", 1)) == pytest.approx(0.097536, abs=5e-7)
    assert [float(rainbow_share(4, None, quarter)) for quarter in (1, 2, 3)] == pytest.approx(
        [0.090311, 0.035575, 0.019506], abs=5e-7
    )
    for k in (1, 2, 3):
        assert rainbow_share(3, "6S", k) == Fraction(comb(13, k) ** 3 * comb(14, k), comb(53, 4 * k))


@pytest.mark.parametrize(("trump", "gone"), [(3, "6S"), (0, "AC"), (4, "LJ"), (4, None)])
def test_counting_the_hands_of_four_that_may_bid_rainbow_gives_the_same(trump: int, gone: str | None) -> None:
    """Every hand that could be a rainbow, and as many others drawn at random, through the rule itself."""
    pack = [card for card in range(54) if gone is None or card != cards.card_number(gone)]
    suits = [[card for card in pack if tricks.suit(card, trump) == suit] for suit in range(5)]
    found = sum(rules.is_rainbow(sum(1 << card for card in hand), 4, trump) for hand in itertools.product(*suits[:4]))
    assert Fraction(found, comb(len(pack), 4)) == rainbow_share(trump, gone, 1)
    random = np.random.default_rng(0)
    for _ in range(2000):
        hand = random.choice(pack, 4, replace=False).tolist()
        spread = sorted(tricks.suit(card, trump) for card in hand) == [0, 1, 2, 3]
        assert rules.is_rainbow(sum(1 << card for card in hand), 4, trump) == spread


def test_a_joker_is_turned_up_once_in_27_deals() -> None:
    """Dealt by the engine: 20,000 hands of one card each; four standard errors of 1/27."""
    tables = BatchEnv(GAME.bind({"length": "single", "hand_size": 1}), 20_000, seed=3)
    tables.reset()
    turned = tables.engine.batch.state["turned"]
    share = float(np.mean(turned >= cards.LITTLE_JOKER))
    assert abs(share - 1 / 27) < 4 * (26 / 27**2 / 20_000) ** 0.5
    assert np.array_equal(tables.engine.batch.state["trump"], np.where(turned < cards.LITTLE_JOKER, turned // 13, 4))


# --- §1.4, §3


def test_the_most_that_a_game_of_four_can_bring() -> None:
    numbers_only = GAME.bind(allow_board=False, allow_rainbow=False)
    assert scoring.score_bounds(GAME.options)[1] == 2548
    assert scoring.score_bounds(numbers_only.options)[1] == 1898
    assert scoring.score_bounds(numbers_only.bind(scoring="linear").options)[1] == 442
    assert scoring.score_bounds(GAME.bind(length="single").options) == (-169 - 25, 204)


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("length", "below", "points"),
    [("full", 1, -108), ("full", None, -107_910), ("down", 1, -54), ("up", 1, -54), ("full", 2, -4 * 106 - 2)],
)
def test_a_lone_players_games(length: str, below: int | None, points: int) -> None:
    """Bidding one less than all each time, or nothing each time; with two less where there are two cards or more."""
    env = AECEnv(GAME.bind({"num_players": 1, "length": length}))
    env.reset(seed=0)
    while env.engine.batch.seat[0] != OVER:
        legal = np.flatnonzero(env.engine.batch.mask[0])
        size = int(env.engine.batch.state["hand_size"][0])
        env.step(int(legal[0]) if legal[0] >= PLAY or below is None else max(0, size - below))
    assert env.engine.batch.state["score"][0, 0] == points
    assert env.rewards["player_0"] == pytest.approx(points / 100, rel=1e-6)
    assert env.infos["player_0"]["points"] == points
    assert env.infos["player_0"]["winner"]
    low, high = env.game.reward_range
    assert low * 100 == pytest.approx(-107_910) or length != "full"
    assert high * 100 == pytest.approx(-108 if length == "full" else -54)


TABLES: list[dict[str, Any]] = [{}, {"num_players": 7, "length": "down"}, {"num_players": 3, "length": "single"}]


@pytest.mark.parametrize("given", [pytest.param(given, id=label(given), marks=marks(GAME, given)) for given in TABLES])
def test_paid_hand_by_hand_or_at_the_end_the_sum_is_the_same(given: dict[str, Any]) -> None:
    returns = []
    for by_hand in (False, True):
        tables = BatchEnv(GAME.bind({**given, "per_hand_rewards": by_hand}), 4, seed=1, autoreset=False)
        step = tables.reset()
        seats = tables.num_seats
        gained, random = np.zeros((4, seats)), np.random.default_rng(0)
        paid = 0
        while (step.seat >= 0).all():
            step = tables.step(np.array([random.choice(np.flatnonzero(mask)) for mask in step.action_mask]))
            gained += step.reward
            paid += int(step.reward.any())
        score = tables.engine.batch.state["score"]
        scale = 100 if given.get("length") == "single" else 1000
        assert np.allclose(gained, (score - score.mean(axis=1, keepdims=True)) / scale, atol=1e-5)
        assert paid == (len(schedule.hand_sizes(tables.game.options)) if by_hand else 1)
        returns.append(gained)
    assert np.allclose(returns[0], returns[1], atol=1e-5)


def test_between_hands_the_leaf_value_is_what_the_points_so_far_pay() -> None:
    by_hand = AECEnv(GAME.bind({"per_hand_rewards": True}))
    at_end, win = GAME, GAME.bind({"reward": "win"})
    random, paid, hands_seen = np.random.default_rng(2), np.zeros(4), 0
    by_hand.reset(seed=2)
    while by_hand.engine.batch.seat[0] != OVER and hands_seen < 5:
        by_hand.step(random_action(by_hand, random))
        reward = by_hand.engine.batch.reward[0]
        if reward.any():
            paid += reward
            hands_seen += 1
            state = by_hand.engine.batch.state[0]
            assert [rules.leaf_value(at_end.options, state, seat) for seat in range(4)] == pytest.approx(paid, abs=1e-6)
            assert rules.leaf_value(by_hand.game.options, state, 0) == 0
            assert np.isnan(rules.leaf_value(win.options, state, 0))
    assert hands_seen == 5


def test_infos_tell_points_and_winners_and_sips_only_where_they_are_drunk() -> None:
    env = backalley.make("killer_bridge-v0", length="single", hand_size=2)
    env.reset(seed=0)
    assert set(env.infos["player_0"]) == {"action_mask", "scorecard"}
    while env.engine.batch.seat[0] != OVER:
        env.step(int(np.flatnonzero(env.engine.batch.mask[0])[0]))
    assert set(env.infos["player_0"]) == {"action_mask", "scorecard", "points", "winner", "ended"}
    state = env.engine.batch.state[0]
    assert [env.infos[name]["points"] for name in env.possible_agents] == state["score"].tolist()
    best = state["score"].max()
    assert [env.infos[name]["winner"] for name in env.possible_agents] == (state["score"] == best).tolist()
    assert scoring.winners(env.game.options, state) == sum(
        1 << seat for seat in range(4) if state["score"][seat] == best
    )


# --- §2


def deal_to(env: AECEnv, dealt: list[str], turned: str) -> None:
    """Seat 0 leads; `dealt[s]` are seat `s`'s cards."""
    order = [hand.split()[index] for index in range(len(dealt[0].split())) for hand in dealt]
    env.reset(seed=0, options={"decks": [[*order, turned]], "start_outcome": len(dealt) - 1})


def play_names(env: AECEnv, names: str) -> None:
    for name in names.split(", "):
        env.step(env.game.action_number(name))


def test_redrawn_hands_keep_what_the_play_has_shown() -> None:
    """A trump given to the big joker, a trump refused to it, a suit refused; over 2,000 determinizations."""
    env = AECEnv(GAME.bind({"length": "single", "hand_size": 4}))
    deal_to(env, ["BJ AH 2C 3C", "9S 2D 3D 4D", "2H 3H 4H 5H", "4S 3S AS LJ"], "6S")
    play_names(env, "bid 0, bid 0, bid 0, bid 0, play BJ, play 9S, play 5H, play LJ, play 2C, play 2D")
    determinizations = determinizations_of(env, 0, 2000)
    above_nine = sum(1 << cards.card_number(name) for name in ("TS", "JS", "QS", "KS", "AS", "LJ", "BJ"))
    spades, clubs = tricks.suit_set(3, 3), tricks.suit_set(0, 3)
    held = determinizations["hand"]
    assert (held[:, 0] == determinizations["hand"][0, 0]).all()
    assert not (held[:, 1] & (above_nine | clubs)).any()
    assert not (held[:, 2] & spades).any()
    assert (held[:, 1] & spades).any()
    assert (held[:, 2] & clubs).any()
    assert (held[:, 3] & (1 << cards.card_number("AS"))).any()
    assert {tuple(count.bit_count() for count in row) for row in held.tolist()} == {(2, 2, 3, 3)}
    assert len({row.tobytes() for row in held}) > 1900


def test_the_drawn_table_cries_out_at_a_led_big_joker() -> None:
    env = AECEnv(GAME.bind({"length": "single", "hand_size": 4}), render_mode="ansi")
    deal_to(env, ["BJ AH 2C 3C", "9S 2D 3D 4D", "2H 3H 4H 5H", "4S 3S AS LJ"], "6S")
    play_names(env, "bid 0, bid 0, bid 0, bid 0")
    assert "shake" not in str(env.render())
    play_names(env, "play BJ")
    assert "this trick  seat 0 BJ  Rake 'em and shake 'em!\n" in str(env.render())
    play_names(env, "play 9S, play 5H, play LJ, play 2C")
    shown = " ".join(str(env.render()).split())
    assert "last trick seat 0 BJ, seat 1 9S, seat 2 5H, seat 3 LJ Rake 'em and shake 'em!, BOHICA!" in shown
    assert shown.count("shake") == shown.count("BOHICA!") == 1


def test_redrawn_hands_keep_a_rainbow_bids_distribution() -> None:
    env = AECEnv(GAME.bind({"length": "single", "hand_size": 8}))
    rainbow = "2C 3C 2D 3D 2H 3H 2S LJ"
    deal_to(env, [rainbow, "4C 5C 6C 7C 8C 9C TC JC", "4D 5D 6D 7D 8D 9D TD JD", "KC AC KD AD KH AH KS AS"], "6S")
    play_names(env, "rainbow, bid 0, bid 0")
    for names, left in ((None, [2, 2, 2, 2]), ("bid 0, play 2C, play 4C, play 4D, play AC", [1, 2, 2, 2])):
        if names:
            play_names(env, names)
        for viewer in (1, 2, 3):
            for hand in determinizations_of(env, viewer, 200)["hand"][:, 0].tolist():
                assert [(hand & tricks.suit_set(suit, 3)).bit_count() for suit in range(4)] == left
    others = determinizations_of(env, 1, 200)["hand"][:, 3].tolist()
    assert len({(hand & tricks.suit_set(2, 3)).bit_count() for hand in others}) > 2


def test_every_number_of_an_observation_fits_in_a_byte_at_tables_of_every_size() -> None:
    for players in range(1, 55):
        game = GAME.bind(num_players=players)
        assert game.observation_base == np.int8
        for name, place in game.observation_fields.items():
            assert -128 <= place.low <= place.high <= 127, name
        low, high = scoring.score_bounds(game.options)
        assert players == 1 or trick_hand.LEAST_SCORE <= low <= high <= trick_hand.MOST_SCORE


@pytest.mark.parametrize("scores", [(0, -5, 2548, 127), (-1, 128, -128, -129), (16383, -16384, 640, -2197)])
def test_a_score_is_128s_and_the_rest(scores: tuple[int, ...]) -> None:
    env = AECEnv(GAME.bind(length="single", hand_size=2))
    env.reset(seed=0)
    env.engine.batch.state["score"][0] = scores
    for seat in range(4):
        shown = observed(env, seat)
        assert (shown["score_rest"] >= 0).all()
        whole = 128 * shown["score_128s"].astype(int) + shown["score_rest"]
        assert whole.tolist() == [*scores[seat:], *scores[:seat]]


def test_a_score_below_all_that_bytes_hold_is_shown_as_the_least_of_them() -> None:
    env = AECEnv(GAME.bind(length="single", hand_size=2))
    env.reset(seed=0)
    env.engine.batch.state["score"][0] = -107_910  # as a lone player's may be, alone
    shown = observed(env, 0)
    assert (shown["score_128s"] == -128).all()
    assert not shown["score_rest"].any()


def test_a_small_table_costs_no_more_than_it_needs() -> None:
    sizes = [GAME.bind({"num_players": players}).state_dtype.itemsize for players in range(1, 55)]
    assert sizes == [13 + 41 * players + 2 * (54 // players) * (1 + 2 * players) for players in range(1, 55)]
    assert sizes[3] == 411
    assert GAME.bind({"length": "single", "hand_size": 3}).cards_drawn == 13
    page = (GAME.type.folder / "README.md").read_text("utf-8")
    for players in (1, 4, 10, 11, 37, 54):
        game = GAME.bind({"num_players": players})
        assert game.observation_base.itemsize == 1
        assert f"| {sizes[players - 1]:,} | {game.observation_size:,} |" in page


# --- options


def test_options_take_the_pages_words() -> None:
    assert GAME.bind({"first_dealer": "random", "hand_size": "largest"}) == GAME.bind({})


# --- §2.1, and the cut-down games of §1.5


def test_a_small_pack_has_cards_for_all() -> None:
    assert (GAME.bind(suits=2).deck_size, largest_hand(GAME.bind(suits=2).options)) == (26, 6)


ULTIMATE = GAME.bind(ultimate=True)


def test_outside_the_ultimate_game_it_plays_as_weigh() -> None:
    for options in ({"length": "single"}, {"length": "up", "drinking": True}):
        env = AECEnv(GAME.bind(options))
        for _ in played(env, [1], np.random.default_rng(1)):
            assert asked(env, "thirty_seven") == asked(env, "weigh")


ONE_CARD: list[tuple[int, str, str]] = [
    (38, "2C", "bid 1"),  # missed by one
    (38, "BJ", "bid 0"),
    (27, "2C", "bid 0"),  # made: 10
    (26, "BJ", "bid 1"),  # made: 11
    (1, "BJ", "board"),  # made: 10 + 1 + 25
    (63, "2C", "board"),  # missed by one: 1 + 25
]


@pytest.mark.parametrize(("score", "card", "bid"), ONE_CARD)
def test_in_the_last_hand_it_bids_what_leads_to_37(score: int, card: str, bid: str) -> None:
    """A card that wins or loses whatever happens: a bid is made or missed by choice."""
    env = AECEnv(GAME.bind(length="single", hand_size=1, ultimate=True))
    env.reset(seed=0, options={"decks": [[card, "9H", "TH", "KS", "6S"]], "start_outcome": 3})
    env.engine.batch.state["score"][0] = [score, 300, 200, 100]
    env.engine.show_one()
    assert asked(env, "thirty_seven") == bid
    for name in (bid, "bid 0", "bid 0"):
        env.step(env.game.action_number(name))
    env.step(env.game.action_number("bid 0" if bid != "bid 1" and bid != "board" else "bid 1"))
    while env.engine.batch.seat[0] != OVER:
        env.step(random_action(env, np.random.default_rng(0)))
    assert env.engine.batch.state["score"][0, 0] == 37
    assert env.infos["player_0"]["winner"]


def test_it_plays_for_the_tricks_that_lead_to_37_and_not_for_its_bid() -> None:
    """Nothing bid and 38 points: exactly one trick has to be won, so the ace takes this one and the three may follow.
    Who wants to make the bid gives the three."""
    env = AECEnv(GAME.bind(length="single", hand_size=2, ultimate=True))
    env.reset(seed=0, options={"decks": [["9H", "TH", "KH", "3H", "2C", "4C", "5D", "AH", "6S"]], "start_outcome": 0})
    env.engine.batch.state["score"][0] = [38, 300, 200, 100]
    for name in ("bid 0", "bid 0", "bid 1", "bid 0", "play 9H", "play TH", "play KH"):
        env.step(env.game.action_number(name))
    assert (asked(env, "thirty_seven"), asked(env, "weigh")) == ("play AH", "play 3H")


@pytest.mark.parametrize("length", ["full", "down"])
def test_one_card_each_never_comes_to_37(length: str) -> None:
    """With 28 players or more a game is one or two hands of one card: what they can bring, all of it."""
    brought = {scoring.hand_points(ULTIMATE.options, bid, 1, won) for bid in (0, 1, BOARD) for won in (0, 1)}
    assert brought == {10, 11, 36, -1, -26}
    hands = 2 if length == "full" else 1
    assert 37 not in {sum(points) for points in itertools.product(brought, repeat=hands)}
    env = AECEnv(ULTIMATE.bind(num_players=4, length="single", hand_size=1))
    for _ in played(env, [0], np.random.default_rng(0)):
        assert asked(env, "thirty_seven") == asked(env, "weigh")


def test_a_score_is_worth_the_chance_to_come_to_37() -> None:
    last = 25
    worth = np.zeros(2 * steering.AROUND + 1)
    steering.reckon_worth(ULTIMATE.options, last, worth)
    assert (np.flatnonzero(worth) == steering.AROUND).all()
    before = np.zeros_like(worth)
    steering.reckon_worth(ULTIMATE.options, last - 1, before)
    assert ((before >= 0) & (before <= 1)).all()
    found: dict[int, Any] = {37 + place - steering.AROUND: worth for place, worth in enumerate(before)}
    assert found[38] == max(found.values())  # to miss by one is the likeliest of all
    assert min(found[score] for score in (27, 26, 23, 18, 11, 41, 46, 53)) > 0
    assert max(found[score] for score in (28, 36, 10, 50)) == 0


@pytest.mark.slow
@pytest.mark.release
def test_it_wins_the_ultimate_game_more_often_than_weigh() -> None:
    """One seat of it among three of `weigh`, over 1,000 full games."""
    tables = BatchEnv(ULTIMATE, 1000, seed=12, autoreset=False)
    tables.reset()
    who = np.ones((1000, 4), np.int64)
    who[np.arange(1000), np.arange(1000) % 4] = 0
    players = [agent("bot:thirty_seven", ULTIMATE), agent("bot:weigh", ULTIMATE)]
    returns, _ = play_out(tables, players, who, np.arange(1000).astype(np.uint64))
    mine = returns[who == 0]
    assert mine.mean() - 3 * mine.std() / 1000**0.5 > 0
    exact = tables.engine.batch.state["score"] == 37
    assert exact[who == 0].mean() > 0.25 > 10 * exact[who == 1].mean()


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize(("players", "ahead"), [(2, 0.6), (3, 0.2), (7, 0.003)])
def test_weigh_is_tuned_to_the_number_of_players(players: int, ahead: float) -> None:
    """With the numbers for four it is 0.27, 0.15 and 0.001 ahead of `count`."""
    report = backalley.evaluate(GAME.bind(num_players=players), ["bot:weigh", "bot:count"], deals=300, seed=5)
    assert report.agents[0].mean_return.low > ahead
