"""Speeds and long random runs: what they count, report and notice."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.speed import alone
from backalley.benchmarks.speed import speed as speeds
from backalley.benchmarks.speed.option_sets import allowed, alternatives, mixtures
from backalley.benchmarks.speed.random_play import RandomPlay, draw, episode_length
from backalley.benchmarks.speed.speed import aec_pace, batch_pace, first_step, measure, speed
from backalley.benchmarks.studies.play import soak
from backalley.benchmarks.studies.play.soak import endure
from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.testing.play import hold_returns
from tests.common import high_card
from tests.common.cases import GAMES
from tests.common.commands import run

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
    assert pace.mean == pytest.approx(100)
    assert pace.low == pytest.approx(50)
    assert pace.high == pytest.approx(200)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[Any]]:
    """What is counted in 20 runs of each measurement, and what was given to tables meanwhile."""
    found, given = list[int](), list[Any]()

    def pace(run: Any, seconds: float, repeats: int) -> Estimate:
        given.clear()
        found.append(sum(run() for _ in range(20)))
        return Estimate(1.0, 1.0, 1.0)

    for kind in (BatchEnv, AECEnv):

        def step(env: Any, *what: Any, whole: Any = kind.step) -> Any:
            given.append(what[0])
            return whole(env, *what)

        monkeypatch.setattr(kind, "step", step)
    monkeypatch.setattr(speeds, "_pace", pace)
    return found, given


def test_every_decision_is_counted_once(counted: tuple[list[int], list[Any]]) -> None:
    found, given = counted
    for size in (1, 100, 1000):
        batch_pace(KUHN, size, 1)
        assert found[-1] == sum(map(len, given)) > 0
    aec_pace(KUHN)
    assert found[-1] == sum(action is not None for action in given)
    assert given.count(None) == 40, "the two seats, in each of twenty games"


def test_decisions_drawn_in_the_kernel_are_counted_and_shown(counted: tuple[list[int], list[Any]]) -> None:
    for size in (1, 100):
        batch_pace(KUHN, size, 1, in_kernel=True)
        assert counted[0][-1] == 20 * size * 8 * max(1, 256 // size)
    slow = fake(3_500_000)
    slow["batch"][0]["in_kernel"] = {"median": 7_000_000, "low": 6_000_000, "high": 8_000_000}
    (shown,) = speeds._speed([{"games": [slow]}])
    assert shown["4,096 tables"] == "3.50"
    assert shown["4,096 tables, drawn in the kernel"] == "7.00"
    both = speeds.Speeds([slow], 1, None, {}).records()
    assert [(row["what"], row["median"]) for row in both[:2]] == [("batch", 3_500_000), ("in_kernel", 7_000_000)]
    assert all("in_kernel" not in row for row in both)


def test_length_of_an_episode() -> None:
    # Two decisions, or three after pass and bet, which comes one time in four; the error of 256 episodes is 0.027.
    assert episode_length(KUHN) == pytest.approx(2.25, abs=0.12)


def test_tables_are_spread_over_an_episode() -> None:
    play = RandomPlay(KUHN, 400, 1)
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
        for entry in [*found["batch"], found["aec"], found["rollouts"], *found["gymnasium"].values()]
    )
    assert {"random", "bot"} >= found["gymnasium"].keys() >= {"random"}
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
        "rollouts": pace,
        "seconds_to_first_step": waits,
    }


def test_figures_below_a_floor_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(2_990_000))
    below = "kuhn-v0 is below its floor with 4,096 tables on one thread: 2,990,000 decisions a second, not 3,000,000."
    assert below in speed([KUHN]).table()
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(3_000_000))
    assert "on one thread: " not in speed([KUHN]).table()
    monkeypatch.setattr(speeds, "measure", lambda game, **rest: fake(2_990_000, 2_000_000))
    assert "on one thread: " not in speed([KUHN]).table()


def test_a_decision_of_an_agent_is_timed_and_shown() -> None:
    game = backalley.game("missouri_city")
    found = [speeds.decision_cost(game, spec, 0.002) for spec in ("mc:2", "search:3")]
    assert all(one["milliseconds"] > 0 and one["decisions"] > 0 for one in found)
    assert found[0]["determinizations"] == 2
    measured = {"games": [fake(3_000_000) | {"seats": 2, "options": {}, "agents": found}]}
    (line,) = speeds.Speeds.tables["speed"]([measured])
    assert "ms a decision of `search:3`" in line
    (line,) = speeds.large_tables([measured])
    assert (line["seats"], line["decisions"]) == ("2", f"{found[1]['decisions']:,}")


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


@pytest.mark.skipif(not alone._STAT.exists(), reason="the system does not tell")
def test_rates_by_the_clock_are_refused_where_others_use_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(alone, "MOST", 0.15)
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]

    def measured(game: Any, **rest: Any) -> dict[str, Any]:
        time.sleep(1)
        return fake(1)

    monkeypatch.setattr(speeds, "measure", measured)
    try:
        with pytest.raises(alone.NotAlone, match=r"Others used [12]\.\d\d cores while this was measured by the clock"):
            speed([KUHN], keep=tmp_path / "speed.json")
        assert not list(tmp_path.iterdir())
        assert speed([KUHN]).complete, "to look at, not to keep"
    finally:
        for one in others:
            one.kill()
            one.wait()


@pytest.mark.slow
def test_a_second_process_finds_the_machine_code_of_the_first() -> None:
    waits = first_step(backalley.game("backhand"))
    assert waits["warm"]["first_step"] < 0.7 * waits["cold"]["first_step"]


# Long random runs -----------------------------------------------------------------------------------------------------


def test_it_counts_what_it_played() -> None:
    found = endure(KUHN, 10 * soak.TABLES - 1)
    assert found["decisions"] == 10 * soak.TABLES
    assert found["decisions"] / found["episodes"] == pytest.approx(2.25, abs=0.15)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reward_range": lambda options: (-1.0, 1.0)}, r"returns from -2 to 2 leave the bounds -1 to 1"),
        (
            {"piles": lambda options, state: {"hands": state.card.tolist()}},
            r"table 0 lacks a card, or has one twice, at step 0",
        ),
    ],
)
def test_a_broken_promise_is_a_sentence(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BrokenPromise, match=f"kuhn-v0, seed 0.* {says}"):
        endure(dataclasses.replace(kuhn.GAME, **change).bind(), 10 * soak.TABLES)


def test_returns_that_do_not_sum_to_nothing_are_noticed() -> None:
    with pytest.raises(BrokenPromise, match=r"sum to 0\.5 instead of 0"):
        hold_returns(KUHN, np.array([[1.0, -1.0], [1.0, -0.5]]), "here")


def test_the_command_writes_what_it_found(tmp_path: Path) -> None:
    path = tmp_path / "endurance.json"
    done = run("dev", "soak", "backhand", "--decisions", "5000", "--json", str(path))
    assert "Backhand      8,192     4,309" in done.output
    assert json.loads(path.read_text("utf-8"))["games"][0]["decisions"] == 8192


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_value_of_every_option_stands_in_a_mixture(game: Game) -> None:
    drawn = mixtures(game, 3, seed=1)
    assert drawn == mixtures(game, 3, seed=1)
    assert len(drawn) >= 3
    assert all(allowed(game, given) for given in drawn)
    wanted = {(name, value) for name in game.option_values for value in alternatives(game, name)}
    missing = wanted - {item for given in drawn for item in given.items()}
    assert not [given for given in missing if allowed(game, dict([given]))]


def test_mixtures_are_played_and_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "endurance.json"
    done = run("dev", "soak", "backhand", "--decisions", "30000", "--sets", "2", "--json", str(path))
    assert done.exit_code == 0
    found = json.loads(path.read_text("utf-8"))
    assert found["command"].endswith(f"backhand --decisions 30000 --seed 0 --sets 2 --json {path.as_posix()}")
    (game,) = found["games"]
    assert len(game["sets"]) >= 2
    assert game["decisions"] >= 30000
    assert {"game", "sets of options", "decisions"} <= set(next(iter(soak.Soak.tables["endurance"]([found]))))  # type: ignore[arg-type]


def test_a_promise_broken_under_other_options_names_them() -> None:
    narrow = dataclasses.replace(
        high_card.GAME, reward_range=lambda options: (-9.0, 9.0 if options.seats == 3 else 0.0)
    )
    with pytest.raises(BrokenPromise, match=r"high_card.*seats=\d"):
        soak.endure_mixtures(narrow.bind(), 10 * soak.MIXED_TABLES, 0, 4)
