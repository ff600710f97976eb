"""The pages and docstrings: cited paragraphs exist, and the examples run as printed. (Tables: see `test_claims.py`.)"""

from __future__ import annotations

import doctest
import importlib
import re
import sys
import types
import warnings
from pathlib import Path

import pytest

import backalley
from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.cases import GAMES, option_sets

PAGES = ("README.md", "CONTRIBUTING.md", "agents/README.md", "training/README.md", "benchmarks/README.md")
BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@BY_NAME
def test_a_games_page_has_its_tables_and_cites_real_paragraphs(game: Game) -> None:
    page = (game.type.folder / "README.md").read_text("utf-8")
    for kind in ("options", "actions", "observation", "bots"):
        assert f"<!-- generated: {kind} -->" in page
    headings = set(re.findall(r"^#+ .*?(§[\d.]+\d|§\d)", page, re.MULTILINE))
    cited = set()
    for path in [*game.type.folder.glob("*.py"), *game.type.folder.glob("*.toml")]:
        cited |= set(re.findall(r"§\d+(?:\.\d+)*", path.read_text("utf-8")))
    assert cited, "the code cites no paragraph"
    assert cited <= headings, f"the code cites {sorted(cited - headings)}, which the page does not have"


@pytest.mark.parametrize("game", [one for one in GAMES if "." not in one.spec], ids=lambda game: game.name)
def test_every_game_can_be_played_to_the_letter(game: Game) -> None:
    """`preset="letter"` holds nothing that the defaults are already; the page tells of each of its options beside the
    tables, and the generic tests play it."""
    given = dict(game.type.presets["letter"].options)
    letter = game.type.bind(preset="letter")
    assert letter == game.type.bind(given)
    assert set(letter.changed_options) == set(given)
    assert letter in [game.type.bind(one) for one in option_sets(game)]
    page = (game.type.folder / "README.md").read_text("utf-8")
    assert "<!-- generated: presets -->" in page
    prose = re.sub(r"<!-- generated: .*?<!-- /generated -->", "", page, flags=re.DOTALL)
    assert 'preset="letter"' in prose
    assert [name for name in given if f"`{name}" not in prose] == []


FIRST = (ROOT / "README.md", ROOT / "docs" / "first_steps.md")


def test_the_top_page_fits_a_few_screens() -> None:
    assert len(FIRST[0].read_text("utf-8").splitlines()) <= 120


EXAMPLE = re.compile(r"(?:<!-- needs: ([\w.]+) -->\n)?```python\n(.*?)```", re.DOTALL)
"""An example, and the library that it needs beside ours, if any: where that is not installed, it is not run."""


def blocks() -> list[object]:
    found: list[object] = []
    pages = [ROOT / name for name in PAGES if (ROOT / name).is_file()] + sorted((ROOT / "docs").rglob("*.md"))
    pages += [game.type.folder / "README.md" for game in GAMES if game.type.folder.is_relative_to(ROOT)]
    for page in pages:
        for number, (needs, block) in enumerate(EXAMPLE.findall(page.read_text("utf-8"))):
            slow = [pytest.mark.slow] if page not in FIRST else []  # others train, and compile option sets
            found.append(pytest.param(block, needs, id=f"{page.relative_to(ROOT)}-{number}", marks=slow))
    return found


@pytest.mark.parametrize(("block", "needs"), blocks())
def test_python_examples_of_the_pages_run(
    block: str, needs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if needs:
        pytest.importorskip(needs, reason=f"The example needs {needs}, which is not installed.", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        if needs:
            warnings.simplefilter("default")  # the library's own
        module = types.ModuleType("example")
        monkeypatch.setitem(sys.modules, "example", module)  # where classes of the example look for their types
        exec(compile(block, "README", "exec", dont_inherit=True), vars(module))


# Docstrings -----------------------------------------------------------------------------------------------------------


FOLDERS = ("envs", "agents", "benchmarks", "training")


def modules() -> list[str]:
    """The modules that have examples."""
    files = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    there = (file for file in files if ">>> " in file.read_text("utf-8"))
    return [
        "backalley",
        "backalley.testing",
        *(".".join(["backalley", *file.relative_to(ROOT).with_suffix("").parts]) for file in there),
    ]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_give_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert not found.failed, "see the output above"


def test_what_one_begins_with_has_an_example() -> None:
    for name in ("agent", "analyse", "evaluate", "load_policy", "make", "make_vec", "tournament"):
        assert ">>> " in (getattr(backalley, name).__doc__ or ""), name
