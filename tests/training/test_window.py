"""The window of past targets, and the settings of a learner from nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.policies.learned import PolicyAgent
from backalley.training.config import config
from backalley.training.config.config import Base, Learned, Precision
from backalley.training.rollouts import window
from backalley.training.rollouts.window import Window
from tests.training.test_rollouts import GAME, phase

SELF = {"rollouts.base": "self"}


def add(made: Window, count: int) -> None:
    """Add targets that have their number, from 0 on, as the bot's action."""
    numbers = np.arange(made.made, made.made + count)
    gain = np.stack([numbers, np.full(count, np.nan)], 1).astype(np.float32)
    made.add(np.zeros((count, GAME.observation_size), GAME.observation_base), gain, numbers.astype(np.int16))


def held(made: Window) -> list[int]:
    """The numbers of the targets in the window, in its order."""
    gain, advice = made.targets(np.arange(made.held))[1:]
    np.testing.assert_array_equal(gain[:, 0], advice)
    assert np.isnan(gain[:, 1]).all()
    found: list[int] = advice.tolist()
    return found


# The window -----------------------------------------------------------------------------------------------------------


def test_a_window_holds_the_latest_share_of_all_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "FEWEST", 20)
    monkeypatch.setattr(window, "_BYTES", 60 * (GAME.observation_size + 4 * 2 + 2))
    made = Window(GAME, 0.25, 10)
    seen = []
    for _ in range(40):
        add(made, 10)
        assert held(made) == list(range(made.made - made.held, made.made))
        seen.append(made.held)
    assert made.capacity == 60
    assert seen[:3] == [10, 20, 20], "at least the fewest, once there are as many"
    assert seen[11] == 30, "a quarter of 120"
    assert seen[23:] == [60] * 17, "no more than memory allows"


def test_minibatches_are_drawn_from_the_whole_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "FEWEST", 40)
    made, random = Window(GAME, 0.25, 20), np.random.default_rng(0)
    for _ in range(5):
        add(made, 20)
    parts = list(made.minibatches(random, 16, 32))
    assert [len(part) for part in parts] == [16] * 40, "32 uses of twenty new targets"
    assert set(np.concatenate(parts)) == set(range(40))


def test_without_a_share_each_target_of_the_chunk_is_used_as_often() -> None:
    made, random = Window(GAME, 0.0, 20), np.random.default_rng(0)
    for count in (20, 13):
        add(made, count)
        parts: list[npt.NDArray[np.int64]] = list(made.minibatches(random, 5, 3))
        assert np.bincount(np.concatenate(parts)).tolist() == [3] * count
        assert held(made) == list(range(made.made - count, made.made))
    assert made.capacity == 20
    assert made.arrays() == {}
    add(made, 0)
    assert list(made.minibatches(random, 5, 3)) == []


# The settings ---------------------------------------------------------------------------------------------------------


def test_one_setting_makes_a_learner_from_nothing() -> None:
    bot, alone = (config.load(backalley.game("poker_duel"), overrides=settings) for settings in ({}, SELF))
    assert (bot.rollouts.base, bot.run.phases.names) == (Base.BOT, ["plans"])
    assert (alone.rollouts.base, alone.run.phases.names) == (Base.SELF, ["rollouts"])
    assert (alone.rollouts.learned, alone.rollouts.held_out, alone.rollouts.window) == (Learned.ADVANTAGES, 0, 0.25)
    assert alone.network.precision == Precision.FLOAT32
    assert alone.options == bot.options
    game = backalley.game("killer_bridge")
    assert config.load(game, overrides=SELF).rollouts.temperature == 0.4, "its own file says so, for this alone"
    assert config.load(game).rollouts.temperature == 0


def test_what_a_user_says_comes_last() -> None:
    game = backalley.game("killer_bridge")
    given = {"rollouts": {"base": "self", "tables": 100, "window": 0.5}, "network": {"width": 64}}
    found = config.load(game, given, {"rollouts.window": 0.75, "run.phases": "ppo,rollouts"})
    assert (found.rollouts.tables, found.rollouts.window, found.network.width) == (100, 0.75, 64)
    assert found.run.phases.names == ["ppo", "rollouts"]
    assert found.rollouts.temperature == 0.4
    more = {config.FROM_NOTHING: {"rollouts": {"temperature": 0.3, "window": 0}}}
    both = config.load(game, given | more)
    assert (both.rollouts.tables, both.rollouts.window, both.rollouts.temperature) == (100, 0, 0.3)
    assert config.load(game, more) == config.load(game), "where a bot is improved it does not count"
    assert config.parse(found.as_dict(), "again") == found


def test_games_that_say_how_they_are_learned_from_nothing_keep_to_it() -> None:
    """Their pretrained policies were made so; the window is newer than they are."""
    missouri = config.load(backalley.game("missouri_city")).rollouts
    assert (missouri.tables, missouri.targets, missouri.held_out, missouri.reuse) == (512, 32, 64, 4)
    assert (missouri.window, missouri.temperature, missouri.clip, missouri.averaging) == (0, 0, 16, 4)
    chemin = config.load(backalley.game("baccarat", mode="chemin"))
    assert chemin.rollouts.temperature == chemin.rollouts.plays_at == pytest.approx(0.01 / 0.82, abs=1e-4)
    assert (chemin.run.phases.names, chemin.rollouts.window, chemin.rollouts.reuse) == (["ppo"], 0, 1)


def test_only_a_margin_needs_tables_held_out(tmp_path: Path) -> None:
    made = phase(tmp_path, rollouts__base="self", rollouts__held_out=0)
    made.step()
    assert made.window.made == made.targets.made.sum(), "all is learned from"


def test_the_tables_mix_and_the_file_plays_the_best(tmp_path: Path) -> None:
    made = phase(tmp_path, rollouts__base="self")
    made.step()
    made.save_policy(tmp_path / "greedy", {})
    assert made.settings.temperature > 0
    assert PolicyAgent(tmp_path / "greedy", GAME).greedy
    mixed = phase(tmp_path, rollouts__base="self", rollouts__plays_at=0.05)
    mixed.step()
    mixed.save_policy(tmp_path / "mixed", {})
    assert not PolicyAgent(tmp_path / "mixed", GAME).greedy


def test_tables_are_those_for_training_unless_a_bot_is_improved(tmp_path: Path) -> None:
    game = backalley.game("pitch")
    alone, bot = (phase(tmp_path, game, rollouts__base=base) for base in ("self", "bot"))
    hand = game.type.bind({"mode": "hand"})
    assert (alone.training_game, alone.batch.game, alone.game) == (hand, hand, game)
    assert (bot.training_game, bot.batch.game) == (game, game)
