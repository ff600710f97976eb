"""A policy on disk, and the agent that plays it."""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from backalley.agents.base.agent import Agent, view_of
from backalley.agents.base.keys import decision_key
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.match import Match
from backalley.agents.policies import inference
from backalley.agents.policies.learned import PolicyAgent, load_policy
from backalley.agents.policies.network import NetworkAgent, PolicyNetwork, weights_of
from backalley.agents.policies.policy_file import (
    JSON_FILE,
    WEIGHTS_FILE,
    PolicyFileError,
    observation_bound,
    read_policy,
    save_policy,
)
from backalley.agents.policies.policy_kinds import NetworkPlayer, to_json
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import uncompiled
from backalley.envs.core.game import catalogue
from backalley.envs.core.rules.record import field
from backalley.examples import kuhn
from tests import ROOT

GAME = kuhn.GAME.bind()
NETWORK = NetworkPlayer(width=16, layers=2, greedy=False)
GREEDY, PLAYER = NETWORK._replace(greedy=True), to_json(NETWORK)
PYTHON = {name: uncompiled(getattr(inference, name)) for name in ("keep_inputs", "add_eight", "add_one")}


def network(seed: int = 0) -> PolicyNetwork:
    made = PolicyNetwork(observation_bound(GAME), GAME.num_actions, width=16, layers=2)
    made.initialise(torch.Generator().manual_seed(seed))
    with torch.no_grad():
        made.head.weight.mul_(100)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "policy"
    save_policy(place, weights_of(network()), GAME, name="tester", player=NETWORK, made={"command": "by hand"})
    return place


def views(seed: int, count: int = 200) -> tuple[BatchEnv, npt.NDArray[np.uint64]]:
    tables = BatchEnv(GAME, count, seed=seed)
    tables.reset()
    tables.step(np.arange(count) % 2)
    return tables, np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def network_again(loaded: Any) -> PolicyNetwork:
    made = network()
    made.load_state_dict({name: torch.from_numpy(array) for name, array in loaded.items()} | {"scale": made.scale})
    return made


def test_a_policy_comes_back_as_it_was(folder: Path) -> None:
    loaded, metadata = read_policy(folder, GAME)
    for name, array in weights_of(network()).items():
        if name != "scale":
            assert loaded[name].dtype == np.float32
            np.testing.assert_array_equal(loaded[name], array.astype(np.float16), err_msg=name)
    again = network_again(loaded)
    for name, tensor in network().state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], tensor, atol=1e-6, rtol=1e-3)
    assert (metadata["game"], metadata["version"], metadata["options"]) == ("kuhn", 0, {"first": 0})
    assert metadata["made"]["command"] == "by hand"
    assert [item["field"] for item in metadata["observation"]] == ["card", "bets"]
    assert sorted(path.name for path in folder.iterdir()) == [JSON_FILE, WEIGHTS_FILE]


def test_it_can_be_named_as_an_agent(folder: Path) -> None:
    for spec in (folder, folder.parent):
        assert agent_of(str(spec), GAME).name == "tester"


def test_actions_do_not_depend_on_the_rest_of_the_batch(folder: Path) -> None:
    agent = PolicyAgent(folder, GAME)
    tables, keys = views(1)
    rows = np.arange(200)
    together = agent.act(view_of(tables, rows, keys))
    for part in (rows[:1], rows[7:8], rows[::3], rows[::-1].copy(), rows[63:130]):
        np.testing.assert_array_equal(agent.act(view_of(tables, part, keys)), together[part])
    assert set(together.tolist()) == {0, 1}


def test_actions_are_drawn_with_the_networks_probabilities(folder: Path) -> None:
    agent = PolicyAgent(folder, GAME)
    tables, _ = views(2, 1)
    logits = agent.logits(tables.time_step.observation)[0].astype(np.float64)
    chance = np.exp(logits[1]) / np.exp(logits).sum()
    assert 0.02 < chance < 0.98
    keys = np.random.default_rng(0).integers(0, 2**64, 1, np.uint64)
    bets, count = 0, 4000
    for draw in range(count):
        keys[0] = draw
        bets += int(agent.act(view_of(tables, np.zeros(1, np.int64), keys))[0])
    assert abs(bets / count - chance) < 5 * np.sqrt(chance * (1 - chance) / count)


