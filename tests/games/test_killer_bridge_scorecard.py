"""Killer Back Alley Bridge Substitute: the scorecard, wherever it is shown, and the named sets of options."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.catalogue import game
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.options import OptionError
from backalley.envs.killer_bridge import scoring
from backalley.envs.killer_bridge.scorecard import ScorecardLine
from backalley.examples import kuhn
from backalley.testing.play import random_action

GAME: Game = game("killer_bridge")
DRINKING = GAME.bind(length="up", drinking=True, sips_per_miss=3, history="last_trick")
TWO_HANDS = ["AH 2H KH 3H 6S", "AS 2H KS 3H QS 4H TS 5H LJ"]


def opened(env: AECEnv) -> AECEnv:
    """The first two hands of a game of four that goes up; seat 3 dealt the first, and all have bid 1, the last 0."""
    env.reset(seed=0, options={"decks": [hand.split() for hand in TWO_HANDS], "start_outcome": 3})
    for name in ("bid 1", "bid 1", "bid 1", "bid 0", "play AH", "play 2H", "play KH", "play 3H"):
        env.step(env.game.action_number(name))
    return env


FIRST = ScorecardLine(
    hand=1,
    cards=1,
    dealer=3,
    turned=43,
    bids=(1, 1, 1, 0),
    won=(1, 0, 0, 0),
    points=(11, -1, -1, 10),
    totals=(11, -1, -1, 10),
    sips=(0, 3, 3, 0),
)


def test_every_player_may_read_it_at_any_time() -> None:
    env = AECEnv(DRINKING)
    env.reset(seed=0)
    assert all(info["scorecard"] == () for info in env.infos.values())
    opened(env)
    assert env.infos == {agent: {**env.infos[agent], "scorecard": (FIRST,)} for agent in env.possible_agents}
    for name in ("bid 0", "bid 0", "bid 0", "bid 1", "play AS", "play 2H", "play KS"):
        env.step(env.game.action_number(name))
        assert all(info["scorecard"] == (FIRST,) for info in env.infos.values())
    env.reset(seed=1)
    assert all(info["scorecard"] == () for info in env.infos.values())


def test_its_lines_are_what_was_played() -> None:
    """A whole game of random play: the bids and tricks seen on the way, points by the rule, totals and sips as the
    state has them; and the last line is there at the end."""
    env, random = AECEnv(DRINKING), np.random.default_rng(3)
    env.reset(seed=3)
    state, lines = env.engine.batch.state[0], 0
    while env.engine.batch.seat[0] != OVER:
        before = state.copy()
        env.step(random_action(env, random))
        info = env.infos["player_1"]["scorecard"]
        if len(info) > lines:
            lines += 1
            line = info[-1]
            assert line.hand == line.cards == lines
            assert (line.dealer, line.turned) == (before["dealer"], before["turned"])
            assert line.bids == tuple(before["bid"])
            assert sum(line.won) == line.cards
            for bid, won, points in zip(line.bids, line.won, line.points, strict=True):
                assert points == scoring.hand_points(DRINKING.options, bid, line.cards, won)
            assert line.totals == tuple(state["score"])
            assert tuple(sum(sips) for sips in zip(*(line.sips for line in info), strict=True)) == tuple(state["sips"])
    assert lines == 13
    assert all(len(info["scorecard"]) == 13 for info in env.infos.values())
    assert env.infos["player_2"]["points"] == env.infos["player_2"]["scorecard"][-1].totals[2]


def test_it_goes_with_a_table_that_is_copied_or_kept() -> None:
    env = opened(AECEnv(DRINKING))
    assert pickle.loads(pickle.dumps(env)).infos["player_0"]["scorecard"] == (FIRST,)
    other = AECEnv(DRINKING)
    other.restore(env.snapshot())
    assert other.infos["player_0"]["scorecard"] == (FIRST,)


def test_the_drawn_table_has_it() -> None:
    env = AECEnv(DRINKING, render_mode="ansi")
    env.reset(seed=0)
    assert "scorecard" not in str(env.render())
    drawn = str(opened(env).render())
    assert "bid/won (* dealer, B board, R rainbow), points, total, sips" in " ".join(drawn.split())
    assert "\n1: 1 6S  1/1  +11    11    0  1/0   -1    -1    3  " in drawn
    assert "  *0/0  +10" in drawn


def test_one_seat_alone_reads_it_too() -> None:
    env = gymnasium.make("backalley/KillerBridge-v0", opponent="bot:duck", length="up")
    _, info = env.reset(seed=2)
    assert info["scorecard"] == ()
    random, over, most = np.random.default_rng(0), False, 0
    while not over:
        _, _, over, _, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
        most = max(most, len(info["scorecard"]))
        assert len(info["scorecard"]) >= most
    assert len(info["scorecard"]) == 13
    assert info["scorecard"][-1].totals[0] == info["points"]


def test_batches_tell_it_at_the_end_only() -> None:
    envs = gymnasium.make_vec("backalley/KillerBridge-v0", num_envs=3, opponent="bot:duck", length="single")
    _, info = envs.reset(seed=2)
    assert "scorecard" not in info
    for _ in range(14):
        _, _, _, _, info = envs.step(info["action_mask"].argmax(1))
    assert [len(card) for card in info["final_info"]["scorecard"]] == [1, 1, 1]


@pytest.mark.parametrize("given", ["1,3,5", [1, 3, 5], (1, 3, 5, 5)])
def test_sips_by_the_size_of_a_miss(given: Any) -> None:
    """The last number goes on for all larger misses, up to those of a lone player; by difference each is as many times
    as much."""
    table = GAME.bind(drinking=True, sips_per_miss=given)
    assert [scoring.sips_of(table.options, 0, 54, won) for won in (0, 1, 2, 3, 4, 13, 14, 54)] == [0, 1, 3] + [5] * 5
    each = GAME.bind(drinking=True, sip_rule="difference", sips_per_miss=given)
    assert [scoring.sips_of(each.options, 4, 13, won) for won in (4, 3, 6, 0, 13)] == [0, 1, 6, 20, 45]
    assert table.option_values["sips_per_miss"] == [1, 3, 5]
    assert table.option_words[2:] == ["--option", "sips_per_miss=1,3,5"]
    assert GAME.bind(table.option_values) == table


@pytest.mark.parametrize("given", [4, "4", [4], (4, 4, 4), np.int64(4)])
def test_one_number_of_sips_is_for_every_miss_and_shown_plainly(given: Any) -> None:
    assert GAME.bind(sips_per_miss=given).changed_options == {"sips_per_miss": 4}
    assert GAME.bind().option_values["sips_per_miss"] == 1


# --- named sets of options


def test_presets_stand_for_their_options() -> None:
    assert backalley.game("killer_bridge", preset="recommended") == GAME.bind(num_players=37)
    assert backalley.game("killer_bridge", preset="recommended", ultimate=True) == GAME.bind(
        num_players=37, ultimate=True
    )
    assert backalley.game("killer_bridge", preset="recommended", num_players=5) == GAME.bind(num_players=5)
    assert GAME.bind(preset="cutthroat") == GAME
    assert GAME.bind(scoring="linear").bind(preset="cutthroat") == GAME
    assert GAME.bind(preset="real").options.scoring == 1
    assert backalley.make("killer_bridge-v0", preset="half_game").game.changed_options == {"length": "down"}
    assert gymnasium.make("backalley/KillerBridge-v0", preset="half_game").unwrapped.game == GAME.bind(length="down")


@pytest.mark.parametrize("given", ["recomended", 37, None])
def test_a_preset_that_is_none_is_a_sentence(given: Any) -> None:
    with pytest.raises(OptionError, match=r'takes "letter" \| "recommended" \| "cutthroat" \| "real" \| "half_game"'):
        GAME.bind(preset=given)
    with pytest.raises(OptionError, match="kuhn has no option 'preset'"):
        kuhn.GAME.bind(preset=given)
