"""What a training run is given, and what it refuses."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest
import torch

from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.run.budget import TrainingError
from backalley.training.shared.checkpoint import CheckpointError
from backalley.training.train import train
from tests.common.tiny_runs import GAME, ROLLOUT, TINY, files, stopped_after, tiny, weights


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


def test_a_game_from_elsewhere_is_found_again(tmp_path: Path) -> None:
    """By its import path, which run.json keeps: neither its name nor the game itself needs to be given."""
    run = stopped_after(2, tmp_path / "run")
    result = train(resume=run, decisions=3 * ROLLOUT)
    assert result.game == GAME
    assert result.command.startswith("backalley train backalley.examples.kuhn ")
    for name in ("kuhn", "kuhn-v0", "backalley.examples.kuhn", "backalley.examples.kuhn:GAME", kuhn.GAME):
        train(name, resume=run, decisions=3 * ROLLOUT)
    with pytest.raises(TrainingError, match="learns kuhn, not high_card; leave the game out"):
        train("tests.common.high_card", resume=run)


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_refused(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"is not an empty folder; name another one with --out\.$"):
        tiny(tmp_path)
    with pytest.raises(TrainingError, match="go on with the run there by --resume"):
        tiny(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="torch finds no GPU here; leave --device out"):
        tiny(tmp_path / "run", device="cuda")


def test_what_cannot_be_resumed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"There is no run in .*nowhere: it has no run\.json"):
        train(GAME, resume=tmp_path / "nowhere")
    other = {"config_overrides": {"ppo.epochs": 2}}
    for kept in ({"config": "any.yaml"}, other, {"seed": 7}, {"out": tmp_path}, {"device": "cpu"}):
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


@pytest.mark.parametrize("module", ["evil.game", "backalley.__main__"])
def test_a_module_that_only_the_folder_names_is_not_imported(module: str, tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for changes, what in (({"found_by": module}, "a game"), ({"phase_modules": [module]}, "a kind of phase")):
        (run / "run.json").write_text(json.dumps(facts | changes))
        with pytest.raises(TrainingError, match=f"has {what} of '{module}', a module that was not named here"):
            train(resume=run)
    assert module not in sys.modules


def test_what_a_checkpoint_does_not_fit(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for section, changed in (("network", {"width": 32}), ("run", {"phases": ["rollouts"]})):
        settings = {**facts["config"], section: {**facts["config"][section], **changed}}
        (run / "run.json").write_text(json.dumps({**facts, "config": settings}))
        before = files(run)
        with pytest.raises(CheckpointError, match="does not fit this run"):
            train(GAME, resume=run)
        assert files(run) == before


def test_copies_of_settings_are_to_read(whole: Path, tmp_path: Path) -> None:
    """What counts is in run.json: copies that were edited, or are gone, are written again."""
    run = stopped_after(3, tmp_path / "run")
    (run / "config.yaml").write_text("ppo: [")
    train(GAME, resume=run)
    assert weights(run) == weights(whole)
    assert (run / "config.yaml").read_bytes() == (whole / "config.yaml").read_bytes()


def test_two_trainers_keep_out_of_each_others_way(tmp_path: Path) -> None:
    sentences = []

    def second() -> None:
        with pytest.raises(TrainingError, match="Another process is training in") as caught:
            train(GAME, resume=tmp_path / "run")
        sentences.append(str(caught.value))
        signal.raise_signal(signal.SIGINT)

    stopped_after(2, tmp_path / "run", second)
    assert sentences