def test_a_greedy_policy_takes_the_likeliest_legal_action(tmp_path: Path) -> None:
    save_policy(tmp_path / "p", weights_of(network()), GAME, name="greedy", player=GREEDY, made={})
    agent = PolicyAgent(tmp_path / "p", GAME)
    tables, keys = views(3)
    view = view_of(tables, np.arange(200), keys)
    np.testing.assert_array_equal(
        agent.act(view), np.where(view.action_mask == 1, agent.logits(view.observation), -np.inf).argmax(1)
    )
    view.action_mask[:, 1] = 0
    assert (agent.act(view) == 0).all()


def test_it_computes_what_torch_computes_and_the_same_alone_in_any_batch(folder: Path) -> None:
    agent = PolicyAgent(folder, GAME)
    tables, _ = views(7)
    shown = tables.time_step.observation
    logits = agent.logits(shown)
    expected = network_again(read_policy(folder, GAME)[0])(torch.from_numpy(shown.copy()))[0]
    np.testing.assert_allclose(logits, expected.detach().numpy(), rtol=1e-4, atol=1e-4)
    for k in range(0, 200, 9):
        assert agent.logits(shown[k : k + 1]).tobytes() == logits[k].tobytes()


def test_sums_have_one_order_compiled_or_not() -> None:
    """Layers of sizes that four does not divide, inputs of both signs, zeros among them."""
    random = np.random.default_rng(4)
    bound = np.array([1.0, 3, 9, np.inf, 100, 7, 2])
    made = PolicyNetwork(bound, 5, width=11, layers=3)
    made.initialise(torch.Generator().manual_seed(1))
    net = inference.net_of(weights_of(made), bound, greedy=True)
    code = uncompiled(inference.forward)
    in_python = FunctionType(code.__code__, {**code.__globals__, **PYTHON}, "forward")
    for _ in range(20):
        shown = (random.integers(-9, 9, 7) * random.integers(0, 2, 7)).astype(np.int8)
        found = inference.forward(net, shown).copy()
        expected = made(torch.from_numpy(shown[None]))[0][0].detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert in_python(net, shown).tobytes() == found.tobytes()


def test_matches_run_policies_in_machine_code(folder: Path, tmp_path: Path) -> None:
    """Two policies, a policy and a bot: what the compiled match plays is what views play."""
    save_policy(tmp_path / "other", weights_of(network(1)), GAME, name="other", player=GREEDY, made={})
    one, other = PolicyAgent(folder, GAME), PolicyAgent(tmp_path / "other", GAME)
    pairs: list[list[Agent]] = [[one, other], [one, RandomAgent()], [BotAgent(GAME), other]]
    for pair in pairs:
        seatings = np.array([[0, 1], [1, 0]])
        match, slow = Match(GAME, pair, seatings), Match(GAME, [*pair, Mute()], seatings)
        assert match.compiled
        assert not slow.compiled
        streams = np.arange(40, dtype=np.uint64)
        keys = np.arange(80, dtype=np.uint64).reshape(40, 2)
        for found, expected in zip(match.play(streams, keys), slow.play(streams, keys), strict=True):
            np.testing.assert_array_equal(found, expected)


class Mute(Agent):
    """Never asked; a match in which it might be is not compiled."""


def test_policies_play_where_torch_cannot_be_imported(folder: Path) -> None:
    tables, keys = views(8, 50)
    step = tables.time_step
    expected = PolicyAgent(folder, GAME).act(step.observation, step.action_mask, key=keys).tolist()
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['stable_baselines3'] = None\n"
        "import numpy as np, backalley\nfrom backalley.examples.kuhn import GAME\n"
        f"policy = backalley.load_policy({str(folder)!r}, GAME)\n"
        f"shown = np.array({step.observation.tolist()}, np.uint8)\n"
        f"keys = np.array({keys.tolist()}, np.uint64)\n"
        f"print(policy.act(shown, np.array({step.action_mask.tolist()}, np.int8), key=keys).tolist())\n"
        "print(backalley.evaluate(GAME, [policy, 'random'], deals=20).deals)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == [str(expected), "20"]


# In a loop of one's own ----------------------------------------------------------------------------------------------


