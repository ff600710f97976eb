"""Games as pictures one after the other: recorded ones and played ones, as a GIF and with a slider."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

import backalley
from backalley.cli import main
from backalley.envs.core.drawing.pictures import pixels
from backalley.envs.core.drawing.render import table_svg
from backalley.envs.core.files import playthrough
from backalley.envs.core.game.catalogue import game

SHORT = game("poker_duel", num_games=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("replays") / "game.json"
    playthrough.save(path, playthrough.record(SHORT, 3))
    return path


def test_a_seat_sees_in_a_replay_what_it_saw(file: Path) -> None:
    """The same pictures as of the tables themselves, and of others' actions what was shown."""
    shown = backalley.replay(file, seat=1)
    pictures = [table_svg(env, 0, 1) for env, *_ in playthrough.positions(file)]
    assert shown.pictures == pictures
    secret = [words for words in shown.words if "seat 0: assigns a card" in words]
    assert secret
    assert not any(re.search("seat 0: (slot|discard)", words) for words in shown.words)
    everything = backalley.replay(file)
    assert any(re.search("seat 0: (slot|discard)", words) for words in everything.words)
    assert "all hands face up" not in secret


def test_face_up_shows_each_hand_and_no_stock(file: Path) -> None:
    """Cards face down are left only in the deck, and where nobody has looked."""
    first = backalley.replay(file, most=1).pictures[0]
    titles = [one.text or "" for one in ET.fromstring(first).iter("{http://www.w3.org/2000/svg}title")]
    env = next(iter(playthrough.positions(file)))[0]
    held = sum(len(cards) for name, cards in SHORT.piles(env.engine.batch.state[0]).items() if name.startswith("seat"))
    assert sum(" of " in title and "decision" not in title for title in titles) == held
    assert any("face down" in title for title in titles)


def test_a_replay_may_begin_later_and_end_earlier(file: Path) -> None:
    whole, part = backalley.replay(file), backalley.replay(file, begin=4, most=3)
    assert part.pictures == whole.pictures[4:7]
    assert part.words == whole.words[4:7]
    assert part.words[0].startswith("4. seat ")
    with pytest.raises(ValueError, match="the first table asked for is that after 900"):
        backalley.replay(file, begin=900)
    with pytest.raises(ValueError, match=r"has seats 0\.\.1"):
        backalley.replay(file, seat=2)
    with pytest.raises(ValueError, match="most is 0"):
        backalley.replay(file, most=0)


def test_a_slider_holds_every_picture_and_needs_nothing_else(file: Path) -> None:
    shown = backalley.replay(file, begin=10, most=4)
    html = shown._repr_html_()
    root = ET.fromstring(html.replace(" data-replay ", ' data-replay="" ').replace(" hidden>", ' hidden="">'))
    frames = [one for one in root.iter("div") if "data-frame" in one.attrib]
    assert [one.attrib["data-frame"] for one in frames] == shown.words
    assert ["hidden" in one.attrib for one in frames] == [False, True, True, True]
    (field,) = root.iter("input")
    assert (field.attrib["type"], field.attrib["max"]) == ("range", "3")
    used = {one.attrib["href"][1:] for one in root.iter("{http://www.w3.org/2000/svg}use")}
    defined = re.findall(r'<(?:path|g) id="([^"]+)"', html)
    assert used == set(defined)
    assert len(defined) == len(set(defined))
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert shown.html().startswith("<!doctype html>")


def test_a_gif_has_a_frame_for_each_table(file: Path) -> None:
    shown = backalley.replay(file, begin=31, most=3)
    image: Any = Image.open(io.BytesIO(shown.gif(0.5, zoom=0.25)))
    assert image.n_frames == len(shown.pictures) == 3
    assert (image.width, image.info["duration"], image.info["loop"]) == (240, 500, 0)
    with pytest.raises(ValueError, match="at least one picture"):
        pixels.gif([])


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["picture", *words], catch_exceptions=False)


@pytest.mark.parametrize("ending", ["svg", "gif", "html"])
def test_the_command_shows_a_recorded_game(ending: str, file: Path, tmp_path: Path) -> None:
    out = tmp_path / f"x.{ending}"
    done = run(str(file), "--decisions", "3", "--pictures", "2", "--seat", "0", "--zoom", "0.2", "--out", str(out))
    assert done.exit_code == 0, done.output
    first = out.read_bytes()
    again = next(line for line in done.output.splitlines() if line.startswith("Again: ")).split()[2:]
    out.unlink()
    assert CliRunner().invoke(main, again).exit_code == 0
    assert out.read_bytes() == first
    if ending == "html":
        assert first.decode().count("data-frame=") == 2
        assert "3. seat" in first.decode()


def test_a_game_that_agents_play_becomes_a_page(tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    assert run("backhand", "--out", str(out), "--dark").exit_code == 0
    assert "The beginning" in out.read_text("utf-8")


def test_a_recorded_game_takes_no_options_and_no_agent(file: Path, tmp_path: Path) -> None:
    for words in (["--option", "num_games=2"], ["--agent", "bot"]):
        done = run(str(file), *words, "--out", str(tmp_path / "x.gif"))
        assert (done.exit_code, "it has its own options" in done.output) == (2, True)
    assert run(str(tmp_path / "none.json"), "--out", str(tmp_path / "x.gif")).exit_code == 2
    assert not list(tmp_path.iterdir())
