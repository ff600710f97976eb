"""What a training run is given, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from backalley.cli import main
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.run.budget import TrainingError
from backalley.training.shared.checkpoint import CheckpointError
from backalley.training.train import train
from tests.tiny_runs import GAME, ROLLOUT, TINY, die, files, stopped_after, tiny, weights


def test_settings_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text("ppo:\n  epochs: 2\n  learning_rate: 0.003\nnetwork:\n  layers: 1\n")
    settings = {**TINY, "ppo.learning_rate": "0.004"}
    result = train(
        "backalley.examples.kuhn",
        out="text",
        decisions=2 * ROLLOUT,
        seed=7,
        config="mine.yaml",
        config_overrides=settings,
    )
    assert result.folder == Path("text")
    written = config.parse(config.read(result.folder / "config.yaml"), "file")
    assert (written.ppo.epochs, written.ppo.learning_rate, written.network.layers) == (2, 0.004, 1)
    assert written.ppo.gamma == config.load(GAME).ppo.gamma
    line = "backalley train backalley.examples.kuhn --config {} --set ppo.tables=32 "
    assert result.command.startswith(line.format("mine.yaml"))
    path.write_text("ppo:\n  epochs: 3\n")
    resumed = train(resume="text", decisions=3 * ROLLOUT)
    assert resumed.command.startswith(line.format("text/given.yaml")), "the file says something else by now"
    again = train(GAME, out="again", decisions=3 * ROLLOUT, seed=7, config="text/given.yaml", config_overrides=settings)
    assert weights(again.folder) == weights(resumed.folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ppo:\n  epoch: 2", "mine.yaml: ppo has no setting 'epoch'; it has: tables, .* Did you mean ppo.epochs?"),
        ("pp:\n  epochs: 2", "mine.yaml has no section 'pp'; it has: .* Did you mean ppo?"),
        ("ppo:\n  epochs: 0", "--config: ppo option epochs is 0; it takes 1..100"),
        ("ppo:\n- epochs", r"mine.yaml: the section ppo is \['epochs'\]; it must name its settings"),
        ("options:\n  second: 1", "practice options of kuhn are wrong: kuhn has no option 'second'; it has: first"),
    ],
)
def test_wrong_files_end_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        train(GAME, out=tmp_path / "run", config=tmp_path / "mine.yaml")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_game_from_elsewhere_is_found_again(tmp_path: Path) -> None:
    """By its import path, which run.json keeps: neither its name nor the game itself needs to be given."""
    run = stopped_after(2, tmp_path / "run")
    result = train(resume=run, decisions=3 * ROLLOUT)
    assert result.game == GAME
    assert result.command.startswith("backalley train backalley.examples.kuhn ")
    for name in ("kuhn", "kuhn-v0", "backalley.examples.kuhn", "backalley.examples.kuhn:GAME", kuhn.GAME):
        train(name, resume=run, decisions=3 * ROLLOUT)
    with pytest.raises(TrainingError, match="learns kuhn, not high_card; leave the game out"):
        train("tests.high_card", resume=run)


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_refused(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"is not an empty folder; name another one with --out\.$"):
        tiny(tmp_path)
    with pytest.raises(TrainingError, match="go on with the run there by --resume"):
        tiny(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"seconds": 0}, TrainingError, "seconds is 0; a budget is a number greater than 0."),
        ({"decisions": "5"}, TrainingError, "decisions is '5'; a budget is a whole number greater than 0, or one"),
        ({"seed": -1}, TrainingError, "The seed is -1"),
        ({"seed": 2**40}, TrainingError, "The seed is 1099511627776"),
        ({"seed": "7"}, TrainingError, "The seed is '7'; it must be a whole number of 0..4294967295."),
        ({"seed": True}, TrainingError, "The seed is True"),
        ({"out": 5}, TrainingError, "out is 5; it takes a path."),
        ({"out": ""}, TrainingError, "out is ''; it takes a path."),
        ({"resume": 5}, TrainingError, "resume is 5; it takes a path."),
        ({"config": 5}, TrainingError, "config is 5; it takes a path."),
        ({"config": "nowhere.yaml"}, ConfigError, "nowhere.yaml cannot be read: No such file or directory."),
        ({"config_overrides": "ppo.epochs=2"}, TrainingError, "config_overrides is 'ppo.epochs=2'; it takes settings"),
        ({"config_overrides": {5: 1}}, ConfigError, "There is no setting 5."),
        ({"config_overrides": {"ppo.lr": 1}}, ConfigError, "There is no setting 'ppo.lr'. Settings are ppo.tables"),
        (
            {"config_overrides": {"ppo.learning_rat": 1}},
            ConfigError,
            "There is no setting 'ppo.learning_rat'. Did you mean ppo.learning_rate? Settings are ",
        ),
        ({"config_overrides": {"width": 1}}, ConfigError, "There is no setting 'width'. Did you mean network.width?"),
        ({"config_overrides": {"ppo.learning_rate": "fast"}}, ConfigError, "learning_rate is 'fast'; it takes 0..1"),
        ({"config_overrides": {"ppo.epochs": 0}}, ConfigError, "epochs is 0; it takes 1..100"),
        ({"config_overrides": {"speed": 11}}, ConfigError, "There is no setting 'speed'. Settings are ppo.tables"),
        ({"config_overrides": {"options.second": 11}}, ConfigError, "The practice options of kuhn are wrong"),
        ({"device": 5}, TrainingError, "device is 5; it takes auto, cpu, cuda or cuda:N"),
        ({"device": "mps"}, TrainingError, "device is 'mps'; it takes auto, cpu, cuda or cuda:N"),
        ({"restart": True}, TrainingError, "A restart needs the folder of a run"),
        ({"device": "gpu"}, TrainingError, "device is 'gpu'; it takes auto, cpu, cuda or cuda:N"),
    ],
)
def test_wrong_arguments_end_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"out": tmp_path / "run"} if "resume" not in wrong else {}
    with pytest.raises(error, match=re.escape(sentence)):
        train(GAME, **{**given, **wrong})
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="torch finds no GPU here; leave --device out"):
        tiny(tmp_path / "run", device="cuda")


def test_what_cannot_be_resumed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"There is no run in .*nowhere: it has no run\.json"):
        train(GAME, resume=tmp_path / "nowhere")
    for kept in ({"config": "any.yaml"}, {"seed": 7}, {"out": tmp_path}, {"device": "cpu"}):
        with pytest.raises(TrainingError, match="A resumed run keeps its seed, options, settings, folder and device"):
            train(GAME, resume=whole, **kept)
    with pytest.raises(TrainingError, match=r"keeps its options .*; leave the options out, or begin a new run\."):
        train(GAME.bind(first=1), resume=whole)
    with pytest.raises(TrainingError, match="Name a game to train on"):
        train()
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for change, sentence in (
        ({"game_version": 3}, "learns kuhn-v3, and the rules here are kuhn-v0"),
        ({"game": "whist"}, "learns whist, not kuhn"),
        ({"options": {"second": 1}}, "under options that are none here: kuhn has no option 'second'; it has: first"),
        ({"seed": "7"}, "is damaged, or no file of this trainer: seed is '7'"),
        ({"decisions": None}, "is damaged, or no file of this trainer"),
        ({"format": 9}, "is of format 9"),
    ):
        (run / "run.json").write_text(json.dumps(facts | change))
        with pytest.raises(TrainingError, match=sentence):
            train(GAME, resume=run)
    for text in ("", "{", "[]", "{}"):
        (run / "run.json").write_text(text)
        with pytest.raises(TrainingError, match="is damaged, or no file of this trainer"):
            train(GAME, resume=run)


def test_changed_settings_do_not_take_an_old_checkpoint(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    before = files(run)
    for change in ({"network.width": 32}, {"run.phases": "rollouts"}):
        with pytest.raises(CheckpointError, match="does not fit this run"):
            train(GAME, resume=run, config_overrides=change)
        assert files(run) == before
    (run / "config.yaml").write_text("ppo: [")
    with pytest.raises(ConfigError, match="cannot be read as YAML"):
        train(GAME, resume=run)


# Settings that are changed on the way ---------------------------------------------------------------------------------


def edited(run: Path, *pairs: tuple[str, str], name: str = "config.yaml") -> None:
    text = (run / name).read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (run / name).write_text(text)


@pytest.mark.parametrize("restart", [False, True])
def test_an_edited_config_is_told_of_and_not_taken(whole: Path, tmp_path: Path, restart: bool) -> None:
    """Its line for the same weights would be false."""
    run = stopped_after(3, tmp_path / "run")
    edited(run, ("batch_size: 64", "batch_size: 32"), ("gate_deals: 64", "gate_deals: 128"), ("clip: 0.2", "clip: .2"))
    before = files(run)
    with pytest.raises(TrainingError) as caught:
        train(GAME, resume=run, restart=restart)
    assert str(caught.value) == (
        f"{run / 'config.yaml'} was changed since the run began, which would give other weights than its log and its "
        "line say: ppo.batch_size is 32, and the run has 64; run.gate_deals is 128, and the run has 64. Put it back, "
        "or delete it, and it is written anew; or go on with what it says: backalley train backalley.examples.kuhn "
        "--resume "
        f"{run}{' --restart' * restart} --set ppo.batch_size=32 --set run.gate_deals=128"
    )
    assert files(run) == before
    with pytest.raises(TrainingError, match=r"line say: run\.gate_deals is 128, and the run has 64\. Put"):
        train(GAME, resume=run, restart=restart, config_overrides={"ppo.batch_size": 32})
    assert files(run) == before
    (run / "config.yaml").unlink()
    train(GAME, resume=run, restart=restart)
    assert weights(run) == weights(whole)
    assert (run / "config.yaml").read_bytes() == (whole / "config.yaml").read_bytes()


def test_what_config_gave_is_not_edited_either(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("ppo:\n  epochs: 2\n")
    tiny(tmp_path / "run", ROLLOUT, config=tmp_path / "mine.yaml")
    edited(tmp_path / "run", ("epochs: 2", "epochs: 3"), name="given.yaml")
    with pytest.raises(TrainingError, match=r"given\.yaml was changed since the run began, and is a copy of what"):
        train(resume=tmp_path / "run")


def test_settings_changed_on_the_way_are_told_and_noted(tmp_path: Path) -> None:
    """The line for the same weights has a part for each change, and is true."""
    run = stopped_after(3, tmp_path / "run")
    edited(run, ("learning_rate: 0.002\n  entropy", "learning_rate: 0.02\n  entropy"))
    said: list[str] = []
    change = {"ppo.learning_rate": 0.02, "run.log_every": 1, "run.phases": "ppo,rollouts"}
    train(resume=run, config_overrides=change, decisions=[5 * ROLLOUT, ROLLOUT], log=said.append)
    assert (
        "From here on ppo.learning_rate is 0.02 instead of 0.002; run.phases is ppo,rollouts instead of ppo; "
        "run.log_every is 1 instead of 2."
    ) in said
    result = train(resume=run, config_overrides={"rollouts.batch_size": 32}, decisions=[5 * ROLLOUT, 40 * ROLLOUT])
    first, second, third = result.command.split(" && ")
    assert first.endswith(f"--set run.phases=ppo --seed 7 --decisions {3 * ROLLOUT} --out {run}-again")
    learned = f"--decisions {5 * ROLLOUT},"
    resumed = f"backalley train backalley.examples.kuhn --resume {run}-again --set"
    assert second.startswith(f"{resumed} ppo.learning_rate=0.02 --set run.phases=ppo,rollouts {learned}")
    assert third.startswith(f"{resumed} rollouts.batch_size=32 {learned}")
    for line in (first, second, third):
        done = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    again = Path(f"{run}-again")
    for phase in ("1-ppo", "2-rollouts"):
        assert weights(again / "phases" / phase) == weights(run / "phases" / phase)
    assert config.read(again / "config.yaml") == config.read(run / "config.yaml")


def test_settings_changed_before_the_first_step_are_as_if_given(tmp_path: Path) -> None:
    run = stopped_after(1, tmp_path / "run", die)
    changed = train(resume=run, config_overrides={"ppo.symmetry": False, "league.share": 0.5}, decisions=3 * ROLLOUT)
    again = train(
        GAME, out=tmp_path / "again", seed=7, decisions=3 * ROLLOUT, config_overrides={**TINY, "league.share": 0.5}
    )
    assert weights(changed.folder) == weights(again.folder)


def test_a_restart_with_other_settings_has_them_from_its_beginning(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    train(resume=run, config_overrides={"ppo.epochs": 2}, decisions=4 * ROLLOUT)
    result = train(resume=run, restart=True, config_overrides={"ppo.learning_rate": 0.01}, decisions=2 * ROLLOUT)
    assert "&&" not in result.command
    assert "--set ppo.epochs=2 --set ppo.learning_rate=0.01" in result.command
    changed = {**TINY, "ppo.epochs": 2, "ppo.learning_rate": 0.01}
    again = train(GAME, out=tmp_path / "again", decisions=2 * ROLLOUT, seed=7, config_overrides=changed)
    assert weights(again.folder) == weights(run)


def test_a_run_of_a_former_version_has_its_settings_in_the_copy_alone(whole: Path, tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for name in ("config", "given", "changes", "begun"):
        del facts[name]
    (run / "run.json").write_text(json.dumps(facts))
    train(resume=run)
    assert weights(run) == weights(whole)
    assert json.loads((run / "run.json").read_bytes())["config"] == config.read(run / "config.yaml")


def test_two_trainers_keep_out_of_each_others_way(tmp_path: Path) -> None:
    sentences = []

    def second() -> None:
        with pytest.raises(TrainingError, match="Another process is training in") as caught:
            train(GAME, resume=tmp_path / "run")
        sentences.append(str(caught.value))
        signal.raise_signal(signal.SIGINT)

    stopped_after(2, tmp_path / "run", second)
    assert sentences