def test_a_policy_plays_without_a_view(folder: Path) -> None:
    agent = PolicyAgent(folder, GAME)
    tables, keys = views(4, 50)
    step = tables.time_step
    expected = agent.act(view_of(tables, np.arange(50), keys))
    own = np.array([decision_key(key, 1, 0) for key in keys], np.uint64)  # as a View keys seat 1's first decision
    np.testing.assert_array_equal(agent.act(step.observation, step.action_mask, key=own), expected)
    alone = agent.act(step.observation[0], step.action_mask[0], key=5)
    assert type(alone) is int
    assert alone == agent.act({"observation": step.observation[0], "action_mask": step.action_mask[0]}, key=5)
    many = {agent.act(step.observation[0], step.action_mask[0]) for _ in range(200)}
    assert many == {0, 1}, "without a key each call draws again"
    assert agent.act(step.observation[0].astype(np.float32), np.array([1, 0])) == 0
    with pytest.raises(ValueError, match="tester was given an observation of shape"):
        agent.act(np.zeros(4, np.uint8), step.action_mask[0])
    with pytest.raises(ValueError, match=r"tester was given masks of 3 actions; its game has 2\."):
        agent.act(step.observation[0], [1, 1, 1])


def test_a_policy_knows_its_game(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        PolicyFileError, match=r"plays kuhn, .* no game of this package; .* \(it was backalley.examples.kuhn\)\."
    ):
        load_policy(folder)
    monkeypatch.setattr(catalogue, "_registered", {})
    catalogue.register_game(kuhn.GAME)
    game = GAME.bind(first=1)
    save_policy(tmp_path / "other", weights_of(network()), game, name="second", player=GREEDY, made={})
    policy = load_policy(str(tmp_path / "other"))
    assert (policy.game, policy.greedy, policy.note) == (game, True, "")
    assert load_policy(tmp_path / "other", greedy=False).greedy is False
    elsewhere = load_policy(tmp_path / "other", "kuhn-v0")
    assert elsewhere.note == "It was trained under first=1, and plays under first=0 here."
    report = evaluate(GAME, [elsewhere, "random"], deals=16)
    assert f"second: {elsewhere.note}" in report.table()
    edit(tmp_path / "other", options={"third": 1})
    with pytest.raises(
        PolicyFileError, match=r"under options that are none here: kuhn has no option 'third'; it has: first"
    ):
        load_policy(tmp_path / "other")
    for wrong in (5, None):
        with pytest.raises(PolicyFileError, match=f"the path of a folder, and {wrong} was given"):
            load_policy(wrong)  # type: ignore[arg-type]


def test_a_policy_can_be_pickled(folder: Path) -> None:
    agent = PolicyAgent(folder, GAME)
    again = pickle.loads(pickle.dumps(agent))
    tables, keys = views(5)
    view = view_of(tables, np.arange(200), keys)
    np.testing.assert_array_equal(again.act(view), agent.act(view))
    assert (again.game, again.name, again.identity) == (GAME, "tester", agent.identity)


def test_observations_are_scaled_by_their_bounds() -> None:
    plain = PolicyNetwork(np.ones(3), 2, width=8, layers=1)
    scaled = PolicyNetwork(np.array([1.0, 50.0, np.inf]), 2, width=8, layers=1)
    scaled.load_state_dict({**plain.state_dict(), "scale": scaled.scale})
    seen = torch.tensor([[1, 25, 3]], dtype=torch.uint8)
    assert torch.allclose(scaled(seen)[0], plain(torch.tensor([[1.0, 0.5, 3.0]]))[0], atol=1e-6)


# What can be wrong with one -------------------------------------------------------------------------------------------


def refused(folder: Path, sentence: str, game: Any = GAME) -> None:
    with pytest.raises(PolicyFileError, match=sentence) as caught:
        read_policy(folder, game)
    assert str(caught.value).endswith((".", "]"))


