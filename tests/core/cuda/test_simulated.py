"""Tables on a device play as on the CPU, byte for byte, in CUDA's simulator: it runs the same Python text as kernels,
and says nothing of NVIDIA's compiler or hardware."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import backalley
from tests import ROOT

WHOLE = {
    "backhand": (20, 40, 20),
    "buffalo_bayou": (20, 40, 20),
    "missouri_city": (20, 80, 6),
    "baccarat": (20, 40, 20),
    "twenty_one": (20, 120, 3),
    "poker_duel": (20, 200, 0),
    "bezique": (20, 250, 0),
    "killer_bridge": (20, 1300, 4),
    "pitch": (20, 2400, 4),
}
"""Steps, decisions in the kernel, and decisions by the bot of each game."""


def beside(*words: str, **settings: str) -> None:
    """Run a function of `simulated.py` where Python plays the device; `settings` are more of the environment."""
    pytest.importorskip("numba_cuda", reason="the extra 'cuda' is not installed")
    line = [sys.executable, "-W", "error", "-m", "tests.core.cuda.simulated", *words]
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT / "src")} | settings
    done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_small_game_is_the_same_on_a_device() -> None:
    beside("same", "backhand", "6", "20", "2")


@pytest.mark.slow
@pytest.mark.parametrize("game", WHOLE)
@pytest.mark.sampled
def test_whole_episodes_are_the_same_on_a_device(game: str) -> None:
    beside("same", game, *map(str, WHOLE[game]))


@pytest.mark.slow
def test_options_are_the_same_on_a_device() -> None:
    beside("same", "missouri_city", "10", "60", "0", "stalemate=draw", "num_games=2")


@pytest.mark.slow
@pytest.mark.parametrize("options", ["killer_bridge num_players=54", "pitch num_players=7 teams=solo"])
def test_the_largest_tables_are_redrawn_in_a_threads_memory(options: str) -> None:
    """Both sides are Python: other records would be compiled again."""
    beside("redrawn", *options.split(), BACKALLEY_COMPILE="never")


def test_other_libraries_take_its_arrays() -> None:
    pytest.importorskip("torch")
    beside("arrays")


def test_what_it_lacks_is_said() -> None:
    beside("sentences")


def test_the_command_compares_every_byte() -> None:
    beside("measured")


def test_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("backalley.envs.core.cuda")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'backalley\[cuda\]'"):
        backalley.make_vec("backhand", 2, device="cuda")


def test_it_takes_a_device_of_its_kinds() -> None:
    with pytest.raises(ValueError, match="device is 'tpu'; it takes 'cpu' or 'cuda'"):
        backalley.make_vec("backhand", 2, device="tpu")
