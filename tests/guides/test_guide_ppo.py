"""The guide's learner: PPO in one file, run as a reader would, and measured by `backalley dev study ppo`."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
import torch

import backalley
from backalley.benchmarks.studies.learning.guides import GuidePPO, code_of_the_guide, guide_ppo, program_of_the_guide
from backalley.training.ppo.kernels import seat_advantages
from tests.common.commands import run

TINY: dict[str, Any] = {"tables": 32, "steps": 8, "batch_size": 128, "width": 16, "deals": 8}


PAGES = [("ppo.py", "ppo.md", 250), ("beliefs.py", "beliefs.md", 220), ("ismcts.py", "search.md", 120)]


@pytest.mark.parametrize(("program", "page", "lines"), PAGES)
def test_it_is_short_and_names_nothing_private(program: str, page: str, lines: int) -> None:
    code = code_of_the_guide(program, page)
    assert code.count("\n") < lines
    for documented in ("__init__", "__name__", "__main__", "__doc__", "_field_defaults"):
        code = code.replace(documented, "")
    assert not re.search(r"\b_\w|\._|envs\.core|engine", code), "a private name"


@pytest.mark.parametrize("name", ["missouri_city", "killer_bridge"])
def test_its_advantages_are_those_of_the_trainer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one rollout, played again from its seed: the trainer gathers rewards step by step, backwards."""
    scope, seen = program_of_the_guide(), []
    randperm = torch.randperm

    class Stop(Exception):
        pass

    def looked_into(count: int) -> Any:
        frame = inspect.currentframe()
        while frame is not None and "next_advantage" not in frame.f_locals:
            frame = frame.f_back
        assert frame is not None
        seen.append({key: frame.f_locals[key] for key in ("seat", "value", "advantage", "action", "network", "batch")})
        raise Stop

    monkeypatch.setattr(torch, "randperm", looked_into)
    with pytest.raises(Stop):
        next(scope["train"](scope["Args"](game=name, **TINY | {"steps": 60}, threads=1, gamma=0.97, seed=3)))
    monkeypatch.setattr(torch, "randperm", randperm)
    (found,) = seen
    game = backalley.game(name)
    batch = game.make_vec(TINY["tables"], seed=3)
    step = batch.reset()
    seat, reward, ended = [], [], []
    for action in found["action"].numpy():
        seat.append(step.seat.copy())
        step = batch.step(action)
        reward.append(step.reward.copy())
        ended.append(step.terminated | step.truncated)
    assert np.array_equal(found["seat"].numpy(), seat)
    seats = np.tile(np.arange(game.num_seats), batch.num_envs)
    waiting = torch.from_numpy(batch.observe(seats, np.repeat(np.arange(batch.num_envs), game.num_seats)))
    with torch.no_grad():
        last = found["network"](waiting, torch.ones((len(seats), game.num_actions)))[1]
    expected = np.zeros(found["advantage"].shape, np.float32)
    learned = np.ones(expected.shape, np.bool_)
    value, final = found["value"].numpy(), last.reshape(batch.num_envs, game.num_seats).numpy()
    seat_advantages(np.array(seat), learned, np.array(ended), np.array(reward), value, final, 0.97, 0.95, expected)
    np.testing.assert_allclose(found["advantage"].numpy(), expected, atol=1e-4)
    assert np.array(ended).any() or name != "missouri_city"


def test_it_is_measured_and_shown() -> None:
    game = backalley.game("missouri_city")
    shares: list[float] = []
    found = guide_ppo(
        game, 1500, 1, settings={**TINY, "evaluations": 2}, turn_samples=256,
        progress=lambda done, total, words: shares.append(done / total),
    )  # fmt: skip
    assert [row["threads"] for row in found.found["paces"]] == [1]
    assert all(0 < row["low"] <= row["samples_per_second"] <= row["high"] for row in found.found["paces"])
    assert [point["samples"] for point in found.found["points"]] == [768, 1536]
    assert set(found.found["points"][0]["wins"]) == {"random", "bot:planner"}
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1, abs=0.05)
    assert "bot:planner" in found.table()
    (chart,) = GuidePPO.charts([found.found])
    assert "Missouri City" in chart.title
    with pytest.raises(ValueError, match="takes a game by its name, without options"):
        guide_ppo(game.bind(stalemate="draw"), 100, 1)


@pytest.mark.slow
def test_it_learns() -> None:
    """More wins than even against random play, by the whole interval; an untrained network is even."""
    scope = program_of_the_guide()
    (found,) = scope["train"](scope["Args"](samples=500_000, evaluations=1, threads=1))
    assert found["wins"]["random"].low > 0.58
    assert found["wins"]["bot:planner"].mean > 0.35


def test_the_command_names_what_there_is_not() -> None:
    done = run("dev", "study", "ppo", "missouri_cty")
    assert done.exit_code == 2
    assert "Did you mean missouri_city" in done.output
