"""Charts: values stand where the axis says, names do not touch each other, nothing is cut off."""

from __future__ import annotations

import itertools
import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backalley.agents.policies import policy_file
from backalley.agents.policies.policy_file import CURVE_JSON, CURVE_KIND
from backalley.benchmarks.figures import axes, charts, results
from backalley.benchmarks.figures.charts import Dots, Lines, Mark
from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.publish import curves, plots
from backalley.benchmarks.publish.sources import all_sources
from backalley.benchmarks.studies.pages import docs
from backalley.envs.core.drawing.pictures import letters
from backalley.envs.core.drawing.pictures.colours import DARK, LIGHT
from backalley.envs.core.game.catalogue import game_names
from tests import ROOT
from tests.common.commands import run
from tests.common.drawn import SVG, Box, boxes, contrast, letters_of

POINTS = {"decisions": [100.0, 200.0, 400.0], "seconds": [60.0, 120.0, 240.0], "win_share": [0.4, 0.55, 0.6]}


def curve_file(folder: Path, name: str = "run", **changed: Any) -> Path:
    """The folder of a policy with a curve of three points against Pitch's best bot."""
    points = [
        {
            "decisions": decisions,
            "seconds": seconds,
            **Estimate(wins, wins - 0.05, wins + 0.05).columns("win_share"),
            **Estimate(2 * wins - 1, 2 * wins - 1.1, 2 * wins - 0.9).columns("mean_return"),
        }
        for decisions, seconds, wins in zip(*POINTS.values(), strict=True)
    ]
    found = {
        "kind": CURVE_KIND, "command": f"backalley train pitch --seed {len(name)}", "game": "pitch-v0", "options": {},
        "opponent": "bot:book", "deals": 500, "points": points,
    }  # fmt: skip
    place = folder / name
    place.mkdir(parents=True)
    results.write(place / CURVE_JSON, found | changed)
    return place


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8), st.integers(2, 12))
def test_an_axis_holds_all_values_between_round_ticks(values: list[float], wanted: int) -> None:
    axis = axes.linear(values, wanted=wanted)
    size = max(abs(value) for value in values)
    assert axis.low <= min(values) + 1e-6 * size
    assert axis.high >= max(values) - 1e-6 * size
    assert 2 <= len(axis.ticks) <= wanted + 2
    step = axis.ticks[1] - axis.ticks[0]
    first = step / 10 ** math.floor(math.log10(step) + 1e-6)
    assert min(abs(first - digit) for digit in (1, 2, 5, 10)) < 1e-3
    assert len({axis.form(tick) for tick in axis.ticks}) == len(axis.ticks), "two ticks read the same"


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=8))
def test_powers_stand_at_equal_distances(values: list[float]) -> None:
    axis = axes.logarithmic(values)
    assert all(0 <= axis.at(value) <= 1 for value in values)
    assert axis.at(math.sqrt(axis.low * axis.high)) == pytest.approx(0.5)


def many_lines(count: int) -> Lines:
    """Lines that all end at nearly the same height, under long names."""
    points = [[(1.0, Estimate(0.1, 0.0, 0.2)), (9.0, Estimate(0.5 + n / 1e4, 0.4, 0.6))] for n in range(count)]
    lines = [
        (f"a policy with a name that is longer than there is room, of number {n}", one) for n, one in enumerate(points)
    ]
    axes_of = (axes.linear([0, 9]), axes.linear([0, 0.6]))
    return Lines("Many " * 60, "About " * 60, "minutes", lines, axes_of, Mark(0.6, "chance"))


