"""Commands for maintainers, and errors: sentences, faults that keep their trace, and the names that were meant."""

from __future__ import annotations

import ast
import contextlib
import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import backalley
from backalley.benchmarks.studies.pages.docs import COMMANDS
from backalley.cli import main
from backalley.cli.dev import dev
from backalley.cli.shared import Neutral, this_line
from backalley.console import errors
from backalley.console.command import Command, whole_numbers
from tests.project.test_layout import ROOT, files, parsed

studies = COMMANDS["study"]
assert isinstance(studies, click.Group)
EVERY: dict[str, click.Command] = {**dev.commands, **{name: one for name, one in COMMANDS.items() if name != "study"}}
EVERY |= {f"study {name}": command for name, command in studies.commands.items()}
GAMELESS = {
    "beliefs",
    "blunders",
    "chemin",
    "stages",
    "chaos",
    "mutants",
    "docs",
    "types",
    "cluster-check",
    "library",
    "examples",
    "attention",
    "openspiel",
    "small-attacks",
    "ismcts",
}
BEFORE, AFTER = (
    {"publish": ("runs/none", "standard", "--game")},
    {"tune": ("chances",), "enter": ("mine", "random"), "certificate": ("random",)},
)
"""Words that stand before and after the game's name."""
WRITING = [name for name, one in EVERY.items() if any("--json" in option.opts for option in one.params)]


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["dev", *words])


def is_a_sentence(done: Any) -> bool:
    return done.exit_code == 2 and done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [one for one in EVERY if one.split()[-1] not in GAMELESS])
def test_a_game_that_there_is_not(command: str) -> None:
    name = command.split()[-1]
    done = run(*command.split(), *BEFORE.get(name, ()), "snap", *AFTER.get(name, ()))
    assert is_a_sentence(done), done.output
    assert "There is no " in done.stderr


@pytest.mark.parametrize("command", WRITING)
def test_a_place_that_there_is_not(command: str, tmp_path: Path) -> None:
    """Before any work: afterwards it would be lost."""
    name = command.split()[-1]
    words = ["backhand"] * (name not in GAMELESS) + ["torchrl"] * (name == "library") + [*AFTER.get(name, ())]
    done = run(*command.split(), *words, "--json", str(tmp_path / "none" / "found.json"))
    assert is_a_sentence(done), done.output
    assert f"There is no folder {tmp_path / 'none'}" in done.stderr
    assert not any(tmp_path.iterdir())


SHOWN = {**main.commands, **{f"dev {name}": command for name, command in EVERY.items()}}
SAMPLES = ("it's one.json", "NAME=a b", "7", "0.5", "100", "2,3", "win", "wasm")
"""Values, of which every option takes one or the other."""
NO_LINE = {"mcp", "serve", "train", "dev"} | {f"dev {name}" for name in ("publish", "digests", "playthrough", "tune")}


def sample(command: click.Command, option: click.Parameter) -> list[str]:
    """Words that give an option, or an argument, a value that is not its default."""
    name = [option.opts[0]] * isinstance(option, click.Option)
    if getattr(option, "is_flag", False):
        return name
    context = click.Context(command)
    context.params = {str(one.name): ("7",) for one in command.params}  # some callbacks look at other parameters
    for value in SAMPLES:
        with contextlib.suppress(click.ClickException):
            found = option.process_value(context, (value,) if many(option) else value)
            if found != option.get_default(context):
                return (1 + option.multiple) * [*name, value]
    raise AssertionError(f"no sample suits {option.name}")


def many(option: click.Parameter) -> bool:
    return bool(option.multiple or option.nargs == -1)


def read(name: str, words: list[str]) -> click.Context:
    """The context in which a command is called with those words."""
    context = click.Context(main, info_name="backalley")
    for part in name.split()[:-1]:
        group = context.command
        assert isinstance(group, click.Group)
        found = group.get_command(context, part)
        assert found is not None
        context = click.Context(found, context, info_name=part)
    return SHOWN[name].make_context(name.split()[-1], words, parent=context)


