"""What vectors cannot say of Pitch: chances, what a score is worth, bots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from backalley.benchmarks.exact.walk import count_information_sets
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.rules import trick_hand
from backalley.envs.pitch import bot
from backalley.envs.pitch.game import GAME
from backalley.envs.pitch.state import BID
from tests.common.cases import asked, by_count, observed

PIPS = {8: 10, 12: 4, 11: 3, 10: 2, 9: 1}  # by rank: ten, ace, king, queen, jack


def opened(seed: int = 3, **given: Any) -> AECEnv:
    env = AECEnv(GAME.bind(given))
    env.reset(seed=seed)
    return env


@pytest.mark.parametrize("scores", [(0, -5), (127, 128), (-128, -129), (600, -600), (trick_hand.MOST_SCORE, -16384)])
def test_any_score_on_the_way_to_a_target_is_shown(scores: tuple[int, int]) -> None:
    env = opened()
    env.engine.batch.state["score"][0] = scores
    for seat in range(4):
        shown = observed(env, seat)
        assert (shown.score_rest >= 0).all()
        whole = 128 * shown.score_128s.astype(int) + shown.score_rest
        assert whole.tolist() == [scores[seat % 2], scores[1 - seat % 2]]


def test_before_a_deal_the_side_that_lacks_less_is_likelier_to_win() -> None:
    env = opened()
    state = env.engine.batch.state
    leaf_value = GAME.leaf_value
    assert leaf_value is not None
    found = []
    for mine in (-10, 0, 10, 21, 25):
        state[0].score[:] = (mine, 10)
        gains = [leaf_value(env.game.options, state[0], seat) for seat in range(4)]
        assert sum(gains) == pytest.approx(0)
        assert gains[0] == gains[2]
        found.append(gains[0])
    assert found[2] == pytest.approx(0)
    assert found[0] < found[1] < 0 < found[3] == found[4] < 1
    assert leaf_value(GAME.bind(mode="hand").options, state[0], 0) == 0


@pytest.mark.skipif(not COMPILED, reason="hundreds of games")
@pytest.mark.slow
def test_the_leaf_value_is_what_comes_of_the_scores() -> None:
    """Over games of `book` with itself, the mean leaf_value before the deals of each tenth is near the mean of what was
    won."""
    game = GAME.bind()
    states, won = by_count(game, "bot:book", "hand_index", 1024, seed=2)
    assert GAME.leaf_value is not None
    hoped = np.array([GAME.leaf_value(game.options, one, 0) for one in states])
    for low in np.arange(-1, 1, 0.25):
        these = (hoped >= low) & (hoped < low + 0.25)
        assert these.sum() > 200
        assert abs(hoped[these].mean() - won[these].mean()) < 0.15


def test_partners_are_two_sides_and_the_lonely_one_each() -> None:
    assert GAME.bind().sides == (0, 1, 0, 1)
    assert GAME.bind(teams="solo", num_players=5).sides == (0, 1, 2, 3, 4)


# Bots -----------------------------------------------------------------------------------------------------------------


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


def test_book_bids_no_two_that_an_opposing_dealer_can_take() -> None:
    """It is bid before the dealer by the dealer's partner alone; where the dealer cannot take a bid, by anybody."""
    for can_take, bidders in ((True, {2}), (False, {1, 2, 3})):
        env, found = opened(first_dealer=0, dealer_can_take=can_take), set()
        for seed in range(300 if COMPILED else 20):
            env.reset(seed=seed)
            while env.engine.batch.state[0].phase == 0 and env.engine.batch.seat[0] != 0:
                action = env.game.action_number(asked(env, "book"))
                if action == BID:
                    found.add(int(env.engine.batch.seat[0]))
                env.step(action)
        assert found == bidders


@pytest.mark.parametrize("name", ["careful", "sharp", "book"])
def test_a_bid_that_wins_the_game_even_if_it_is_lost_is_made(name: str) -> None:
    """With `bidder_must_win`, from target and two on: the highest of them, with any hand, and no higher one."""
    env = opened(first_dealer=3, game_end="bidder_must_win")
    for seed in range(30 if COMPILED else 3):
        for score, sure in ((23, BID), (24, BID + 1), (25, BID + 2), (400, BID + 2)):
            env.reset(seed=seed)
            env.engine.batch.state["score"][0] = (score, 0)
            env.engine.show_one()
            assert env.game.action_number(asked(env, name)) == sure


@pytest.mark.parametrize("name", ["careful", "sharp", "book"])
def test_at_the_target_the_highest_bid_is_made_where_the_auction_wins(name: str) -> None:
    """With `next_auction`: the smudge, which nobody can take; a point short of it the hand decides."""
    env, short = opened(first_dealer=3, game_end="next_auction"), set()
    for seed in range(30 if COMPILED else 3):
        for score in (20, 21, 400):
            env.reset(seed=seed)
            env.engine.batch.state["score"][0] = (score, 0)
            env.engine.show_one()
            made = env.game.action_number(asked(env, name))
            if score == 20:
                short.add(made)
            else:
                assert made == BID + 2
    assert BID + 2 not in short


# --- §4.1, and the cut-down games of §2


@pytest.mark.slow
@pytest.mark.uncompiled
def test_a_card_each_of_two_suits_is_known_by_7540_information_sets() -> None:
    """The first player passes or makes one of 3 bids; the dealer, who is not asked after a smudge, may pass, bid more,
    or take the bid; the pitcher leads the one card, and the other follows, having seen it."""
    bids = {"pass": 3, "2": 4, "3": 3, "4": 0}  # what the dealer may say to each
    auctions = sum(max(1, replies) for replies in bids.values())
    decide = 26 * 1 + 26 * sum(replies > 0 for replies in bids.values())
    assert decide + auctions * (26 + 26 * 25) == count_information_sets(GAME.bind(preset="tiny")).information_sets