def some_dots(count: int) -> Dots:
    rows = [(f"policy:{n} " * (1 + n % 5), Estimate(n / 10, n / 10 - 1, n / 10 + 1)) for n in range(count)]
    return charts.dots("Dots", "Over some deals.", "mean return", rows, Mark(count / 10 + 1, "at the very end"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_nothing_is_cut_off_and_no_two_names_touch(count: int, theme: str) -> None:
    drawn = charts.svg([many_lines(count), some_dots(count)], theme)
    root = ET.fromstring(drawn)
    assert not list(root.iter(f"{SVG}text")), "a letter that a machine without fonts cannot draw"
    sheet = Box(0, 0, float(root.attrib["width"]), float(root.attrib["height"]), "", "")
    panels = [box for box in boxes(root) if box.stroke]
    assert len(panels) == 2
    assert not panels[0].overlaps(panels[1])
    drawn_letters = letters_of(root)
    assert all(any(letter.within(panel) for panel in panels) and letter.within(sheet) for letter in drawn_letters)
    names = [letter for letter in drawn_letters if letter.fill in charts.PALETTE[theme]]
    lines = sorted({letter.y for letter in names})
    assert len(lines) == count
    assert all(below - above >= charts.LINE - 0.02 for above, below in itertools.pairwise(lines))


def test_names_that_are_cut_keep_what_tells_them_apart() -> None:
    room = 120.0
    cut = [charts.shortened(f"runs/of/a/long/evening/number/{n}", room) for n in (17, 18)]
    assert cut[0] != cut[1]
    for one in cut:
        assert "…" in one
        assert letters.width(one, charts.SMALL) <= room
    assert charts.shortened("short", room) == "short"


@pytest.mark.parametrize("game", game_names())
def test_names_stand_at_their_points(game: str) -> None:
    """Of every published search: each name stands beside its own line, and on no point."""
    (chart,) = plots.of_results([json.loads((docs.RESULTS / f"searches_{game}.json").read_text("utf-8"))])
    assert isinstance(chart, Lines)
    root = ET.fromstring(charts.svg([chart]))
    places = {colour: _places(root, colour) for colour in charts.PALETTE["light"]}
    for colour, (name, _) in zip(places, chart.lines, strict=False):
        words = [one for one in letters_of(root) if one.fill == colour]
        assert len(words) == len(name)
        left, right, top, bottom = words[0].x, words[-1].x + words[-1].width, words[0].y, words[0].y + words[0].height
        away = {
            (max(left - x, x - right, 0.0), max(top - y, y - bottom, 0.0), other == colour)
            for other, found in places.items()
            for x, y in found
        }
        assert min(math.hypot(across, down) for across, down, own in away if own) < 45
        assert min(math.hypot(across, down) for across, down, _ in away) > 1, "a name on a point"


def _places(root: ET.Element, colour: str) -> list[tuple[float, float]]:
    """The points of a line, and the ends of its intervals."""
    found = [(one.get("cx"), one.get("cy")) for one in root.iter(f"{SVG}circle") if one.get("fill") == colour]
    for one in root.iter(f"{SVG}line"):
        found += [(one.get("x1"), one.get(end)) for end in ("y1", "y2") if one.get("stroke") == colour]
    for one in root.iter(f"{SVG}polygon"):
        found += [tuple(pair.split(",")) for pair in one.attrib["points"].split() if one.get("fill") == colour]
    return [(float(x or 0), float(y or 0)) for x, y in found]


def test_a_policy_is_named_by_what_it_is() -> None:
    assert charts.policies(["policy:standard (book + residual)", "bot:book"]) == [
        "policy (book + residual)",
        "bot:book",
    ]
    assert charts.policies(["policy:chemin", "policy:table"]) == ["policy:chemin", "policy:table"]
    three = ROOT / "envs" / "killer_bridge" / "policy" / "players_3"
    (chart,) = plots.drawn(all_sources([three]))
    assert isinstance(chart, Lines)
    assert [name for name, _ in chart.lines] == ["policy, 3 players"]


@pytest.mark.parametrize(("theme", "scheme"), [("light", LIGHT), ("dark", DARK)])
def test_lines_stand_out_from_their_ground(theme: str, scheme: Any) -> None:
    assert all(contrast(colour, scheme.panel) >= 4.5 for colour in charts.PALETTE[theme])
    assert len(set(charts.PALETTE[theme])) == len(charts.PALETTE[theme])


def test_curves_of_one_game_share_a_chart_and_others_do_not(tmp_path: Path) -> None:
    given = [
        curve_file(tmp_path, "one"),
        curve_file(tmp_path, "two"),
        curve_file(tmp_path, "x", opponent="bot:careful"),
    ]
    made = plots.curves([curves.read_curve(path, path.name) for path in given])
    assert [len(chart.lines) for chart in made if isinstance(chart, Lines)] == [2, 1]
    assert made[0].mark == Mark(0.5, "chance, 50 %")
    (line,) = [points for name, points in made[0].lines if name == "two"]  # type: ignore[union-attr]
    assert [x for x, _ in line] == [1, 2, 4], "minutes"
    (chart,) = plots.curves([curves.read_curve(given[0], "one")], "mean_return", "decisions", log=True)
    assert isinstance(chart, Lines)
    assert chart.across == "decisions"
    assert [one.mean for _, one in chart.lines[0][1]] == pytest.approx([-0.2, 0.1, 0.2])


def test_powers_begin_above_zero(tmp_path: Path) -> None:
    one = {"decisions": 0, **Estimate(0.5, 0.4, 0.6).columns("win_share")}
    curve = curves.read_curve(curve_file(tmp_path, points=[one]), "mine")
    with pytest.raises(ValueError, match="decisions begins at 0 in a curve"):
        plots.curves([curve], across="decisions", log=True)
    assert plots.curves([curve], across="decisions")


def test_of_a_game_unknown_here_nothing_is_said_about_chance(tmp_path: Path) -> None:
    curve = curves.read_curve(curve_file(tmp_path, game="elsewhere-v0"), "mine")
    (chart,) = plots.curves([curve])
    assert chart.title == "elsewhere-v0: wins against bot:book"
    assert chart.mark is None
    assert "chance" not in charts.svg([chart])


def test_names_are_as_long_as_tells_them_apart() -> None:
    paths = [Path("runs/a/policy"), Path("runs/b/policy"), Path("other")]
    assert curves.names(paths) == ["a/policy", "b/policy", "other"]
    assert curves.names([Path("runs/a"), Path("runs/a")]) == ["a", "a"]


def test_help_names_all_that_can_be_drawn() -> None:
    help_words = run("plot", "--help").output.replace(",", " ").replace(".", " ").split()
    assert {*curves.MEASURES, *curves.ACROSS} <= set(help_words)


def test_the_command_draws_what_its_line_draws_again(tmp_path: Path) -> None:
    place, first, second = curve_file(tmp_path), tmp_path / "a.svg", tmp_path / "b.svg"
    done = run("plot", place, "--log", "--across", "decisions", "--out", first)
    assert done.exit_code == 0, done.output
    line = done.output.partition("Again: backalley ")[2].replace("a.svg", "b.svg")
    assert run(*line.split()).exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    assert ET.fromstring(first.read_text()).tag == f"{SVG}svg"


def test_a_run_that_is_going_on_has_a_curve_so_far(tmp_path: Path) -> None:
    point = {"decisions": 5, "seconds": 3, **Estimate(0.5, 0.4, 0.6).columns("win_share")}
    (tmp_path / policy_file.CURVE_FILE).write_text(f"{','.join(point)}\n{','.join(map(str, point.values()))}\n")
    facts = {"game": "pitch", "options": {}, "command": "backalley train pitch"}
    (tmp_path / policy_file.RUN_FILE).write_text(json.dumps(facts))
    curve = curves.read_curve(tmp_path, "so far")
    assert curve.opponent == "bot:book"
    assert curve.series("win_share", "seconds") == [(3.0, Estimate(0.5, 0.4, 0.6))]
    one, *_ = plots.curves([curve])
    two, *_ = plots.curves([curve._replace(points=[*curve.points, {**curve.points[0], "seconds": 4}])])
    assert "It is one point" in one.about
    assert "It is one point" not in two.about


WRONG = '{"kind": "learning curve", "game": "pitch-v0", "opponent": "", "deals": 1, "command": "", '


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("{", "it is not JSON"),
        ("[1]", "is not an object"),
        ('{"kind": "ladder"}', "is of the kind 'ladder'; a curve's is 'learning curve'"),
        ('{"kind": "learning curve", "game": "pitch-v0"}', "is no whole learning curve: KeyError('options')"),
        (WRONG + '"options": {}, "points": []}', "has no points yet"),
        (WRONG + '"options": {}, "points": [{"seconds": NaN}]}', "is no finite number"),
        (WRONG + '"options": [], "points": []}', "its options is []"),
        (WRONG + '"options": {}, "points": [{"seconds": "x"}]}', "is no whole learning curve: ValueError"),
        (None, "is no run, no policy with a learning curve, and no folder of results"),
    ],
)
def test_a_damaged_curve_is_refused_and_nothing_is_written(damage: str | None, says: str, tmp_path: Path) -> None:
    place = curve_file(tmp_path)
    (place / CURVE_JSON).unlink()
    if damage is not None:
        (place / CURVE_JSON).write_text(damage)
    done = run("plot", place, "--out", tmp_path / "x.svg")
    assert done.exit_code == 2
    assert says in done.output
    assert not (tmp_path / "x.svg").exists()


def test_a_file_of_results_without_a_chart_says_so(tmp_path: Path) -> None:
    done = run("plot", docs.RESULTS / "speed.json", "--out", tmp_path / "x.svg")
    assert done.exit_code == 2
    assert "is of the kind 'speed', which has no chart; there are charts of learning curves" in done.output
    done = run("plot", docs.RESULTS / "ladder_pitch.json", "--out", tmp_path / "x.svg")
    assert done.exit_code == 0
    assert "Pitch: against bot:book" in (tmp_path / "x.svg").read_text("utf-8")


@pytest.mark.parametrize(("game", "met"), [("poker_duel", True), ("pitch", False)])
def test_a_ladder_says_who_met_the_measure_in_training(game: str, met: bool) -> None:
    """Poker Duel's policy met `strong`, which is its measure; Pitch's met nobody but itself."""
    (chart,) = plots.of_results([json.loads((docs.RESULTS / f"ladder_{game}.json").read_text("utf-8"))])
    assert isinstance(chart, Dots)
    assert any("(met it in training)" in name for name, _ in chart.rows) == met
