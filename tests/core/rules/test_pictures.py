"""Pictures of tables: nothing leaks, nothing is cut off or overlaps, every letter is an outline, and what is to be
done stands out."""

from __future__ import annotations

import ast
import itertools
import math
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

import backalley
from backalley.cli import main
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.drawing import render
from backalley.envs.core.drawing.pictures import buttons, middle
from backalley.envs.core.drawing.pictures.cards import face_of, in_words, is_card
from backalley.envs.core.drawing.pictures.colours import DARK, LIGHT, colours
from backalley.envs.core.drawing.pictures.letters import PATHS, signed
from backalley.envs.core.drawing.render import table_svg, table_text
from backalley.envs.core.game.catalogue import game
from backalley.envs.core.game.game import Game
from backalley.testing.play import random_action
from tests import ROOT
from tests.common.cases import GAMES, determinizations_of
from tests.common.drawn import SVG, Box, boxes, contrast, letters_of

MANY: list[Game] = [game("killer_bridge", num_players=10, length="single", hand_size=5)]
LARGEST: list[Game] = [game("killer_bridge", num_players=37), game("twenty_one", num_players=8)]
TABLES = [pytest.param(one, id=one.spec) for one in GAMES]
TABLES += [pytest.param(one, id=one.spec, marks=pytest.mark.uncompiled) for one in [*MANY, *LARGEST]]


def positions(one: Game) -> list[AECEnv]:
    """Three moments of a random game: at its beginning, in its middle, and when it is over."""
    found = []
    for most in (0, 17, 10**9):
        env, random = AECEnv(one), np.random.default_rng(3)
        env.reset(seed=3)
        while env.engine.batch.seat[0] != OVER and env.engine.batch.decisions[0] < most:
            env.step(random_action(env, random))
        found.append(env)
    return found


@pytest.mark.parametrize("width", [960, 360])
@pytest.mark.parametrize("one", TABLES)
def test_nothing_is_cut_off_and_no_two_places_overlap(one: Game, width: int) -> None:
    for env in positions(one):
        drawn = table_svg(env, 0, None, width=width)
        root = ET.fromstring(drawn)
        assert float(root.attrib["width"]) == width
        assert not list(root.iter(f"{SVG}text")), "a letter that a machine without fonts cannot draw"
        sheet = Box(0, 0, float(root.attrib["width"]), float(root.attrib["height"]), "", "")
        shapes = boxes(root)
        panels = [box for box in shapes if box.stroke in (LIGHT.edge, LIGHT.accent) and box.height > buttons.HIGH]
        assert len(panels) >= one.num_seats
        for number, panel in enumerate(panels):
            assert not any(panel.overlaps(other) for other in panels[:number])
        cards = [box for box in shapes if box.stroke == LIGHT.card_edge]
        assert all(any(card.within(panel) for panel in panels) for card in cards)
        assert all(shape.within(sheet) for shape in [*shapes, *letters_of(root)])


@pytest.mark.parametrize("one", [pytest.param(one, id=one.spec) for one in GAMES])
def test_cards_that_a_seat_cannot_see_change_nothing(one: Game) -> None:
    hidden = False
    for env in positions(one)[:2]:
        for seat in range(one.num_seats):
            drawn, text = table_svg(env, 0, seat), table_text(env, 0, seat)
            truth = env.engine.batch.state.copy()
            for determinization in determinizations_of(env, seat, 3):
                env.engine.batch.state[0] = determinization
                hidden |= bool((env.engine.batch.state != truth).any())
                assert table_svg(env, 0, seat) == drawn
                assert table_text(env, 0, seat) == text
            env.engine.batch.state[:] = truth
    assert hidden, "nothing was hidden, so nothing was tested"


def test_what_may_be_played_stands_out() -> None:
    """In Pitch a suit is led, and who can has to follow it or play a trump."""
    env, random = backalley.make("pitch"), np.random.default_rng(1)
    seen = set()
    for seed in range(4):
        env.reset(seed=seed)
        for _ in range(20):
            root = ET.fromstring(table_svg(env, 0, None))
            raised = [box for box in boxes(root) if box.fill == LIGHT.accent and box.height > 100]
            legal = _plays(env)
            assert len(raised) == len(legal)
            seen.add((len(legal), _held(env)))
            env.step(random_action(env, random))
    assert any(0 < legal < held for legal, held in seen), "no suit was ever followed"


