"""The study that finds the levels of a game."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import backalley
from backalley.agents.registry import agent
from backalley.benchmarks.matches.seeding import Space, roots
from backalley.benchmarks.studies.strength import levels as study
from backalley.benchmarks.studies.strength.levels import elo, levels, shares_of

MISSOURI = backalley.game("missouri_city")


@pytest.mark.parametrize(
    ("whole", "shares"),
    [
        (1500, [place / 15 for place in range(10)]),
        (300, [0, 0.25, 0.5, 0.75, 1]),
        (160, [0, 0.5, 1]),
        (140, [0, 0.714]),
        (90, [0, 1]),
        (50, [0.0]),
    ],
)
def test_as_many_levels_as_fit(whole: float, shares: list[float]) -> None:
    """Where Elo falls evenly: usual steps from the top, or even ones down to random play."""
    assert shares_of(lambda above, below: whole * (below - above)) == pytest.approx(shares, abs=0.01)


def test_elo_is_what_the_upper_one_has_more() -> None:
    bot, random = agent("bot", MISSOURI), agent("random", MISSOURI)
    above, below = (elo(*pair, MISSOURI, roots(Space.GATES, 1), 500) for pair in ((bot, random), (random, bot)))
    assert 100 < above.low < above.mean < above.high < 250
    assert above.mean == pytest.approx(-below.mean, rel=0.3)


def test_a_game_gets_its_file_and_a_row_for_each_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "shares_of", lambda gain: [0.0, 0.4])
    monkeypatch.setattr(type(MISSOURI.type), "folder", tmp_path)
    monkeypatch.setattr(study.publication, "policy_of", lambda game: "")
    found = levels(MISSOURI, 20).to_json()
    kept = json.loads((tmp_path / "levels.json").read_text("utf-8"))["levels"]
    assert [(one["agent"], one["random"]) for one in kept] == [("bot:planner", 0.4), ("bot:planner", 0)]
    assert [row["level"] for row in found["rows"]] == [1, 2]
    assert all(row["over"]["low"] < row["over"]["high"] for row in found["rows"])


def test_nobody_to_play_against_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="nobody plays against anybody"):
        levels(backalley.game("backhand"))
