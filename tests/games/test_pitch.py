"""What vectors cannot say of Pitch: whole games against a second telling of the rules, scores, options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backalley.agents.base import view_of
from backalley.agents.registry import agent
from backalley.envs.core import trick_hand
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.kernel import COMPILED
from backalley.envs.core.options import OptionError
from backalley.envs.core.vector import BatchEnv
from backalley.envs.pitch.game import GAME
from tests.games.pitch import ROOT, observation, opened, played_with_a_referee

agreed = {
    "target": st.sampled_from([7, 11, 21]),
    "low": st.sampled_from(["captured", "dealt"]),
    "game_tie": st.sampled_from(["none", "non_bidder", "bidder"]),
    "must_trump_when_void": st.booleans(),
    "dealer_can_take": st.booleans(),
    "smudge_takeable": st.booleans(),
    "all_pass": st.sampled_from(["dealer_forced_2", "redeal", "dealer_exactly_2"]),
    "follow": st.sampled_from(["or_trump", "strict"]),
    "smudge_wins_game": st.booleans(),
    "joker": st.sampled_from(["none", "low_trump", "below_jack"]),
    "joker_pitch": st.sampled_from(["spades", "name"]),
    "game_end": st.sampled_from(["bidder_must_make", "first_past", "bidder_must_win", "next_auction"]),
    "mode": st.sampled_from(["match", "match", "hand"]),
    "max_hands": st.sampled_from([64, 64, 5]),
}


@settings(max_examples=60 if COMPILED else 4, deadline=None)
@given(st.fixed_dictionaries({}, optional=agreed), st.integers(0, 2**31))
def test_partners_play_as_the_rules_are_told_a_second_time(given: dict[str, Any], seed: int) -> None:
    played_with_a_referee(AECEnv(GAME.bind(given)), seed)


ALONE = """
from backalley.envs.core.aec import AECEnv
from backalley.envs.pitch.game import GAME
from tests.games.pitch import played_with_a_referee
choices = [
    {},
    {"joker": "low_trump", "joker_pitch": "name", "game_tie": "bidder"},
    {"mode": "hand", "all_pass": "redeal"},
    {"low": "dealt", "game_end": "first_past", "game_tie": "non_bidder", "joker": "below_jack"},
    {"max_hands": 3},
    {"follow": "strict", "all_pass": "dealer_exactly_2", "game_end": "bidder_must_win", "joker": "low_trump"},
    {"game_end": "next_auction", "target": 1},
]
for number, given in enumerate(choices):
    for players in (3, 4, 6, 7):
        options = {"target": 7, **given, "teams": "solo", "num_players": players}
        played_with_a_referee(AECEnv(GAME.bind(options)), 10 * number + players)
print("done")
"""


@pytest.mark.slow
def test_three_to_seven_alone_play_as_the_rules_are_told_a_second_time(tmp_path: Path) -> None:
    """Line by line, so that no table size has to be compiled for it."""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    run = subprocess.run(
        [sys.executable, "-c", ALONE], env=env, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.stdout.strip() == "done", run.stderr[-2000:]


def test_a_game_that_ends_with_an_auction_is_told_a_second_time() -> None:
    """Until three have ended so, the hand not played."""
    env, ended = AECEnv(GAME.bind(game_end="next_auction", target=2)), 0
    for seed in range(60):
        referee = played_with_a_referee(env, seed)
        ended += bool(referee.hands[0]) and len(referee.hands[0]) == 6
        if ended == 3:
            return
    raise AssertionError("no game ended with an auction")


@pytest.mark.parametrize("target", [1, 128, trick_hand.MOST_SCORE])
def test_a_game_to_the_least_and_to_the_greatest_target(target: int) -> None:
    """Where five hands cannot bring it, the higher score wins after them."""
    referee = played_with_a_referee(AECEnv(GAME.bind(target=target, max_hands=5)), 3)
    assert referee.hands_over < 5 if target == 1 else referee.hands_over == 5


@pytest.mark.parametrize("scores", [(0, -5), (127, 128), (-128, -129), (600, -600), (trick_hand.MOST_SCORE, -16384)])
def test_any_score_on_the_way_to_a_target_is_shown(scores: tuple[int, int]) -> None:
    env = opened()
    env.engine.batch.state["score"][0] = scores
    for seat in range(4):
        shown = observation(env, seat)
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
    tables = BatchEnv(game, 1024, seed=2, autoreset=False)
    player, leaf_value = agent("bot:book", game), GAME.leaf_value
    assert leaf_value is not None
    step, batch = tables.reset(), tables.engine.batch
    keys = np.arange(1024, dtype=np.uint64)
    seen, hoped = np.full(1024, -1), [[] for _ in range(1024)]  # type: ignore[var-annotated]
    won = np.zeros(1024)
    while (live := np.flatnonzero(step.seat >= 0)).size:
        for row in live[batch.state["hand_index"][live] != seen[live]]:
            seen[row] = batch.state["hand_index"][row]
            hoped[row].append(leaf_value(game.options, batch.state[row], 0))
        step = tables.step(player.act(view_of(tables.engine, live, keys)), live)
        won[live] += step.reward[live, 0]
    pairs = np.array([(hope, won[row]) for row in range(1024) for hope in hoped[row]])
    for low in np.arange(-1, 1, 0.25):
        these = pairs[(pairs[:, 0] >= low) & (pairs[:, 0] < low + 0.25)]
        assert len(these) > 200
        assert abs(these[:, 0].mean() - these[:, 1].mean()) < 0.15


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_players": 5}, 'partners are 4: set teams="solo"'),
        ({"teams": "solo", "num_players": 3, "first_dealer": 3}, "0..2"),
        ({"teams": "solo", "num_players": 8}, "3..7"),
        ({"joker": "high"}, "below_jack"),
        ({"target": 0}, "1..16383"),
        ({"target": 16384}, "1..16383"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        GAME.bind(given)


def test_partners_are_two_sides_and_the_lonely_one_each() -> None:
    assert GAME.bind().sides == (0, 1, 0, 1)
    assert GAME.bind(teams="solo", num_players=5).sides == (0, 1, 2, 3, 4)