@pytest.mark.parametrize("name", [WEIGHTS_FILE, JSON_FILE])
def test_a_truncated_file_is_refused(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    for length in (0, 1, 7, len(data) // 2, len(data) - 2):
        (folder / name).write_bytes(data[:length])
        refused(folder, "truncated")


def test_every_flipped_byte_is_noticed(folder: Path) -> None:
    for name in (WEIGHTS_FILE, JSON_FILE):
        data = bytearray((folder / name).read_bytes())
        for place in np.random.default_rng(0).choice(len(data) - 1, 40, replace=False):
            data[place] ^= 1
            (folder / name).write_bytes(data)
            with pytest.raises(PolicyFileError):
                read_policy(folder, GAME)
            data[place] ^= 1
        (folder / name).write_bytes(data)
    read_policy(folder, GAME)


def edit(folder: Path, **changes: Any) -> None:
    """Change the JSON and sign it again, as someone would who knows how."""
    from backalley.agents.policies.policy_file import _metadata_digest

    metadata = json.loads((folder / JSON_FILE).read_bytes()) | changes
    metadata["sha256"] = _metadata_digest(metadata)
    (folder / JSON_FILE).write_text(json.dumps(metadata))


def test_an_edited_json_is_refused(folder: Path) -> None:
    metadata = json.loads((folder / JSON_FILE).read_bytes())
    metadata["made"]["command"] = "another"
    (folder / JSON_FILE).write_text(json.dumps(metadata))
    refused(folder, "was changed after it was written")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"game": "bridge"}, "plays bridge, not kuhn"),
        ({"version": 7}, "trained on kuhn-v7, and the rules here are kuhn-v0"),
        ({"format": 9}, "of format 9"),
        ({"observation": []}, "another observation layout"),
        ({"actions": 3}, "another observation layout"),
        ({"player": {**PLAYER, "width": 32}}, "another shape"),
        ({"player": {**PLAYER, "width": 2**40}}, "player that Back Alley does not make"),
        ({"player": {**PLAYER, "layers": 10**9}}, "player that Back Alley does not make"),
        ({"player": {**PLAYER, "layers": True}}, "player that Back Alley does not make"),
        ({"player": {**PLAYER, "greedy": "yes"}}, "player that Back Alley does not make"),
        ({"player": {**PLAYER, "deep": 1}}, "player that Back Alley does not make"),
        ({"player": {**PLAYER, "kind": "oracle"}}, "kind 'oracle'; there are network, residual"),
        ({"player": []}, "lacks a proper 'player'"),
        ({"weights": []}, "lacks a proper 'weights'"),
        ({"name": None}, "lacks a proper 'name'"),
    ],
)
def test_a_policy_for_something_else_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    edit(folder, **changes)
    refused(folder, sentence)


def test_another_layout_of_the_same_game_is_refused(folder: Path) -> None:
    class Wider(kuhn.Observation):
        pot: int = field("u1", doc="one number more", high=4)

    refused(folder, "They differ in pot", dataclasses.replace(kuhn.GAME, Observation=Wider).bind())


def test_foreign_files_are_refused(folder: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", Path("."), Path("..")):
        with pytest.raises(PolicyFileError, match="no policy in"):
            read_policy(place, GAME)
    (folder / JSON_FILE).write_text('{"model": "something"}')
    refused(folder, "does not describe a policy")
    (folder / JSON_FILE).write_bytes(b"\x80\x04\x95pickle")
    refused(folder, "not UTF-8")
    (folder / JSON_FILE).write_text("[" * 100_000)
    refused(folder, "nested more than 64 deep")


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    bad = network()
    with torch.no_grad():
        bad.head.bias[0] = float("nan")
    save_policy(tmp_path / "p", weights_of(bad), GAME, name="bad", player=NETWORK, made={})
    refused(tmp_path / "p", "not finite")


# Writing it wholly or not at all --------------------------------------------------------------------------------------


def test_weights_too_great_for_half_precision_are_refused(tmp_path: Path) -> None:
    bad = network()
    with torch.no_grad():
        bad.head.bias[0] = 1e6
    with pytest.raises(PolicyFileError, match=r"head\.bias go up to 1e\+06, .* 65504"):
        save_policy(tmp_path / "p", weights_of(bad), GAME, name="bad", player=NETWORK, made={})
    assert not (tmp_path / "p").exists()


def test_network_agent_takes_an_empty_view() -> None:
    agent = NetworkAgent(network(), "x")
    assert agent.log_probabilities(np.zeros((0, 9), np.uint8), np.zeros((0, 2), np.int8)).shape == (0, 2)
