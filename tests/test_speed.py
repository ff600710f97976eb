"""The speed benchmark counts decisions, draws uniformly, spreads its tables over episodes, and can be interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks import results
from backalley.benchmarks import speed as speeds
from backalley.benchmarks.speed import Pace, aec_pace, batch_pace, draw, episode_length, first_step, measure, speed
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.vector import BatchEnv
from tests import kuhn

KUHN = kuhn.GAME.bind()


def test_actions_are_drawn_uniformly_from_the_legal_ones_and_anew_each_time() -> None:
    mask = np.tile(np.array([0, 1, 1, 0, 1], np.int8), (30_000, 1))
    streams = np.random.default_rng(0).integers(2**64, size=len(mask), dtype=np.uint64)
    first, second = np.zeros(len(mask), np.int64), np.zeros(len(mask), np.int64)
    draw(mask, streams, first)
    draw(mask, streams, second)
    counts = np.bincount(first * 5 + second, minlength=25).reshape(5, 5)[np.ix_([1, 2, 4], [1, 2, 4])]
    assert counts.sum() == len(mask)
    assert np.abs(counts / len(mask) - 1 / 9).max() < 4.5 * np.sqrt(8 / 81 / len(mask))


class Clock:
    """Time that passes only when work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_paces_are_decisions_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, costs = Clock(), iter([0.1] * 5 + [0.2] * 3 + [0.05] * 10)
    monkeypatch.setattr(speeds.time, "perf_counter", clock)

    def run() -> int:
        clock.now += next(costs)
        return 10

    pace = speeds._pace(run, 0.45, 3)
    assert pace.median == pytest.approx(100)
    assert pace.low == pytest.approx(50)
    assert pace.high == pytest.approx(200)


def test_every_decision_of_the_batch_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stepped: list[int] = []
    original = BatchEnv.step

    def step(tables: BatchEnv, actions: Any, rows: Any = None) -> Any:
        stepped.append(len(actions))
        return original(tables, actions, rows)

    counted: list[int] = []

    def pace(run: Any, seconds: float, repeats: int) -> Pace:
        stepped.clear()
        counted.append(run())
        return Pace(1.0, 1.0, 1.0)

    monkeypatch.setattr(BatchEnv, "step", step)
    monkeypatch.setattr(speeds, "_pace", pace)
    for size in (1, 100, 1000):
        batch_pace(KUHN, size, 1)
        assert counted[-1] == sum(stepped) > 0


def test_only_decisions_of_the_aec_loop_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    actions: list[int | None] = []
    original = AECEnv.step

    def step(env: AECEnv, action: int | None) -> None:
        actions.append(action)
        original(env, action)

    def pace(run: Any, seconds: float, repeats: int) -> Pace:
        actions.clear()
        decisions = sum(run() for _ in range(20))
        assert decisions == sum(action is not None for action in actions)
        assert actions.count(None) == 40
        return Pace(1.0, 1.0, 1.0)

    monkeypatch.setattr(AECEnv, "step", step)
    monkeypatch.setattr(speeds, "_pace", pace)
    aec_pace(KUHN)


def test_length_of_an_episode() -> None:
    # Two decisions, or three after pass and bet, which comes one time in four; the error of 256 episodes is 0.027.
    assert episode_length(KUHN) == pytest.approx(2.25, abs=0.12)


def test_tables_are_spread_over_an_episode() -> None:
    play = speeds._RandomPlay(KUHN, 400, 1)
    assert np.all(play.tables.engine.batch.decisions == 0)
    play.stagger(4)
    decisions = play.tables.engine.batch.decisions
    assert np.all(decisions[:100] == 0)
    assert np.all(decisions[100:200] == 1)
    assert len(np.unique(decisions)) == 3


def test_speeds_of_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = {"cold": {"import": 0.5, "first_step": 9.0}, "warm": {"import": 0.5, "first_step": 1.0}}
    monkeypatch.setattr(speeds, "first_step", lambda game: waits)
    found = measure(KUHN, tables=(1, 300), seconds=0.01, repeats=3)
    assert json.loads(json.dumps(found)) == found
    assert {(entry["tables"], entry["threads"]) for entry in found["batch"]} >= {(1, 1), (300, 1)}
    assert all(
        0 < entry["low"] <= entry["median"] <= entry["high"]
        for entry in [*found["batch"], found["aec"], found["playouts"]]
    )
    paces = {entry["tables"]: entry["median"] for entry in found["batch"] if entry["threads"] == 1}
    assert paces[300] > paces[1]


def fake(median: int, floor: int = 3_000_000) -> dict[str, Any]:
    pace = {"median": median, "low": median, "high": median}
    waits = {"cold": {"import": 0.5, "first_step": 9.0}, "warm": {"import": 0.5, "first_step": 1.0}}
    batch = [{"tables": 4096, "threads": 1, **pace}]
    return {
        "game": "kuhn-v0",
        "batch": batch,
        "floor": floor,
        "aec": pace,
        "playouts": pace,
        "seconds_to_first_step": waits,
    }


def test_figures_below_a_floor_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(2_990_000))
    assert "2.99!" in speed([KUHN]).table()
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(3_000_000))
    assert "3.00!" not in speed([KUHN]).table()
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(2_990_000, 2_000_000))
    assert "2.99!" not in speed([KUHN]).table()


def test_interruption_keeps_the_games_that_are_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[int] = []

    def measured(game: Any, **rest: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fake(len(calls))

    monkeypatch.setattr(speeds, "measure", measured)
    path = tmp_path / "speed.json"
    stopped = speed([KUHN, KUHN], keep=path)
    assert not stopped.complete
    assert [game["aec"]["median"] for game in stopped.games] == [1]
    resumed = speed([KUHN, KUHN], keep=path)
    assert resumed.complete
    assert [game["aec"]["median"] for game in resumed.games] == [1, 3]
    results.write(path, resumed.to_json())
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_second_process_finds_the_machine_code_of_the_first() -> None:
    waits = first_step(backalley.game("backhand"))
    assert waits["warm"]["first_step"] < 0.7 * waits["cold"]["first_step"]
