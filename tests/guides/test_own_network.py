"""A network of a user's own: the guide's module is trained, gated, saved, loaded elsewhere and attacked."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import backalley
from backalley.agents.base.agent import View
from backalley.agents.policies import policy_kinds
from backalley.agents.policies.network import weights_of
from backalley.agents.policies.own_policy import OwnPolicyAgent
from backalley.agents.policies.policy_file import PolicyFileError, read_metadata, save_policy
from backalley.agents.policies.policy_kinds import PolicyKind, register_policy
from backalley.benchmarks.studies.learning.guides import guide_attention
from backalley.console.errors import InvalidCall, InvalidType, InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.train import train
from tests.common.commands import process
from tests.common.tiny_runs import guide_phase

GAME = backalley.game("backalley.examples.leduc")
SETTINGS = {
    "run.phases": "attention:0.5,attention",
    "run.curve_every": 0,
    "run.evaluation_deals": 16,
    "run.gate_deals": 200,
    "attention.tables": 64,
}


@pytest.fixture
def attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The guide's module in the working folder, registered."""
    monkeypatch.setattr(policy_kinds, "_registered", {})
    for _ in guide_phase("attention", tmp_path, monkeypatch):
        yield sys.modules["attention"]


@pytest.mark.slow
def test_it_is_trained_gated_resumed_loaded_in_another_process_and_attacked(
    attention: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(GAME, out="whole", decisions=(4000, 4000), config_overrides=SETTINGS)
    assert whole.phases[1].gate is not None
    assert sorted(path.suffix for path in Path("whole/policy").iterdir()) == [".json", ".safetensors"]
    train(GAME, out="cut", decisions=(4000, 2000), config_overrides=SETTINGS)
    train(GAME, resume="cut", decisions=(4000, 4000))
    first, second = (backalley.load_policy(run, GAME) for run in ("whole", "cut"))
    assert isinstance(first, OwnPolicyAgent)
    assert isinstance(second, OwnPolicyAgent)
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name])

    played = process("evaluate", GAME.spec, "attention.py:policy:whole", "random", "--deals", "20", cwd=tmp_path)
    assert played.returncode == 0, played.stderr
    refused = process("evaluate", GAME.spec, "whole", "random", "--deals", "20", cwd=tmp_path)
    assert refused.returncode == 2
    assert "the kind 'attention', which is not registered here: first import the module" in refused.stderr
    found = backalley.attack(GAME, first, decisions=3000, deals=64, out="attack")
    assert {one.name for one in found.attackers} == {"ppo", "search", "table"}
    assert "rollouts" in found.refused, "it has no compiled kernel"


def test_it_plays_as_its_network_says(attention: ModuleType, tmp_path: Path) -> None:
    run = train(GAME, out="run", decisions=1000, config_overrides={**SETTINGS, "run.phases": "attention"}).folder
    policy = backalley.load_policy(run, GAME)
    batch = GAME.make_vec(32, seed=1, events=True)
    step = batch.reset()
    step = batch.step(step.action_mask.argmax(1))
    known, keys = batch.information_state_tensor(), np.arange(32, dtype=np.uint64)
    view = View(batch, np.arange(32), keys)
    chances = policy.action_probabilities(view)
    np.testing.assert_allclose(chances.sum(1), 1, atol=1e-5)
    assert (chances[step.action_mask == 0] == 0).all()
    logits = np.where(step.action_mask, policy.logits(known), -np.inf)
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(chances, expected, atol=1e-4)
    likeliest = backalley.load_policy(run, GAME, greedy=True)
    assert (likeliest.act(view) == expected.argmax(1)).all()
    again = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(again.action_probabilities(view), chances)
    for given in (known[0], known[:, 1:], step.observation):
        with pytest.raises(InvalidValue, match="logits take"):
            policy.logits(given)
    plain = View(GAME.make_vec(32, seed=1), np.arange(0), keys[:0])
    for call in (policy.act, policy.action_probabilities):
        for shown in (plain, step.observation):
            with pytest.raises(InvalidCall, match="reads events, so it is asked with a View of tables that keep them"):
                call(shown)


