"""The leaderboard: who is the best known of each kind, and what attacks gain, from files of results alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backalley.benchmarks.studies.pages import docs
from backalley.benchmarks.studies.strength import ladder
from backalley.benchmarks.studies.strength.best_agents import ATTACK, attack_gain, leaderboard
from tests.common import high_card

GAME = "pitch-v0"


def estimate(mean: float, reach: float = 0.01) -> dict[str, float]:
    return {"mean": mean, "low": mean - reach, "high": mean + reach}


def row(label: str, mean: float, deals: int = 100, **more: Any) -> dict[str, Any]:
    return {"label": label, "deals": deals, "mean_return": estimate(mean), "win_share": estimate(0.5), **more}


def ladder_of(*rows: dict[str, Any], kind: str = "ladder", sides: int = 2, **options: Any) -> dict[str, Any]:
    best = {"label": "bot:book", "milliseconds": 0.002}
    table = {"options": options, "against": "bot:book", "sides": sides, "rows": [row("random", -0.9), best, *rows]}
    return {"kind": kind, "game": GAME, "command": f"backalley dev {kind} pitch", "tables": [table]}


def attack(agent: str, gain: float, **options: Any) -> dict[str, Any]:
    attackers = [{"name": "ppo", "gain": estimate(gain - 0.1)}, {"name": "rollouts", "gain": estimate(gain)}]
    about = {"kind": "attack", "game": GAME, "options": options, "agent": agent, "command": "backalley attack pitch"}
    return {**about, "attackers": attackers}


POLICY = row("policy:standard", 0.4, own_name="policy:standard (book + residual)")
SEARCHES = {
    "kind": "searches",
    "game": GAME,
    "options": {},
    "sides": 2,
    "rows": [
        {"agent": "policy:standard", "against": "bot:book", "milliseconds": 0.5, **row("", 0.9, deals=10)},
        {"agent": "search:8", "against": "bot:book", "milliseconds": 7.0, **row("", 0.3, deals=10)},
        {"agent": "search:80", "against": "bot:careful", **row("", 0.9)},
    ],
}


def test_the_best_of_each_kind() -> None:
    entry = ladder_of(row("mine", 0.1, own_name="First"), kind="entry")
    found = [ladder_of(POLICY, row("bot:careful", -0.2), row("mc:20", 0.2)), SEARCHES, entry]
    lines = list(leaderboard(found))
    assert [(line["kind"], line["agent"]) for line in lines] == [
        ("bot", "`bot:book`, the baseline"),
        ("policy", "`policy:standard`"),
        ("search", "`search:8`"),
        ("entered", "`mine`"),
    ]
    assert [line["gains on the baseline"] for line in lines] == ["", "+0.400", "+0.300", "+0.100"]
    assert [line["ms a decision"] for line in lines] == ["0.002", "0.5", "7", ""]
    assert {line[ATTACK] for line in lines} == {"not attacked"}


def test_an_entry_under_other_options_has_lines_of_its_own() -> None:
    entry = ladder_of(row("mine", 0.1), kind="entry", joker="low_trump")
    lines = list(leaderboard([ladder_of(POLICY), entry]))
    assert [(line["options"], line["kind"]) for line in lines] == [
        *(("", "bot"), ("", "policy")),
        *(("`joker=low_trump`", "bot"), ("`joker=low_trump`", "entered")),
    ]


def test_the_lower_end_decides() -> None:
    sure, unsure = row("search:8", 0.3), row("search:9", 0.35, mean_return=estimate(0.35, 0.2))
    assert [line["agent"] for line in leaderboard([ladder_of(sure, unsure)])][-1] == "`search:8`"


def test_with_one_seat_the_lead_counts_and_nobody_attacks() -> None:
    alone = ladder_of(row("policy:standard", 0.9, lead=estimate(-0.2)), sides=1)
    last = list(leaderboard([alone]))[-1]
    assert (last["gains on the baseline"], last[ATTACK]) == ("-0.200", "no opponent")


def test_an_attack_counts_for_its_agent_under_its_options_alone() -> None:
    found, other = ladder_of(POLICY), attack("policy:standard", 0.3, joker="low_trump")
    where = {"game": GAME, "options": {}}
    assert attack_gain([], where, POLICY) is None
    assert attack_gain([found, other], where, POLICY) is None
    for name in ("policy:standard", "policy:standard (book + residual)"):
        gain = attack_gain([other, attack(name, 0.125)], where, POLICY)
        assert gain is not None
        assert gain["mean"] == 0.125
    lines = list(leaderboard([found, other, attack("policy:standard", 0.125)]))
    assert [line[ATTACK] for line in lines] == ["not attacked", "+0.125 (+0.115 to +0.135)"]


def test_ladders_show_what_attacks_gain(tmp_path: Path) -> None:
    mark = "<!-- results: ladder ladder_pitch attack_pitch* -->\n<!-- /results -->\n"
    (tmp_path / "ladder_pitch.json").write_text(json.dumps(ladder_of(POLICY)))
    page = tmp_path / "README.md"
    assert ATTACK not in docs.with_results(mark, page, tmp_path), "no file of attacks, and no column"
    (tmp_path / "attack_pitch_policy.json").write_text(json.dumps(attack("policy:standard", 0.125)))
    shown = docs.with_results(mark, page, tmp_path)
    assert f"{ATTACK} |" in shown
    assert "+0.125 (+0.115 to +0.135) |" in shown
    assert "backalley attack pitch\n" in shown


def test_an_entry_is_measured_as_the_ladder_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"deals": 40, "searches": [], "search_deals": 20, "cross_deals": 30, "method_deals": 40}
    monkeypatch.setattr(ladder.publication, "_plans", lambda: {"seed": 7, "every": plan})
    game = high_card.GAME.bind(seats=2)
    whole = ladder.ladder(game, {"mine": "random"}).found["tables"][0]["rows"]
    entry = ladder.enter(game, "mine", "random").found
    assert [one["label"] for one in entry["tables"][0]["rows"]] == ["bot:random", "mine"]
    own, others = (next(one for one in rows if one["label"] == "mine") for rows in (entry["tables"][0]["rows"], whole))
    assert (entry["kind"], own["mean_return"], own["deals"]) == ("entry", others["mean_return"], 40)
    assert ladder.enter(game, "mine", "random", deals=10).found["tables"][0]["rows"][1]["deals"] == 10
    with pytest.raises(ValueError, match="the bot that others are compared with"):
        ladder.enter(game, "bot:random", "random")
