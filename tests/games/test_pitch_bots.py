"""Pitch: how the bots reckon, bid and play."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from backalley.agents.registry import agent
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.core.kernel import COMPILED
from backalley.envs.core.playthrough import load, record
from backalley.envs.core.vector import BatchEnv
from backalley.envs.pitch import bot
from backalley.envs.pitch.game import GAME
from backalley.envs.pitch.state import (
    BID,
)
from tests.games.pitch import PIPS, observation, opened


def test_a_card_is_in_play_six_times_out_of_thirteen() -> None:
    size = 4096 if COMPILED else 64
    tables = BatchEnv(GAME.bind(), size, seed=11)
    tables.reset()
    dealt = np.bitwise_or.reduce(tables.engine.batch.state["hand"], axis=1)
    in_play = (dealt[:, None] >> np.arange(52)) & 1
    deviation = (in_play.sum(0) - size * 6 / 13) / math.sqrt(size * 6 / 13 * 7 / 13)
    assert np.abs(deviation).max() < 5
    worth = np.array([PIPS.get(card % 13, 0) for card in range(52)])
    pips = in_play @ worth
    assert abs(pips.mean() - 80 * 6 / 13) < 5 * pips.std() / math.sqrt(size)


@pytest.mark.parametrize(
    ("given", "unseen", "dealt"),
    [({}, 46, 18), ({"joker": "low_trump"}, 47, 18), ({"teams": "solo", "num_players": 7}, 46, 36)],
)
def test_how_likely_none_of_some_cards_is_in_play(given: dict[str, Any], unseen: int, dealt: int) -> None:
    game = GAME.bind(given)
    for cards in range(13):
        expected = math.comb(unseen - cards, dealt) / math.comb(unseen, dealt)
        assert bot.none_out(game.options, cards) == pytest.approx(expected, rel=1e-12)
    if not given:
        printed = [0.608696, 0.365217, 0.215810, 0.125471, 0.071698]
        assert [bot.none_out(game.options, cards) for cards in range(1, 6)] == pytest.approx(printed, abs=5e-7)
    if "joker" in given:
        assert [bot.none_out(game.options, cards) for cards in range(1, 4)] == pytest.approx(
            [0.617021, 0.375578, 0.225347], abs=5e-7
        )


@pytest.mark.skipif(not COMPILED, reason="thousands of games")
@pytest.mark.parametrize(
    ("better", "worse", "given", "deals"),
    [
        ("bot:book", "bot:careful", {}, 2_000),
        ("bot:careful", "random", {}, 200),
        ("bot:book", "random", {"mode": "hand", "low": "dealt"}, 1_000),
        ("bot:book", "bot:careful", {"joker": "below_jack", "target": 11}, 1_000),
        ("bot:book", "bot:careful", {"follow": "strict", "game_end": "bidder_must_win"}, 2_000),
        pytest.param("bot:book", "bot:careful", {"teams": "solo"}, 2_000, marks=pytest.mark.slow),
    ],
)
def test_the_better_player_wins(better: str, worse: str, given: dict[str, Any], deals: int) -> None:
    game = GAME.bind(given)
    players = [agent(better, game), agent(worse, game)]
    assert evaluate(game, players, deals=deals, seed=1).differences[0].high < 0


def test_book_still_plays_its_frozen_game() -> None:
    kept = load(GAME.folder / "playthroughs" / "book_seed-2.json")
    again = record(GAME.bind(kept["options"]), seed=2, bot="book")
    assert (again["decks"], again["moves"], again["returns"]) == (kept["decks"], kept["moves"], kept["returns"])


def test_book_bids_no_two_that_an_opposing_dealer_can_take() -> None:
    """It is bid before the dealer by the dealer's partner alone; where the dealer cannot take a bid, by anybody."""
    for can_take, bidders in ((True, {2}), (False, {1, 2, 3})):
        env, found = opened(first_dealer=0, dealer_can_take=can_take), set()
        for seed in range(300 if COMPILED else 20):
            env.reset(seed=seed)
            while env.engine.batch.state[0].phase == 0 and env.engine.batch.seat[0] != 0:
                mask = env.engine.batch.mask[0]
                action = int(bot.book(env.game.options, env.engine.batch.observation[0], mask, np.uint64(0)))
                if action == BID:
                    found.add(int(env.engine.batch.seat[0]))
                env.step(action)
        assert found == bidders


@pytest.mark.parametrize("name", ["careful", "book"])
def test_a_bid_that_wins_the_game_even_if_it_is_lost_is_made(name: str) -> None:
    """With `bidder_must_win`, from target and two on: the highest of them, with any hand, and no higher one."""
    env = opened(first_dealer=3, game_end="bidder_must_win")
    for seed in range(30 if COMPILED else 3):
        for score, sure in ((23, BID), (24, BID + 1), (25, BID + 2), (400, BID + 2)):
            env.reset(seed=seed)
            env.engine.batch.state["score"][0] = (score, 0)
            shown, mask = observation(env, 0), env.engine.batch.mask[0]
            assert GAME.bind().bots[name].act(env.game.options, shown, mask, np.uint64(0)) == sure


@pytest.mark.parametrize("name", ["careful", "book"])
def test_at_the_target_the_highest_bid_is_made_where_the_auction_wins(name: str) -> None:
    """With `next_auction`: the smudge, which nobody can take; a point short of it the hand decides."""
    env, short = opened(first_dealer=3, game_end="next_auction"), set()
    for seed in range(30 if COMPILED else 3):
        for score in (20, 21, 400):
            env.reset(seed=seed)
            env.engine.batch.state["score"][0] = (score, 0)
            shown, mask = observation(env, 0), env.engine.batch.mask[0]
            made = GAME.bind().bots[name].act(env.game.options, shown, mask, np.uint64(0))
            if score == 20:
                short.add(int(made))
            else:
                assert made == BID + 2
    assert BID + 2 not in short
