"""Agents of one's own under a prefix, with budgets, threads and players; and where a prefix is known."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner

import backalley
from backalley.agents import registry
from backalley.agents.base.agent import View
from backalley.cli import main
from backalley.examples import kuhn

GAME = backalley.game(kuhn.GAME)

OWN = """
import backalley


class Search:
    name = "mine"

    def __init__(self, game, determinizations=7, *, num_threads=1, player=None):
        self.made = game, determinizations, num_threads, player

    def act(self, view):
        return view.action_mask.argmax(1)


backalley.register_agent("mine", Search)
"""


class Search:
    """Remembers what it was made with, and plays the first legal action."""

    def __init__(
        self, game: Any, determinizations: int = 7, named: str = "", *, num_threads: int = 1, player: Any = None
    ) -> None:
        self.made = (game.name, determinizations, named, num_threads, player and player.name)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        first: npt.NDArray[np.int64] = view.action_mask.argmax(1)
        return first


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_registered", {})
    yield
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


def made(spec: str) -> tuple[str, Any]:
    found: Any = backalley.agent(spec, GAME, num_threads=3)
    return found.name, found.player.made


def test_a_factory_is_given_what_its_signature_asks_for() -> None:
    backalley.register_agent("mine", Search)
    assert made("mine") == ("Search", ("kuhn", 7, "", 3, None))
    assert made("mine:96") == ("Search:96", ("kuhn", 96, "", 3, None))
    assert made("mine:96:5") == ("Search:96:5", ("kuhn", 96, "5", 3, None))
    assert made("mine+bot:random:96") == ("Search:96", ("kuhn", 96, "", 3, "bot:random"))


def test_a_factory_without_annotations_gets_numbers_where_there_are_some() -> None:
    found: list[Any] = []

    def factory(*parts: Any) -> Search:
        found[:] = parts
        return Search(GAME)

    def three(game: Any, one: Any, two: Any, three: Any = None) -> Search:
        return factory(game, one, two, three)

    backalley.register_agent("three", three)
    backalley.agent("three:96:0.5:fast", GAME)
    assert found == [GAME, 96, 0.5, "fast"]
    with pytest.raises(ValueError, match=r"'three:96' cannot be read; its name has the form three:ONE:TWO\[:THREE\]\."):
        backalley.agent("three:96", GAME)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mine:many", r"'mine:many' cannot be read; its name has the form mine\[:DETERMINIZATIONS\[:NAMED\]\]\."),
        ("mine:1:2:3", "'mine:1:2:3' cannot be read"),
        ("mine+:3", r"mine\+:3 names no agent for rollouts"),
        (
            "mime",
            r"mine\[:DETERMINIZATIONS\[:NAMED\]\], mine\+AGENT\[:DETERMINIZATIONS\[:NAMED\]\], .*Did you mean mine\?",
        ),
        ("bad", r"bad made no agent of kuhn: ZeroDivisionError: .*test_register_agent\.py, line \d+\)\."),
        ("none", "None is no agent"),
    ],
)
def test_what_cannot_be_made_is_a_sentence(spec: str, says: str) -> None:
    backalley.register_agent("mine", Search)
    backalley.register_agent("bad", lambda: 1 // 0)
    backalley.register_agent("none", lambda: None)
    with pytest.raises(backalley.BackAlleyError, match=says):
        backalley.agent(spec, GAME)


@pytest.mark.parametrize("spec", ["serch:96", "serch:often"])
def test_a_prefix_that_was_nearly_typed_is_named(spec: str) -> None:
    with pytest.raises(ValueError, match=rf"There is no agent '{spec}'.*Did you mean search\?"):
        backalley.agent(spec, "backhand")


def test_prefixes_that_are_refused() -> None:
    backalley.register_agent("mine", Search)
    backalley.register_agent("mine", type("Search", (), dict(vars(Search))))  # the same, defined again
    for prefix in ("mine", "bot", "policy"):
        with pytest.raises(ValueError, match=f"There are agents named '{prefix}' already"):
            backalley.register_agent(prefix, lambda: None)
    for wrong in ("", "a:b", "a+b", "96", "a.b", 5):
        with pytest.raises(ValueError, match="The prefix is"):
            backalley.register_agent(wrong, Search)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="The factory of other is 5"):
        backalley.register_agent("other", 5)  # type: ignore[arg-type]


def test_a_prefix_plays_in_evaluate_and_from_the_command_line() -> None:
    backalley.register_agent("mine", Search)
    report = backalley.evaluate(GAME, ["mine:96", "mine:12"], deals=4)
    assert [one.name for one in report.agents] == ["Search:96", "Search:12"]
    done = CliRunner().invoke(main, ["evaluate", "backalley.examples.kuhn", "mine:96", "random", "--deals", "4"])
    assert done.exit_code == 0, done.output
    assert "Search:96" in done.output


def test_a_file_is_named_with_a_budget(tmp_path: Path) -> None:
    (tmp_path / "own_file.py").write_text(OWN)
    assert backalley.agent(f"{tmp_path}/own_file.py:Search:96", GAME).name == "mine:96"
    with pytest.raises(ValueError, match=r"own_file\.py:Search:x:y' cannot be read; its name has the form"):
        backalley.agent(f"{tmp_path}/own_file.py:Search:x:y", GAME)


def test_another_process_knows_a_prefix_once_it_has_imported_its_module(tmp_path: Path) -> None:
    """`module:Class` needs no import of one's own, and an agent that was made goes over as an object."""
    (tmp_path / "own_agents.py").write_text(OWN)
    asks = (
        "import backalley\ntry: print(backalley.agent('{}', 'backhand').name)\nexcept ValueError as error: print(error)"
    )

    def answer(before: str, spec: str) -> str:
        words = [sys.executable, "-c", f"{before}{asks.format(spec)}"]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert answer("", "mine:96").startswith("There is no agent 'mine:96'")
    assert answer("import own_agents\n", "mine:96") == "mine:96\n"
    assert answer("", "own_agents:Search:96") == "mine:96\n"
    backalley.register_agent("mine", Search)
    again = pickle.loads(pickle.dumps(backalley.agent("mine:96", GAME)))
    assert (again.name, again.player.made[1]) == ("Search:96", 96)
