"""Whole training runs: what they leave on disk, how they are stopped and resumed."""

from __future__ import annotations

import json
import pickle
import re
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.match import Match
from backalley.agents.policies.learned import PolicyAgent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.seeding import Space
from backalley.training.config import config
from backalley.training.config.phases import TrainingError
from backalley.training.shared import checkpoint
from backalley.training.train import Stopped, TrainingResult, train
from tests.common.commands import process
from tests.common.tiny_runs import DECISIONS, GAME, ROLLOUT, TINY, log_of, stopped_after, tiny, weights


def test_a_run_leaves_everything_on_disk(whole: Path) -> None:
    names = {path.name for path in whole.iterdir()}
    there = "checkpoints config.yaml evaluation.json phases policy progress.csv run.json tensorboard"
    assert names == set(there.split())
    facts = json.loads((whole / "run.json").read_bytes())
    assert (facts["game"], facts["seed"], facts["decisions"], facts["torch"]) == (
        "kuhn",
        7,
        DECISIONS,
        torch.__version__,
    )
    assert facts["command"].startswith("backalley train backalley.examples.kuhn --set ppo.tables=32 ")
    assert facts["command"].endswith(f"--seed 7 --decisions {DECISIONS}")
    assert config.parse(yaml.safe_load((whole / "config.yaml").read_text()), "file") == config.load(
        GAME, overrides=TINY
    )
    rows = log_of(whole)
    assert [int(row["decisions"]) for row in rows] == [2 * ROLLOUT * (k + 1) for k in range(6)]
    assert all(np.isfinite(float(value)) for row in rows for value in row.values())
    assert [path.name for path in checkpoint.found(whole)] == [f"01-{DECISIONS - ROLLOUT:012d}", f"01-{DECISIONS:012d}"]
    assert [path.name for path in (whole / "phases").iterdir()] == ["1-ppo"]
    assert sorted(path.name for path in (whole / "phases" / "1-ppo" / "league").iterdir())[0] == f"{2 * ROLLOUT:012d}"
    metadata = json.loads((whole / "policy" / "policy.json").read_bytes())
    assert metadata["made"]["decisions"] == DECISIONS
    assert metadata["made"]["command"] == facts["command"]


def test_it_ends_with_the_policy_against_every_bot(tmp_path: Path) -> None:
    result = train(GAME, out=tmp_path / "run", decisions=2 * ROLLOUT, config_overrides=TINY)
    assert isinstance(result, TrainingResult)
    assert (result.folder, result.policy, result.game) == (tmp_path / "run", tmp_path / "run" / "policy", GAME)
    assert (result.decisions, 0 < result.samples <= result.decisions) == (2 * ROLLOUT, True)
    assert json.loads((result.folder / "evaluation.json").read_bytes()) == json.loads(json.dumps(result.to_json()))
    again = evaluate(GAME, [PolicyAgent(result.folder, GAME), RandomAgent()], deals=16, space=Space.TABLES)
    assert result.reports[0].agents[0].mean_return == again.agents[0].mean_return
    text = result.table()
    assert re.search(r"^opponent +mean return +win share$", text, re.MULTILINE)
    line = re.search(r"^random +([+-][0-9.]+) ± ([0-9.]+) +([0-9.]+) (?:±|\()", text, re.MULTILINE)
    assert line
    assert float(line[1]) == pytest.approx(again.agents[0].mean_return.mean, abs=1e-4)
    assert f"Strength: backalley evaluate backalley.examples.kuhn {result.folder} bot" in text


def test_it_tells_how_far_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[tuple[float, float, str]] = []
    said: list[str] = []
    train(
        GAME,
        out=tmp_path / "run",
        decisions=3 * ROLLOUT,
        config_overrides=TINY,
        progress=lambda *what: steps.append(what),
        log=said.append,
    )
    assert [step[:2] for step in steps[:3]] == [(k * ROLLOUT, 3 * ROLLOUT) for k in (1, 2, 3)]
    assert re.fullmatch(r"256 decisions, [0-9,]+ samples/s(, bot:random [0-9]+ %)?", steps[0][2])
    assert steps[-1][:2] == (32, 32), "deals against both opponents"
    assert steps[-1][2] == "against bot:random"
    assert said == [
        f"Training kuhn-v0 in {tmp_path / 'run'} ({said[0].partition('(')[2].partition(',')[0]}, seed 0). "
        "Ctrl-C stops and keeps everything.",
        f"The same run again: {json.loads((tmp_path / 'run' / 'run.json').read_bytes())['command']}",
    ]
    assert capfd.readouterr() == ("", ""), "printing is the command line's"


def test_nothing_on_disk_can_execute_code(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = {path.suffix for path in whole.rglob("*") if path.is_file() and "tfevents" not in path.name}
    assert suffixes == {".json", ".safetensors", ".csv", ".yaml"}
    run = stopped_after(3, tmp_path / "run")
    shutil.copytree(run, tmp_path / "before")
    train(GAME, resume=tmp_path / "before")  # loads all machine code, which Numba keeps as pickles of its own

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a pickle was read")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load"), (np, "load")):
        monkeypatch.setattr(module, name, refuse)
    train(GAME, resume=run)


