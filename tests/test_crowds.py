"""What a decision of a search costs at large tables: it is counted for what was asked, and pages show it."""

from __future__ import annotations

from typing import Any

import pytest

from backalley.benchmarks import crowds, docs, publication, results
from backalley.envs.core.catalogue import game as game_of


def test_a_decision_is_timed_and_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    game = game_of("missouri_city")
    assert publication.crowds(game) == [], "it has no large tables"
    assert [one.num_seats for one in publication.crowds(game_of("killer_bridge"))] == [4, 37, 54]
    plan = publication.publications(game)[0]._replace(searches=("mc:2", "search:3"))
    monkeypatch.setattr(publication, "publications", lambda game: [plan])
    monkeypatch.setattr(publication, "crowds", lambda game: [game])
    monkeypatch.setattr(crowds.of_a_decision, "__defaults__", (0.002,))
    found = crowds.crowds([game])
    (row,) = found["rows"]
    assert (row["game"], row["options"], row["seats"]) == (game.id, {}, game.num_seats)
    assert [one["agent"] for one in row["agents"]] == ["mc:2", "search:3"]
    assert all(one["milliseconds"] > 0 and one["decisions"] > 0 for one in row["agents"])
    assert row["agents"][0]["worlds"] == 2
    results.write(tmp_path / "crowds.json", found | {"command": "again"})
    shown = docs.with_results("<!-- results: crowds crowds -->\n<!-- /results -->\n", tmp_path, tmp_path)
    assert "ms a decision of `search:3`" in shown
    assert "mc:2, ms" in crowds.table(found)
