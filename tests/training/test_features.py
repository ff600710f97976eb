"""Networks that rate one action after the other by its features: what they read, learn, play and refuse."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import backalley
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.match import Match
from backalley.agents.policies.inference import FeatureRows
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import PolicyFileError
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.sample import seatings
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.kernels import ActionFeatures, kernel
from backalley.examples import kuhn
from backalley.training.config.config import ConfigError, load
from backalley.training.rollouts.fitting import centred
from backalley.training.run.loop import kind
from tests.training.test_ppo import CLIP, ENTROPY, VALUE, by_torch
from tests.training.test_rollouts import PASS, phase

CARDS = 3


@kernel
def write(options: Any, observation: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float32]) -> None:
    """Each action beside each card, and whether the other has bet."""
    for action in range(2):
        for number in range(CARDS):
            out[action, number] = observation.card[number] if action == 1 else 0
            out[action, CARDS + number] = observation.card[number] if observation.bets[0, 1] != 0 and action == 1 else 0


GAME = dataclasses.replace(kuhn.GAME, action_features=ActionFeatures(write, 2 * CARDS)).bind()
BY_FEATURES = {"network__features": True, "rollouts__symmetry": False}
NOTHING = {**BY_FEATURES, "rollouts__base": "self", "rollouts__learned": "advantages", "rollouts__second": 0.0}
LEARNERS = {
    "ppo": {"ppo.tables": 128, "ppo.batch_size": 512, "league.share": 0.5},
    "mmd": {"mmd.tables": 512, "mmd.batch_size": 512},
}


def learner(name: str, place: Path) -> Any:
    """The phase of this name, just begun."""
    settings = {**LEARNERS[name], "network.features": True, "network.width": 32, "network.precision": "float32"}
    made = kind(name)(GAME, load(GAME, overrides=settings), seed=0, folder=place)
    made.begin()
    return made


@pytest.fixture(scope="module", params=["residual", "greedy", "drawn", *LEARNERS])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PolicyAgent:
    place, name = tmp_path_factory.mktemp("features"), request.param
    if name in LEARNERS:
        made = learner(name, place)
    else:
        drawn = {"rollouts__temperature": 0.3, "rollouts__plays_at": 0.3} if name == "drawn" else {}
        made = phase(place, GAME, **(BY_FEATURES if name == "residual" else {**NOTHING, **drawn}))
    for _ in range(30):
        made.step()
    made.margin = 0.05  # of the residual
    made.save_policy(place / "policy", {})
    return PolicyAgent(place / "policy", GAME)


def test_it_learns_and_plays_by_what_the_network_makes_of_each_action(policy: PolicyAgent) -> None:
    assert evaluate(GAME, [policy, "bot"], deals=2000).agents[0].mean_return.low > 0.1
    weights, base = policy.arrays, GAME.observation_fields
    for card in range(3):
        shown = np.zeros((1, GAME.observation_size), np.uint8)
        shown[0, base["card"].start + card] = shown[0, base["bets"].start + 1] = 1
        units = FeatureRows(GAME, GAME.type.action_features)(shown, np.ones((1, 2)))  # type: ignore[arg-type]
        for layer in range(2):
            units = np.maximum(units @ weights[f"trunk.{layer}.weight"].T + weights[f"trunk.{layer}.bias"], 0)
        rated = (units @ weights["head.weight"].T + weights["head.bias"])[:, 0]
        chances = np.exp(rated) / np.exp(rated).sum()
        if policy.greedy:
            leads = rated[1] - rated[0]
            assert abs(leads) > 0.05, "a choice so close that the bot's decides it tells nothing"
            chances = np.eye(2)[int(leads > 0)]
        mask = np.ones((1, 2), np.int8)
        np.testing.assert_allclose(policy.probabilities(shown, mask)[0], chances, atol=1e-5)
    with pytest.raises(TypeError, match="has no logits"):
        policy.logits(shown)


def test_matches_play_it_in_machine_code_as_views_do(policy: PolicyAgent) -> None:
    streams, keys = np.arange(40).astype(np.uint64), np.arange(80).reshape(40, 2).astype(np.uint64)
    shell: Any = type("Shell", (), {"name": "shell", "act": lambda self, view: policy.act(view)})()
    played = [Match(GAME, [one, RandomAgent()], seatings(GAME, 2)).play(streams, keys) for one in (policy, shell)]
    for found, expected in zip(*played, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_other_features_are_refused(policy: PolicyAgent) -> None:
    @kernel
    def others(options: Any, observation: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float32]) -> None:
        write(options, observation, mask, out)
        out[PASS, 0] = 1

    changed = dataclasses.replace(kuhn.GAME, action_features=ActionFeatures(others, 2 * CARDS)).bind()
    with pytest.raises(PolicyFileError, match="rates actions by features that kuhn no longer has; train it again"):
        PolicyAgent(policy.folder, changed)
    with pytest.raises(PolicyFileError, match="kuhn has none"):
        PolicyAgent(policy.folder, kuhn.GAME.bind())


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"network.features is true, and kuhn declares no features of actions"):
        phase(tmp_path, kuhn.GAME.bind(), **BY_FEATURES).check(kuhn.GAME.bind(), phase(tmp_path, **BY_FEATURES).config)


def test_only_differences_within_a_decision_are_learned() -> None:
    random = np.random.default_rng(1)
    outputs, targets = (random.normal(size=(7, width)).astype(np.float32) for width in (2, 1))
    rows = np.array([[3], [0], [0], [4], [0], [0], [0]], np.float32)

    def loss(given: npt.NDArray[np.float32]) -> tuple[float, npt.NDArray[np.float32]]:
        sums, written = np.zeros(2), given.copy()
        centred(written, targets, rows, sums)
        assert sums[0] == len(rows)
        return sums[1], written

    whole, gradient = loss(outputs)
    missed = (outputs[:, 0] - targets[:, 0]).astype(np.float64)
    expected = sum(((part - part.mean()) ** 2).sum() for part in (missed[:3], missed[3:]))
    assert whole == pytest.approx(expected, rel=1e-5)
    for row in range(7):
        step = np.zeros_like(outputs)
        step[row, 0] = 1e-2
        slope = (loss(outputs + step)[0] - loss(outputs - step)[0]) / 2e-2
        assert gradient[row].tolist() == pytest.approx([slope, 0], abs=1e-3)


def test_ppo_by_features_has_the_gradient_of_its_loss(tmp_path: Path) -> None:
    made = learner("ppo", tmp_path)
    made.step()
    rollout, random, numbers = made.model.rollout, np.random.default_rng(2), np.arange(200)
    rows, gains = rollout.kept[numbers], random.normal(size=200).astype(np.float32)
    rollout.log_probs.reshape(-1)[rows] += random.normal(0, 0.3, 200)  # some far enough away to be clipped
    inputs, loss = rollout.part(numbers, gains, (CLIP, ENTROPY, VALUE), made.model.rated)
    with torch.no_grad():
        rates, values = made.model.network(inputs)
    outputs = torch.cat([rates, values[:, None]], 1).numpy().copy()
    legal = torch.from_numpy(rollout.action_masks.reshape(-1, 2)[rows])
    rates.requires_grad_(True)
    given = rollout.actions, rollout.log_probs
    returns = torch.from_numpy(rollout.returns[numbers])
    samples = [legal, *(torch.from_numpy(one.reshape(-1)[rows]) for one in given), torch.from_numpy(gains), returns]
    by_torch("ppo", (torch.zeros(legal.shape).masked_scatter(legal, rates), returns), samples).backward()
    assert loss(outputs)[0] == len(numbers)
    np.testing.assert_allclose(outputs[:, 0] / len(numbers), rates.grad.numpy()[:, 0], rtol=1e-4, atol=1e-7)
    assert np.abs(outputs[:, 0]).max() > 0.01
    assert not outputs[:, 1].any()


def test_mmd_weighs_what_a_decision_moves_against_what_others_move_not_against_a_game(tmp_path: Path) -> None:
    decisions = learner("mmd", tmp_path).play(np.random.default_rng(0))
    assert decisions.advantage.square().mean().item() == pytest.approx(1, rel=1e-5)


DECLARED = [
    *(("killer_bridge", {"num_players": players}) for players in (2, 3, 4, 7)),
    ("bezique", {}),
    ("bezique", {"preset": "letter"}),
    ("pitch", {}),
    ("pitch", {"teams": "solo", "num_players": 2, "low": "dealt"}),
    ("pitch", {"teams": "solo", "num_players": 7, "joker": "low_trump", "joker_pitch": "name"}),
]


@pytest.mark.parametrize(("name", "options"), DECLARED, ids=lambda one: one if isinstance(one, str) else None)
def test_a_game_tells_the_same_of_an_action_under_any_names_of_the_suits(name: str, options: dict[str, Any]) -> None:
    game = backalley.game(name, **options)
    rows = FeatureRows(game, game.type.action_features)  # type: ignore[arg-type]
    batch, random, found = BatchEnv(game, 32, seed=3), np.random.default_rng(3), []
    step = batch.reset()
    for number in range(60):
        flat, mask = batch.arrays.flat, batch.arrays.mask
        symmetry = game.symmetries[number % len(game.symmetries)]
        table, action = np.nonzero(mask)
        order = np.lexsort((symmetry.actions[action], table))
        plain, other = rows(flat, mask), rows(flat[:, symmetry.observation], mask[:, symmetry.chosen])
        np.testing.assert_allclose(plain[order], other, atol=1e-5)
        assert np.isfinite(plain).all()
        found.append(plain)
        step = batch.step(np.where(step.action_mask, random.random(step.action_mask.shape), -1).argmax(1))
    shown = np.concatenate(found)
    always = np.flatnonzero(np.ptp(shown, axis=0) == 0)
    assert len(always) < len(shown[0]) / 5, always
