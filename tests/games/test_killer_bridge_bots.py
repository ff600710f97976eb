"""Killer Back Alley Bridge Substitute: the bots, and the one that steers to exactly 37 in the Ultimate game."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from backalley.agents.match import play_out
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.catalogue import game
from backalley.envs.core.game.game import Game
from backalley.envs.killer_bridge import scoring, steering
from backalley.envs.killer_bridge.state import BOARD
from backalley.testing.play import random_action
from tests.common.cases import asked, played

GAME: Game = game("killer_bridge")
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


BOT_ORDER = [("bot:duck", "random", 0.0), ("bot:count", "bot:duck", 0.05), ("bot:weigh", "bot:count", 0.04)]


@pytest.mark.slow
@pytest.mark.parametrize(("better", "worse", "least"), BOT_ORDER)
def test_each_bot_beats_the_one_before_it(better: str, worse: str, least: float) -> None:
    """One seat of the better among three of the other, over 1,000 full games: at least `least` thousand points above
    the mean."""
    game = GAME.bind({})
    tables = BatchEnv(game, 1000, seed=12, autoreset=False)
    tables.reset()
    who = np.ones((1000, 4), np.int64)
    who[np.arange(1000), np.arange(1000) % 4] = 0
    keys = np.arange(1000).astype(np.uint64)
    returns, _ = play_out(tables, [agent(better, game), agent(worse, game)], who, keys)
    mine = returns[who == 0]
    assert mine.mean() - 4 * mine.std() / 1000**0.5 > least
