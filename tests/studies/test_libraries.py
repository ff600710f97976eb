"""Outside libraries on our tables: the TorchRL environment, and the programs of the guide, run as a reader would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks.studies.learning.examples import Example, changed, file_of, outside_examples, ran
from backalley.benchmarks.studies.learning.guides import LIBRARIES, code_of_the_guide, program_of_the_guide
from backalley.console.errors import InvalidValue, NotInstalled

NEEDED = {"torchrl": "torchrl", "tianshou": "tianshou", "rllib": "ray.rllib"}
"""What has to be installed for each program."""
WHY = "{} is not installed; its tests run in an environment of their own (docs/guides/libraries.md)."


def code(name: str) -> str:
    return code_of_the_guide(f"{name}_ppo.py", "libraries.md")


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_program_of_the_guide_is_short_and_whole(name: str) -> None:
    lines = code(name).splitlines()
    assert sum(bool(line.strip()) for line in lines) < 60
    assert not any("engine" in line or "envs.core" in line for line in lines)
    compile(code(name), f"{name}_ppo.py", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.filterwarnings("default")  # the libraries' own
def test_a_program_of_the_guide_learns_and_its_agent_plays(name: str) -> None:
    pytest.importorskip(NEEDED[name], reason=WHY.format(NEEDED[name]), exc_type=ImportError)
    agent = program_of_the_guide(f"{name}_ppo.py", "libraries.md")["train"](0.01, seed=0)
    report = backalley.evaluate("missouri_city", [agent, "random"], deals=20)
    assert report.agents[0].name == name


# Their own examples --------------------------------------------------------------------------------------------------


def test_an_example_runs_with_its_line_changed_and_says_why_it_does_not(tmp_path: Path) -> None:
    file = tmp_path / "numpy_example.py"
    file.write_text("import sys\nfrom games import chess\n\ndef play():\n    print(chess)\n    sys.exit(sys.argv[1])\n")
    one = Example("numpy", file.name, ("from games import chess", "import backalley as chess"), last="play()")
    text = changed(one, file_of(one, tmp_path))
    assert ran(text.replace("sys.exit", "print"), ("fine",), 60)["ran"]
    found = ran(text, ("one", "two"), 60)
    assert (found["ran"], found["why"]) == (False, "one")
    assert "had not ended after 0 seconds" in ran("while True: pass", (), 0.2)["why"]
    with pytest.raises(InvalidValue, match="it is of another version of numpy"):
        changed(one._replace(line=("import draughts", "")), file)
    with pytest.raises(NotInstalled, match="or name a folder that has it by --sources"):
        file_of(one, None)
    with pytest.raises(InvalidValue, match="There is no example 'chess'; there are: cfr, "):
        outside_examples(("chess",), None, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cfr", "mccfr"])
def test_examples_of_openspiel_run(name: str) -> None:
    pytest.importorskip("pyspiel", reason=WHY.format("pyspiel"))
    found = outside_examples((name,), None, 200.0)
    assert found.kept, found.table()
    assert found.title == "1 of 1 examples ran."


# TorchRL -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def torchrl() -> Any:
    """Our module for it."""
    pytest.importorskip("torchrl", reason=WHY.format("torchrl"))
    import backalley.torchrl

    return backalley.torchrl


@pytest.fixture
def masked(torchrl: Any) -> Any:
    """Makes an environment that draws legal actions."""
    from torchrl.envs import ActionMask, TransformedEnv

    return lambda name, tables, **given: TransformedEnv(torchrl.SelfPlayEnv(name, tables, **given), ActionMask())


@pytest.mark.parametrize("name", ["missouri_city", "baccarat", "pitch"])
def test_torchrls_own_check_passes(masked: Any, name: str) -> None:
    from torchrl.envs.utils import check_env_specs

    check_env_specs(masked(name, 3, seed=0))


def test_a_rollout_is_what_the_batch_plays(masked: Any) -> None:
    """Finished tables begin again, on their own streams: as those that reset themselves do."""
    env = masked("missouri_city", 5, seed=3)
    steps = env.rollout(40, break_when_any_done=False)
    batch = backalley.make_vec("missouri_city", 5, seed=3)
    step = batch.reset()
    for t in range(40):
        assert np.array_equal(steps["observation"][:, t].numpy(), step.observation.astype(np.float32))
        assert np.array_equal(steps["action_mask"][:, t].numpy(), step.action_mask != 0)
        assert np.array_equal(steps["seat"][:, t, 0].numpy(), step.seat)
        step = batch.step(steps["action"][:, t])
        assert np.array_equal(steps["next", "reward"][:, t].numpy(), step.reward)
        assert np.array_equal(steps["next", "terminated"][:, t, 0].numpy(), step.terminated)
        assert np.array_equal(steps["next", "done"][:, t, 0].numpy(), step.terminated | step.truncated)
    assert steps["next", "done"].any()


def test_a_seed_decides_a_rollout(masked: Any) -> None:
    import torch

    found = []
    for _ in range(2):
        env = masked("pitch", 4)
        torch.manual_seed(1)
        env.set_seed(7)
        found.append(env.rollout(30, break_when_any_done=False)["observation"])
    assert torch.equal(*found)


def test_advantages_go_along_each_seats_own_decisions(torchrl: Any, masked: Any) -> None:
    """With a critic that sees nothing, and nothing discounted, an advantage is what the seat gains to the end of the
    episode; a target is that and the value."""
    import torch
    from tensordict.nn import TensorDictModule

    env = masked("twenty_one", 4, seed=0, num_players=3)
    value = torch.nn.Linear(env.observation_spec["observation"].shape[-1], 1)
    torch.nn.init.zeros_(value.weight)
    torch.nn.init.constant_(value.bias, 0.25)
    critic = TensorDictModule(value, ["observation"], ["state_value"])
    steps = env.rollout(150, break_when_any_done=False)
    torchrl.SeatAdvantages(env, critic, gamma=1.0, lmbda=1.0)(steps)
    done, reward, seat = steps["next", "done"][..., 0], steps["next", "reward"], steps["seat"][..., 0]
    assert done.any()
    for table in range(4):
        for t in range(150):
            ends = done[table, t:].nonzero()
            own = int(seat[table, t])
            last = t + int(ends[0]) if len(ends) else 149
            gained = float(reward[table, t : last + 1, own].sum()) + (0 if len(ends) else 0.25)
            assert float(steps["advantage"][table, t, 0]) == pytest.approx(gained - 0.25, abs=1e-4)
            assert float(steps["value_target"][table, t, 0]) == pytest.approx(gained, abs=1e-4)


def test_what_is_given_is_checked_as_by_make_vec(torchrl: Any) -> None:
    with pytest.raises(ValueError, match="num_envs is 0"):
        torchrl.SelfPlayEnv("pitch", 0)
    with pytest.raises(ValueError, match="jokers"):
        torchrl.SelfPlayEnv("pitch", 2, jokers=3)
