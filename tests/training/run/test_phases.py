"""Runs of several phases: gates between them, and the same bits however often they are stopped."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import network_player, network_shapes
from backalley.benchmarks.sequential.lead_test import looks
from backalley.cli import main
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.training.config.config import Config, ConfigError
from backalley.training.run import gate, loop
from backalley.training.shared import checkpoint
from backalley.training.shared.checkpoint import Arrays, CheckpointError
from backalley.training.shared.phase import Phase
from backalley.training.train import TrainingResult, train
from tests.common.tiny_runs import (
    COUNTS,
    GAME,
    ROLLOUT,
    TINY,
    TWO,
    die,
    files,
    log_of,
    stopped_after,
    two_phases,
    weights,
)
from tests.training.run.test_stops import gate_of


def test_two_phases_leave_two_policies_and_a_gate(two: Path) -> None:
    assert {path.name for path in (two / "phases").iterdir()} == {"1-ppo", "2-ppo"}
    assert not (two / "phases" / "1-ppo" / "gate.json").exists(), "nothing was current before"
    found = gate_of(two)
    assert found["deals"] in looks(64)
    assert found["passed"] == (found["sure"] > 0)
    assert weights(two) == weights(two / "phases" / ("2-ppo" if found["passed"] else "1-ppo"))
    assert weights(two / "phases" / "1-ppo") != weights(two / "phases" / "2-ppo")
    rows = log_of(two)
    assert [int(row["decisions"]) for row in rows] == [ROLLOUT * k for k in (2, 4, 7)]
    names = [path.name for path in checkpoint.found(two)]
    assert names == [f"02-{k * ROLLOUT:012d}" for k in (7, 8)]
    result = json.loads((two / "evaluation.json").read_bytes())
    assert [(one["kind"], one["decisions"]) for one in result["phases"]] == [("ppo", count) for count in COUNTS]
    assert result["decisions"] == sum(COUNTS)


def test_the_lines_it_prints_give_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the run and those of each phase's policy, whether the budget was of seconds or of decisions."""
    monkeypatch.chdir(tmp_path)
    result = train(GAME, out="run", seconds=0.3, config_overrides=TWO, seed=7)
    counts = [one.decisions for one in result.phases]
    assert result.command.endswith(f" --set run.phases=ppo:0.6,ppo --seed 7 --decisions {counts[0]},{counts[1]}")
    for number, (line, folder) in enumerate(
        [
            (result.command, "run/policy"),
            (PolicyAgent("run/phases/1-ppo/policy", GAME).metadata["made"]["command"], "run/phases/1-ppo/policy"),
        ]
    ):
        made = CliRunner().invoke(main, [*shlex.split(line)[1:], "--out", f"again{number}"], catch_exceptions=False)
        assert made.exit_code == 0, made.output
        assert weights(Path(f"again{number}")) == (Path(folder) / "policy.safetensors").read_bytes()


def test_another_policy_in_the_place_of_the_one_before_is_noticed(tmp_path: Path) -> None:
    run = stopped_after(7, tmp_path / "run", die, two_phases)
    before = run / "phases" / "1-ppo"
    for name in ("policy.json", "policy.safetensors"):
        (before / "policy" / name).write_bytes((before / "league" / f"{2 * ROLLOUT:012d}" / name).read_bytes())
    kept = files(run)
    with pytest.raises(CheckpointError, match=r"the policy in phases/1-ppo/policy is not the one from which"):
        train(GAME, resume=run)
    assert files(run) == kept


def test_ppo_goes_on_from_a_network_of_its_size(two: Path, tmp_path: Path) -> None:
    settings = {**TWO, "ppo.learning_rate": 0}
    run = train(GAME, out=tmp_path / "run", decisions=[ROLLOUT, ROLLOUT], config_overrides=settings).folder
    assert weights(run / "phases" / "2-ppo") == weights(run / "phases" / "1-ppo")


# Gates ----------------------------------------------------------------------------------------------------------------