def test_what_it_reads_beyond_the_events_changes_nothing(attention: ModuleType) -> None:
    """The padding of an information state, and the other rows of a batch."""
    network = attention.Attention(GAME, attention.Size()).eval()
    batch = GAME.make_vec(8, seed=1, events=True)
    batch.reset()
    known = torch.from_numpy(batch.information_state_tensor())
    other = known.clone()
    other[:, GAME.observation_size + 1 + 3 * int(known[0, GAME.observation_size]) :] = 1.0
    with torch.no_grad():
        torch.testing.assert_close(network(known)[0], network(other)[0])
        torch.testing.assert_close(network(known)[0][:3], network(known[:3])[0])


def test_a_network_of_observations_plays_rows_and_views(attention: ModuleType, tmp_path: Path) -> None:
    class Flat(torch.nn.Linear):
        def __init__(self, game: Game, size: Any) -> None:
            super().__init__(game.observation_size, game.num_actions)

    kind = PolicyKind("flat", attention.Size, Flat)
    register_policy(kind)
    player = policy_kinds.own_player("flat", attention.Size(), greedy=True)
    save_policy(tmp_path / "flat", weights_of(Flat(GAME, None)), GAME, name="flat", player=player, made={})
    policy = backalley.load_policy(tmp_path / "flat", GAME)
    batch = GAME.make_vec(16, seed=1)
    step = batch.reset()
    view = View(batch, np.arange(16), np.zeros(16, np.uint64))
    assert not policy.reads_events
    assert (policy.act(view) == policy.act(step.observation, step.action_mask)).all()
    assert (policy.action_probabilities(view).argmax(1) == policy.act(view)).all()


def test_files_of_unknown_or_changed_networks_are_refused_in_a_sentence(
    attention: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(GAME, out="run", decisions=1000, config_overrides={**SETTINGS, "run.phases": "attention"}).folder
    stated = read_metadata(run / "policy")["player"]
    assert stated == {
        "kind": "own",
        "name": "attention",
        "settings": {"width": 32, "heads": 2, "layers": 2},
        "greedy": False,
    }
    register_policy(
        attention.POLICY._replace(network=lambda game, size: attention.Attention(game, size._replace(width=8)))
    )
    with pytest.raises(PolicyFileError, match="of another shape than"):
        backalley.load_policy(run, GAME)
    register_policy(attention.POLICY._replace(settings=attention.Settings))
    with pytest.raises(PolicyFileError, match=r"cannot be played\. The network attention has no setting 'heads'"):
        backalley.load_policy(run, GAME)
    monkeypatch.setattr(policy_kinds, "_registered", {})
    with pytest.raises(PolicyFileError, match="first import the module that calls register_policy"):
        backalley.load_policy(run, GAME)


@pytest.mark.slow
def test_the_commands_of_the_page_are_run_by_its_study() -> None:
    found = guide_attention(4000, 2000).to_json()
    assert found["evaluate"]["name"].startswith("attention-s0-")
    assert 0 < found["exploit"]["mean_loss"] < 3
    assert found["attack"]["deals"] > 100


def test_what_cannot_be_registered(attention: ModuleType) -> None:
    kind = attention.POLICY
    assert register_policy(kind) is kind, "once more changes nothing"
    for given, error in (
        (kind._replace(name="two words"), InvalidValue),
        (kind._replace(settings=int), InvalidType),
        (kind._replace(network=None), InvalidType),
        ("attention", InvalidType),
    ):
        with pytest.raises(error):
            register_policy(given)
    other = type("Size", (tuple,), {"_fields": (), "__module__": "another"})
    with pytest.raises(InvalidValue, match="already, of attention"):
        register_policy(PolicyKind("attention", other, kind.network))
