"""Claims: every figure of a page comes from a file of results, and what examples print is what they print now."""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from backalley.benchmarks.figures import result_kinds
from backalley.benchmarks.studies.pages import docs
from backalley.cli import main
from tests import ROOT
from tests.common.commands import run


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return docs.pages()


def test_tables_and_figures_are_fresh(pages: dict[Path, str]) -> None:
    stale = [page.parent.name + "/" + page.name for page, text in pages.items() if page.read_text("utf-8") != text]
    assert not stale, "run backalley dev docs"


def test_every_file_of_results_is_on_a_page(pages: dict[Path, str]) -> None:
    wanted = {
        (kind, name)
        for text in pages.values()
        for kind, names in re.findall(r"<!-- results: (\w+) (.*?) -->", text)
        for name in names.split()
    }
    there = {path.stem for path in docs.RESULTS.glob("*.json")}
    assert not [name for name in there if not any(fnmatch(name, pattern) for _, pattern in wanted)]
    lacking = {pattern for _, pattern in wanted if not any(fnmatch(name, pattern) for name in there)}
    assert all("*" in pattern for pattern in lacking), "a page shows what was never measured"


def test_pages_about_all_games_have_no_figure_typed_by_hand(pages: dict[Path, str]) -> None:
    for page, text in pages.items():
        if page.parent.parent.name == "envs" or page.suffix != ".md" or page.parent.parent.name == "policy":
            continue
        typed = re.sub(r"<!-- (\w+)[^>]*? -->.*?<!-- /\1 -->|```.*?```", "", text, flags=re.DOTALL)
        allowed = re.sub(r"95 %|\b3\.1\d\b|version [\d.]+|arXiv [\d.]+", "", typed)  # no figures of ours
        assert not re.findall(r"±|\d+\.\d\d|\d %", allowed), page


def test_files_of_results_say_where_they_come_from() -> None:
    for path in docs.RESULTS.glob("*.json"):
        found = json.loads(path.read_text("utf-8"))
        command = found["command"]
        named = f"benchmarks/results/{path.name}" in command or command.endswith("--json benchmarks/results")
        assert named, path.name
        assert {"version", "commit", "date", "machine"} <= set(found), path.name


PAGE = "A page.\n\n<!-- results: exact exact_toy -->\n<!-- /results -->\n"


def toy(folder: Path, best: float) -> None:
    found = {"command": "backalley solve backhand", "game": "backhand-v0", "positions": 5, "random_return": -0.5}
    (folder / "exact_toy.json").write_text(json.dumps({**found, "best_return": best}))
    docs._load.cache_clear()


def test_another_file_makes_another_page(tmp_path: Path) -> None:
    toy(tmp_path, 0.25)
    made = docs.with_results(PAGE, tmp_path / "README.md", tmp_path)
    assert "| Backhand | best | +0.250000000 | 0.625000000 | 5 |" in made
    assert "```sh\nbackalley solve backhand\n```" in made
    assert docs.with_results(made, tmp_path / "README.md", tmp_path) == made
    toy(tmp_path, 0.5)
    assert "+0.500000000" in docs.with_results(made, tmp_path / "README.md", tmp_path)


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        (
            "<!-- results: weight exact_toy -->",
            "wants results of kind 'weight'; there are: against, alone, analysis, attack, attention, beginnings",
        ),
        ("<!-- results: exact exact_joke -->", "wants exact_joke of .*, where there is no such file"),
        ("<!-- results: exact -->", "has a results mark that is not of the form"),
    ],
)
def test_marks_that_are_not_understood_are_reported_in_sentences(mark: str, sentence: str, tmp_path: Path) -> None:
    toy(tmp_path, 0.25)
    with pytest.raises(ValueError, match=sentence):
        docs.with_results(f"{mark}\n<!-- /results -->\n", tmp_path / "README.md", tmp_path)


def test_what_an_example_prints_is_written_beneath_it() -> None:
    page = "```python\nprint(6 * 7)\n```\n\n<!-- output -->\n```text\n41\n```\n<!-- /output -->\n"
    assert docs.with_outputs(page) == page.replace("41", "42")


@pytest.mark.parametrize("name", ["docs", "types"])
def test_the_check_names_stale_files_and_the_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, gone = tmp_path / "README.md", tmp_path / "gone.py"
    page.write_text("old")
    gone.write_text("old")
    monkeypatch.setattr(docs, "pages", lambda: {page: "new"})
    monkeypatch.setattr(docs.typed, "files", lambda: {page: "new", gone: None})
    found = run("dev", name, "--check")
    assert found.exit_code == 2
    assert f"{page}, {gone}: not fresh; run backalley dev {name}." in found.output
    assert run("dev", name).exit_code == 0
    assert page.read_text() == "new"
    assert not gone.exists()
    assert run("dev", name, "--check").exit_code == 0


@pytest.mark.parametrize("path", sorted(docs.RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_commands_of_results_are_still_understood(path: Path) -> None:
    """What measures a file again: a command of the program whose words it takes."""
    found = json.loads(path.read_text("utf-8"))
    program, *words = shlex.split(result_kinds.again(found))
    if found["kind"] in ("searches", "crowds"):
        assert words[0] == "-m", "measured by what has gone"
        return
    assert program == "backalley"
    command: click.Command = main
    while isinstance(command, click.Group):
        found_command = command.get_command(click.Context(command), words.pop(0))
        assert found_command is not None
        command = found_command
    command.make_context(command.name, words)


@pytest.mark.slow
def test_commands_of_the_first_steps_work_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as a reader would type them, with a little of the time and of the deals."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"<!-- commands -->\n```sh\n(.*?)```", (ROOT / "docs" / "first_steps.md").read_text("utf-8"), re.DOTALL
    )
    commands = "".join(blocks).splitlines()
    assert len(commands) == 10
    for command in commands:
        for much, little in ((60, 2), (120, 4), (300, 4)):
            command = re.sub(rf"--seconds {much}\b", f"--seconds {little}", command)
        program, *words = shlex.split(re.sub(r"--deals \d+", "--deals 20", command))
        assert program == "backalley"
        done = run(*words)
        assert done.exit_code == 0, (command, done.output)
