"""The site without a server: its pages in a browser, and its games decision by decision beside Python's."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import Agent, answer
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.site.building import build
from backalley.site.javascript import Script
from backalley.web.table import Chair, Table
from tests import ROOT
from tests.common.serving import browser

from .test_web_browser import HINTED, OVER, PHONE, WIDE, by_keyboard, by_mouse, take_turns

GAMES = {"bezique": 60, "killer_bridge": 12, "pitch": 40, "poker_duel": 60, "twenty_one": 60}
SHORT, DRAWN = 200, 3
"""How many are played of the long games, and of each of the others: 1,032 in all; of how many pictures and words are
compared, too."""
NODE = shutil.which("node")


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name != "missouri_city")) for name in game_names()],
)
def game(request: pytest.FixtureRequest) -> Game:
    """The one game of a site: to export all would take minutes of one process."""
    return game_of(request.param)


@pytest.fixture(scope="module")
def site(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"), [game.name]).folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html?pace=0"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@contextlib.contextmanager
def page_at(chromium: Any, address: str, size: dict[str, int], scheme: str = "light") -> Iterator[Any]:
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page, faults = context.new_page(), list[str]()
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(address)
    yield page
    assert faults == []
    context.close()


# Python's functions in JavaScript -------------------------------------------------------------------------------------


def in_python(numbers: list[float], words: str, held: int) -> list[Any]:
    """What differs most between the languages, each in a line of its own."""
    first, *others = numbers
    kinds = {word: len(word) for word in words.split()}
    kinds |= {"last": held.bit_length()}
    found = [f"{one:.2f}|{one:>+9.1f}|{round(one)}" for one in numbers]
    found += [f"{words:>20}|{words[-3:]!r}|{'s' * (len(others) != 1)}|{words.capitalize()}"]
    found += [str(held >> 3 & 255), str(-7 // 2), str(-7 % 5), str(1 << 60 | held), str(held & ~5)]
    found += [one for one, count in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])) if count > 2]
    found += [
        str(kinds and "some"),
        str(max(others, key=lambda one: -one)),
        str(1 < first < 100),
        str((found and 0) == 0),
    ]
    found[1:3] = [found[2] + found[1]]
    return [
        found,
        [twice for one in others if (twice := one * 2) != first],
        sum(others),
        {1, 2} == {2, 1},
        kinds["last"],
    ]


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_a_function_is_the_same_in_javascript() -> None:
    given = [0.125, 2.5, -3.5, 1.005, 1e-9, -0.001, 0.375], "the Queen of Spades", (1 << 54) + 1234567
    script = Script()
    name = script.value(in_python)
    runtime = (ROOT / "src/backalley/site/runtime.js").read_text("utf-8")
    shown = f"console.log(JSON.stringify({name}({json.dumps(given[0])}, {json.dumps(given[1])}, {given[2]}n)))"
    ran = subprocess.run(
        [str(NODE), "-"], input="\n".join([runtime, *script.lines, shown]), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == in_python(*given)


def test_what_is_not_translated_is_refused_by_name() -> None:
    def tries() -> None:
        try:
            print()
        finally:
            pass

    with pytest.raises(InvalidValue, match=r"tries has Try, which is not translated"):
        Script().value(tries)


def test_a_page_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InvalidValue, match="holds a page already"):
        build(tmp_path, ["backhand"])
    assert (tmp_path / "index.html").read_text() == "mine"


# Decision by decision -------------------------------------------------------------------------------------------------


LARGE = ("killer_bridge",)
"""Games whose policy is too large for a page."""


def offers_policy(folder: Path, name: str) -> bool:
    """Whether the page of a game offers its policy as a player."""
    return '{"name": "policy", "function"' in (folder / "games" / f"{name}.js").read_text("utf-8")


def compare(folder: Path, game: Game, seeds: range, drawn: int) -> None:
    """Play by the site's files, and hold every state, mask, choice, picture, word and line of the log to Python's."""
    learned = ["policy"] * offers_policy(folder, game.name)
    players = [*learned, "bot", *(f"bot:{name}" for name in list(game.bots)[:-1]), "random"]
    sat = [[players[(seed + seat) % len(players)] for seat in range(game.num_seats)] for seed in seeds]
    tables = [
        json.dumps({"stream": str(rng.stream_of(seed)), "agents": who, "looks": 40 if seed < drawn else 0})
        for seed, who in zip(seeds, sat, strict=True)
    ]
    command = [str(NODE), str(Path(__file__).with_name("play_site.mjs")), str(folder), game.name]
    ran = subprocess.run(command, input="\n".join(tables), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    made: dict[str, Agent] = {name: agent(name, game) for name in players}
    for seed, who, line in zip(seeds, sat, ran.stdout.splitlines(), strict=True):
        found, table = json.loads(line), Table("", game, {"seed": seed}, [Chair() for _ in who], "")
        for seat, action, digest in found["decisions"]:
            now, mask = table.frames[-1].state, np.zeros(game.num_actions, np.int8)
            mask[now.legal_actions()] = 1
            assert (seat, digest) == (now.seat, sha256(now.record().tobytes() + mask.tobytes()).hexdigest()[:16])
            assert action == answer(made[who[seat]], table.question())[0]
            table.play(action)
        assert table.over
        assert found["returns"] == list(table.frames[-1].returns)
        assert found["ending"] == table.ending(0)
        assert found["frames"] == [table.frames_of(seat) for seat in range(game.num_seats)]
        for at, seat, theme, width, seen in found["seen"]:
            assert seen == json.loads(json.dumps(table.seen(at, seat, theme, width)))


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.sampled
def test_a_thousand_games_are_pythons(site: Path, game: Game) -> None:
    compare(site, game, range(GAMES.get(game.name, SHORT)), DRAWN)


# In a browser ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.sampled
def test_a_whole_game_without_a_server(chromium: Any, address: str, game: Game) -> None:
    number, large = game_names().index(game.name), game.name in LARGE
    with page_at(chromium, address, PHONE if number % 3 else WIDE, "dark" if number % 2 else "light") as page:
        page.get_by_role("button", name=game.title).first.click()
        page.wait_for_selector("form select")
        chairs = page.locator("form select")
        assert ("policy" in chairs.last.locator("option").evaluate_all("all => all.map((one) => one.value)")) != large
        assert ("Trained: has learned" in chairs.last.inner_text()) != large
        assert ("Its trained player is too large" in page.locator("form").inner_text()) == large
        page.locator("form button.main").click()
        page.wait_for_selector(".picture svg")
        if game.num_seats > 1:
            look = (
                f"ask('/api/tables/{page.url.rpartition('=')[2]}?seat=1&theme=light&width=960').then((one) => one.seat)"
            )
            assert page.evaluate(look) == 0, "others' cards are not shown before the end"
        assert take_turns(page, by_keyboard if number % 2 else by_mouse) > 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".turn").inner_text().endswith(".")
        page.reload()  # tables are kept in the browser
        page.wait_for_selector(OVER)
        page.get_by_role("button", name="Again").click()
        page.wait_for_selector(".turn:not(.over):not(:empty)")


@pytest.mark.slow
@pytest.mark.parametrize("game", ["pitch"], indirect=True)
def test_seats_hints_and_tables_that_are_kept(chromium: Any, address: str) -> None:
    with page_at(chromium, f"{address}#new=pitch", WIDE) as page:
        page.locator("form select").nth(2).select_option("me")
        page.locator("form select").nth(1).select_option("random")
        page.locator("form button.main").click()
        page.wait_for_selector("text=Your turn: ")
        assert "you" in page.locator(".seats li").nth(2).inner_text()
        page.keyboard.press("h")
        page.wait_for_selector(HINTED)
        by_mouse(page, 0)
        page.keyboard.press("u")
        page.goto(address)
        assert [row.inner_text() for row in page.locator(".lines li a").all()] == ["Pitch"]
        assert page.get_by_text("Choose a file").count() == 0
        page.get_by_role("button", name="Delete").click()
        page.wait_for_selector(".lines li", state="detached")


@pytest.mark.slow
@pytest.mark.parametrize("game", ["missouri_city"], indirect=True)
def test_a_file_opens_without_a_web_host(chromium: Any, site: Path) -> None:
    with page_at(chromium, f"{(site / 'index.html').as_uri()}?pace=0#new=missouri_city", WIDE) as page:
        page.locator("form button.main").click()
        assert take_turns(page, by_mouse) > 0


@pytest.mark.sampled
def test_it_is_small(site: Path, game: Game) -> None:
    sizes = {file.name: file.stat().st_size for file in site.rglob("*") if file.is_file()}
    assert all(size < 1_000_000 for size in sizes.values())
    assert offers_policy(site, game.name) == (game.name not in LARGE)
