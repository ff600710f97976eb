"""Ways to train beside each other: which there are, runs at equal processor time, and what the tables say of them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.seeding import Space
from backalley.benchmarks.studies import publication
from backalley.benchmarks.studies.learning import methods
from backalley.benchmarks.studies.learning.methods import compare, opponents, variants_of
from backalley.benchmarks.studies.pages import docs
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.run import loop
from backalley.training.train import Stopped
from tests.common import high_card
from tests.common.cases import BY_NAME
from tests.common.commands import run
from tests.common.tiny_policies import elsewhere
from tests.common.tiny_runs import TINY
from tests.training.test_rollouts import TINY as ROLLOUTS

EVERY = {"deals": 60, "searches": [], "search_deals": 20, "cross_deals": 30, "method_deals": 40}
BUDGET = 0.05
POINTS = {"run.curve_every": BUDGET / 10}


@pytest.fixture
def game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Kuhn poker, whose settings are tiny rollouts."""
    found = elsewhere(tmp_path, monkeypatch, kuhn)
    settings(found, {**TINY, **ROLLOUTS}, tmp_path / "configs", monkeypatch)
    monkeypatch.setattr(publication, "_plans", lambda: {"seed": 7, "every": EVERY})
    monkeypatch.chdir(tmp_path)
    return found