class Fixed(Phase):
    """Learns nothing: phase k always plays `plays[k]`. Always to bet wins every deal against always to pass."""

    plays = (kuhn.BET, kuhn.PASS)
    begins_from: Agent | None = None

    def begin(self) -> None:
        pass

    def step(self) -> None:
        self.decisions += 100

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        save_fixed(folder, self.game, self.plays[self.number], made)

    def policy_before(self) -> Agent | None:
        return self.begins_from

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        save_fixed(folder, self.game, kuhn.BET, made)

    def summary(self) -> str:
        return "fixed"

    def log_values(self) -> dict[str, float]:
        return {"fixed/decisions": self.decisions}

    def closing_words(self) -> list[str]:
        return [f"It always takes action {self.plays[self.number]}."]

    def arrays(self) -> Arrays:
        return {}

    def facts(self) -> dict[str, Any]:
        return {"decisions": self.decisions}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.decisions = facts["decisions"]


def save_fixed(folder: Path, game: Game, action: int, made: Mapping[str, Any]) -> None:
    arrays = {name: np.zeros(shape) for name, shape in network_shapes(game.observation_size, 2, 1, 1).items()}
    arrays["head.bias"][action] = 1
    save_policy(folder, arrays, game, name=f"always {action}", player=network_player(arrays, greedy=True), made=made)


def fixed(monkeypatch: pytest.MonkeyPatch, out: Path, *plays: int, before: Agent | None = None) -> TrainingResult:
    monkeypatch.setattr(loop, "kind", lambda name: Fixed)
    monkeypatch.setattr(Fixed, "plays", plays)
    monkeypatch.setattr(Fixed, "begins_from", before)
    settings = {**TINY, "run.phases": ["ppo"] * len(plays)}
    return train(GAME, out=out, decisions=1000, config_overrides=settings)


def test_a_gate_refuses_what_is_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = fixed(monkeypatch, tmp_path / "run", kuhn.BET, kuhn.PASS)
    assert PolicyAgent(result.policy, GAME).name == "always 1"
    first, second = (one.gate for one in result.phases)
    assert first is None
    assert second == gate.Gate("always 0", "always 1", looks(64)[0], -1.0, -2.0, -2.0, False), "it is clear at once"
    assert [one.policy for one in result.phases] == ["phases/1-ppo/policy"] * 2
    text = result.table()
    assert (
        "Phase 1, ppo: 500 decisions in 0 s.\nIt always takes action 1.\nPhase 2, ppo: 500 decisions in 0 s. " in text
    )
    assert (
        "Gate over 38 deals: mean return -1.0000 for the new policy, +1.0000 for always 1; the difference is at least "
        "-2.0000 with 99 % confidence, so always 1 is kept.\n" in text
    )
    assert "It always takes action 0." not in text, "nothing is shown of a policy that is left"


def test_a_gate_lets_pass_what_is_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = fixed(monkeypatch, tmp_path / "run", kuhn.PASS, kuhn.BET, kuhn.BET)
    assert PolicyAgent(result.policy, GAME).name == "always 1"
    assert [one.gate and one.gate.passed for one in result.phases] == [None, True, False], "as good is not better"
    assert result.phases[2].policy == "phases/2-ppo/policy"


def test_a_first_phase_that_begins_from_a_bot_has_to_beat_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (refused,) = fixed(monkeypatch, tmp_path / "refused", kuhn.PASS, before=RandomAgent()).phases
    assert refused.gate is not None
    assert (refused.gate.against, refused.gate.lead < 0, refused.gate.passed) == ("random", True, False)
    assert refused.policy == "phases/1-ppo/start"
    assert PolicyAgent(tmp_path / "refused", GAME).name == "always 1", "what the phase says to play as the bot does"
    (passed,) = fixed(monkeypatch, tmp_path / "passed", kuhn.BET, before=RandomAgent()).phases
    assert passed.gate is not None
    assert (passed.gate.against, passed.gate.sure > 0, passed.gate.passed) == ("random", True, True)
    assert passed.policy == "phases/1-ppo/policy"
    assert passed.gate.sentence().endswith("so the new policy is kept.")


def test_a_phase_that_the_game_does_not_allow_is_refused_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(game: Game, config: Config) -> None:
        raise ConfigError(f"{game.name} has no plans.")

    monkeypatch.setattr(Fixed, "check", check)
    with pytest.raises(ConfigError, match="kuhn has no plans"):
        fixed(monkeypatch, tmp_path / "run", kuhn.BET, kuhn.PASS)
    assert not (tmp_path / "run").exists()