@pytest.mark.parametrize("one", [pytest.param(one, id=one.spec) for one in GAMES])
def test_each_legal_action_can_be_clicked_once_and_has_a_name(one: Game) -> None:
    """A page finds actions by `data-action`; people who cannot see the picture hear the titles."""
    for env in positions(one)[:2]:
        root = ET.fromstring(table_svg(env, 0, None))
        named = {
            int(group.attrib["data-action"]): group for group in root.iter(f"{SVG}g") if "data-action" in group.attrib
        }
        legal = np.flatnonzero(env.engine.batch.mask[0]).tolist()
        assert sorted(named) == legal
        assert len([group for group in root.iter(f"{SVG}g") if "data-action" in group.attrib]) == len(legal)
        for action, group in named.items():
            words = env.game.action_str(action)
            card = words.rpartition(" ")[2]
            assert group[0].text == (in_words(card) if is_card(card) else signed(words))


def _plays(env: AECEnv) -> list[str]:
    names = (env.game.action_str(int(action)) for action in np.flatnonzero(env.engine.batch.mask[0]))
    return [name for name in names if name.startswith("play ")]


def _held(env: AECEnv) -> int:
    return int(env.engine.batch.state[0]["hand"][env.engine.batch.seat[0]]).bit_count()


def test_whose_turn_it_is_can_be_seen_from_any_seat() -> None:
    env = backalley.make("killer_bridge")
    env.reset(seed=1)
    acting = int(env.engine.batch.seat[0])
    for seat in range(4):
        marked = [box for box in boxes(ET.fromstring(table_svg(env, 0, seat))) if box.stroke == LIGHT.accent]
        panels = [box for box in marked if box.width > 190]
        assert len(panels) == 1
        (panel,) = panels
        place = (acting - seat) % 4
        assert (panel.x < 50) == (place in (0, 1)), "the next seat to play is at the left"
        assert (panel.x > 700) == (place == 3)
        assert (panel.width > 900) == (place == 0)
        others = [box for box in marked if box not in panels]
        assert bool(others) == (seat == acting), "the actions are shown to whom they belong"


@pytest.mark.parametrize(
    ("name", "rank", "suit", "mark"),
    [
        ("QS", "Q", "S", ""),
        ("TD", "10", "D", ""),
        ("7Cb", "7", "C", "b"),
        ("9C.2", "9", "C", "2"),
        ("JOKER", "", "J", ""),
    ],
)
def test_faces_of_all_games_names(name: str, rank: str, suit: str, mark: str) -> None:
    assert is_card(name)
    assert face_of(name)[:3] == (rank, suit, mark)


def test_every_card_of_every_game_has_a_face() -> None:
    for one in GAMES:
        deck = one.type.deck_size(one.options)
        assert all(is_card(one.type.card_name(card)) for card in range(deck))


def test_suits_lie_within_their_square_and_four_colours_differ() -> None:
    for path in PATHS.values():
        numbers = [float(found) for found in re.findall(r"-?[\d.]+", path)]
        assert all(-1 <= value <= 101 for value in numbers)
    assert len({colours("light", True).suit(suit) for suit in "CDHS"}) == 4
    assert len({colours("dark", False).suit(suit) for suit in "CDHS"}) == 2
    with pytest.raises(ValueError, match="theme is 'green'; it is one of 'light', 'dark'"):
        colours("green", False)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("trumps C, trick 3", "trumps ♣, trick 3"),
        ("hearts are trumps", "♥ are trumps"),
        ("among them JC TDb 9C.2", "among them J♣ 10♦b 9♣.2"),
        ("declare marriage S", "declare marriage ♠"),
        ("ended by the king of hearts", "ended by the king of hearts"),
        ("big joker DS9 A+ CD", "big joker DS9 A+ CD"),
    ],
)
def test_suits_are_signs_in_words(words: str, shown: str) -> None:
    assert signed(words) == shown


def test_no_button_stands_alone_on_a_line() -> None:
    for count in range(2, buttons.MOST):
        rows = buttons.lines([(number, f"player {number}") for number in range(count)], 900)
        assert [button.action for row in rows for button in row] == list(range(count))
        assert min(map(len, rows)) > 1