def settings(game: Game, values: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a game settings of its own."""
    folder.mkdir()
    shutil.copy(config.CONFIGS / config.DEFAULT, folder)
    sections: dict[str, Any] = {}
    for name, value in values.items():
        section, _, setting = name.partition(".")
        sections.setdefault(section, {})[setting] = value
    (folder / f"{game.name}.yaml").write_text(yaml.safe_dump(sections))
    monkeypatch.setattr(config, "CONFIGS", folder)


def compared(*given: Any, **more: Any) -> dict[str, Any]:
    """What the file of a comparison holds."""
    return compare(*given, **more).to_json()


def cells(found: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(row["method"], row.get("training_seed")) for row in found["rows"]]


# Which there are -----------------------------------------------------------------------------------------------------


@BY_NAME
def test_ways_follow_from_the_games_settings(game: Game) -> None:
    """Each is another one than the game's own, and of each kind of phase those that go with it are there."""
    found = variants_of(game)
    assert (found[0].name, found[0].settings) == ("default", {})
    trained = [method for method in found if not method.agent]
    loaded = [config.load(game, overrides=method.settings) for method in trained]
    assert all(one != loaded[0] for one in loaded[1:])
    names = {method.name for method in found}
    own = loaded[0].run.phases.names
    assert ("ppo" in names) == (own != ["ppo"])
    assert ("mmd" in names) == (own != ["mmd"])
    from_bot = "rollouts" in own and loaded[0].rollouts.base != config.SELF
    assert ("ppo-observation" in names) == loaded[0].network.features
    assert ("plans" in names) == ("plans" in own)
    assert ("rollouts" in names) == (own != ["rollouts"] or from_bot), "else it is the game's own"
    plan = publication.publications(game)[0]
    best, *others = opponents(plan)
    assert best == plan.against
    assert others
    assert best in names


def test_the_next_best_is_the_one_before_the_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    one = kuhn.GAME.bind()
    assert opponents(publication.publications(one)[0]) == ["bot:random", "random"]
    plan = publication.publications(one)[0]._replace(against="random")
    assert opponents(plan) == ["random"]


# Runs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_way_with_every_seed(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "methods.json"
    found = compared(game, num_seeds=2, processor_seconds=BUDGET, keep=path)
    trained = ["default", "ppo", "mmd", "rollouts"]
    assert cells(found) == [*((name, seed) for name in trained for seed in range(2)), ("bot:random", None)]
    assert found["complete"]
    assert json.loads(path.read_bytes()) == found
    for row in found["rows"][:-1]:
        assert row["processor_seconds"] >= BUDGET
        assert row["command"].startswith(f"backalley train {game.spec} ")
        assert f"--seed {row['training_seed']} --decisions {row['decisions']}" in row["command"]
        points = row["curve"]["points"]
        assert points[-1]["decisions"] == row["decisions"]
        assert points[-1]["processor_seconds"] == pytest.approx(row["processor_seconds"], abs=0.1)
        assert ("gate" in row) == (row["method"] == "default"), "the others begin from nobody's play"
        assert ("words" in row) == ("gate" in row and row["gate"]["passed"]), "else they are of a policy that is left"
        assert list(row["against"]) == ["bot:random", "random"]
    assert list(found["rows"][-1]["against"]) == ["random"], "nobody plays against itself"
    assert found["rows"][3]["settings"] == {"run.phases": "ppo"}


def learned(folder: Path) -> Path:
    """The policy of the phase of the only run there is."""
    (run,) = (folder / "runs" / "methods").iterdir()
    return run / "phases" / "1-rollouts" / "policy"


def plays_as(game: Game, row: dict[str, Any], policy: Path) -> None:
    report = evaluate(game, [policy, "bot"], deals=40, seed=7, space=Space.PUBLICATION)
    assert row["against"]["bot:random"]["mean_return"] == report.agents[0].mean_return.to_json()
    assert row["against"]["bot:random"]["win_share"] == report.agents[0].win_share.to_json()


@pytest.mark.slow
def test_what_stands_is_not_made_again(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = tmp_path / "methods.json", []
    train = methods.train

    def noted(*given: Any, **more: Any) -> Any:
        made.append((more.get("seed"), dict(more.get("config_overrides") or {})))
        return train(*given, **more)

    monkeypatch.setattr(methods, "train", noted)
    first = compared(game, ["default"], num_seeds=1, processor_seconds=BUDGET, keep=path)
    assert len(made) == 2, "one run, and one step to compile"
    second = compared(game, ["default", "mmd"], num_seeds=2, processor_seconds=BUDGET, keep=path)
    assert [one for one in made if one[0] is not None] == [
        (0, POINTS),
        (0, {"run.phases": "mmd", **POINTS}),
        (1, POINTS),
        (1, {"run.phases": "mmd", **POINTS}),
    ]
    assert second["rows"][0] == first["rows"][0]
    line = f"backalley dev study compare {game.spec} --seeds 2 --processor-seconds 0.05"
    assert second["command"] == f"{line} --methods default,mmd --json {tmp_path}"
    made.clear()
    third = compared(game, ["mmd"], num_seeds=1, processor_seconds=BUDGET, keep=path)
    assert third["command"] == second["command"], "the file's command makes all that is in it"
    assert compared(game, ["mmd"], num_seeds=2, processor_seconds=BUDGET, keep=path)["rows"] == second["rows"]
    assert not made
    monkeypatch.setattr(results, "sources", lambda *modules: "others")
    compare(game, ["default"], num_seeds=1, processor_seconds=BUDGET, keep=path)
    assert len(made) == 2, "other sources may play otherwise"


def test_a_run_that_was_stopped_goes_on(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, train = tmp_path / "methods.json", methods.train
    resumed = []

    def stopping(*given: Any, **more: Any) -> Any:
        if more.get("seed") == 1:
            train(*given, **more | {"processor_seconds": None, "decisions": 1})
            raise Stopped("Stopped.")
        resumed.extend([more["resume"]] if "resume" in more else [])
        return train(*given, **more)

    monkeypatch.setattr(methods, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        compare(game, ["default"], num_seeds=2, processor_seconds=BUDGET, keep=path)
    kept = json.loads(path.read_bytes())
    assert (cells(kept), kept["complete"]) == ([("default", 0)], False)
    found = compared(game, ["default"], num_seeds=2, processor_seconds=BUDGET, keep=path)
    assert (cells(found), found["complete"]) == ([("default", 0), ("default", 1)], True)
    assert [folder.name.split("-")[1:3] for folder in resumed] == [["default", "1"]]
    assert found["rows"][1]["processor_seconds"] >= BUDGET


def test_a_policy_that_the_gate_refuses_plays_all_the_same(
    game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_gate = loop.play_gate
    monkeypatch.setattr(loop, "play_gate", lambda *given: play_gate(*given)._replace(passed=False))
    found = compared(game, ["default"], num_seeds=1, processor_seconds=BUDGET)
    (row,) = found["rows"]
    assert not row["gate"]["passed"]
    plays_as(game, row, learned(tmp_path))
    assert "| refused" in docs.page_part("methods", [found])
    assert "A policy that the gate refuses is played here all the same" in methods.Comparison(found).table()


def test_where_one_plays_alone_a_policy_leads(tmp_path: Path, game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = high_card.GAME.bind(seats=1)
    settings(alone, {**TINY, "run.phases": "ppo"}, tmp_path / "others", monkeypatch)
    found = compared(alone, ["default"], num_seeds=1, processor_seconds=BUDGET)
    (row,) = found["rows"]
    for name in ("bot:random", "random"):
        played = row["against"][name]
        assert played["lead"]["low"] <= played["lead"]["mean"] <= played["lead"]["high"]
        assert methods.value(row, name) == Estimate(**played["lead"])


def test_what_cannot_be_compared_is_a_sentence(game: Game, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=r"is not trained by 'plans'; there are: default, ppo, mmd, rollouts, bot:r",
    ):
        compare(game, ["plans"])
    with pytest.raises(ValueError, match=r"processor_seconds is -1; a budget is a number greater than 0"):
        compare(game, processor_seconds=-1)
    path = tmp_path / f"methods_{game.name}.json"
    compare(game, ["bot:random"], processor_seconds=5, keep=path)
    kept = path.read_bytes()
    words = [game.spec, "--json", str(tmp_path)]
    for more, sentence in (
        ([], "has processor_seconds 5.0, not 120.0; move it away"),
        (["--seeds", "0"], "0 is not in the range 1<=x<=100."),
        (["--methods", "nothing"], "is not trained by 'nothing'"),
        (["--processor-seconds", "nan"], "a budget is a number greater than 0"),
    ):
        done = run("dev", "study", "compare", *words, *more)
        assert sentence in done.output
        assert done.exit_code == 2
        assert path.read_bytes() == kept
    path.write_text('{"rows": 3}')
    done = run("dev", "study", "compare", *words)
    assert "holds no methods; move it away" in done.output
    assert path.read_text() == '{"rows": 3}'


def test_the_command(game: Game, tmp_path: Path) -> None:
    words = [game.spec, "--seeds", "2", "--processor-seconds", "0.05", "--methods", "default,bot:random"]
    done = run("dev", "study", "compare", *words, "--runs", "elsewhere", "--json", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "mean of 2" in done.output
    found = json.loads((tmp_path / f"methods_{game.name}.json").read_bytes())
    assert found["command"] == " ".join(["backalley dev study compare", *words, "--json", str(tmp_path)])
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2
    page = f"<!-- results: methods methods_{game.name} -->\n<!-- /results -->\n"
    shown = docs.with_results(page, tmp_path, tmp_path)
    assert "| `default` | mean of 2 |" in shown
    assert "| `bot:random` | untrained |" in shown
    assert found["command"] in shown
    assert docs.with_results(shown, tmp_path, tmp_path) == shown


# What the tables say -------------------------------------------------------------------------------------------------


def row(method: str, seed: int | None, mean: float, half_width: float = 0.0) -> dict[str, Any]:
    gain = {"mean": mean, "low": mean - half_width, "high": mean + half_width}
    share = {name: (1 + number) / 2 for name, number in gain.items()}
    found: dict[str, Any] = {"method": method, "against": {"bot:best": {"mean_return": gain, "win_share": share}}}
    points = [{"samples": n, "win_share": won, "mean_return": mean} for n, won in ((100, 0.0), (300, share["mean"]))]
    learned = {"training_seed": seed, "processor_seconds": 60.0, "samples": 200, "curve": {"points": points}}
    return found if seed is None else found | learned


def rows(method: str, *means: float, half_width: float = 0.0) -> list[dict[str, Any]]:
    return [row(method, seed, mean, half_width) for seed, mean in enumerate(means)]


def test_a_difference_has_the_interval_of_seeds_and_deals() -> None:
    """Welch's interval by hand: 0.5 less 0.2, variances 0.01 / 3 each, so 4 degrees of freedom, t = 2.7764."""
    one, other = rows("one", 0.4, 0.5, 0.6), rows("other", 0.1, 0.2, 0.3)
    found = methods.lead(one, other, "bot:best")
    assert found is not None
    assert found.mean == pytest.approx(0.3)
    assert found.half_width == pytest.approx(2.77645 * math.sqrt(0.02 / 3), rel=1e-4)
    wide = methods.lead(rows("one", 0.5, 0.5, half_width=0.03), rows("two", 0.2, 0.2, half_width=0.04), "bot:best")
    assert wide is not None
    assert wide.half_width == pytest.approx(0.05), "as many seeds as one likes do not make the deals more"
    fixed = methods.lead(one, [row("untrained", None, 0.2)], "bot:best")
    assert fixed is not None
    assert fixed.half_width == pytest.approx(4.30265 * math.sqrt(0.01 / 3), rel=1e-4), "two degrees of freedom"
    assert methods.lead(one[:1], other, "bot:best") is None


def test_below_the_spread_of_the_seeds_nothing_is_distinguished() -> None:
    runs = [*rows("default", 0.4, 0.5, 0.6), *rows("near", 0.3, 0.5, 0.6), *rows("far", -0.4, -0.5, -0.6)]
    runs += [row("plans", None, 0.45), *rows("lone", 0.9)]
    found = {"game": "kuhn-v0", "options": {}, "against": ["bot:best"], "processor_seconds": 60, "deals": 40}
    shown = {
        line["method"]: line
        for line in methods.Comparison.tables["methods"]([found | {"rows": runs}])
        if "mean" in line["seed"]
    }
    assert "less `default`" not in shown["`default`"]
    assert shown["`default`"]["wins against `bot:best`"] == "75.00 (5.00) %"
    assert shown["`near`"]["less `default`"].endswith(", not significant")
    assert not shown["`far`"]["less `default`"].endswith("significant")
    assert shown["`far`"]["less `default`"].startswith("-1.0")
    (lone,) = (
        line for line in methods.Comparison.tables["methods"]([found | {"rows": runs}]) if line["method"] == "`lone`"
    )
    assert (lone["seed"], lone["less `default`"]) == ("0", "one seed only")


def test_over_games_wins_are_counted_by_what_chance_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of `default` are those of PPO in a game that is trained by PPO; a game without MMD does not count."""
    nothing = [methods.Method(name, {}) for name in ("default", *methods.FROM_NOTHING)]
    monkeypatch.setattr(methods, "game_of", lambda name, **options: kuhn.GAME.bind())
    monkeypatch.setattr(methods, "variants_of", lambda game: [one for one in nothing if one.name != "ppo"])
    found = {"game": "kuhn-v0", "options": {}, "against": ["bot:best"], "processor_seconds": 60, "deals": 40}
    by_ppo = [*rows("default", 0.0, 0.5, -0.5), *rows("mmd", -1.0, -1.0), *rows("rollouts", 1.0, 1.0)]
    two = [*rows("default", 0.5, 0.5), *rows("mmd", 0.0, 0.0), *rows("rollouts", -1.0, 0.5)]
    table = methods.Comparison.tables["methods_summary"]
    shown = {line["method"]: line for line in table([found | {"rows": one} for one in (by_ppo, by_ppo, two)])}
    wins, better = "wins at equal time, against the best bot", "better than `ppo` at equal time"
    assert {line["games"] + line["seeds"] for line in shown.values()} == {"32"}
    assert shown["`mmd`"][wins].startswith("0.25 "), "of 0, 0, 0, 0, 1, 1 the middle four (the quarter is one)"
    assert shown["`rollouts`"][better].startswith("0.75 "), "all, all, and a quarter"
    assert shown["`ppo`"][better] == ""
    assert shown["`mmd`"]["wins at equal samples, on the curve"].startswith("0.12 "), "half way along the curve"
    assert [*table([found | {"rows": [*two[:2], *two[4:]]}])] == []
