"""Mixed play learned from rollouts: drawn by gains at the tables and from the file, near equilibrium in Kuhn poker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.policies.inference import chances, net_of
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import network_player
from backalley.benchmarks.exact.exploit import exploitability
from backalley.examples.kuhn import BET
from backalley.training.config import config
from backalley.training.config.config import BEST, Learned, Precision
from backalley.training.config.config import SELF as OWN
from backalley.training.rollouts import window
from backalley.training.rollouts.fitting import by_temperature
from backalley.training.rollouts.rollouts import Rollouts
from backalley.training.rollouts.window import Window
from tests.training.test_rollouts import GAME, phase

MIXING = {
    "rollouts.base": "self",
    "rollouts.learned": "advantages",
    "rollouts.temperature": 0.5,
    "rollouts.plays_at": 0.5,
    "rollouts.noise": 0.0,
    "rollouts.window": 0.0,
}


def mixing(folder: Path, **more: Any) -> Rollouts:
    return phase(folder, **{**MIXING, **more})


def plays(made: Rollouts, shown: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """How likely its tables play each action [n, A] where they show `shown` [n, O], both actions being legal."""
    net = net_of(made._weights(made.settings.temperature), made._bound, greedy=False)
    out, mask = np.zeros((len(shown), GAME.num_actions)), np.ones(GAME.num_actions, np.int8)
    for row, one in enumerate(shown):
        chances(net, one, mask, out[row])
    return out


def openings() -> npt.NDArray[Any]:
    """What the first seat sees with each of the three cards [3, O]."""
    shown = np.zeros((3, GAME.observation_size), GAME.observation_base)
    shown[np.arange(3), GAME.observation_fields["card"].start + np.arange(3)] = 1
    return shown


def bet_at() -> npt.NDArray[Any]:
    """What the second seat sees with the lowest and the highest card after a bet [2, O]: there one answer is better by
    one and by three, whatever anybody plays."""
    shown = openings()[::2].copy()
    shown[:, GAME.observation_fields["bets"].start + BET] = 1
    return shown


@pytest.mark.slow
def test_the_file_plays_what_the_tables_play(tmp_path: Path) -> None:
    made = mixing(tmp_path, rollouts__tables=6000, rollouts__targets=2)
    for _ in range(6):
        made.step()
    made.save_policy(tmp_path / "policy", {})
    policy = PolicyAgent(tmp_path / "policy", GAME)
    assert not policy.greedy
    shown = np.concatenate([openings(), bet_at()])
    probabilities = policy.action_probabilities(shown, np.ones((5, 2), np.int8))
    assert probabilities == pytest.approx(plays(made, shown), abs=0.002), "but for half precision"
    logits = made.fitting.outputs(shown) / 0.5
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert probabilities == pytest.approx(expected, abs=0.02)
    # Openings go round and round as they are learned; these two go where they have to, to 0.12 and 0.998.
    assert np.ptp(probabilities[3:, BET]) > 0.5, "something was learned"

    made._make_next()  # and so the tables play
    made._finish_next()
    state = made.batch.arrays.state
    begun = (state["played"] == 1) & ~made.tables.held
    for card in range(3):
        rows = begun & (state["card"][:, 0] == card)
        share = (state["bets"][rows, 0] == BET + 1).mean()
        assert share == pytest.approx(probabilities[card, BET], abs=4 * 0.5 / np.sqrt(rows.sum()))


def test_gains_are_over_what_the_policy_itself_would_play(tmp_path: Path) -> None:
    """On average over its mix it gains nothing on itself, whatever it drew."""
    made = mixing(tmp_path)
    for _ in range(3):
        made.step()
    made._make_next()
    made._finish_next()
    targets, taken = made.upcoming, made.upcoming.taken
    gain = targets.gain[taken]
    mix = plays(made, targets.flat[taken])
    assert (gain != 0).all(axis=1).any()
    assert mix[:, BET].min() > 0.01
    np.testing.assert_allclose((mix * gain).sum(1), 0, atol=1e-5)


def test_a_head_is_scaled_to_the_temperature(tmp_path: Path) -> None:
    made = mixing(tmp_path)
    weights = {name: array.copy() for name, array in made.fitting.arrays().items() if name.startswith("average.")}
    weights = {name.removeprefix("average."): array for name, array in weights.items()}
    scaled = by_temperature(weights, 0.25)
    for name, array in weights.items():
        if name.startswith("head."):
            np.testing.assert_allclose(scaled[name][:-1], array[:-1] * 4, rtol=1e-6)
            np.testing.assert_array_equal(scaled[name][-1], array[-1])
        else:
            np.testing.assert_array_equal(scaled[name], array)
    same = by_temperature(weights, 0.0)
    assert all(same[name] is array for name, array in weights.items()), "the likeliest action needs no scale"
    unknown = by_temperature(weights, np.inf)
    assert not unknown["head.weight"][:-1].any(), "everything is as likely"
    steep = by_temperature(weights, 1e-12)
    save_policy(tmp_path / "steep", steep, GAME, name="steep", player=network_player(steep, greedy=False), made={})
    policy = PolicyAgent(tmp_path / "steep", GAME)
    assert policy.action_probabilities(openings(), np.ones((3, 2), np.int8)).max(1) == pytest.approx(1)


@pytest.mark.slow
def test_mixed_play_comes_near_the_equilibrium_of_kuhn_poker(tmp_path: Path) -> None:
    """What always plays the best goes in circles there."""
    losses = []
    for temperature in (0.3, 0.0):
        made = mixing(
            tmp_path,
            rollouts__temperature=temperature,
            rollouts__plays_at=temperature,
            rollouts__tables=256,
            rollouts__target_share=1.0,
            rollouts__noise=0.1,
            rollouts__reuse=1,
            rollouts__batch_size=256,
            rollouts__learning_rate=1e-2,
            rollouts__averaging=0.0,
        )
        for _ in range(100):
            made.step()
        made.save_policy(tmp_path / f"{temperature}", {})
        losses.append(exploitability(GAME, [PolicyAgent(tmp_path / f"{temperature}", GAME)]).agents[0].mean_loss)
        made.close()
    assert losses[0] < 0.1
    assert losses[1] > 1 / 6 - 1e-6, "play that never mixes loses a sixth at least, whatever was learned"


# The window of past targets, and settings -----------------------------------------------------------------------------

SELF = {"rollouts.base": "self"}


def add(made: Window, count: int) -> None:
    """Add targets that have their number, from 0 on, as the bot's action."""
    numbers = np.arange(made.made, made.made + count)
    gain = np.stack([numbers, np.full(count, np.nan)], 1).astype(np.float32)
    shown = np.zeros((count, GAME.observation_size), GAME.observation_base)
    made.add(shown, gain, numbers.astype(np.int16))


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
    assert (bot.rollouts.base, bot.run.phases.names) == (BEST, ["plans"])
    assert (alone.rollouts.base, alone.run.phases.names) == (OWN, ["rollouts"])
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
    game = backalley.game("killer_bridge")
    alone, bot = (phase(tmp_path, game, rollouts__base=base) for base in ("self", "bot"))
    hand = game.type.bind({"per_hand_rewards": True})
    assert (alone.training_game, alone.batch.game, alone.game) == (hand, hand, game)
    assert (bot.training_game, bot.batch.game) == (game, game)
