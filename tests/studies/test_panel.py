"""The panel of strangers: its players play as they say, and what agents gain on them is on the leaderboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import View, view_of
from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.studies.strength import strangers
from backalley.benchmarks.studies.strength.best_agents import MEAN, WORST, leaderboard
from backalley.benchmarks.studies.strength.panel import panel
from tests.common import high_card
from tests.common.cases import GAMES
from tests.studies.test_ladder import POLICY, estimate, ladder_of

SEVERAL = [game for game in GAMES if game.bind().num_sides > 1]


@pytest.mark.parametrize("game", SEVERAL, ids=lambda game: game.name)
def test_all_strangers_finish_a_match(game: Any) -> None:
    """A match refuses an illegal action."""
    panel = strangers.strangers(game.bind())
    least = 5 if game.name in strangers.OWN else 3
    assert len({one.name for one in panel}) == len(panel) >= least
    for one in panel[:-1]:
        assert backalley.evaluate(game.bind(), [one, "random"], deals=2).deals == 2


def deals(name: str, **options: Any) -> tuple[backalley.Game, View]:
    batch = backalley.make_vec(name, num_envs=64, seed=3, **options)
    batch.reset()
    return batch.game, view_of(batch, np.arange(64), np.arange(64, dtype=np.uint64))


def test_bidders_bid_as_they_say() -> None:
    game, view = deals("pitch")
    assert (strangers.Stranger(game, "", strangers.passer).act(view) == 0).all()
    assert (strangers.Stranger(game, "", strangers.bidder_of_three).act(view) == 2).all()
    game, view = deals("killer_bridge", hand_size=8, length="single")
    assert (strangers.Stranger(game, "", strangers.even_sharer).act(view) == 2).all()
    bids = strangers.Stranger(game, "", strangers.counter_of_honours).act(view)
    aces = game.records(view.observation)["hand"][:, 12:52:13].sum(1)
    assert (bids >= aces).all()
    assert len(set(bids)) > 2


def test_a_beginner_errs_in_three_of_ten() -> None:
    game, view = deals("pitch")
    bot, beginner = backalley.agent("bot", game), strangers.Beginner(game)
    keys = np.random.default_rng(1).integers(0, 2**63, (40, 64)).astype(np.uint64)
    differ = np.mean([beginner.act(view.with_keys(key)) != bot.act(view) for key in keys])
    assert 0.15 < differ < 0.3  # a guess may be the bot's action


def test_the_worst_and_the_mean_of_those_met() -> None:
    found = panel("missouri_city", 10).to_json()
    assert found["kind"] == "panel"
    assert found["rows"][0]["label"] == "bot:planner"
    for row in found["rows"]:
        gains = {one["against"]: Estimate(**one["gain"]) for one in row["met"]}
        assert row["worst"]["gain"]["mean"] == min(one.mean for one in gains.values())
        assert row["mean"]["mean"] == pytest.approx(np.mean([one.mean for one in gains.values()]))
    with pytest.raises(ValueError, match="nobody plays against anybody"):
        panel(high_card.GAME.bind(seats=1))


def test_the_leaderboard_shows_them_where_they_were_measured() -> None:
    rows = [{"label": "policy:standard", "worst": {"against": "x", "gain": estimate(0.1)}, "mean": estimate(0.5)}]
    met = {"kind": "panel", "game": "pitch-v0", "options": {}, "command": "", "rows": rows}
    bot, policy = leaderboard([ladder_of(POLICY), met])
    assert WORST not in bot
    assert (policy[WORST], policy[MEAN]) == ("+0.100 (+0.090 to +0.110)", "+0.500 (+0.490 to +0.510)")
