"""Learning algorithms by exact exploitability: the phase `mmd`, and the command that compares learners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.policies.learned import PolicyAgent
from backalley.benchmarks.exact.exploit import agent_probabilities
from backalley.benchmarks.exact.solver import solver_of
from backalley.benchmarks.studies.learning import ismcts as at_play
from backalley.benchmarks.studies.learning import learners as comparison
from backalley.benchmarks.studies.learning.guides import program_of_the_guide
from backalley.benchmarks.studies.learning.learners import learners
from backalley.benchmarks.studies.learning.throughput import begun
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.phases import KINDS
from backalley.training.mmd.mmd import MMD

GAME: Game = kuhn.GAME.bind()
SMALL = {"run.phases": "mmd", "network.width": 32, "mmd.tables": 128, "mmd.batch_size": 256}
WARM = {"mmd.temperature": 0.3, "mmd.proximity": 0.08}


def learner(folder: Path, **settings: Any) -> MMD:
    """A phase `mmd` in Kuhn poker, just begun."""
    phase = MMD(GAME, config.load(GAME, None, SMALL | settings), seed=3, folder=folder)
    phase.begin()
    return phase


@pytest.mark.parametrize(("steps", "most", "given"), [(160, 0.15, {}), (60, 0.2, WARM)])
def test_mmd_comes_near_an_equilibrium_of_kuhn(steps: int, most: float, given: dict[str, Any], tmp_path: Path) -> None:
    phase = learner(tmp_path, **given)
    for _ in range(steps):
        phase.step()
    phase.save_policy(tmp_path / "policy", {})
    solver = solver_of(GAME)
    plays, _ = agent_probabilities(PolicyAgent(tmp_path / "policy", GAME), solver)
    assert solver.exploitability(plays) < most, "uniform play loses 0.46"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "steps", "settings"),
    [
        ("deep_cfr", 40, {"deep_cfr.memory": 20_000}),
        ("rnad", 120, {"mmd.tables": 128, "rnad.period": 20}),
        ("psro", 150, {"mmd.tables": 256, "psro.most": 6}),
    ],
)
def test_the_guides_learners_come_near_one_and_go_on_from_a_checkpoint_to_the_same_bits(
    name: str, steps: int, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, name, program_of_the_guide(f"{name}.py", comparison.PROGRAMS[name])["PHASE"])
    given = config.load(GAME, None, {"run.phases": name, "network.width": 32, **settings})
    first, second = (begun(name, GAME, given, 3, tmp_path, 1) for _ in range(2))
    for _ in range(steps):
        first.step()
    second.restore({key: array.copy() for key, array in first.arrays().items()}, json.loads(json.dumps(first.facts())))
    for phase in (first, second):
        phase.step()
    mine, its = (phase.arrays() for phase in (first, second))
    assert mine.keys() == its.keys()
    assert [key for key in mine if mine[key].tobytes() != its[key].tobytes()] == []
    first.save_policy(tmp_path / "policy", {})
    solver = solver_of(GAME)
    plays, _ = agent_probabilities(PolicyAgent(tmp_path / "policy", GAME), solver)
    assert solver.exploitability(plays) < 0.2, "uniform play loses 0.46"


def test_a_high_temperature_keeps_play_uniform(tmp_path: Path) -> None:
    phase = learner(tmp_path, **{"mmd.temperature": 100.0, "mmd.halving": 10**9})
    for _ in range(20):
        phase.step()
    assert phase.logged["entropy"] > 0.99 * np.log(2)


def test_for_games_a_seat_gains_its_share_of_the_win(tmp_path: Path) -> None:
    phase = learner(tmp_path, **{"run.objective": "games"})
    phase.step()
    seats, total, squares = phase.moments
    assert (seats, total, squares / seats) == (256, 0, 0.25)  # half a win more or less than chance, not 1 or 2 chips


def test_rows_of_a_comparison_are_kept_unless_settings_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kuhn.json"
    made = learners(GAME, ["mmd"], num_seeds=2, processor_seconds=0.01, keep=path)
    assert [row["seed"] for row in made.found["rows"]] == [0, 1]
    assert [len(row["points"]) for row in made.found["rows"]] == [3, 3]
    assert made.found["uniform"] == pytest.approx(0.458333, abs=1e-6)  # as OpenSpiel has it
    asked = []
    row = comparison._row
    monkeypatch.setattr(comparison, "_row", lambda *args: asked.append(args[1].name) or row(*args))
    again = learners(GAME, ["mmd", "ppo"], num_seeds=1, processor_seconds=0.01, keep=path)
    assert asked == ["ppo"]
    assert [(row["learner"], row["seed"]) for row in again.found["rows"]] == [("ppo", 0), ("mmd", 0), ("mmd", 1)]
    changed = comparison.LEARNERS["mmd"]._replace(settings={"mmd.epochs": 1})
    monkeypatch.setitem(comparison.LEARNERS, "mmd", changed)
    learners(GAME, ["mmd"], num_seeds=1, processor_seconds=0.01, keep=path)
    assert asked == ["ppo", "mmd"]
    assert "uniform play" in again.table()


def test_a_search_at_play_loses_less_the_longer_it_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_play, "GAMES", {"backalley.examples.kuhn": {}})
    monkeypatch.setattr(at_play, "MOST", 3600)
    found = at_play.ismcts(2)
    (row,) = found.found["rows"]
    assert row["uniform"] == pytest.approx(0.458333, abs=1e-6)
    assert [point["iterations"] for point in row["points"]] == [10, 30, 100, 300]
    shares = [np.mean(point["in proportion"]) for point in row["points"]]
    assert row["uniform"] > shares[0] > shares[1] > shares[2]
    assert row["points"][-1]["most visited"] == pytest.approx([1 / 6, 1 / 6]), "sure wins and losses are seen; no bluff"
    assert "most visited" in found.table()


def test_learners_are_summed_up_over_games_at_equal_time_and_equal_decisions() -> None:
    def row(name: str, decisions: int, losses: list[float]) -> dict[str, Any]:
        points = [{"decisions": decisions * k, "mean_loss": loss} for k, loss in enumerate(losses, 1)]
        return {"learner": name, "decisions": decisions * len(losses), "points": points}

    rows = [row("ppo", 40, [0.8, 0.4]), row("mmd", 10, [1.2, 0.2]), row("mmd", 10, [1.2, 0.6])]
    rows += [row(name, 40, [0.8, 0.4]) for name in ("ppo", "deep-cfr", "deep-cfr", "r-nad", "r-nad")]
    files = [{"uniform": 2.0, "rows": given} for given in (rows, rows[:2], [*rows, row("nfsp", 1, [1.0, 1.0])])]
    ppo, mmd, *_, last = comparison._summary(files)
    assert ppo["left at equal time"] == "0.200 (0.200 to 0.200)"
    assert (mmd["games"], mmd["seeds"], mmd["left at equal time"]) == ("2", "2", "0.200 (0.100 to 0.300)")
    assert mmd["better than `ppo`, equal time"] == "0.50 (0.00 to 1.00)"
    assert last["learner"] == "`r-nad`", "nfsp has learned one of the two games"
    (ppo, mmd, *_) = comparison._summary(files[:1])
    assert ppo["left at equal decisions"] == "0.700 (0.700 to 0.700)", "half way from uniform play to its first mark"
    assert mmd["better than `ppo`, equal decisions"] == "1.00 (1.00 to 1.00)"


def test_what_cannot_be_compared_ends_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="There is no learner 'sac'; there are: ppo"):
        learners(GAME, ["sac"])
    path = tmp_path / "other.json"
    path.write_text('{"kind": "learners", "game": "leduc-v0"}')
    with pytest.raises(InvalidValue, match=r"has game 'leduc-v0', not 'kuhn-v0'; move it away"):
        learners(GAME, ["mmd"], processor_seconds=0.01, keep=path)