def test_a_stopped_run_leaves_a_policy(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    assert PolicyAgent(run, GAME).metadata["made"]["decisions"] == 3 * ROLLOUT


def test_sigterm_is_as_polite_as_ctrl_c(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run", lambda: signal.raise_signal(signal.SIGTERM))
    assert checkpoint.found(run)[-1].name == f"01-{2 * ROLLOUT:012d}"


@pytest.mark.parametrize("batches", [0, 1])
def test_ctrl_c_in_the_matches_at_the_end(tmp_path: Path, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    play, played = Match.play, 0

    def interrupted(self: Match, *arrays: Any) -> Any:
        nonlocal played
        if played == batches:
            raise KeyboardInterrupt
        played += 1
        return play(self, *arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Match, "play", interrupted)
        with pytest.raises(Stopped, match=r"the policy is in .*Play them again with: backalley train .* --resume "):
            train(GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides={**TINY, "run.evaluation_deals": 64})
    assert len(train(resume=tmp_path / "run").reports) == 2


def test_a_new_budget_goes_on_from_the_end(whole: Path, tmp_path: Path) -> None:
    """A run of 6 rollouts taken on to 12 equals one of 12: nothing in training knows the budget."""
    run = tiny(tmp_path / "run", 6 * ROLLOUT, seed=7)
    assert weights(run) != weights(whole)
    train(GAME, resume=run, decisions=DECISIONS)
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


@pytest.mark.parametrize("unit", ["seconds", "processor_seconds"])
def test_a_budget_of_time_ends_and_says_what_it_was(tmp_path: Path, unit: str) -> None:
    started = time.monotonic()
    result = train(GAME, out=tmp_path / "run", config_overrides=TINY, seed=7, **{unit: 0.5})  # type: ignore[arg-type]
    assert time.monotonic() - started < 60
    (phase,) = result.phases
    assert getattr(phase, unit) >= 0.5
    line = re.fullmatch(r"backalley train backalley.examples.kuhn .* --decisions (\d+)", result.command)
    assert line
    again = tiny(tmp_path / "again", int(line[1]), seed=7)
    assert weights(again) == weights(result.folder)


def test_a_stopped_run_has_spent_what_it_spent(tmp_path: Path) -> None:
    """Processor time counts on over a stop: a run that was cut off is not given more of it."""
    run = stopped_after(3, tmp_path / "run")
    kept = checkpoint.latest(run)
    assert kept is not None
    spent = kept[1]["processor_seconds"]
    assert spent > 0
    (phase,) = train(GAME, resume=run, processor_seconds=spent + 0.3).phases
    assert spent + 0.3 <= phase.processor_seconds < spent + 30
    assert json.loads((run / "run.json").read_bytes())["processor_seconds"] == spent + 0.3


def test_a_finished_run_resumed_only_plays_its_matches_again(whole: Path, tmp_path: Path) -> None:
    run = tiny(tmp_path / "run", 3 * ROLLOUT, seed=7)
    before = weights(run)
    train(GAME, resume=run)
    assert weights(run) == before


CANARY = """from pathlib import Path
from backalley.agents.base.rule_based import RandomAgent as Rival
Path('canary').touch()
"""


@pytest.mark.parametrize("setting", ["run.third_party", "attack.against"])
@pytest.mark.parametrize("forged", ["rival.py:Rival", "rival:Rival", "cmd:touch canary", "search+rival.py:Rival:2"])
def test_resuming_makes_no_agent_that_only_the_folder_names(
    setting: str, forged: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of somebody else's may name any program as its third party; the sentence says how to name it again."""
    (tmp_path / "rival.py").write_text(CANARY)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole, "run")
    facts = json.loads(Path("run/run.json").read_bytes())
    section, name = setting.split(".")
    facts["config"].setdefault(section, {})[name] = forged
    if section == "attack":
        facts["config"]["run"]["phases"] = ["attack"]
    Path("run/run.json").write_text(json.dumps(facts))
    for restart in (False, True):
        with pytest.raises(
            TrainingError, match=f"names? the agent {re.escape(repr(forged))}.* If you trust it, name it: "
        ):
            train(GAME, resume="run", restart=restart)
    assert not Path("canary").exists()


@pytest.mark.slow
def test_an_agent_of_ones_own_is_named_again_by_the_line_that_is_printed(tmp_path: Path) -> None:
    (tmp_path / "rival.py").write_text(CANARY)
    sets = [f"--set={name}={value}" for name, value in {**TINY, "run.third_party": "rival.py:Rival"}.items()]
    words = ["train", "backalley.examples.kuhn", *sets, "--decisions", str(2 * ROLLOUT), "--out", "run", "--quiet"]
    begun = process(*words, cwd=tmp_path)
    assert begun.returncode == 0, begun.stderr
    refused = process("train", "--resume", "run", "--quiet", cwd=tmp_path)
    assert refused.returncode == 2
    line = shlex.split(refused.stderr.partition("If you trust it, name it: ")[2])
    assert line[:3] == ["backalley", "train", "backalley.examples.kuhn"]
    assert "--agent" in line
    resumed = process(*line[1:], "--quiet", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    with pytest.raises(TrainingError, match="agents are for a run to be resumed"):
        train(GAME, out=tmp_path / "other", agents=["rival.py:Rival"])
