"""A learning algorithm from outside: the guide's module, registered, run, stopped, resumed in another process."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import load_policy
from backalley.benchmarks.exact.exploit import exploitability
from backalley.envs.core.rules.options import option
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.config.phases import KINDS, PhaseKind, Phases, TrainingError, register_phase
from backalley.training.run import loop
from backalley.training.run.loop import TrainingLoop
from backalley.training.train import Stopped, train
from tests import ROOT
from tests.common.commands import process
from tests.common.tiny_runs import GAME, TINY, guide_phase, weights

SETTINGS: dict[str, Any] = {
    "run.phases": "nfsp",
    "network.width": 32,
    "run.curve_every": 0,
    "run.evaluation_deals": 16,
    "run.checkpoint_seconds": 0,
}
SHORT = {**SETTINGS, "nfsp.tables": 64, "nfsp.updates": 2, "nfsp.memory": 500}
DECISIONS = 2000


@pytest.fixture
def nfsp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhaseKind]:
    """The guide's module in the working folder, registered."""
    yield from guide_phase("nfsp", tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_guides_learner_is_stopped_and_resumed_in_another_process_with_the_same_bits(
    nfsp: PhaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(GAME, out="whole", decisions=DECISIONS, config_overrides=SHORT)
    step, done = TrainingLoop.step, 0

    def interrupted(self: TrainingLoop) -> None:
        nonlocal done
        done += 1
        if done == 4:
            signal.raise_signal(signal.SIGINT)
        step(self)

    monkeypatch.setattr(TrainingLoop, "step", interrupted)
    with pytest.raises(Stopped):
        train(GAME, out="cut", decisions=DECISIONS, config_overrides=SHORT)
    refused = process("train", "--resume", "cut", "--quiet", cwd=tmp_path)
    assert refused.returncode == 2
    line = "backalley train backalley.examples.kuhn --phase-module nfsp --resume cut"
    assert f"If you trust it, name it: {line}" in refused.stderr
    resumed = process(*line.split()[1:], "--quiet", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")

    facts = json.loads((tmp_path / "cut" / "run.json").read_text())
    assert facts["phase_modules"] == ["nfsp"]
    assert facts["config"]["nfsp"]["tables"] == 64
    assert "--phase-module nfsp" in whole.command
    assert sorted({path.suffix for path in tmp_path.glob("cut/checkpoints/*/*")}) == [".json", ".safetensors"]

    again = process(*whole.command.split()[1:], "--out", "again", "--quiet", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert weights(tmp_path / "again") == weights(tmp_path / "whole"), "the line that is printed, in a new process"


@pytest.mark.slow
def test_the_guides_learner_comes_nearer_to_an_equilibrium(nfsp: PhaseKind, tmp_path: Path) -> None:
    """Random play loses 0.458 a game to best responses; an untrained network plays nearly so."""
    run = train(GAME, out="run", decisions=100_000, config_overrides=SETTINGS).folder
    assert not load_policy(run, GAME).greedy
    mine, random = exploitability(GAME, [load_policy(run, GAME), RandomAgent()]).agents
    assert random.mean_loss == pytest.approx(0.4583, abs=1e-3)
    assert mine.mean_loss < 0.25


def test_it_has_a_gate_a_curve_and_settings_from_a_file_like_any_other(nfsp: PhaseKind, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("nfsp: {tables: 32, memory: 400}\nrun: {phases: [ppo, {nfsp: 0.5}]}\n")
    changed = {**TINY, "nfsp.tables": "48", "run.curve_every": 0.001}
    result = train(GAME, out="run", decisions=1500, config="mine.yaml", config_overrides=changed)
    first, second = result.phases
    assert (first.kind, first.gate is None) == ("ppo", True)
    assert (second.kind, second.gate is None) == ("nfsp", False)
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert (kept["nfsp"]["tables"], kept["nfsp"]["memory"], kept["nfsp"]["updates"]) == (48, 400, 16)
    assert kept["run"]["phases"] == ["ppo", {"nfsp": 0.5}]
    assert len((tmp_path / "run" / "curve.csv").read_text().splitlines()) > 2
    assert (tmp_path / "run" / "phases" / "2-nfsp" / "gate.json").is_file()
    resumed = train(resume="run", decisions=2500)
    assert resumed.decisions >= 2500


def test_settings_are_checked_and_named(nfsp: PhaseKind) -> None:
    assert "nfsp.anticipation" in config.names()
    assert ("nfsp.tables", "episodes in a step: 1..65536") in config.settings()
    assert "nfsp" in Phases.takes
    found = config.load(GAME, overrides={"run.phases": "nfsp:0.5,ppo", "nfsp.anticipation": "0.5"})
    assert (found.nfsp.anticipation, found.nfsp.tables, found.ppo.tables) == (0.5, 1024, 512)
    assert config.parse(found.as_dict(), "again") == found
    assert "nfsp" not in config.load(GAME).as_dict(), "a run that does not go through it says nothing of it"
    for name, value, sentence in (
        ("nfsp.anticipation", 2, "nfsp option anticipation is 2; it takes 0..1"),
        ("nfsp.anticipatoin", 1, r"There is no setting 'nfsp.anticipatoin'. Did you mean nfsp.anticipation\?"),
        ("run.phases", "nfps", r"'nfps' is no kind of phase; .* Did you mean nfsp\?"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            config.load(GAME, overrides={name: value})
    with pytest.raises(AttributeError, match="There is no section 'speed' of settings"):
        found.speed  # noqa: B018


class Bare(NamedTuple):
    size: Annotated[int, option("a size", low=1)]


def test_what_cannot_be_registered_is_refused_in_a_sentence(nfsp: PhaseKind, tmp_path: Path) -> None:
    assert register_phase(nfsp) is nfsp, "once more changes nothing"
    (tmp_path / "empty_phase.py").write_text("")
    (tmp_path / "broken_phase.py").write_text("import no_such_module_here\n")
    before = dict(KINDS)
    wrong: list[tuple[Any, type[Exception], str]] = [
        ("no_phase_here", ValueError, "There is no kind of phase in 'no_phase_here': no module"),
        ("empty_phase", TypeError, "declares no kind of phase: it has no PhaseKind named PHASE"),
        ("broken_phase", ModuleNotFoundError, "no_such_module_here"),
        (nfsp.phase, TypeError, "A phase is registered by its PhaseKind"),
        (nfsp._replace(name="run"), ValueError, "has the name 'run'; it takes a word"),
        (nfsp._replace(name="two words"), ValueError, "it takes a word"),
        (nfsp._replace(name="ppo"), ValueError, "There is a kind of phase named 'ppo' already, of backalley"),
        (nfsp._replace(settings=tuple), TypeError, "The settings of nfsp"),
    ]
    for given, kind, sentence in wrong:
        with pytest.raises(kind, match=sentence):
            register_phase(given)
    assert before == KINDS
    register_phase(nfsp._replace(name="bare", settings=Bare))
    with pytest.raises(ConfigError, match="the section bare lacks size"):
        config.load(GAME)
    del KINDS["bare"]
    register_phase(nfsp._replace(name="odd", phase=Path))
    with pytest.raises(TypeError, match=r"The kind of phase odd has <class .*Path'> as its class, which is no Phase"):
        loop.kind("odd")


def test_a_resumed_run_whose_module_is_another_by_now(nfsp: PhaseKind, tmp_path: Path) -> None:
    train(GAME, out="run", decisions=500, config_overrides=SHORT)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**facts, "phase_modules": "nfsp"}))
    with pytest.raises(TrainingError, match="is damaged, or no file of this trainer: phase_modules is 'nfsp'"):
        train(resume="run")
    (tmp_path / "run" / "run.json").write_text(json.dumps(facts))
    (tmp_path / "nfsp.py").rename(tmp_path / "elsewhere.txt")
    del KINDS["nfsp"], sys.modules["nfsp"]
    importlib.invalidate_caches()
    with pytest.raises(ValueError, match="has a kind of phase of 'nfsp', a module that was not named"):
        train(resume="run")
    assert load_policy("run", GAME).name.startswith("nfsp-s0"), "a policy needs no module of the learner"


def test_settings_are_shown_without_torch() -> None:
    code = "import sys, backalley\nfrom backalley.training.config import config, phases\nbackalley.register_phase\n"
    code += "config.settings()\nassert 'torch' not in sys.modules\n"
    code += "assert {*phases.KINDS} == {'ppo', 'mmd', 'rollouts', 'attack', 'generation', 'plans', 'fictitious_play'}"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
