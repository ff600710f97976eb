"""The package as it is installed and imported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.agents.policies.pretrained import pretrained
from backalley.benchmarks.studies.pages import model_cards
from backalley.envs.core.files.reading import read_json
from tests import ROOT
from tests.common.cases import GAMES

OF_GAMES = [game.type.module for game in GAMES]


@pytest.mark.slow
def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [
        sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path), str(ROOT),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("backalley/")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    own = [name for name in tracked if name.startswith("src/backalley/") and (ROOT / name).is_file()]
    wanted = {f"backalley/{name.removeprefix('src/backalley/')}" for name in own}
    wanted |= {
        f"backalley/{name}"
        for name in tracked
        if name.split("/")[0] in ("envs", "agents", "training", "benchmarks")
        and not name.startswith("benchmarks/studies/")
    }
    assert wanted == held


def test_ids_declared_and_registered_are_the_same() -> None:
    import gymnasium

    for game in GAMES:
        assert game.type.gymnasium_id in gymnasium.registry
        assert backalley.game(game.id) == game


HEAVY = {"numba", "numpy", "scipy", "gymnasium", "pettingzoo", "torch", "stable_baselines3", "pandas", "click", "rich"}


def test_importing_loads_little_and_names_everything() -> None:
    """In a new process: no game, and nothing large; the long names, and the modules of games, which are loaded when
    named."""
    names = [game.id.replace("-v", "_v") for game in GAMES if game.type.module.startswith("backalley.envs.")]
    code = f"""
import sys, backalley
loaded = {{*{HEAVY}, *{OF_GAMES}}} & {{*sys.modules}}
print(loaded, ({{*backalley.__all__}} | {{*{names}}}) - {{*dir(backalley)}})
from backalley import agent, evaluate, tournament
import backalley.{names[0]}
print(evaluate('backhand', ['bot', 'random'], deals=20).deals, backalley.{names[0]}.env)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("set() set()\n20 <function env at")
    with pytest.raises(AttributeError, match="no attribute 'poker_dual_v0'"):
        backalley.poker_dual_v0  # noqa: B018


@pytest.mark.parametrize("first", ["gymnasium, pettingzoo, backalley", "backalley, pettingzoo, gymnasium"])
def test_other_libraries_know_the_games_whichever_is_imported_first(first: str) -> None:
    made = "gymnasium.make('backalley/Pitch-v0').unwrapped.game == pettingzoo.make('aec', 'backalley/pitch-v0').game"
    code = f"import {first}; print({made} == backalley.game('pitch'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_a_batch_takes_neither_of_them() -> None:
    code = "import sys, backalley; backalley.make_vec('pitch').reset()"
    code += "; print({*sys.modules} & {'gymnasium', 'pettingzoo'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()"]


def test_games_can_be_imported_as_pettingzoo_names_them() -> None:
    for game in GAMES:
        module = getattr(backalley, game.id.replace("-v", "_v"))
        assert module.env().game == module.raw_env().game == game
    from backalley import poker_duel_v0

    assert poker_duel_v0.env(num_games=3).game == backalley.game("poker_duel", num_games=3)


# What a release promises ----------------------------------------------------------------------------------------------

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def yaml_of(place: str) -> dict[str, Any]:
    """The contents of a YAML file."""
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load((ROOT / place).read_text("utf-8"))
    return found


def test_every_promised_name_is_there() -> None:
    promised = (ROOT / "tests/project/public_names.txt").read_text("utf-8").split()
    assert len(promised) > 30
    assert [name for name in promised if not hasattr(backalley, name)] == []
    assert set(promised) <= set(backalley.__all__)


def test_a_name_of_1_0_0_is_announced_before_it_goes() -> None:
    with pytest.warns(DeprecationWarning, match="ShownEvents now"):
        assert backalley.Told is backalley.ShownEvents  # type: ignore[attr-defined]


def test_the_citation_and_the_changelog_name_this_version() -> None:
    assert str(yaml_of("CITATION.cff")["version"]) == backalley.__version__
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    heads = [line.split()[1] for line in lines if line.startswith("## ")]
    assert heads[heads[0] == "Unreleased"] == backalley.__version__


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = yaml_of("docs/packaging/recipe.yaml")
    assert recipe["context"]["version"] == backalley.__version__
    wanted = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert sorted(line.replace(" ", "") for line in recipe["requirements"]["run"]) == sorted(wanted)
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]


def test_hosted_machines_run_every_supported_python() -> None:
    jobs = yaml_of(".github/workflows/tests.yml")["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == PYTHONS
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == PYTHONS
    assert jobs["tests"]["steps"][-1]["run"] == ".ci/run"


def test_the_paper_cites_what_its_bibliography_has() -> None:
    text = (ROOT / "docs/paper/paper.md").read_text("utf-8")
    cited = set(re.findall(r"@(\w+)", text.split("---", 2)[2]))
    there = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/paper/paper.bib").read_text("utf-8"), re.MULTILINE))
    assert cited == there


def test_a_card_tells_what_an_attack_on_this_policy_gains(tmp_path: Path) -> None:
    pitch = backalley.game("pitch")
    policy = pretrained(pitch)[0]
    attack = read_json(ROOT / "benchmarks/results/attack_pitch.json")
    attack["attackers"][0]["gain"] = {"mean": 0.4321, "low": 0.4, "high": 0.46}
    assert "+0.432" in model_cards.card(pitch, policy, [attack])
    for other in ({"agent": "bot:book"}, {"options": {**attack["options"], "target": 11}}):
        assert "+0.432" not in model_cards.card(pitch, policy, [{**attack, **other}])
    (tmp_path / "attack_pitch.json").write_text(json.dumps(attack))
    assert "+0.432" in model_cards.model_cards(tmp_path)[policy.folder / "README.md"]


def test_a_card_names_the_bots_that_a_policy_met() -> None:
    game = backalley.game("poker_duel")
    policy = pretrained(game)[0]
    assert "It met `bot:strong`, `bot:greedy`, `bot:blotto` in training" in model_cards.card(game, policy, [])
    made = {key: value for key, value in policy.metadata["made"].items() if key not in ("field", "met")}
    silent = policy._replace(metadata={**policy.metadata, "made": made})
    assert "does not say which bots it met" in model_cards.card(game, silent, [])
