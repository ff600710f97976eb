"""Learning curves, and the key spaces that keep training, gates, tables and publication apart."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from backalley.agents.base.rule_based import BotAgent
from backalley.benchmarks.matches import seeding
from backalley.benchmarks.matches.sample import deal_keys
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.training.attack import gains
from backalley.training.ppo.vec_env import SeatsVecEnv
from backalley.training.run.gate import ATTACK, CURVE, GATE, OTHERS, keys_of
from backalley.training.train import train
from tests.common.tiny_runs import COUNTS, GAME, ROLLOUT, TINY, TWO, log_of, weights
from tests.training.run.test_stops import points


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
    monkeypatch.setattr("backalley.training.run.loop.time.perf_counter", lambda: next(clock) / 2)
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
            f"{seed} chosen by an attack": streams(gains.keys_of(seed, gains.SELECTION)),
            f"{seed} gained by an attack": streams(gains.keys_of(seed, gains.PUBLISHED)),
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
