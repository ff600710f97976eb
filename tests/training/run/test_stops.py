"""A run that is stopped or killed anywhere and resumed has the weights, log, gates and curve of one that was not."""

from __future__ import annotations

import csv
import itertools
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.rule_based import BotAgent
from backalley.benchmarks.matches import seeding
from backalley.benchmarks.matches.sample import deal_keys
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.envs.core.compile.tiering import Times
from backalley.training.attack import attack as attacks
from backalley.training.ppo.vec_env import SeatsVecEnv
from backalley.training.run import gate, logs, loop
from backalley.training.run.gate import ATTACK, CURVE, GATE, OTHERS, keys_of
from backalley.training.run.loop import TrainingLoop
from backalley.training.train import Stopped, train
from tests.common.tiny_runs import COUNTS, GAME, ROLLOUT, TINY, TWO, Killed, die, log_of, two_phases, weights


def gate_of(run: Path, phase: str = "2-ppo") -> dict[str, Any]:
    """What a gate found, without the stamp and the folder's own name."""
    found: dict[str, Any] = json.loads((run / "phases" / phase / "gate.json").read_bytes())
    return {name: found[name] for name in gate.Gate._fields}


def points(run: Path) -> list[dict[str, float]]:
    with open(run / "curve.csv", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def timeless(run: Path) -> list[dict[str, float]]:
    return [{name: value for name, value in point.items() if not name.endswith("seconds")} for point in points(run)]


def same(run: Path, other: Path, missed: int = 0) -> None:
    """`missed` is the number of the point that a run was killed in."""
    assert weights(run) == weights(other)
    for phase in ("1-ppo", "2-ppo"):
        assert weights(run / "phases" / phase) == weights(other / "phases" / phase)
    assert log_of(run) == log_of(other)
    assert gate_of(run) == gate_of(other)
    assert timeless(run) == [one for one in timeless(other) if one["decisions"] != missed * ROLLOUT]


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def struck(where: Any, name: str, call: int, how: Callable[[], None]) -> Iterator[None]:
    """A function that Ctrl-C or a kill meets in its `call`-th call."""
    whole, calls = getattr(where, name), 0

    def meets(*given: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            how()
        return whole(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, meets)
        with pytest.raises(Stopped if how is ctrl_c else Killed):
            yield


@pytest.mark.parametrize(
    ("where", "name", "call", "how", "missed"),
    [
        (TrainingLoop, "step", 1, die, 0),
        (TrainingLoop, "step", 3, ctrl_c, 3),
        (TrainingLoop, "step", 5, ctrl_c, 0),
        (TrainingLoop, "step", 5, die, 0),
        (TrainingLoop, "step", 6, ctrl_c, 6),
        (TrainingLoop, "step", 6, die, 0),
        (TrainingLoop, "step", 8, die, 0),
        (TrainingLoop, "conclude", 1, die, 0),
        (TrainingLoop, "enter_next", 1, die, 0),
        (TrainingLoop, "enter", 2, die, 0),
        (TrainingLoop, "begin", 2, die, 0),
        (TrainingLoop, "save", 8, die, 0),
        (loop, "play_gate", 1, die, 0),
        (loop, "play_gate", 1, ctrl_c, 0),
        (gate, "verdict", 1, die, 0),
        (logs, "meet", 1, ctrl_c, 1),
        (logs, "meet", 1, die, 1),
        (logs, "meet", 5, die, 0),
        (logs, "meet", 7, die, 7),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).rpartition(".")[2],
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    two: Path, tmp_path: Path, where: Any, name: str, call: int, how: Callable[[], None], missed: int
) -> None:
    run = tmp_path / "run"
    with struck(where, name, call, how):
        two_phases(run, seed=7)
    if name == "play_gate" and how is ctrl_c:
        assert weights(run) == weights(two / "phases" / "1-ppo"), "what was current before is current"
    with open(run / "curve.csv", "a") as file:
        file.write(f"{10 * ROLLOUT},1")  # of later, and cut off in the midst
    assert train(GAME, resume=run).folder == run
    same(run, two, missed)


@pytest.mark.parametrize("where", [None, (loop, "play_gate"), (gate, "verdict")], ids=lambda where: where and where[1])
def test_a_larger_budget_takes_the_last_phase_further(two: Path, tmp_path: Path, where: Any) -> None:
    """Also where its gate, which is played again, is killed."""
    run = two_phases(tmp_path / "run", [COUNTS[0], ROLLOUT], seed=7)
    assert weights(run / "phases" / "2-ppo") != weights(two / "phases" / "2-ppo")
    if where is not None:
        with struck(*where, 1, die):
            train(GAME, resume=run, decisions=COUNTS)
    train(GAME, resume=run, decisions=sum(COUNTS))
    same(run, two)


# Curves, and key spaces -----------------------------------------------------------------------------------------------


def test_a_curve_has_the_policy_against_the_best_bot(two: Path) -> None:
    found = points(two)
    assert [point["decisions"] for point in found] == [ROLLOUT * k for k in range(1, 9)]
    assert [point["phase"] for point in found] == [1, 1, 1, 1, 1, 2, 2, 2]
    for name in ("seconds", "processor_seconds"):
        assert all(0 < a[name] < b[name] for a, b in itertools.pairwise(found))
    for point in found:
        assert point["lead_low"] <= point["lead"] <= point["lead_high"]
        assert point["lead"] == pytest.approx(2 * point["mean_return"], abs=1e-4)
        assert 0 <= point["win_share_low"] <= point["win_share"] <= point["win_share_high"] <= 1
    whole = json.loads((two / "curve.json").read_bytes())
    assert (whole["points"], whole["deals"]) == (found, 16)
    assert whole["opponent"] == BotAgent(GAME).name
    assert whole["command"].endswith(f"--decisions {COUNTS[0]},{COUNTS[1]}")


def test_a_curve_changes_nothing(two: Path, tmp_path: Path) -> None:
    without = {**TWO, "run.curve_every": 0}
    run = train(GAME, out=tmp_path / "run", decisions=COUNTS, config_overrides=without, seed=7).folder
    assert weights(run) == weights(two)
    assert log_of(run) == log_of(two)
    assert not (run / "curve.csv").exists()
    assert not (run / "curve.json").exists()


def test_points_come_at_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many seconds of training, and at the end of each phase."""
    clock = itertools.count()
    monkeypatch.setattr("backalley.training.shared.phase.times", lambda: Times(next(clock) / 2, 0.0))
    settings = {**TINY, "run.curve_every": 2}
    run = train(GAME, out=tmp_path / "run", seconds=3.5, config_overrides=settings).folder
    assert [point["seconds"] for point in points(run)] == [2, 3.5]


# Key spaces -----------------------------------------------------------------------------------------------------------


def streams(root: Roots, count: int = 20_000) -> set[int]:
    """The packs' and the agents' streams of the first deals."""
    packs, own = np.empty(count, np.uint64), np.empty((count, 2), np.uint64)
    deal_keys(*root, 0, packs, own)
    return {*packs.tolist(), *own.reshape(-1).tolist()}


def test_what_is_learned_from_judged_by_and_published_never_meets() -> None:
    uses: dict[str, set[int]] = {}
    for seed in (0, 7):
        uses |= {
            f"{seed} publication": streams(roots(Space.PUBLICATION, seed)),
            f"{seed} evaluation": streams(roots(Space.EVALUATION, seed)),
            f"{seed} tables": streams(roots(Space.TABLES, seed)),
            f"{seed} curve": streams(keys_of(CURVE, seed)),
            f"{seed} gate 0": streams(keys_of(GATE, seed, 0, 1000)),
            f"{seed} gate 1": streams(keys_of(GATE, seed, 1, 1000)),
            f"{seed} gate 1, later": streams(keys_of(GATE, seed, 1, 2000)),
            f"{seed} attack 1": streams(keys_of(ATTACK, seed, 1, 1000)),
            f"{seed} others 1": streams(keys_of(OTHERS, seed, 1, 1000)),
            f"{seed} chosen by an attack": streams(attacks.keys_of(seed, attacks.SELECTION)),
            f"{seed} gained by an attack": streams(attacks.keys_of(seed, attacks.PUBLISHED)),
        }
        for phase in range(2):
            seeds = seeding.sequence(Space.TRAINING, seed, phase)
            drawn = set(seeds.generate_state(20_000, np.uint64).tolist())
            env = SeatsVecEnv(GAME, 64, seed=int(seeds.generate_state(1)[0]))
            env.reset()
            uses[f"{seed} training {phase}"] = drawn | set(env.tables.engine.batch.stream.tolist())
    for (name, one), (other, its) in itertools.combinations(uses.items(), 2):
        assert not one & its, f"{name} and {other} share streams"


def test_the_spaces_stand_in_one_place_and_evaluation_is_what_it_was() -> None:
    text = seeding.__doc__ or ""
    assert all(f"`{space.name}`" in text for space in Space)
    assert len(set(map(int, Space))) == len(Space.__members__)
    kept = [np.random.SeedSequence(5, spawn_key=(int.from_bytes(b"evaluate", "big"), use)) for use in range(2)]
    assert list(roots(Space.EVALUATION, 5)) == [one.generate_state(1, np.uint64)[0] for one in kept]
