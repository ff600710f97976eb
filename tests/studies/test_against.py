"""The comparison of speeds with an earlier commit: what is paired with what, and what is said of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.benchmarks.studies.speed import against as measured
from backalley.benchmarks.studies.speed.against import Against, against
from tests.common.commands import run

pytestmark = pytest.mark.skipif(not (measured._ROOT / ".git").exists(), reason="only a checkout has earlier commits")


class Player:
    """A side whose steps have a cost; each process has a pace of its own."""

    costs: dict[tuple[str, str], float]
    played: list[tuple[str, str, int]]
    processes = 0

    def __init__(self, game: Any, root: Path, cache: Path) -> None:
        self.side = "now" if root == measured._ROOT else "before"
        assert cache.name.startswith(f"{game.name}-{self.side}-")
        assert root.is_dir()
        Player.processes += 1
        self.pace = 1 + Player.processes % 5 / 100

    def play(self, what: str, steps: int) -> float:
        Player.played.append((self.side, what, steps))
        return steps * self.costs[self.side, what] * self.pace

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(measured, "_Player", Player)
    monkeypatch.setattr(measured, "_first_use", lambda game, root, cache: 2.0 if root == measured._ROOT else 30.0)
    Player.played, Player.processes = [], 0

    def given(batch: tuple[float, float], aec: tuple[float, float]) -> None:
        Player.costs = {
            (side, what): each[place]
            for what, each in (dict.fromkeys(measured.WHAT, (0.001, 0.001)) | {"batch": batch, "aec": aec}).items()
            for place, side in enumerate(measured.SIDES)
        }

    return given


GAMES = [backalley.game("backhand"), backalley.game("pitch", mode="hand")]


def test_a_ratio_above_one_is_faster_and_what_is_slower_is_named(costs: Callable[..., None]) -> None:
    costs(batch=(0.002, 0.001), aec=(0.001, 0.00125))
    found = against(GAMES, "HEAD", pairs=4, first_uses=2)
    backhand, pitch = found.found["games"]
    assert backhand["batch"]["ratio"]["mean"] == pytest.approx(2, rel=0.03)
    assert backhand["aec"]["ratio"]["mean"] == pytest.approx(0.8, rel=0.03)
    assert backhand["aec"]["ratio"]["low"] < backhand["aec"]["ratio"]["mean"] < backhand["aec"]["ratio"]["high"] < 1
    assert len(backhand["batch"]["pairs"]) == 4
    assert backhand["first_use"] == {"before": [30.0, 30.0], "now": [2.0, 2.0]}
    assert pitch["options"] == {"mode": "hand"}
    text = found.table()
    assert "Slower, the whole interval below 0.98: Backhand (AEC loop, 0.80), Pitch (AEC loop, 0.80)." in text
    assert "30.0" in text
    costs(batch=(0.002, 0.001), aec=(0.001, 0.001005))
    assert "policy" in backhand
    assert "policy" not in pitch, "there is none for these options"
    assert "the whole interval below 0.98: nothing." in against(GAMES[:1], "HEAD", pairs=2, first_uses=0).table()


def test_both_sides_play_the_same_in_alternating_order(costs: Callable[..., None]) -> None:
    costs(batch=(0.002, 0.001), aec=(0.001, 0.001))
    against(GAMES[:1], "HEAD", pairs=2, seconds=1.0, first_uses=0)
    turns = [one for one in Player.played if one[2] != measured._TRIED[one[1]]]
    assert len(turns) == 2 * 2 * len(measured.WHAT) * measured.TURNS  # pairs and sides
    for first, second in zip(turns[::2], turns[1::2], strict=True):
        assert first[1:] == second[1:]
        assert {first[0], second[0]} == set(measured.SIDES)
    assert [one[0] for one in turns[::2]][:4] == ["before", "now", "before", "now"]


def test_the_interval_is_that_of_the_logarithms() -> None:
    found = measured.ratio_interval([0.5, 2.0])
    assert found["mean"] == pytest.approx(1)
    assert found["low"] == pytest.approx(math.exp(-12.706 * math.log(2)), rel=1e-3)
    assert found["low"] * found["high"] == pytest.approx(1)


def test_a_stopped_comparison_continues(
    costs: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs(batch=(0.002, 0.001), aec=(0.001, 0.001))
    compare, path = measured._compare, tmp_path / "against.json"

    def stopped(game: Any, *rest: Any) -> Any:
        if game.name == "pitch":
            raise KeyboardInterrupt
        return compare(game, *rest)

    monkeypatch.setattr(measured, "_compare", stopped)
    with pytest.raises(KeyboardInterrupt):
        against(GAMES, "HEAD", pairs=2, keep=path)
    monkeypatch.setattr(measured, "_compare", compare)
    processes = Player.processes
    found = against(GAMES, "HEAD", pairs=2, keep=path)
    assert [game["game"] for game in found.found["games"]] == ["backhand-v0", "pitch-v0"]
    assert Player.processes - processes == 2 + 2 * 2  # those of Pitch alone


def test_a_commit_is_laid_out_with_its_links(tmp_path: Path) -> None:
    measured._lay_out(measured._commit("HEAD"), tmp_path / "there")
    assert (tmp_path / "there" / "src" / "backalley" / "envs" / "core" / "__init__.py").is_file()


def test_what_cannot_be_compared_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pairs is 1; an interval needs 2 or more"):
        against(GAMES, "HEAD", pairs=1)
    (tmp_path / "src" / "backalley").mkdir(parents=True)
    (tmp_path / "src" / "backalley" / "__init__.py").write_text("raise RuntimeError('no such thing')")
    with pytest.raises(ValueError, match=r"The earlier commit could not play .*backhand.*: RuntimeError: no such"):
        measured._first_use(GAMES[0], tmp_path, tmp_path / "cache")
    with (
        pytest.raises(ValueError, match=r"The earlier commit could not play .*: RuntimeError: no such thing"),
        measured._Player(GAMES[0], tmp_path, tmp_path / "cache") as player,
    ):
        player.play("batch", 1)


@pytest.mark.slow
def test_the_command_measures_and_writes(tmp_path: Path) -> None:
    path = tmp_path / "against.json"
    done = run("dev", "speed", "backhand", "--pairs", "2", "--seconds", "0.02", "--json", str(path))
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text("utf-8"))
    (game,) = found["games"]
    assert game["batch"]["ratio"]["mean"] > 0
    assert all(seconds > 0 for side in measured.SIDES for seconds in game["first_use"][side])
    assert "Backhand" in Against(found).table()
