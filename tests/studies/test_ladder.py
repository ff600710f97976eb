"""The ladder and the cross table of a game: who is on them, what is played, and how pages show it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from backalley.agents.policies.publish import publish_policy
from backalley.benchmarks.figures import formatting, results
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.seeding import Space
from backalley.benchmarks.studies import publication
from backalley.benchmarks.studies.pages import docs
from backalley.benchmarks.studies.pages.model_cards import policies
from backalley.benchmarks.studies.strength import cross as crossing
from backalley.benchmarks.studies.strength import ladder
from backalley.benchmarks.studies.strength.best_agents import ATTACK, BOUND, attack_gain, leaderboard
from backalley.envs.core.files import durable
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.cases import GAMES
from tests.common.commands import run
from tests.common.tiny_policies import elsewhere, made, residual

EVERY = {"deals": 60, "searches": ["mc:2"], "search_deals": 20, "cross_deals": 30, "method_deals": 40}


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is published, for these tests."""
    found: dict[str, Any] = {"seed": 7, "every": EVERY}
    monkeypatch.setattr(publication, "_plans", lambda: found)
    return found


@pytest.fixture
def game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Kuhn poker with a policy, registered."""
    found = elsewhere(tmp_path, monkeypatch, kuhn)
    catalogue.register_game(found.type)
    publish_policy(made(tmp_path / "one", found, met=["random"], player=residual(found, 0.0)), "standard", found)
    made(tmp_path / "other", found, 4)
    return found


def labels(found: Any, table: int = 0) -> list[str]:
    return [row["label"] for row in found["tables"][table]["rows"]]


def played(found: Any) -> Any:
    """The tables without what depends on the machine."""
    tables = copy.deepcopy(found["tables"])
    for row in (row for table in tables for row in table["rows"]):
        row.pop("milliseconds", None)
    return tables


def test_every_game_has_a_plan_that_can_be_played() -> None:
    for game in GAMES:
        first, *more = publication.publications(game)
        assert first.game == game
        assert not any(plan.game == game for plan in more)
        for plan in (first, *more):
            assert plan.deals >= 1000
            assert plan.against.removeprefix("bot:") in game.bots
        assert publication.publications(game.bind(**first.game.option_values)) == [first, *more]


def test_publication_names_only_games_there_are() -> None:
    named = set(publication._plans()) - {"seed", "every"}
    assert named <= set(catalogue.own_games())


def test_where_several_play(plan: Any, game: Game) -> None:
    found = ladder.ladder(game, {"another": str(game.type.folder.parent / "other")}).found
    assert labels(found) == ["random", "bot:random", "policy:standard", "another", "mc:2"]
    (table,) = found["tables"]
    assert (table["against"], table["sides"]) == ("bot:random", 2)
    rows = {row["label"]: row for row in table["rows"]}
    assert rows["bot:random"].keys() == {"label", "milliseconds"}, "nobody plays against itself"
    assert [rows[name]["deals"] for name in ("random", "policy:standard", "mc:2")] == [60, 60, 20]
    assert rows["policy:standard"]["note"] == "It is bot:random with a learned residual."
    assert rows["another"]["made"].startswith("backalley train")
    assert rows["policy:standard"]["met"] == ["random"]
    assert all("milliseconds" in row for row in table["rows"])
    null = table["null"]
    assert (null["agent"], null["deals"], "lead" in null) == ("random", 60, False)
    assert null["mean_return"]["low"] <= 0 <= null["mean_return"]["high"]


def test_the_decks_are_those_of_nothing_else(plan: Any, game: Game) -> None:
    """The same seed, by hand: a key space of its own, and what the rows say follows from the returns."""
    found = ladder.ladder(game).found
    row = found["tables"][0]["rows"][2]
    in_space = evaluate(game, ["policy", "bot"], deals=60, seed=7)
    assert row["mean_return"] != in_space.agents[0].mean_return.to_json()
    in_space = evaluate(game, ["policy", "bot"], deals=60, seed=7, space=Space.PUBLICATION)
    assert row["mean_return"] == in_space.agents[0].mean_return.to_json()
    assert row["win_share"] == in_space.agents[0].win_share.to_json()


def test_where_one_plays_alone_all_play_the_same_decks(plan: Any) -> None:
    plan["high_card"] = {"also": [{"options": {"seats": 2}, "searches": []}]}
    alone = ladder.ladder(high_card.GAME.bind(seats=1)).found
    assert len(alone["tables"]) == 1, "options of one's own are all that is played"
    rows = {row["label"]: row for row in alone["tables"][0]["rows"]}
    assert rows["bot:random"]["deals"] == 60
    assert "lead" not in rows["bot:random"]
    lead = rows["random"]["lead"]["mean"]
    assert lead == pytest.approx(rows["random"]["mean_return"]["mean"] - rows["bot:random"]["mean_return"]["mean"])
    null = alone["tables"][0]["null"]
    assert null["lead"]["low"] <= 0 <= null["lead"]["high"], "random play by itself, twice on the same decks"
    assert null["lead"]["low"] < null["lead"]["high"]
    both = ladder.ladder(high_card.GAME.bind()).found
    assert [table["options"] for table in both["tables"]] == [{}, {"seats": 2}]
    assert labels(both, 1) == ["random", "bot:random"]


def test_what_fits_no_table_is_reported(plan: Any, game: Game) -> None:
    with pytest.raises(ValueError, match="There is no policy in"):
        ladder.ladder(game, {"another": str(game.type.folder)})


def test_it_goes_on_where_it_was_stopped(plan: Any, game: Game, tmp_path: Path) -> None:
    path, whole = tmp_path / "ladder.json", ladder.ladder(game).found
    calls = 0

    def stop(done: int, planned: int, words: str) -> None:
        nonlocal calls
        calls += 1
        assert planned == 200, "three agents and the null row with 60 deals each, a search with 20"
        if calls == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ladder.ladder(game, keep=path, progress=stop)
    assert durable.unfinished_beside(path).exists()
    again = ladder.ladder(game, keep=path).found
    assert played(again) == played(whole)
    results.write(path, again)
    finished = ladder.ladder(game, keep=path, command="line")
    assert finished.to_json() == again | {"command": "line"}, "what is finished is not played again"
    publish_policy(made(tmp_path / "new", game, 9), "standard", game)
    assert played(ladder.ladder(game, keep=path).found) != played(whole), "another policy is"


def test_the_cross_table(plan: Any, game: Game, tmp_path: Path) -> None:
    ranking = crossing.cross(game, {"another": str(tmp_path / "other")})
    found = ranking.to_json()
    assert ranking.agents == ["bot:random", "policy:standard", "another"]
    assert ranking.deals == 30
    assert found["kind"] == "cross"
    assert [one.get("met") for one in found["agents"]] == [None, ["random"], None]
    with pytest.raises(ValueError, match="nobody plays against anybody"):
        crossing.cross(high_card.GAME.bind(seats=1), {"another": "random"})


# On pages ------------------------------------------------------------------------------------------------------------


def test_pages_show_them(plan: Any, game: Game, tmp_path: Path) -> None:
    other = f"another={tmp_path / 'other'}"
    for name, others in (("ladder", ["--with", other]), ("cross", [other])):
        words = ["dev", "study", name, game.spec, *others, "--json", str(tmp_path), "--threads", "1"]
        done = run(*words)
        assert done.exit_code == 0, done.output
        found = json.loads((tmp_path / f"{name}_{game.name}.json").read_text())
        assert found["command"].startswith(f"backalley dev study {name} ")
    page = tmp_path / "README.md"
    shown = docs.with_results(
        f"<!-- results: ladder ladder_{game.name} -->\n<!-- /results -->\n"
        f"<!-- results: cross cross_{game.name} -->\n<!-- /results -->\n",
        page,
        tmp_path,
    )
    assert "| `bot:random`, the baseline |" in shown
    assert "| another |" in shown
    assert "| `policy:standard` |" in shown
    assert shown.count("`policy:standard`: It is bot:random with a learned residual.") == 2
    assert "† The policy of this row met that bot in training." in shown
    assert shown.count(" †") == 2, "of the two policies one met the bot: on the ladder, and in the cross table"
    assert "backalley train some_game --seed 0 --decisions 1\n```" in shown
    assert docs.with_results(shown, page, tmp_path) == shown
    card = "[`policy:standard`](policy/standard/README.md)"
    row = f"| {card} | bot:random with a learned residual | the default options |  |"
    assert row in policies(game)


def test_options_as_the_command_line_takes_them() -> None:
    assert game_of("pitch").option_words == []
    assert game_of("pitch", joker="low_trump").option_words == ["--option", "joker=low_trump"]


def test_who_plays_as_the_measure_does_has_no_digits_of_rounding() -> None:
    same = {"mean": -1e-20, "low": -3e-19, "high": 3e-19}
    assert (formatting.mean(same), formatting.interval(same)) == ("+0.000", "+0.000 to +0.000")
    row = {"label": "bot:other", "deals": 60, "mean_return": same, "win_share": {"mean": 0.5, "low": 0.5, "high": 0.5}}
    shown = {"game": "kuhn-v0", "tables": [{"options": {}, "against": "bot:best", "sides": 2, "rows": [row]}]}
    assert "+0.000 to +0.000" in ladder.Ladder(shown).table()


# The leaderboard ------------------------------------------------------------------------------------------------------

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


def test_of_several_attacks_the_best_counts() -> None:
    where = ladder_of(POLICY)
    found = [attack("policy:standard", gain) for gain in (0.1, 0.3, 0.2)]
    gain = attack_gain(found, where | where["tables"][0], POLICY)
    assert gain == attack_gain(found[1:2], where | where["tables"][0], POLICY)


def test_a_best_response_bounds_every_attack_where_it_is_known() -> None:
    agents = [{"name": "policy:standard", "mean_loss": 0.0123456}, {"name": "bot:book", "mean_loss": 1.0}]
    solved = {"kind": "exploitability", "game": GAME, "options": {}, "agents": agents}
    for options, bounds in (({}, ["+1.00000", "+0.01235"]), ({"joker": "low_trump"}, ["", ""])):
        lines = list(leaderboard([ladder_of(POLICY), solved | {"options": options}]))
        assert [line[BOUND] for line in lines] == bounds


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