@pytest.mark.parametrize("name", [name for name in SHOWN if name not in NO_LINE])
def test_the_line_that_runs_a_command_again_gives_it_the_same_values(name: str) -> None:
    """Without options, with each alone, and with all; but for those that results do not depend on."""
    always = [one for one in SHOWN[name].params if one.required or isinstance(one, click.Argument)]
    words = [word for one in always for word in sample(SHOWN[name], one)]
    each = [sample(SHOWN[name], one) for one in SHOWN[name].params if one not in always]
    for given in ([], *each, [word for one in each for word in one]):
        first = read(name, words + given)
        with first:
            line = this_line()
        program, *again = shlex.split(line)
        assert (program, again[: len(name.split())]) == ("backalley", name.split())
        second = read(name, again[len(name.split()) :])
        same = [one.name for one in SHOWN[name].params if not isinstance(one, Neutral)]
        assert {one: first.params[one] for one in same} == {one: second.params[one] for one in same}


def test_what_the_line_leaves_out_and_says_instead() -> None:
    words = ["kuhn", "bot", "--deals", "20", "--threads", "2", "--precision", "0.1"]
    with read("evaluate", words):
        assert this_line() == "backalley evaluate kuhn bot --deals 20 --precision 0.1 --seed 0"
        assert this_line(deals=512, precision=None) == "backalley evaluate kuhn bot --deals 512 --seed 0"
    with read("solve", ["kuhn", "--within", "0.001"]):
        assert this_line() == "backalley solve kuhn"
        assert this_line(within=0.001) == "backalley solve kuhn --within 0.001"


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


@pytest.mark.parametrize("given", ["1,two", "-1", ""])
def test_whole_numbers_with_commas(given: str) -> None:
    @click.command(cls=Command)
    @click.option("--some", callback=whole_numbers)
    def numbers(some: tuple[int, ...] | None) -> None:
        click.echo(str(some))

    assert CliRunner().invoke(numbers, ["--some", "3,0"]).output == "(3, 0)\n"
    assert "is not a list of whole numbers with commas." in CliRunner().invoke(numbers, ["--some", given]).stderr


# Errors ---------------------------------------------------------------------------------------------------------------


KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, backalley.BackAlleyError)]
PLAIN = {"ValueError", "TypeError", "RuntimeError", "NotImplementedError", "ImportError", "ModuleNotFoundError"}
FAULTS = {"unbound", "_first_step"}
"""Functions that tell of a fault in the package: a template that was never specialised, a process that died."""


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_ours_is_a_sentence_wherever_it_was_raised(kind: type[BaseException]) -> None:
    @click.command(cls=Command)
    def refused() -> None:
        raise kind("The seed is 'a'; it takes a number.")

    done = CliRunner().invoke(refused)
    assert (done.exit_code, done.stderr) == (2, "Error: The seed is 'a'; it takes a number.\n")


@pytest.mark.parametrize("fault", ["int('x')", "raise ValueError('x')", "raise TypeError('x')", "raise KeyError('x')"])
def test_a_fault_inside_the_package_keeps_its_trace(fault: str) -> None:
    @click.command(cls=Command)
    def faulty() -> None:
        exec(fault, {"__package__": "backalley.agents", "__name__": "backalley.agents.base.agent"})

    done = CliRunner().invoke(faulty)
    assert done.exit_code == 1
    assert type(done.exception) in (ValueError, TypeError, KeyError)
    assert not done.stderr


def plain_errors(node: ast.AST) -> Iterator[ast.Call]:
    """Every `raise ValueError("...")` and its like below a node."""
    if isinstance(node, ast.FunctionDef) and node.name in FAULTS:
        return
    made = node.exc if isinstance(node, ast.Raise) else None
    if isinstance(made, ast.Call) and made.args and isinstance(made.func, ast.Name) and made.func.id in PLAIN:
        yield made
    for child in ast.iter_child_nodes(node):
        yield from plain_errors(child)


def test_whatever_is_refused_is_refused_with_an_error_of_ours() -> None:
    alone = ROOT / "agents" / "programs" / "chat.py"  # a program of its own, which imports nothing of ours
    for path in (path for path in files().values() if path != alone):
        found = [call.lineno for call in plain_errors(parsed(path))]
        assert not found, f"{path.relative_to(ROOT)} raises a plain error in the lines {found}"


def test_the_name_that_was_meant() -> None:
    assert errors.did_you_mean("pocker", ["poker", "pitch"]) == " Did you mean poker?"
    assert errors.did_you_mean("boook", {"book": 1}, lambda name: f"bot:{name}") == " Did you mean bot:book?"
    assert errors.did_you_mean("zzz", ["poker"]) == ""