@pytest.mark.parametrize("seats", range(2, 11))
def test_a_trick_lies_around_the_middle_in_the_order_of_play(seats: int) -> None:
    ring = middle.ring(seats, viewer=1)
    places = [ring.at((1 + number) % seats) for number in range(seats)]
    assert places[0] == (pytest.approx(0), max(y for _, y in places))
    assert seats == 2 or places[1][0] < -1, "the next seat is at the viewer's left"
    turns = [math.atan2(y, x) for x, y in places]
    assert sum((after - before) % (2 * math.pi) for before, after in itertools.pairwise(turns)) < 6.28
    assert not ring.overlaps()


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_stand_out_from_their_ground(scheme: Any) -> None:
    pairs = [
        (text, ground)
        for text in (scheme.word, scheme.quiet)
        for ground in (scheme.ground, scheme.panel, scheme.middle)
    ]
    pairs += [(scheme.on_accent, scheme.accent), (scheme.red, scheme.card), (scheme.black, scheme.card_faded)]
    pairs += [
        (sign, ground) for sign in scheme.signs.values() for ground in (scheme.ground, scheme.panel, scheme.middle)
    ]
    for text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (text, ground)


def test_no_game_draws() -> None:
    """A game says what lies where; how it looks is for the core alone."""
    for path in (ROOT / "envs").glob("*/*.py"):
        if path.parent.name == "core":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named = {node.module or "", *(alias.name for alias in node.names)}
                assert not any("picture" in name or name == "scene" for name in named), path
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, str) and "<svg" in node.value), path


# Pixels ---------------------------------------------------------------------------------------------------------------


def test_pixels_of_environments_are_all_of_one_size() -> None:
    env = backalley.make("missouri_city", render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    assert isinstance(first, np.ndarray)
    assert (first.shape, first.dtype) == ((render.FRAME[1], render.FRAME[0], 3), np.uint8)
    assert tuple(first[0, 0]) == tuple(first[-1, -1]) == tuple(bytes.fromhex(LIGHT.ground[1:]))
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50


@pytest.mark.uncompiled
def test_pixels_of_one_seat_alone_are_of_that_size_too_at_a_large_table() -> None:
    env = gymnasium.make("backalley/KillerBridge-v0", opponent="random", render_mode="rgb_array", num_players=10)
    env.reset(seed=1)
    assert np.asarray(env.render()).shape == (render.FRAME[1], render.FRAME[0], 3)
    env.close()


@pytest.mark.parametrize("missing", ["resvg_py", "PIL"])
def test_without_the_extra_a_sentence_names_it(missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    env = backalley.make("backhand", render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(ModuleNotFoundError, match=r"not installed: pip install 'backalley\[pictures\]'"):
        env.render()
    assert env._repr_svg_().startswith("<svg")
    done = CliRunner().invoke(main, ["picture", "backhand", "--out", str(tmp_path / "x.png")], catch_exceptions=False)
    if missing == "resvg_py":
        assert (done.exit_code, "backalley[pictures]" in done.output) == (2, True)
        assert not list(tmp_path.iterdir())


def test_notebooks_show_a_picture_once_there_is_a_table() -> None:
    env = backalley.make("backhand")
    assert env._repr_svg_() is None
    env.reset(seed=1)
    assert env._repr_svg_() == table_svg(env, 0, None)


# The command ----------------------------------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(main, ["picture", *words], catch_exceptions=False)


def test_the_command_writes_what_is_printed_again(tmp_path: Path) -> None:
    path = tmp_path / "table.svg"
    words = ["pitch", "--seed", "7", "--seat", "0", "--decisions", "9", "--dark", "--four-colours", "--out", str(path)]
    done = run(*words)
    assert done.exit_code == 0
    first = path.read_bytes()
    assert ET.fromstring(first).attrib["aria-label"] == "Pitch"
    again = next(line for line in done.output.splitlines() if line.startswith("Again: ")).split()[2:]
    path.unlink()
    assert CliRunner().invoke(main, again).exit_code == 0
    assert path.read_bytes() == first


def test_a_picture_of_a_game_that_is_over(tmp_path: Path) -> None:
    path = tmp_path / "over.png"
    assert run("missouri_city", "--decisions", "100", "--out", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("one", TABLES)
def test_text_fits_a_terminal(one: Game) -> None:
    for env in positions(one):
        for seat in (None, 0):
            assert max(len(line) for line in table_text(env, 0, seat).splitlines()) <= 80


@pytest.mark.slow
def test_an_episode_becomes_a_video(tmp_path: Path) -> None:
    made = gymnasium.make("backalley/MissouriCity-v0", opponent="random", render_mode="rgb_array")
    env = gymnasium.wrappers.RecordVideo(made, str(tmp_path / "videos"), disable_logger=True)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, cut, info = env.step(int(info["action_mask"].argmax()))
        over = over or cut
    env.close()
    (video,) = (tmp_path / "videos").glob("*.mp4")
    assert video.stat().st_size > 1000
