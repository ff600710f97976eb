"""The documentation as a site: without a warning, whole, in pages of a few screens, answers near the start."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backalley
from tests import ROOT
from tests.common.serving import browser

for extra in ("sphinx", "myst_nb", "sphinx_design", "pydata_sphinx_theme"):
    pytest.importorskip(extra, reason="the extra docs is not installed")
pytestmark = pytest.mark.slow

TALLEST = 8000
"""Pixels of a page, 1280 wide, as it opens: ten screens."""
QUESTIONS = {
    "what is Pitch's `low` option": (["Pitch", "§2 Options"], "Low is for whoever captures it"),
    "how strong is the Bezique policy": (["How strong: the leaderboard"], "policy:standard"),
    "make 4,096 tables": (["Thousands of tables"], "num_envs=4096"),
    "play in a browser": (["Play in a browser"], "backalley serve"),
    "export to C": (["C, WebAssembly, JAX"], "--target"),
    "save a position": (["Save, copy and walk positions"], "batch.save(rows)"),
    "attack a policy": (["attack"], "backalley attack"),
    "add a game": (["Add a game"], "backalley new-game"),
    "seat a language model": (["Language models at the table"], "backalley.llm"),
    "install without torch": (["Install"], "no torch"),
}
"""What somebody may ask, the links that they click from the start page on, and what they then read."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[Any]:
    with browser() as chromium:
        found = chromium.new_context(viewport={"width": 1280, "height": 800}).new_page()
        found.set_default_timeout(10_000)
        yield found


def test_no_page_is_tall(site: Path, page: Any) -> None:
    tall = {}
    for file in (file for top in ("docs", "envs", ".") for file in sorted((site / top).rglob("*.html"))):
        if file == site / "index.html" or {"_static", "_modules"} & {*file.relative_to(site).parts}:
            continue  # what leads on, and source code
        page.goto(file.as_uri())
        tall[str(file.relative_to(site))] = page.evaluate("document.documentElement.scrollHeight")
    assert len(tall) > 80
    assert {name: height for name, height in tall.items() if height > TALLEST} == {}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_two_clicks_from_the_start(question: str, site: Path, page: Any) -> None:
    links, answer = QUESTIONS[question]
    assert len(links) <= 2
    page.goto((site / "docs" / "index.html").as_uri())
    for link in links:
        with page.expect_navigation():
            page.locator("article a, .bd-sidebar-secondary a").get_by_text(link, exact=True).first.click()
    page.wait_for_function("words => document.querySelector('article').innerText.includes(words)", arg=answer)


def test_the_bar_of_a_game_leads_to_all_games(site: Path) -> None:
    bar = (site / "envs/pitch/README.html").read_text("utf-8").partition('class="bd-main"')[0]
    for name in backalley.game_names():
        assert name == "pitch" or f'href="../{name}/README.html"' in bar, name


def test_every_public_name_is_described(site: Path) -> None:
    pages = "".join(file.read_text("utf-8") for file in (site / "docs" / "api").glob("*.html"))
    described = set(re.findall(r'<dt class="sig[^>]* id="backalley\.(?:[\w.]*\.)?(\w+)"', pages))
    assert {*backalley.__all__, "Phase", "View"} - described - {"__version__"} == set()
