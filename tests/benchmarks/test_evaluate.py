"""Evaluation on duplicate deals: exact values, honest intervals, the same bytes whatever the batch, and
interruption."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import Agent, View
from backalley.agents.base.rule_based import KernelAgent, RandomAgent
from backalley.agents.match import Match
from backalley.benchmarks.figures import results, stats
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches import sample as samples
from backalley.benchmarks.matches.deviation import deviation_ratings
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.report import PILOT, Report
from backalley.benchmarks.matches.report import report as report_of
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, seatings
from backalley.benchmarks.matches.seeding import Space, roots
from backalley.benchmarks.matches.tournament import ratings, tournament
from backalley.cluster.work import Sizes
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.rng import stream_of
from backalley.examples import kuhn
from tests.common import high_card


@kernel
def always_bet(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return kuhn.BET


@kernel
def stay_high(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    for card in range(8, high_card.CARDS):
        if observation.card[card]:
            return high_card.STAY
    return high_card.FOLD


@kernel
def stay_if_above_the_middle(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    for card in range(high_card.CARDS // 2, high_card.CARDS):
        if observation.card[card]:
            return high_card.STAY
    return high_card.FOLD


@kernel
def out_of_range(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return 2


class Viewed:
    """Another agent, but without its kernel: it must be asked through views."""

    def __init__(self, agent: Agent) -> None:
        self.name, self._agent = agent.name, agent

    def act(self, view: View) -> npt.NDArray[np.int64]:
        return self._agent.act(view)


KUHN = kuhn.GAME.bind()


def kuhn_agents() -> list[Agent]:
    return [KernelAgent("bet", always_bet, KUHN), RandomAgent()]


def table(seats: int, sides: tuple[int, ...] | None = None) -> Game:
    """High card with so many seats; `sides` says who are partners."""
    game = high_card.GAME if sides is None else dataclasses.replace(high_card.GAME, sides=lambda options: sides)
    return game.bind({"seats": seats})


PARTNERS = (0, 1, 0, 1)


def high_agents(seats: int) -> list[Agent]:
    return [KernelAgent("high", stay_high, table(seats)), RandomAgent()]


def contents(report: Report) -> str:
    """All of a report that may not depend on how and when it was made."""
    found = report.to_json()
    for name in ("seconds", "decisions_per_second", *report.stamp):
        del found[name]
    return json.dumps(found)


def played(game: Game, agents: list[Agent], deals: int, num_threads: int = 1, seed: int = 5) -> Sample:
    line_up = LineUp(game, agents, roots(Space.EVALUATION, seed))
    sample = Sample(line_up.seatings)
    samples.play(Deals([line_up], num_threads), [sample], [deals], lambda part: None)
    return sample


def test_seatings_of_partners() -> None:
    partners = table(4, PARTNERS)
    assert seatings(partners, 2).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert seatings(partners, 4).tolist() == seatings(table(4), 4).tolist()
    with pytest.raises(
        ValueError, match="has 4 seats under these options, and 3 agents were given; give 2, or 4, one for each seat"
    ):
        seatings(partners, 3)


def test_partners_share_the_win() -> None:
    report = evaluate(table(4, PARTNERS), high_agents(4), deals=64)
    assert sum(one.win_share.mean for one in report.agents) == pytest.approx(1.0)
    assert "Win share is per side held; chance is 50 %." in report.table()


def test_seatings() -> None:
    assert seatings(KUHN, 2).tolist() == [[0, 1], [1, 0]]
    assert seatings(table(1), 3).tolist() == [[0], [1], [2]]
    assert seatings(table(3), 2).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    around = seatings(table(3), 3)
    assert [sorted(column) for column in around.T.tolist()] == [[0, 1, 2]] * 3  # each seat is everybody's once
    assert [sorted(row) for row in around.tolist()] == [[0, 1, 2]] * 3
    with pytest.raises(ValueError, match="has 2 seats under these options, and 1 agent was given; give 2"):
        seatings(KUHN, 1)
    with pytest.raises(ValueError, match="3 agents were given; give 2, or 4, one for each seat"):
        seatings(table(4), 3)


def test_an_exact_value_is_met() -> None:
    # Betting always: opening, a call meets the better card half the time and a fold gives 1, so 1/2 on average. Second,
    # after a pass (1/2) the same, and a bet is called with even chances: 1/4. Over both seats 3/8. Won are the folds
    # and half the showdowns: 1/2 + 1/4 when opening, 1/2 * 3/4 + 1/2 * 1/2 when second, on average 11/16.
    report = evaluate(KUHN, kuhn_agents(), deals=20_000)
    error = report.agents[0].mean_return.half_width / 1.96
    assert error < 0.01
    assert report.agents[0].mean_return.mean == pytest.approx(3 / 8, abs=4 * error)
    assert report.agents[1].mean_return.mean == pytest.approx(-report.agents[0].mean_return.mean)
    assert report.differences[0].mean == pytest.approx(-2 * report.agents[0].mean_return.mean)
    assert report.agents[0].win_share.mean == pytest.approx(
        11 / 16, abs=4 * report.agents[0].win_share.half_width / 1.96
    )


def exact_against_a_field() -> float:
    """What `stay_high` wins alone against two random players at high card, by enumeration."""
    total, count = 0.0, 0
    for cards in itertools.permutations(range(high_card.CARDS), 3):
        for others in itertools.product((False, True), repeat=2):
            stays = (cards[0] >= 8, *others)
            staying = [card for card, stay in zip(cards, stays, strict=True) if stay]
            paid = [2.0 if stay else 1.0 for stay in stays]
            if staying:
                total += (sum(paid) if stays[0] and cards[0] == max(staying) else 0.0) - paid[0]
            count += 1
    return total / count


def test_one_against_a_field() -> None:
    report = evaluate(table(3), high_agents(3), deals=20_000, seed=3)
    mean, error = report.agents[0].mean_return.mean, report.agents[0].mean_return.half_width / 1.96
    assert mean == pytest.approx(exact_against_a_field(), abs=4 * error)
    assert report.agents[1].mean_return.mean == pytest.approx(-mean / 2)  # the field shares what the one loses
    assert report.agents[0].win_share.mean + 2 * report.agents[1].win_share.mean == pytest.approx(1)


def test_a_deal_has_the_same_cards_in_every_seating() -> None:
    agents = high_agents(3)[:1] * 2
    sample = played(table(3), agents, 200)
    assert np.all(sample.returns == sample.returns[:, :1])  # the same players with the same cards, whoever is called A
    assert len(np.unique(sample.returns[:, 0], axis=0)) > 10
    report = report_of(table(3), agents, sample, planned=200, seed=5, about=of_game(table(3)))
    assert report.agents[0].mean_return.mean == pytest.approx(0, abs=1e-12)
    assert report.duplicate_gain is None
    assert "no luck left" in report.table()


def test_swapping_the_agents_changes_nothing_for_players_without_luck_of_their_own() -> None:
    game = table(2)
    one, other = high_agents(2)[0], KernelAgent("middle", stay_if_above_the_middle, game)
    report, swapped = (evaluate(game, pair, deals=500) for pair in ([one, other], [other, one]))
    assert report.agents[0].mean_return == pytest.approx(swapped.agents[1].mean_return)
    assert report.agents[0].mean_return.half_width > 0
    assert report.agents[0].win_share == pytest.approx(swapped.agents[1].win_share)


@pytest.mark.slow
def test_one_seat_compares_agents_on_the_same_decks() -> None:
    game = table(1)
    agents: list[Agent] = [KernelAgent("middle", stay_if_above_the_middle, game), RandomAgent(), RandomAgent()]
    report = evaluate(game, agents, deals=4000)
    best, drifting, again = report.agents
    assert best.mean_return.mean == pytest.approx(0.5, abs=4 * best.mean_return.half_width / 1.96)
    assert drifting.mean_return.mean != again.mean_return.mean  # the same decks, but each agent its own chance
    assert drifting.mean_return.low < 0 < drifting.mean_return.high
    assert len(report.differences) == 2
    assert report.differences[0].mean == pytest.approx(drifting.mean_return.mean - best.mean_return.mean)
    # The winner's gain is 1 or 0, half each; random's is 1, -1 or 0. They share luck, so their difference varies less
    # than apart: the variances are 1/4, 1/2 and 1/2 (0, -1 with a good card, 0, +1 with a bad one, even chances: 1/4 +
    # 1/4 around 1/2).
    assert report.duplicate_gain == pytest.approx((1 / 4 + 1 / 2) / (1 / 4), rel=0.1)
    assert evaluate(game, agents[:1], deals=10).duplicate_gain is None


def test_the_interval_is_over_deals_not_over_single_games() -> None:
    agents, deals = kuhn_agents(), 64
    means, errors, naive = [], [], []
    for seed in range(300):
        sample = played(KUHN, agents, deals, seed=seed)
        interval = stats.mean_interval(sample.of_agent(0, sample.returns).mean(1))
        means.append(interval.mean)
        errors.append(interval.half_width / stats.t_critical(deals - 1))
        naive.append(sample.of_agent(0, sample.returns).std(ddof=1) / np.sqrt(2 * deals))
    spread = np.std(means, ddof=1)  # known to 4 % from 300 repetitions
    assert np.mean(errors) == pytest.approx(spread, rel=0.13)
    assert np.mean(naive) > 1.3 * spread


def test_the_same_bytes_for_any_threads_batches_and_route(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[Game, list[Agent]]] = [(KUHN, kuhn_agents()), (table(3), high_agents(3))]
    for game, agents in cases:
        expected = contents(evaluate(game, agents, deals=300, seed=9))
        assert contents(evaluate(game, agents, deals=300, seed=9, num_threads=2)) == expected
        assert contents(evaluate(game, [Viewed(agent) for agent in agents], deals=300, seed=9)) == expected
        assert contents(evaluate(game, [Viewed(agents[0]), agents[1]], deals=300, seed=9, num_threads=2)) == expected
        with monkeypatch.context() as patch:
            patch.setattr(Deals, "sizes", Sizes(7, first=7))
            patch.setattr("backalley.agents.match._MOST_TABLES", 10)
            assert contents(evaluate(game, agents, deals=300, seed=9)) == expected
            assert contents(evaluate(game, [Viewed(agent) for agent in agents], deals=300, seed=9)) == expected
        assert contents(evaluate(game, agents, deals=300, seed=10)) != expected


def test_matches_are_compiled_where_all_agents_are() -> None:
    one, other = high_agents(3)
    for agents, compiled in (([one, other], True), ([one, other, one], True), ([one, Viewed(other)], False)):
        assert Match(table(3), agents, seatings(table(3), len(agents))).compiled == compiled


def test_three_different_agents_play_as_through_views() -> None:
    game = table(3)
    agents = [*high_agents(3), KernelAgent("middle", stay_if_above_the_middle, game)]
    report = evaluate(game, agents, deals=2000)
    assert contents(evaluate(game, [Viewed(agent) for agent in agents], deals=2000)) == contents(report)
    assert sum(one.mean_return.mean for one in report.agents) == pytest.approx(0, abs=1e-9)
    assert report.agents[0].mean_return.low > report.agents[1].mean_return.high


def test_evaluation_draws_other_packs_than_seeds_do(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, draw = [], samples.deal_keys
    monkeypatch.setattr(samples, "deal_keys", lambda *given: (draw(*given), seen.append([*map(np.copy, given[3:5])])))
    played(KUHN, kuhn_agents(), 500, seed=0)
    streams, keys = (np.concatenate([part[place].reshape(-1) for part in seen]) for place in range(2))
    everything = {*streams.tolist(), *keys.tolist()}
    assert len(everything) == 500 + 1000
    assert everything.isdisjoint(int(stream_of(seed)) for seed in range(2000))


def test_precision_decides_how_many_deals_are_played() -> None:
    report = evaluate(KUHN, kuhn_agents(), precision=0.02)
    assert report.complete
    assert report.agents[0].mean_return.half_width == pytest.approx(0.02, rel=0.1)
    assert f"A pilot of 256 deals put {report.deals:,} deals to a half-width of 0.02" in report.table()
    again = evaluate(KUHN, kuhn_agents(), deals=report.deals)
    assert again.agents == report.agents
    assert evaluate(KUHN, kuhn_agents(), precision=5.0).deals == PILOT


def test_an_agent_that_breaks_the_rules_is_named() -> None:
    agents = [RandomAgent(), KernelAgent("cheat", out_of_range, KUHN)]
    with pytest.raises(IllegalAction, match=r"The agent cheat: Seat 1 \(player_1\) cannot play 2"):
        evaluate(KUHN, agents, deals=10)
    with pytest.raises(IllegalAction, match="cannot play 2"):
        evaluate(KUHN, [Viewed(agent) for agent in agents], deals=10)


def interrupt_after(deals: int) -> Any:
    def progress(done: int, planned: int) -> None:
        if done >= deals:
            raise KeyboardInterrupt

    return progress


def test_interruption_reports_what_is_finished_and_goes_on_later(tmp_path: Path) -> None:
    game, agents, path = KUHN, kuhn_agents(), tmp_path / "found.json"
    whole = contents(evaluate(game, agents, deals=3000))
    stopped = evaluate(game, agents, deals=3000, progress=interrupt_after(16), keep=path)
    assert not stopped.complete
    assert 16 <= stopped.deals < 3000
    assert stopped.table().startswith(f"Stopped after {stopped.deals:,} of 3,000 deals.")
    assert contents(stopped) == contents(evaluate(game, agents, deals=stopped.deals)).replace(
        '"complete": true, "planned_deals": ' + str(stopped.deals), '"complete": false, "planned_deals": 3000'
    )
    kept = list(tmp_path.iterdir())
    assert [file.name for file in kept] == ["found.json.unfinished"]

    with pytest.raises(ValueError, match=r"found\.json\.unfinished holds unfinished work of another task .*kuhn-v0"):
        evaluate(game, agents, deals=3000, seed=1, keep=path)
    assert list(tmp_path.iterdir()) == kept

    begun: list[int] = []
    resumed = evaluate(game, agents, deals=3000, progress=lambda done, planned: begun.append(done), keep=path)
    assert begun[0] > stopped.deals
    assert contents(resumed) == whole
    assert list(tmp_path.iterdir()) == kept, "nothing is lost before the report is on disk"
    results.write(path, stopped.to_json())
    assert sorted(tmp_path.iterdir()) == sorted([path, *kept])
    results.write(path, resumed.to_json())
    assert list(tmp_path.iterdir()) == [path]


def test_work_of_other_sources_is_left_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "found.json"
    evaluate(KUHN, kuhn_agents(), deals=3000, progress=interrupt_after(16), keep=path)
    monkeypatch.setattr(results, "sources", lambda *files: "others")
    begun: list[int] = []
    evaluate(KUHN, kuhn_agents(), deals=3000, progress=lambda done, planned: begun.append(done), keep=path)
    assert begun[0] == 16


def test_damaged_unfinished_work_is_left_aside(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    evaluate(KUHN, kuhn_agents(), deals=3000, progress=interrupt_after(16), keep=path)
    file = tmp_path / "found.json.unfinished"
    file.write_bytes(file.read_bytes()[:-40])
    report = evaluate(KUHN, kuhn_agents(), deals=50, keep=path)
    assert report.deals == 50


def test_results_are_written_whole_with_machine_and_commit(tmp_path: Path) -> None:
    report = evaluate(KUHN, kuhn_agents(), deals=50)
    path = tmp_path / "found.json"
    results.write(path, report.to_json())
    found = json.loads(path.read_text("utf-8"))
    assert found["agents"][0]["mean_return"] == report.agents[0].mean_return.to_json()
    assert {"version", "commit", "sources", "date", "machine"} <= set(found)
    assert found["machine"]["cores"] >= 1
    with pytest.raises(ValueError, match="not JSON compliant"):
        results.write(path, {"number": float("nan")})
    assert json.loads(path.read_text("utf-8")) == found
    assert [file.name for file in tmp_path.iterdir()] == ["found.json"]


def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    results.check_place(tmp_path / "new.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        results.check_place(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        results.check_place(tmp_path / "none" / "new.json")


def test_tournament_of_two_seats(tmp_path: Path) -> None:
    game = table(2)
    agents: list[Agent] = [
        RandomAgent(),
        KernelAgent("bot:high", stay_high, game),
        KernelAgent("middle", stay_if_above_the_middle, game),
    ]
    found = tournament(game, agents, deals=500)
    assert found.anchor == 1
    assert found.ratings[1] == (1000.0, 1000.0, 1000.0)
    pair = evaluate(game, [agents[0], agents[2]], deals=500)
    cells = {(one.agent, one.against): one for one in found.standings}
    assert len(cells) == 6
    assert (
        cells[0, 2].mean_return == pair.agents[0].mean_return
    )  # the same decks in every pairing, and as in `evaluate`
    assert cells[2, 0].mean_return == pair.agents[1].mean_return
    assert cells[2, 0].win_share == pair.agents[1].win_share
    null = evaluate(game, ["random", "random"], deals=500).agents[0]
    assert found.null["mean_return"] == null.mean_return.to_json()
    against = [[cells[one, other].mean_return.mean if one != other else 0 for other in range(3)] for one in range(3)]
    rated, mixture = deviation_ratings(np.array(against))
    assert [one.mean for one in found.deviations] == pytest.approx(rated.tolist(), abs=1e-9)
    assert found.mixture == pytest.approx(mixture.tolist(), abs=1e-9)
    assert "null: random against itself" in found.table()
    path = tmp_path / "table.json"
    with pytest.raises(KeyboardInterrupt):
        tournament(game, agents, deals=500, progress=interrupt_after(700), keep=path)
    begun: list[int] = []
    resumed = tournament(game, agents, deals=500, progress=lambda done, all_: begun.append(done), keep=path)
    assert resumed.null == found.null
    assert begun[0] > 700
    assert resumed.standings == found.standings
    assert resumed.ratings == found.ratings
    results.write(path, resumed.to_json())
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(path.read_text("utf-8"))["anchor"] == {"agent": 1, "rating": 1000.0}


def test_tournament_of_three_seats_tries_both_as_the_one_alone() -> None:
    found = tournament(table(3), high_agents(3), deals=3000)
    assert [(one.agent, one.against) for one in found.standings] == [(0, 1), (1, 0)]
    assert found.standings[0].mean_return.low > 0 > found.standings[1].mean_return.high
    assert found.ratings[0].low > found.ratings[1].high or found.standings[0].win_share.mean < 1 / 3
    assert "sits alone" in found.table()
    with pytest.raises(ValueError, match="has one seat"):
        tournament(table(1), high_agents(1))
    with pytest.raises(ValueError, match="needs 2 agents or more"):
        tournament(table(3), high_agents(3)[:1])


def test_rating_intervals_cover_the_truth() -> None:
    random, covered, runs = np.random.default_rng(7), 0, 100
    truth = 1000 + 400 * np.log10(0.6 / 0.4)
    for run in range(runs):
        shares = (random.random((150, 1)) < 0.6).astype(float)
        rating = ratings(shares, [(0, 1)], 2, 1, run)[0]
        covered += rating.low <= truth <= rating.high
    assert covered >= 88  # 95 expected; 88 or more with probability 0.998
    certain = ratings(np.ones((100, 1)), [(0, 1)], 2, 1, 0)[0]
    assert 1000 < certain.mean < 3000
