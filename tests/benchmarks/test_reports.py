"""Reports as people take them: the same text everywhere, HTML in notebooks, data frames where pandas is there."""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from IPython.lib.pretty import pretty

from backalley.agents.base.agent import Agent, View
from backalley.agents.base.rule_based import RandomAgent
from backalley.benchmarks.exact.agent_values import AgentValues, Worth
from backalley.benchmarks.exact.equilibrium import find_equilibrium
from backalley.benchmarks.exact.exact import Solution
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.figures import formatting, results
from backalley.benchmarks.figures.formatting import Tabular
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.tournament import tournament
from backalley.benchmarks.speed.speed import Speeds
from backalley.examples import kuhn

KUHN = kuhn.GAME.bind()
STAMP = {"machine": {"processor": "a <fast> one", "python": "3", "numba": "1"}}
ABOUT = {**of_game(KUHN), "stamp": STAMP}


def speeds() -> Speeds:
    pace = {"median": 3_000_000, "low": 2_900_000, "high": 3_100_000}
    game = {
        "game": "kuhn-v0",
        "batch": [{"tables": 4096, "threads": 1, **pace}],
        "floor": 3_000_000,
        "aec": pace,
        "rollouts": pace,
        "seconds_to_first_step": {"cold": {"first_step": 9.0}, "warm": {"first_step": 1.0}},
    }
    return Speeds([game], 1, 0.0, STAMP)


REPORTS = {
    "evaluation": lambda: evaluate(KUHN, ["random", "random"], deals=50),
    "tournament": lambda: tournament(KUHN, ["random", "random"], deals=50),
    "solution": lambda: Solution(0.5, -0.25, 9, 1, 0.1, **ABOUT),
    "agent values": lambda: AgentValues(0.5, -0.25, 0.0, [Worth("<best>", 0.25, 1e-4, 2.0, 9, 0.1)], **ABOUT),
    "exploitability": lambda: exploitability(KUHN, [RandomAgent()]),
    "equilibrium": lambda: find_equilibrium(KUHN),
    "speed": speeds,
}
EACH = pytest.mark.parametrize("report", [pytest.param(make, id=name) for name, make in REPORTS.items()])


@EACH
def test_text_is_text_in_a_notebook_too(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Tabular = report()
    plain = made.table()
    shell = type("ZMQInteractiveShell", (), {})()  # what rich looks for
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    shown = made.table()
    assert shown == plain
    cells = [cell for row in made.figures().rows for cell in row]
    assert cells
    assert all(cell in shown for cell in cells)


@EACH
def test_notebooks_are_shown_a_table(report: Any) -> None:
    made: Tabular = report()
    shown = made._repr_html_()
    rows = made.figures().rows
    assert shown.count("<tr>") == len(rows) + 1
    assert shown.count("<td ") == sum(map(len, rows))
    assert "<fast>" not in shown
    assert pretty(made) == made.table()  # what stands beside it in the notebook's file


class Frame:
    """Stands for pandas.DataFrame."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    from_records = classmethod(lambda cls, rows: cls(rows))


@EACH
def test_data_frames_where_pandas_is_there(report: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=Frame))
    rows = report().to_dataframe().rows
    assert rows
    assert all(row.keys() == rows[0].keys() and row["game"] == "kuhn-v0" for row in rows)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="needs pandas, which is not installed: pip install pandas"):
        report().to_dataframe()


def test_what_a_data_frame_holds() -> None:
    report = evaluate(KUHN, ["random", "random"], deals=50)
    assert [row["mean_return"] for row in report.records()] == [one.mean_return.mean for one in report.agents]
    assert [row["win_share_high"] for row in report.records()] == [one.win_share.high for one in report.agents]
    pandas = pytest.importorskip("pandas")
    assert isinstance(report.to_dataframe(), pandas.DataFrame)


def test_tables_are_aligned() -> None:
    assert formatting.text(["name", "n"], [["a", "10"], ["long", "2"]]) == "name   n\na     10\nlong   2"


class Passer(Agent):
    """A user's agent: the first legal action, always."""

    name = "passer"
    note = "It passes."

    def act(self, view: View) -> npt.NDArray[np.int64]:
        return view.action_mask.argmax(1).astype(np.int64)


def test_games_and_agents_are_given_in_any_form(tmp_path: Path) -> None:
    by_name = evaluate("backhand", ["random", "bot:counter"], deals=20)
    again = evaluate(
        importlib.import_module("backalley.envs.backhand.game").GAME, [RandomAgent(), "bot:counter"], deals=20
    )
    assert [one.mean_return for one in by_name.agents] == [one.mean_return for one in again.agents]
    assert [one.name for one in by_name.agents] == ["random", "bot:counter"]
    with pytest.raises(ValueError, match="agents is 'bot'; give a list of agents"):
        evaluate("backhand", "bot")
    with pytest.raises(ValueError, match="bluffer"):
        evaluate(KUHN, ["random", "bluffer"])


@pytest.mark.parametrize("play", [evaluate, tournament], ids=["evaluate", "tournament"])
def test_a_note_on_an_agent_stands_in_the_report(play: Any) -> None:
    assert "passer: It passes." in play(KUHN, [Passer(), "random"], deals=20).table()


def test_the_digest_of_the_sources_is_that_of_what_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "dice"
    folder.mkdir()
    for name, text in (("__init__", ""), ("game", "from . import rules\n"), ("rules", "SIX = 6\n"), ("tune", "")):
        (folder / f"{name}.py").write_text(text)
    module = types.SimpleNamespace(__file__=str(folder / "game.py"))
    monkeypatch.setitem(sys.modules, "dice.game", module)

    def digest() -> str:
        results.sources.cache_clear()
        return results.sources(str(Path(formatting.__file__)), "dice.game")

    first = digest()
    (folder / "tune.py").write_text("# imported by nobody\n")
    assert digest() == first
    (folder / "rules.py").write_text("SIX = 7\n")
    assert digest() != first
