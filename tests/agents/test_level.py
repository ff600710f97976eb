"""Players of several strengths, by `level:N`."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import backalley
from backalley.agents.base import level
from backalley.agents.base.agent import ThirdPartyAgent, View, view_of
from backalley.agents.base.level import levels_of, mixed
from backalley.agents.match import Match
from backalley.agents.registry import agent, named
from backalley.envs.core.game.game import Game
from tests.common.cases import GAMES

PITCH = backalley.game("pitch", mode="hand")
SEATS = np.array([[0, 1], [1, 0]])
WITH_LEVELS = [game for game in GAMES if levels_of(game)]


def seen(game: Game, tables: int = 64) -> View:
    """What the first seat sees at some tables."""
    batch, rows = game.make_vec(tables, seed=3), np.arange(tables)
    batch.reset()
    return view_of(batch, rows, rows.astype(np.uint64))


@pytest.mark.parametrize("game", WITH_LEVELS, ids=lambda game: game.name)
def test_levels_rise_by_playing_less_at_random(game: Game) -> None:
    levels = levels_of(game)
    shares = [one["random"] for one in levels if one["agent"] == levels[0]["agent"]]
    assert len(shares) > 2
    assert all(below > above for below, above in itertools.pairwise(shares))
    assert shares[-1] == levels[-1]["random"] == 0
    assert len(shares) in (len(levels), len(levels) - 1), "a search may be above"
    assert len(levels) <= level.MOST
    assert [f"level:{number}" for number in range(1, len(levels) + 1)] == [n for n in named(game) if "level" in n]


@pytest.mark.parametrize("game", WITH_LEVELS, ids=lambda game: game.name)
def test_the_top_level_is_its_agent(game: Game) -> None:
    top = len(levels_of(game))
    best, plain = agent(f"level:{top}", game), agent(levels_of(game)[-1]["agent"], game)
    assert best.name == f"level:{top}"
    np.testing.assert_array_equal(best.act(seen(game)), plain.act(seen(game)))


def test_a_level_draws_by_its_key_and_plays_as_its_base_otherwise() -> None:
    base, view = agent("bot", PITCH), seen(PITCH, 2000)
    half = mixed(PITCH, "bot", 0.5, "half", lambda name: agent(name, PITCH))
    played = half.act(view)
    np.testing.assert_array_equal(played, half.act(view))
    np.testing.assert_array_equal(played[:7], half.act(view.only(np.arange(7))))
    np.testing.assert_array_equal(played, half.act(view.observation, view.action_mask, key=view.key))
    rows = np.arange(len(view))
    assert view.action_mask[rows, played].all()
    odds = half.action_probabilities(view)
    as_bot = odds[rows, base.act(view)]
    assert ((played == base.act(view)).mean() - as_bot.mean()) ** 2 < 9 * (as_bot * (1 - as_bot)).mean() / len(view)
    np.testing.assert_allclose(as_bot, 0.5 + 0.5 / view.action_mask.sum(1))
    np.testing.assert_allclose(half.action_frequencies(view.only(0), draws=2000)[0], odds[0], atol=0.05)
    assert (half.action_probabilities(view.observation[:3], view.action_mask[:3]) == odds[:3]).all()


def test_a_level_is_the_same_in_another_process_and_in_machine_code() -> None:
    game = backalley.game("missouri_city")
    some = mixed(game, "policy", 0.3, "some", lambda name: agent(name, game))
    sent = pickle.loads(pickle.dumps(some))
    assert sent.name == "some"
    np.testing.assert_array_equal(sent.act(seen(game)), some.act(seen(game)))
    compiled, views = Match(game, [some, some], SEATS), Match(game, [some, ThirdPartyAgent(some, "some")], SEATS)
    assert compiled.compiled
    assert not views.compiled
    streams, keys = (np.arange(n, dtype=np.uint64) for n in (40, 80))
    played = [match.play(streams, keys.reshape(40, 2)) for match in (compiled, views)]
    np.testing.assert_array_equal(*(returns for returns, _ in played))


@pytest.mark.parametrize(
    ("spec", "game", "says"),
    [
        ("level:0", "pitch", "There is no level 0 of pitch; it has level:1 to level:10"),
        ("level:11", "pitch", "There is no level 11 of pitch; it has level:1 to level:10"),
        ("level", "pitch", "its name has the form level:LEVEL"),
        ("level:best", "pitch", "its name has the form level:LEVEL"),
        ("level:3", "backhand", "backhand has no levels; name another agent"),
    ],
)
def test_a_level_that_is_not_there_is_a_sentence(spec: str, game: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        agent(spec, game)


def test_a_damaged_file_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"kind": "levels", "levels": [{"agent": "bot", "random": 2}]}
    (tmp_path / "levels.json").write_text(json.dumps(kept), "utf-8")
    monkeypatch.setattr(type(PITCH.type), "folder", tmp_path)
    with pytest.raises(ValueError, match=r"levels.json holds no levels: random of entry 0"):
        levels_of(PITCH)


def test_a_search_plays_no_share_at_random() -> None:
    with pytest.raises(ValueError, match="takes a bot or a policy"):
        mixed(PITCH, "search:5", 0.5, "half", lambda name: agent(name, PITCH))
