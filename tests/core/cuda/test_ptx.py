"""A game's CUDA kernels pass NVIDIA's compiler and assembler, which takes no device."""

from __future__ import annotations

import json

import pytest

import backalley
from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.cases import GAMES
from tests.common.commands import run

pytest.importorskip("numba_cuda", reason="the extra 'cuda' is not installed")

from backalley.envs.core.cuda import ptx
from backalley.envs.core.cuda.scratch import cuda

RESULTS = json.loads((ROOT / "benchmarks" / "results" / "gpu_registers.json").read_text("utf-8"))


def check(game: Game, kernel: str) -> None:
    found = ptx.compiled(game, kernel)
    assert list(found) == ["sm_80", "sm_90"]
    for target, one in found.items():
        assert (one.stack, one.spills) == (0, 0), (target, one)
        assert 16 <= one.registers <= 255
        assert one.lines > 100


@pytest.mark.parametrize("kernel", ["check_each", "observe_each", "determinize_each"])
def test_a_small_game_is_compiled(kernel: str) -> None:
    check(backalley.game("backhand"), kernel)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["step_each", "observe_each", "determinize_each"])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.sampled
def test_every_game_is_compiled(game: Game, kernel: str) -> None:
    """The step kernel holds dealing, legal actions and the observation too."""
    check(game, kernel)


@pytest.mark.slow
def test_the_random_player_and_other_kernels_are_compiled() -> None:
    for kernel in ("open_each", "play_each", "show_each"):
        check(backalley.game("missouri_city"), kernel)


def test_the_results_have_every_game_and_bot() -> None:
    rows = {(row["game"], row["kernel"], row["target"]) for row in RESULTS["registers"]}
    kernels = {kernel for _, kernel, _ in rows}
    assert {"step_each", "observe_each", "determinize_each", "play_each"} <= kernels
    assert rows == {(game.id, kernel, target) for game in GAMES for kernel in kernels for target in ptx.TARGETS}
    assert {(row["game"], row["bot"]) for row in RESULTS["bots"]} == {
        (game.id, name) for game in GAMES for name in game.bots
    }
    assert all(("reason" in row) != ("registers" in row) for row in RESULTS["bots"])


def test_a_bot_that_cannot_be_compiled_is_told_with_the_reason() -> None:
    (row,) = [row for row in RESULTS["bots"] if (row["game"], row["bot"]) == ("missouri_city-v0", "planner")]
    bot = backalley.game("missouri_city").bots["planner"]
    with pytest.raises(ptx.NotCompiled) as refused:
        ptx.compiled(backalley.game("missouri_city"), "play_each", bot.act)
    assert ptx.reason(refused.value) == row["reason"]


@pytest.mark.skipif(cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_command_says_what_it_needs() -> None:
    done = run("dev", "gpu", "backhand")
    assert done.exit_code == 2
    assert "NVIDIA GPU" in done.output
    assert "--compile" in done.output
