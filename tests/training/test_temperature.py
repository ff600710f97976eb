"""Mixed play learned from rollouts: drawn by gains at the tables and from the file, near equilibrium in Kuhn poker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.policies.inference import chances, net_of
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import network_player
from backalley.benchmarks.exact.exploit import exploitability
from backalley.examples.kuhn import BET
from backalley.training.rollouts.rollouts import Rollouts
from backalley.training.rollouts.temperature import by_temperature
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
    told = policy.action_probabilities(shown, np.ones((5, 2), np.int8))
    assert told == pytest.approx(plays(made, shown), abs=0.002), "but for half precision"
    logits = made.fitting.outputs(shown) / 0.5
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert told == pytest.approx(expected, abs=0.02)
    # Openings go round and round as they are learned; these two go where they have to, to 0.12 and 0.998.
    assert np.ptp(told[3:, BET]) > 0.5, "something was learned"

    made._make_next()  # and so the tables play
    made._finish_next()
    state = made.batch.arrays.state
    begun = (state["played"] == 1) & ~made.tables.held
    for card in range(3):
        rows = begun & (state["card"][:, 0] == card)
        share = (state["bets"][rows, 0] == BET + 1).mean()
        assert share == pytest.approx(told[card, BET], abs=4 * 0.5 / np.sqrt(rows.sum()))


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


def test_a_policy_without_temperature_plays_the_best(tmp_path: Path) -> None:
    made = mixing(tmp_path, rollouts__temperature=0.0, rollouts__plays_at=0.0)
    made.step()
    made.save_policy(tmp_path / "policy", {})
    assert PolicyAgent(tmp_path / "policy", GAME).greedy


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
