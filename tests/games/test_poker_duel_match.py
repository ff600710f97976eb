"""What a match of Poker Duel is worth between two games, and that searches stop there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.search.determinizations import Determinizations
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.poker_duel import rules
from backalley.envs.poker_duel.bots import tune
from backalley.envs.poker_duel.match import match_value
from backalley.envs.poker_duel.tables import GAME_CHANCES
from tests.common.cases import by_count

GAME = game_type("poker_duel").bind()


def between_games(game: Any, points: tuple[float, float], finished: int = 1, sudden_death: int = 0) -> Any:
    state = np.zeros(1, game.state_dtype)[0]
    state.points[:] = points
    state.game, state.sudden_death = finished, sudden_death
    state.seat = -1
    return state


def leaf(points: tuple[float, float], *, finished: int = 1, sudden_death: int = 0, **given: Any) -> float:
    game = GAME.bind(given)
    state = between_games(game, points, finished, sudden_death)
    mine, theirs = (float(rules.leaf_value(game.options, state, seat)) for seat in range(2))
    assert mine == pytest.approx(-theirs)
    return mine


def test_the_chances_of_a_game_are_shares_and_alike_for_both() -> None:
    assert GAME_CHANCES.shape == (2, 2, 3, 3, 3)
    assert GAME_CHANCES.min() >= 0
    assert GAME_CHANCES.sum(axis=(2, 3, 4)) == pytest.approx(np.ones((2, 2)))
    assert np.abs(GAME_CHANCES - GAME_CHANCES[:, :, ::-1, ::-1, ::-1]).max() < 1e-12


def test_a_lead_is_worth_the_more_the_greater_it_is_and_the_fewer_games_are_left() -> None:
    values = [leaf((max(lead, 0), max(-lead, 0))) for lead in range(-7, 8)]
    assert values == sorted(values)
    assert values[7] == pytest.approx(0, abs=1e-12)
    assert values[0] == pytest.approx(-1)
    assert values[-1] == pytest.approx(1), "seven points cannot be made up in one game"
    assert -1 < values[1] < values[6] < 0
    later = [match_value(GAME.options, 2, games) for games in range(6)]
    assert later == sorted(later, reverse=True)
    assert later[0] == 1


@pytest.mark.parametrize(
    ("points", "given", "value"),
    [
        ((4, 1), {"reward": "points"}, 0.25),
        ((4.5, 1.5), {"reward": "points", "tie_points": "split"}, 0.25),
        ((4, 1), {"reward": "points", "num_games": 4}, 0.125),
        ((4, 1), {"reward": "per_round"}, 0),
        ((5, 5), {"sudden_death": 1, "finished": 2}, 0),
        ((5, 5), {"sudden_death": 3, "finished": 2, "reward": "points"}, 0),
        ((0, 0), {"sudden_death": 2, "finished": 0, "episode": "sudden_death"}, 0),
        ((0, 0), {"sudden_death": 2, "finished": 0, "episode": "sudden_death", "misere": True}, 0),
    ],
)
def test_what_is_left_to_gain_by_the_other_rewards_and_in_sudden_death(
    points: tuple[float, float], given: dict[str, Any], value: float
) -> None:
    options = {name: item for name, item in given.items() if name not in ("sudden_death", "finished")}
    found = leaf(points, finished=given.get("finished", 1), sudden_death=given.get("sudden_death", 0), **options)
    assert found == pytest.approx(value)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"misere": True},
        pytest.param({"num_games": 3, "nothing_scores": False, "tie_points": "split"}, marks=pytest.mark.slow),
        pytest.param({"round_points": (2, 1, 5), "reward": "points"}, marks=pytest.mark.slow),
    ],
)
def test_after_a_game_the_leaf_value_is_what_comes_of_the_lead(given: dict[str, Any]) -> None:
    """Over matches of `strong` with itself, by lead and by dealer of the next game."""
    game = GAME.bind(given)
    states, paid = by_count(game, "bot:strong", "game", 4_000 if COMPILED else 10, seed=3)
    states, paid = states[states["game"] == 1], paid[states["game"] == 1]
    hoped = np.array([rules.leaf_value(game.options, one, 0) for one in states])
    for which in [states["dealer"] == 0, states["dealer"] == 1, *(hoped == value for value in np.unique(hoped))]:
        if which.sum() >= 100:
            error = max(paid[which].std(), 0.02) / np.sqrt(which.sum())
            assert abs(paid[which].mean() - hoped[which].mean()) < 4 * error, f"{hoped[which].mean()}"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="thousands of games")
@pytest.mark.parametrize("misere", [False, True])
def test_the_chances_of_a_game_can_be_measured_again(misere: bool) -> None:
    games = 8_000
    counts = tune.played(games, seed=10**6, misere=misere)
    found, expected = tune.for_either(counts) / (2 * games), GAME_CHANCES[int(misere)]
    assert np.abs(found - expected).max() < 4 * np.sqrt(0.25 / games)
    lead, half = tune.dealers_lead(counts[1])
    assert abs(lead) < 2 * half


@pytest.mark.parametrize("reward", ["match", "points"])
def test_a_search_stops_at_the_end_of_a_game(reward: str) -> None:
    """What a rollout of a match's first game gains is what some lead is worth; a match played out would be won, lost,
    or have other leads."""
    game = GAME.bind(num_games=4, reward=reward)
    batch = BatchEnv(game, 2, seed=6)
    batch.reset()
    view = view_of(batch, np.arange(2), np.arange(2, dtype=np.uint64))
    gained = Determinizations(game, 1).play(view, np.arange(2), view.action_mask, 0, 8)[:, :, view.action_mask[0] == 1]
    leads = {
        round(float(rules.leaf_value(game.options, between_games(game, (max(lead, 0), max(-lead, 0))), 0)), 5)
        for lead in range(-6, 7)
    }
    assert {round(float(value), 5) for value in gained.ravel()} <= leads
    assert 0 < np.abs(gained).max() < 1
