"""A browser plays a whole game of each of the nine, by mouse or by keyboard, at the width of a desk or of a phone."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.benchmarks.publish import html_report, sources
from backalley.envs.core.files import playthrough
from backalley.envs.core.game.catalogue import game as game_of
from tests import ROOT
from tests.common.serving import Served, browser

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")
pytestmark = pytest.mark.slow

SHORT: dict[str, dict[str, str]] = {
    "baccarat": {"num_coups": "3"},
    "backhand": {},
    "bezique": {},
    "buffalo_bayou": {},
    "killer_bridge": {"length": "single", "hand_size": "3"},
    "missouri_city": {},
    "pitch": {"mode": "hand"},
    "poker_duel": {"num_games": "1"},
    "twenty_one": {"preset": "small"},
}
"""Options with which a game is short."""
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
TURN = ".picture svg:not([data-done]) [role=button]"
READY = "form, .games, .turn:not(:empty), .report, [data-replay]"
AXE = importlib.util.find_spec("axe_playwright_python") is not None
SMALL = """[...document.querySelectorAll("a, button, select, input, summary")].filter((one) => {
  const { width, height } = one.getBoundingClientRect();
  return one.checkVisibility() && !one.matches(".file input") && (height < 44 || width < 44);
}).map((one) => one.outerHTML)"""
OVER, ENDED, MINE = ".turn.over", ".end button", ".turn:has-text('Your turn')"
HINTED = "text=/The computer would choose|The only choice is/"
"""What a hint says, by whether there is a choice: deals are random here."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("tables"), "--hint", "search:4", compiles=False)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages are kept: BACKALLEY_SCREENSHOTS, or with what else tests write."""
    folder = Path(os.environ.get("BACKALLEY_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def serious(page: Any) -> list[str]:
    """What axe finds on a page that shuts people out, where it is installed."""
    if not AXE:
        return []
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]


def look_at(page: Any, pictures: Path, name: str) -> None:
    """At both sizes and in both schemes: nothing shuts people out, nothing is wider than the page, and what is touched
    is large enough for a finger."""
    before = page.viewport_size
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.reload()
            page.wait_for_selector(READY)
            page.screenshot(path=pictures / f"{name}_{size['width']}_{scheme}.png", full_page=True)
            assert serious(page) == [], (name, size, scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, size)
            if size == PHONE and page.locator("#main").count():
                assert page.evaluate(SMALL) == [], name
    page.set_viewport_size(before)
    page.reload()
    page.wait_for_selector(READY)


def dealt(chromium: Any, served: Served, game: str, size: dict[str, int], scheme: str) -> Any:
    """A page with a new game, dealt by its form."""
    page = chromium.new_context(viewport=size, color_scheme=scheme).new_page()
    page.set_default_timeout(60_000)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
    page.goto(served.address)
    page.get_by_role("button", name=game_of(game).title).first.click()
    page.wait_for_selector("form")
    for name, value in SHORT[game].items():
        page.evaluate("document.querySelector('form').setAttribute('data-old', '')")
        field = page.locator(f"form [name={name}]")
        if not field.is_visible():
            page.locator("form details", has=page.locator(f"[name={name}]")).locator("summary").click()
        field.fill(value) if field.evaluate("one => one.tagName") == "INPUT" else field.select_option(value)
        field.blur()
        page.wait_for_selector("form:not([data-old])")
    for seat in range(1, page.locator("form select[name^=seat]").count()):
        page.locator("form select[name^=seat]").nth(seat).select_option("random")
    page.locator("form button.main").click()
    page.wait_for_selector(".picture svg")
    return page


def take_turns(page: Any, choose: Any) -> int:
    """Play until the game is over; return the number of turns."""
    turns = 0
    while True:
        page.wait_for_selector(f"{OVER}, {TURN}, {ENDED}")
        if page.locator(OVER).count():
            return turns
        if page.locator(ENDED).count():
            page.locator(ENDED).click()
            page.wait_for_selector(ENDED, state="detached")
            continue
        page.evaluate("document.querySelector('.picture svg').setAttribute('data-done', '')")
        choose(page, turns)
        turns += 1


def by_mouse(page: Any, turn: int) -> None:
    """Cards lie over each other: what shows of each is its upper left corner."""
    buttons = page.locator(".picture [role=button]")
    buttons.nth(turn % buttons.count()).click(position={"x": 6, "y": 9})


def by_keyboard(page: Any, turn: int) -> None:
    if turn % 2:
        page.keyboard.press("1")
    else:
        page.keyboard.press("ArrowRight")
        named = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert named not in (None, "", "null")
        page.keyboard.press("Enter")


@pytest.mark.parametrize("game", SHORT)
@pytest.mark.sampled
def test_a_whole_game(chromium: Any, served: Served, pictures: Path, game: str) -> None:
    number = list(SHORT).index(game)
    page = dealt(chromium, served, game, PHONE if number % 3 else WIDE, "dark" if number % 2 else "light")
    page.wait_for_selector(f"{OVER}, {TURN}, {ENDED}")
    look_at(page, pictures, f"{game}_begins")
    turns = take_turns(page, by_keyboard if number % 2 else by_mouse)
    assert turns > 0
    look_at(page, pictures, f"{game}_ends")
    assert page.get_by_role("button", name="Values").count() == 0, "there is nothing to value at the end"
    if game in ("backhand", "missouri_city"):  # as Python, others' rollouts take minutes
        page.get_by_role("button", name="Review").click()
        page.wait_for_selector("text=/You had \\d+ choices/", timeout=60_000)
        look_at(page, pictures, f"{game}_reviewed")
    page.get_by_role("button", name="One back").click()
    page.wait_for_selector("text=To the end")
    page.select_option("select[aria-label='Seen from']", "all")
    page.wait_for_selector("text=all cards are shown", state="attached")
    page.get_by_role("button", name="Values").click()
    page.wait_for_selector(".values tr")
    assert page.locator(".values tr", has_text="(played)").count() == 1
    assert page.faults == []
    page.context.close()


def test_what_axe_is_asked_for_it_finds(chromium: Any) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    page = chromium.new_page()
    page.set_content("<html lang=en><title>A page</title><button></button>")
    assert [one.partition(":")[0] for one in serious(page)] == ["button-name"]
    page.close()


def test_pages_without_a_table(chromium: Any, served: Served, pictures: Path, tmp_path: Path) -> None:
    """The start page, a form with all that is in it, a replay, whose keys need no focus, and a report."""
    page = dealt(chromium, served, "backhand", WIDE, "light")
    page.goto(f"{served.address}/#")
    look_at(page, pictures, "start")
    page.goto(f"{served.address}/#new=killer_bridge")
    look_at(page, pictures, "form")
    page.wait_for_selector("form")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert serious(page) == []
    recorded, shown = tmp_path / "game.json", tmp_path / "replay.html"
    playthrough.save(recorded, playthrough.record(game_of("backhand").bind(), 3))
    shown.write_text(backalley.replay(recorded).html(), "utf-8")
    page.goto(shown.as_uri())
    look_at(page, pictures, "replay")
    page.keyboard.press("ArrowRight")
    assert page.locator("output").inner_text().startswith("1. ")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert page.locator("input").input_value() == str(len(backalley.replay(recorded).pictures) - 2)
    for theme in ("light", "dark"):
        found = sources.sources(ROOT / "benchmarks" / "results" / "bots_backhand.json", "bots")
        shown.write_text(html_report.page(found, theme=theme), "utf-8")
        page.goto(shown.as_uri())
        assert serious(page) == [], theme
    page.context.close()


def test_a_click_while_the_server_is_down_says_so(chromium: Any, tmp_path: Path) -> None:
    server = Served(tmp_path, compiles=False)
    page = dealt(chromium, server, "missouri_city", PHONE, "light")
    page.wait_for_selector(f"{OVER}, {TURN}, {ENDED}")
    focus = page.evaluate("document.activeElement.getAttribute('role')")
    assert focus == "button" or page.locator(OVER).count(), "the first choice is at hand after the deal"
    server.kill()
    page.get_by_role("button", name="Hint").click()
    page.wait_for_selector("#trouble:has-text('does not answer')")
    page.context.close()


def test_the_start_page_leads_back_to_every_table_and_to_open_chairs(chromium: Any, served: Served) -> None:
    """Every row says what it is, and every link and button does what it says; five clicks on Deal give one table."""
    page = dealt(chromium, served, "backhand", WIDE, "light")
    table = page.url
    page.goto(f"{served.address}/#new=pitch")
    page.locator("form select").nth(2).select_option("open")
    page.locator("form button.main").click(click_count=5, delay=1)
    page.wait_for_selector(".picture svg")
    page.goto(served.address)
    rows = page.locator(".lines li")
    assert rows.first.wait_for() is None
    assert [row.locator("a").inner_text() for row in rows.all()] == ["Pitch", "Backhand"]
    assert [row.locator("button").inner_text() for row in rows.all()] == ["Delete", "Delete"]
    other = chromium.new_context(viewport=PHONE).new_page()
    other.goto(served.address)
    other.get_by_role("link", name="Sit down: Pitch").click()
    other.wait_for_selector(".picture svg")
    rows.nth(1).locator("a").click()
    page.wait_for_selector(".picture svg")
    assert page.url == table
    page.go_back()
    rows.nth(1).get_by_role("button", name="Delete").click()
    page.wait_for_selector(".lines li:nth-child(2)", state="detached")
    assert [row.locator("a").inner_text() for row in rows.all()] == ["Pitch"]
    titles = [game_of(name).title for name in SHORT]
    assert sorted(one.inner_text().split("\n")[0] for one in page.locator(".games button").all()) == sorted(titles)
    page.get_by_text("Choose a file").wait_for()
    page.context.close()
    other.context.close()


def test_an_end_and_another_game(chromium: Any, served: Served) -> None:
    """How it ended, in words; "Again" deals the same game to the same people; rules lie open at what is asked."""
    page = dealt(chromium, served, "pitch", WIDE, "light")
    assert page.get_by_role("button", name="Take back").is_disabled()
    page.wait_for_selector(f"{TURN} >> nth=0")
    plays = str(page.locator(TURN).first.get_attribute("aria-label")).startswith("play")  # others may end the auction
    page.wait_for_selector(".rules details[open]")
    assert page.locator(".rules details[open] summary").inner_text() == ("§1.3 Play" if plays else "§1.2 Bidding")
    take_turns(page, by_mouse)
    assert re.match(r"You (won|lost), -?\d+ to -?\d+\.|It is a draw", page.locator(".turn").inner_text())
    assert page.locator(".events li", has_text="the trick is taken by").count() == 6
    assert page.locator(".events .card").count() >= 24
    before = page.url
    page.get_by_role("button", name="Again").click()
    page.wait_for_selector(".turn:not(.over):not(:empty)")
    assert page.url != before
    assert page.faults == []
    page.context.close()


def test_two_people_at_one_table_and_who_comes_late(chromium: Any, served: Served, tmp_path: Path) -> None:
    """By link; with hints, and an action taken back after both agree."""
    first = dealt(chromium, served, "backhand", WIDE, "light")  # makes a session
    first.goto(f"{served.address}/#new=missouri_city")
    first.locator("form select").nth(1).select_option("link")
    first.locator("form button.main").click()
    link = first.locator(".seats input").input_value()
    second, third = (chromium.new_context(viewport=PHONE).new_page() for _ in range(2))
    second.goto(link)
    second.wait_for_selector(".picture svg")
    third.goto(link)
    third.wait_for_selector("text=Somebody sits in this chair already")
    now, other = (first, second) if first.locator(MINE).count() else (second, first)
    now.keyboard.press("h")
    now.wait_for_selector(HINTED)
    by_mouse(now, 0)
    now.wait_for_selector(MINE, state="detached")
    now.keyboard.press("u")
    other.get_by_role("button", name="Agree").click()
    now.wait_for_selector(MINE)
    for page in (first, second, third):
        page.context.close()
