"""Commands of modules that are run by themselves: errors are sentences there, too."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from backalley.command import Command, whole_numbers

MODULES = {
    "agents.ship": ("add", "runs/none", "standard"),
    "benchmarks.crowds": (),
    "benchmarks.cross": (),
    "benchmarks.endurance": (),
    "benchmarks.ladder": (),
    "benchmarks.searches": (),
    "training.methods": (),
    "training.throughput": (),
}
"""Words before the game, where it is not the first."""
WRITING = sorted(set(MODULES) - {"agents.ship"})


def run(module: str, *words: str) -> Any:
    return CliRunner().invoke(importlib.import_module(f"backalley.{module}").main, words)


def is_a_sentence(done: Any) -> bool:
    return done.exit_code == 2 and done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1


def test_these_are_all_the_modules_with_commands() -> None:
    root = Path(__file__).resolve().parents[1]
    found = {
        f"{folder}.{path.stem}"
        for folder in ("agents", "benchmarks", "training")
        for path in (root / folder).glob("*.py")
        if "@click.command(" in (text := path.read_text("utf-8")) or "@click.group(" in text
    }
    assert found == set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_a_game_that_there_is_not(module: str) -> None:
    words = (*MODULES[module], "--game", "snap") if module == "agents.ship" else ("snap",)
    done = run(module, *words)
    assert is_a_sentence(done), done.output
    assert "There is no " in done.stderr


@pytest.mark.parametrize("module", WRITING)
def test_a_place_that_there_is_not(module: str, tmp_path: Path) -> None:
    """Before any work: afterwards it would be lost."""
    done = run(module, "backhand", "--json", str(tmp_path / "none" / "found.json"))
    assert is_a_sentence(done), done.output
    assert f"There is no folder {tmp_path / 'none'}" in done.stderr
    assert not any(tmp_path.iterdir())


def test_a_module_run_by_itself_is_one_of_ours(tmp_path: Path) -> None:
    """It is called `__main__` then, and its own errors are sentences all the same."""
    words = ["-m", "backalley.training.throughput", "backhand", "--phases", "nothing"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: nothing is no kind of phase"), done.stderr


def test_what_stops_a_command() -> None:
    raised: list[BaseException] = []

    @click.command(cls=Command)
    def stopped() -> None:
        raise raised[0]

    for error, code, says in (
        (KeyboardInterrupt(), 130, "Stopped by Ctrl-C."),
        (PermissionError(13, "Permission denied", "a.json"), 2, "Error: a.json: Permission denied."),
        (MemoryError(), 2, "does not fit into memory"),
    ):
        raised[:] = [error]
        done = CliRunner().invoke(stopped)
        assert done.exit_code == code
        assert says in done.stderr
    raised[:] = [ValueError("not a sentence of ours")]
    assert CliRunner().invoke(stopped).exception is raised[0], "bugs keep their trace"


@pytest.mark.parametrize("given", ["1,two", "-1", ""])
def test_whole_numbers_with_commas(given: str) -> None:
    @click.command(cls=Command)
    @click.option("--some", callback=whole_numbers)
    def numbers(some: tuple[int, ...] | None) -> None:
        click.echo(str(some))

    assert CliRunner().invoke(numbers, ["--some", "3,0"]).output == "(3, 0)\n"
    assert "is not a list of whole numbers with commas." in CliRunner().invoke(numbers, ["--some", given]).stderr
