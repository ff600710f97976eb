"""What a game is worth: known exact values, fair pay, files, and work that continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.match import play_out
from backalley.benchmarks.analyse import course, matches
from backalley.benchmarks.analyse import sweep as sweeps
from backalley.benchmarks.analyse.analysis import Analysis, analyse_game
from backalley.benchmarks.analyse.house import FairPay, counting, deviation
from backalley.benchmarks.analyse.matches import deal_share, deals_to_tell, fairness
from backalley.benchmarks.exact.exact import solve
from backalley.benchmarks.figures import results
from backalley.benchmarks.matches.evaluate import line_up
from backalley.benchmarks.matches.sample import LineUp, Sample, Series, deal_keys
from backalley.benchmarks.matches.seeding import Space, roots
from backalley.console.errors import InvalidValue
from backalley.envs.baccarat import odds
from backalley.envs.baccarat.state import TIE
from backalley.envs.core.rules.options import OptionError


def test_fair_pay_is_that_of_the_best_answer() -> None:
    """Two ways to play: safe wins 40 % and loses 40 %, bold wins 50 % and loses 52 %; from 1.2 on bold is better."""
    asked = list[float]()

    def value(pay: float) -> float:
        asked.append(pay)
        return max(0.4 * pay - 0.4, 0.5 * pay - 0.52)

    pay = FairPay(value)
    assert pay.of_edge(0.0) == pytest.approx(1.0)
    assert pay.of_edge(-0.2) == pytest.approx(1.44)
    assert pay.of_edge(0.02) == pytest.approx(0.95)
    assert len(asked) < 12


def test_a_coin_that_is_tossed_by_the_deal_is_all_luck() -> None:
    coin = np.where(np.arange(100) % 2, 1.0, -1.0)
    assert deal_share(np.stack([coin, coin], axis=1)) == pytest.approx(1.0)
    assert deal_share(np.stack([coin, -coin], axis=1)) == 0.0
    assert deals_to_tell(coin + 0.28) == pytest.approx(101, abs=2)


@pytest.mark.slow
@pytest.mark.release
def test_backhand_gives_the_player_its_published_value() -> None:
    found = analyse_game("backhand", ["random", "bot"], deals=200)
    gain, fair = found.value("gain of the house", "best"), found.value("a win pays, for an edge of 0%", "best")
    assert gain.exact
    assert -gain.value == pytest.approx(0.1454, abs=5e-5)
    assert 0 < fair.value < 1
    for name in ("won", "tied", "lost"):
        share = found.value(f"share of games {name}", "best").value
        assert 0 <= share <= 1
    eights = [one for one in found.figures_found if one.measure == "change of the gain, 8C gone"]
    assert eights[0].value == pytest.approx(0.01763, abs=5e-5)
    swept = sweeps.sweep("backhand", {"ace_rule": ["off"]})
    assert swept.exact
    assert swept.changes[0].value == pytest.approx(0.1875, abs=5e-5)


@pytest.mark.slow
@pytest.mark.release
def test_a_card_that_nobody_knows_to_be_gone_changes_nothing() -> None:
    """Random play of backhand gains the same on average over the cards that may be gone; who knows which gains more."""
    whole = solve("backhand")
    less = {card: solve("backhand", without=card) for card in range(13)}
    assert np.mean([one.random_return for one in less.values()]) == pytest.approx(whole.random_return, abs=1e-12)
    assert np.mean([one.best_return for one in less.values()]) > whole.best_return
    with pytest.raises(InvalidValue, match="without"):
        solve("backhand", without=52)


@pytest.mark.slow
def test_baccarats_edges_are_the_published_ones() -> None:
    """By bet, and a card of value 4 gone, which changes most: eight packs, the tie at 9 to 1."""
    found = analyse_game("baccarat", ["random"], deals=20)
    measures = [one.measure for one in found.figures_found]
    assert found.value("edge of a unit on player").value == pytest.approx(0.0123508133, abs=1e-9)
    assert found.value("edge of a unit on bank").value == pytest.approx(0.0105790578, abs=1e-9)
    assert len([one for one in measures if one.startswith("change of that on tie")]) == 10
    moves = [abs(found.value(f"change of that on player, a card of value {gone} gone").value) for gone in range(10)]
    assert int(np.argmax(moves)) == 4


@pytest.mark.slow
def test_the_figures_are_those_of_the_file(tmp_path: Path) -> None:
    found = analyse_game("bezique", ["random"], deals=400)
    assert isinstance(found, Analysis)
    assert {one.part for one in found.figures_found} >= {"fairness", "course"}
    kept = tmp_path / "found.json"
    results.write(kept, found.to_json())
    assert json.loads(kept.read_text("utf-8"))["figures"][0] == found.figures_found[0]._asdict()
    assert [row["measure"] for row in found.records()] == [one.measure for one in found.figures_found]


@pytest.mark.slow
def test_a_stopped_sweep_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"agent": "random", "deals": 50, "seed": 3}
    values: dict[str, list[str]] = {"ace_rule": [], "ace_rule_on_replacement": []}
    whole = sweeps.sweep("backhand", values, **settings)
    played, gained = list[str](), sweeps._gained

    def stops(game: backalley.Game, *rest: Any) -> object:
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(game.spec)
        return gained(game, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(sweeps, "_gained", stops)
        with pytest.raises(KeyboardInterrupt):
            sweeps.sweep("backhand", values, **settings, keep=tmp_path / "swept.json")
    again = sweeps.sweep("backhand", values, **settings, keep=tmp_path / "swept.json")
    assert again.changes == whole.changes
    assert len(whole.changes) >= 2


@pytest.mark.slow
def test_combinations_are_tried_once() -> None:
    found = sweeps.sweep("backhand", {}, together=True, agent="random", deals=20)
    assert {one.option for one in found.changes if "," in one.option} == {
        "ace_rule=off, ace_rule_on_replacement=false",
        "ace_rule=until_clean, ace_rule_on_replacement=false",
    }
    assert len(found.changes) == 5
    with pytest.raises(InvalidValue, match="combinations"):
        sweeps.sweep("backhand", {"ace_rule": ["off"] * 600, "ace_rule_on_replacement": [False]}, together=True)


def test_its_charts_show_fairness_and_skill() -> None:
    found = analyse_game("backalley.examples.kuhn", ["random", "bot"], deals=20)
    fair, skilled = Analysis.charts([found.to_json()])
    assert [words for words, _ in skilled.rows] == [f"lead over the agent before it ({found.agents[1]} v random)"]
    assert "fairness" in fair.title
    assert "advantage of the first player (random)" in dict(fair.rows)


@pytest.mark.slow
def test_a_small_game_of_two_seats_has_exact_bounds() -> None:
    """Kuhn's poker is worth -1/18 to the seat that acts first."""
    found = analyse_game("backalley.examples.kuhn", ["random"], deals=20)
    first = found.value("return of seat 0, by its bounds")
    assert first.low <= -1 / 18 <= first.high
    assert first.high - first.low < 0.01
    assert found.value("return of seat 1, by its bounds").value == -first.value


