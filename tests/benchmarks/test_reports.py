"""Reports as people take them: the same text everywhere, HTML in notebooks, data frames where pandas is there."""

from __future__ import annotations

import base64
import builtins
import importlib
import json
import re
import sys
import types
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from IPython.lib.pretty import pretty

from backalley.agents.base.agent import Agent, View
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.policy_file import EVALUATION_FILE, RUN_FILE
from backalley.benchmarks.exact.agent_values import AgentValues, Worth
from backalley.benchmarks.exact.equilibrium import find_equilibrium
from backalley.benchmarks.exact.exact import Solution
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.figures import formatting, result_kinds, results
from backalley.benchmarks.figures.formatting import Tabular
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.tournament import tournament
from backalley.benchmarks.publish import html_report, sources
from backalley.benchmarks.speed.speed import Speeds
from backalley.benchmarks.studies.pages import docs
from backalley.examples import kuhn
from tests.benchmarks.test_charts import curve_file
from tests.common.commands import run
from tests.common.drawn import SVG

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


# On one page that needs nothing beside it -----------------------------------------------------------------------------

EMPTY = {"meta", "img", "br"}


class Page(HTMLParser):
    """Reads a page strictly: every element that is opened is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def pictures(self) -> dict[str, ET.Element]:
        """The pictures of the page, by what is said of them."""
        images = [attributes for tag, attributes in self.tags if tag == "img"]
        assert all(one["src"].startswith("data:image/svg+xml;base64,") for one in images)
        return {one["alt"]: ET.fromstring(base64.b64decode(one["src"].partition(",")[2])) for one in images}


@pytest.fixture(scope="module")
def everything() -> Page:
    """All files of results on one page."""
    return Page(html_report.page(sources.sources(docs.RESULTS, "results"), heading="All <of> it"))


def test_a_page_needs_nothing_beside_it(everything: Page) -> None:
    assert {tag for tag, _ in everything.tags}.isdisjoint({"script", "link", "iframe", "object"})
    for _, attributes in everything.tags:
        assert "src" not in attributes or attributes["src"].startswith("data:")
        assert "href" not in attributes or attributes["href"].startswith("#")
        assert "url(" not in attributes.get("style", "")
    assert "All <of> it" in everything.words


def test_every_link_of_a_page_leads_somewhere(everything: Page) -> None:
    there = {attributes["id"] for _, attributes in everything.tags if "id" in attributes}
    links = {attributes["href"][1:] for tag, attributes in everything.tags if tag == "a"}
    assert links
    assert links == there


def test_every_file_is_on_the_page_with_its_command_and_its_figures(everything: Page) -> None:
    for path in docs.RESULTS.glob("*.json"):
        found = json.loads(path.read_text("utf-8"))
        assert result_kinds.again(found) in everything.words, path.name
    ladder = json.loads((docs.RESULTS / "ladder_pitch.json").read_text("utf-8"))
    shown = result_kinds.figures("ladder", [ladder])
    assert not isinstance(shown, str)
    for row in shown.rows:
        assert all(cell.replace("`", "") in everything.words for cell in row)


def test_every_kind_of_results_has_its_place(everything: Page) -> None:
    there = {json.loads(path.read_text("utf-8"))["kind"] for path in docs.RESULTS.glob("*.json")}
    for kind in there:
        assert result_kinds.KINDS[kind].heading in everything.words


def test_tables_and_charts_are_drawn(everything: Page) -> None:
    pictures = everything.pictures()
    assert all(one.tag == f"{SVG}svg" for one in pictures.values())
    assert {"A table of Pitch", "Pitch: against bot:book", "Poker Duel: search against bot:strong"} <= set(pictures)
    circles = list(pictures["Poker Duel: against bot:strong"].iter(f"{SVG}circle"))
    ladder = json.loads((docs.RESULTS / "ladder_poker_duel.json").read_text("utf-8"))
    rows = [row for row in ladder["tables"][0]["rows"] if "mean_return" in row and row["label"] != "random"]
    assert len(circles) == len(rows)


def evaluation(folder: Path, name: str, **changed: Any) -> Path:
    """A file of results, with some of it changed."""
    found = json.loads((docs.RESULTS / "bots_pitch_book_careful.json").read_text("utf-8"))
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**found, **changed}))
    return path


def test_a_run_is_shown_with_its_curve_and_its_evaluations(tmp_path: Path) -> None:
    place = curve_file(tmp_path)
    (place / RUN_FILE).write_text("{}")
    one = json.loads(evaluation(tmp_path, "x").read_text())
    ended = {"kind": "training", "command": "backalley train pitch --seed 3", "reports": [{**one, "command": ""}] * 2}
    (place / EVALUATION_FILE).write_text(json.dumps(ended))
    out = tmp_path / "r.html"
    done = run("report", place, "--dark", "--title", "A & B", "--out", out)
    assert done.exit_code == 0, done.output
    page = Page(out.read_text("utf-8"))
    assert list(page.pictures()) == [
        "A table of Pitch",
        "Pitch: wins against bot:book, by seconds",
        "Pitch: wins against bot:book, by decisions",
        "Pitch: mean return",
        "Pitch: wins",
    ]
    assert page.words.count("Matches") == 1, "the evaluations of a run share a table"
    assert "backalley train pitch --seed 3" in page.words
    assert "A & B" in page.words


def test_a_tournament_is_shown_under_the_names_of_its_agents(tmp_path: Path) -> None:
    cross = json.loads((docs.RESULTS / "cross_pitch.json").read_text("utf-8"))
    agents = [{"name": f"mine:{one['label']}", "rating": one["rating"]} for one in cross["agents"]]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**cross, "kind": "tournament", "agents": agents}))
    page = Page(html_report.page(sources.sources(path, "x")))
    assert "Pitch: Elo" in page.pictures()
    assert all(page.words.count(one["name"]) >= 2 for one in agents)
    path.write_text(json.dumps({**cross, "kind": "tournament", "agents": [5]}))
    with pytest.raises(ValueError, match=r"x\.json: not what a file of the kind 'tournament' holds"):
        sources.sources(path, "x")


def test_words_of_a_file_are_words_and_no_html(tmp_path: Path) -> None:
    agents = json.loads(evaluation(tmp_path, "x").read_text())["agents"]
    bad = "<script>alert(1)</script>"
    path = evaluation(tmp_path, "x", command=bad, agents=[{**agents[0], "name": bad}, agents[1]])
    page = Page(html_report.page(sources.sources(path, "x")))
    assert "script" not in {tag for tag, _ in page.tags}
    assert page.words.count(bad) == 2


def test_a_file_does_not_say_what_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = evaluation(tmp_path, "x", game="evil-v0")
    assert "evil-v0" in Page(html_report.page(sources.sources(path, "x"))).words
    path = evaluation(tmp_path, "x", game="evil.game-v0")
    assert "evil.game-v0" in Page(html_report.page(sources.sources(path, "x"))).words
    assert "evil" not in sys.modules


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:300])


def _without(*names: str) -> Any:
    def change(path: Path) -> None:
        found = json.loads(path.read_text())
        path.write_text(json.dumps({name: value for name, value in found.items() if name not in names}))

    return change


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_cut, "it is not JSON"),
        (_without("agents"), "not what a file of the kind 'evaluation' holds, KeyError('agents')"),
        (_without("kind"), "is of the kind None; a report shows: against, agent_values, "),
        (lambda path: path.write_text('{"kind": "evaluation", "game": 5}'), "is damaged: its game is 5"),
        (Path.unlink, "There is no"),
    ],
)
def test_a_damaged_file_is_named_and_the_former_page_stays(damage: Any, says: str, tmp_path: Path) -> None:
    path, out = evaluation(tmp_path, "x"), tmp_path / "r.html"
    out.write_text("former")
    damage(path)
    done = run("report", path, "--out", out)
    assert done.exit_code == 2
    assert says in re.sub(r"\s+", " ", done.output)
    assert "x.json" in done.output
    assert out.read_text() == "former"
