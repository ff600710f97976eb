"""The package as it is installed and imported."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import backalley
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


def fresh(code: str) -> str:
    """What code prints in a new process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_no_game_and_no_torch() -> None:
    code = (
        "import sys, backalley\n"
        f"games = [name for name in sys.modules if name in {OF_GAMES}]\n"
        "print(games, [name for name in ('torch', 'stable_baselines3', 'pandas', 'click') if name in sys.modules])"
    )
    assert fresh(code) == "[] []"


def test_the_long_names_can_be_had_from_the_package() -> None:
    code = (
        "import backalley\n"
        "from backalley import agent, evaluate, tournament\n"
        "missing = sorted(set(backalley.__all__) - set(dir(backalley)))\n"
        "print(missing, evaluate('backhand', ['bot', 'random'], deals=20).deals)"
    )
    assert fresh(code) == "[] 20"
    with pytest.raises(AttributeError, match="no attribute 'poker_dual_v0'"):
        backalley.poker_dual_v0  # noqa: B018


def test_the_modules_of_games_are_listed_and_can_be_imported() -> None:
    names = [game.id.replace("-v", "_v") for game in GAMES if game.type.module.startswith("backalley.envs.")]
    code = (
        "import sys, backalley\n"
        f"print(set({names}) - set(dir(backalley)), [name for name in sys.modules if name in {OF_GAMES}])\n"
        f"import backalley.{names[0]}\n"
        f"print(backalley.{names[0]}.env)"
    )
    assert fresh(code).startswith("set() []\n<function env at")


def test_games_can_be_imported_as_pettingzoo_names_them() -> None:
    for game in GAMES:
        module = getattr(backalley, game.id.replace("-v", "_v"))
        assert module.env().game == module.raw_env().game == game
    from backalley import poker_duel_v0

    assert poker_duel_v0.env(num_games=3).game == backalley.game("poker_duel", num_games=3)