def test_a_seat_that_is_favoured_is_found() -> None:
    """Where 55 of 100 deals favour seat 0, whoever plays, its interval is above 0; not at 50 of 100."""
    game, seatings = backalley.game("bezique"), np.array([[0, 0]])
    for favoured, unfair in ((500, False), (550, True), (600, True)):
        gained = np.where(np.arange(1000) < favoured, 1.0, -1.0)
        sample = Sample(seatings)
        sample.add(np.stack([gained, -gained], axis=1)[:, None, :], 0, 0.0)
        first, _ = fairness(game, ["random"], [sample])
        assert (first.low > 0) == unfair


@pytest.mark.slow
@pytest.mark.release
def test_counting_is_worth_what_half_packs_show() -> None:
    """The estimate's deviation is that of exact gains on a tie over random half packs; the rest is by hand."""
    (*_, tie), random = odds.edges(game := backalley.game("baccarat", mode="punto_banco")), np.random.default_rng(1)
    cards = np.repeat(np.arange(10), odds.full_counts(game))
    halves = [np.bincount(random.permutation(cards)[: len(cards) // 2], minlength=10).tolist() for _ in range(40)]
    exact = [float(odds.bet_value(game, odds.odds(game, counts=half), TIE)) for half in halves]
    assert deviation([(count, float(-more)) for count, more in tie.gone.values()]) == pytest.approx(
        np.std(exact, ddof=1), rel=0.25
    )
    assert counting(0.0, [(26, 0.01), (26, -0.01)]) == pytest.approx(0.01 * np.sqrt(51 / (2 * np.pi)))
    assert counting(0.1, [(52, 0.01)]) == 0


def test_roles_are_those_of_the_decks_that_were_played() -> None:
    """Who deals is drawn with the deck; by points of the sample's own deals, each seat's return is found again."""
    game, deals, keys = backalley.game("bezique"), 12, roots(Space.EVALUATION, 5)
    agents = line_up(game, ["random"], 1) * 2
    sample = Series([LineUp(game, agents, keys, deals)], None).play()[0]
    streams, own = np.zeros(deals, np.uint64), np.zeros((deals, 2), np.uint64)
    deal_keys(*keys, 0, streams, own)
    tables = backalley.BatchEnv(game, deals, autoreset=False)
    tables.reset(streams=streams)
    held, dealer = matches.roles(game, keys, deals), tables.states().records["dealer"]
    assert set(dealer) == {0, 1}
    np.testing.assert_array_equal(held["dealer"], dealer)
    np.testing.assert_array_equal(held["first player"], 1 - dealer)
    returns, _ = play_out(tables, agents, np.tile(sample.seatings[:1], (deals, 1)), own[:, 0])
    np.testing.assert_allclose(returns, sample.returns[:, 0])


def test_a_dealer_who_wins_has_the_advantage() -> None:
    game, dealer = backalley.game("bezique"), np.arange(100) % 2
    sample = Sample(np.array([[0, 0]]))
    sample.add(np.where(np.arange(2) == dealer[:, None], 0.5, -0.5)[:, None, :], 0, 0.0)
    level = Sample(sample.seatings)
    level.add(np.zeros((100, 1, 2)), 0, 0.0)
    found = [*matches.advantages(game, ["fair", "sharp"], [level, sample], {"dealer": dealer}, left_out := [])]
    assert [(one.measure, one.value) for one in found] == [
        ("advantage of the dealer", 0.0), ("advantage of the dealer", 0.5), ("change of that of the dealer", 0.5),
    ]  # fmt: skip
    assert "first player" in left_out[0]


def test_who_begins_by_their_cards_is_no_role() -> None:
    """In chemin de fer a natural ends the coup, and a Player who must draw is not asked."""
    keys = roots(Space.EVALUATION, 0)
    assert set(matches.roles(backalley.game("baccarat", mode="chemin"), keys, 50)) == set()
    assert set(matches.roles(backalley.game("missouri_city"), keys, 50)) == {"seat dealt first"}


@pytest.mark.parametrize(("name", "unseen"), [("backalley.examples.kuhn", 2), ("backhand", 50), ("bezique", 54)])
def test_cards_that_a_seat_has_not_seen(name: str, unseen: int) -> None:
    """At the first decision: Kuhn's other card and the third; all but the hand of two; all but
    a hand of eight, the turn-up and the top of the stock."""
    batch = backalley.BatchEnv(backalley.game(name), 1, seed=1)
    batch.reset()
    assert course.unseen(batch.game, batch, 0, np.random.default_rng(0)) == unseen


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(OptionError, match="no option 'joker'"):
        sweeps.sweep("backhand", ["joker"])
    with pytest.raises(InvalidValue, match="win_pays"):
        solve("backhand", win_pays=0.0)


@pytest.mark.slow
def test_all_options_are_swept_by_default() -> None:
    found = sweeps.sweep("backhand", {}, agent="random", deals=20)
    assert {one.option.partition("=")[0] for one in found.changes} == {"ace_rule", "ace_rule_on_replacement"}
    assert [abs(one.change) for one in found.changes] == sorted(
        (abs(one.change) for one in found.changes), reverse=True
    )
    assert "no effect beyond" in found.table()
