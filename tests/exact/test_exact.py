"""The exact solver and best play: published and independent figures, for both seats, and what is refused."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import backalley
from backalley.benchmarks.exact import exact
from backalley.benchmarks.exact.best_play import BestPlay
from backalley.benchmarks.exact.exact import Unsolvable, solve
from backalley.benchmarks.exact.expectimax import memory
from backalley.benchmarks.exact.openings import openings
from backalley.benchmarks.figures import results
from backalley.examples.kuhn import GAME as KUHN
from tests.common.toy import DRAW, PACK, STOP, TOY, by_hand


@pytest.mark.uncompiled  # a small game, for which the solver would be compiled twelve times; Backhand's is, below
@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_toy_game_has_the_value_that_fractions_give(seats: int, split: int, threads: int) -> None:
    game = dataclasses.replace(TOY, enumeration_split=split).bind()
    found = solve(game.bind({"seats": seats}), num_threads=threads)
    assert found.best_return == pytest.approx(float(by_hand(seats, best=True)), abs=1e-12)
    assert found.random_return == pytest.approx(float(by_hand(seats)), abs=1e-12)


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("objective", "counts"), [("win", lambda gain: gain > 0), ("win_or_tie", lambda gain: gain >= 0)]
)
def test_a_game_of_one_seat_is_solved_for_wins_alone(objective: str, counts: Callable[[Fraction], bool]) -> None:
    found = solve(TOY.bind(seats=1), objective=objective)
    wins = {best: float(by_hand(1, best=best, worth=lambda gain: Fraction(counts(gain)))) for best in (True, False)}
    assert found.best_return == pytest.approx(wins[True], abs=1e-12)
    assert found.random_return == pytest.approx(wins[False], abs=1e-12)
    assert found.to_json()["objective"] == objective
    assert re.search(rf"^best, to {objective.replace('_', ' ')} +1?", found.table(), re.MULTILINE)
    assert found.records()[0] == {"game": "toy-v0", "play": "best", objective: found.best_return}


def test_what_cannot_be_solved_is_reported_with_the_true_reason() -> None:
    with pytest.raises(Unsolvable, match=r"all is public but the order of the stub.*Give a deal \(--deck\)"):
        solve("missouri_city")
    with pytest.raises(Unsolvable, match="2 seats, of which one gains what the other loses"):
        solve(TOY.bind(seats=2), objective="win")
    with pytest.raises(ValueError, match=r"The objective is 'points'; there are reward, win, win_or_tie\."):
        solve(TOY.bind(), objective="points")


def test_openings_cover_every_way_the_cards_can_fall_once() -> None:
    game = dataclasses.replace(TOY, enumeration_split=2).bind()
    shares: dict[tuple[int, ...], float] = {}
    for chance, cards in openings(game):
        kinds = tuple(PACK[card] for card in cards)
        assert kinds not in shares
        shares[kinds] = chance
    counted: dict[tuple[int, ...], int] = {}
    for pair in itertools.permutations(PACK, 2):
        counted[pair] = counted.get(pair, 0) + 1
    assert shares == pytest.approx({kinds: count / 30 for kinds, count in counted.items()})


def test_a_game_with_hidden_cards_is_refused_in_a_sentence() -> None:
    with pytest.raises(Unsolvable, match="kuhn cannot be solved by enumeration"):
        solve(KUHN)


@pytest.mark.slow
def test_work_that_was_kept_is_gone_on_with(tmp_path: Path) -> None:
    game, path = dataclasses.replace(TOY, enumeration_split=2).bind(), tmp_path / "found.json"
    kept = tmp_path / "found.json.unfinished"

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise Stop

    with pytest.raises(Stop):
        solve(game, keep=path, progress=stop)
    with pytest.raises(ValueError, match="holds unfinished work of another task"):
        solve(game.bind({"seats": 1}), keep=path)
    seen: list[int] = []
    found = solve(game, keep=path, progress=lambda done, total: seen.append(done))
    assert seen
    assert min(seen) > len(list(openings(game))) // 2
    assert found.best_return == pytest.approx(float(by_hand(2, best=True)), abs=1e-12)
    assert kept.exists(), "nothing is lost before the solution is on disk"
    results.write(path, found.to_json())
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(path.read_text("utf-8"))["best_return"] == found.best_return
    kept.write_text("{")  # damaged: there is nothing in it to lose
    seen.clear()
    assert solve(game, keep=path, progress=lambda done, total: seen.append(done)).best_return == found.best_return
    assert len(seen) > 1


@pytest.mark.slow
def test_backhand_has_its_published_value() -> None:
    """The rules' figures: best play wins with probability 0.572722038, random play with 0.345877721."""
    best, drifting = solve("backhand").even_money
    assert best == pytest.approx(0.572722038, abs=5e-10)
    assert drifting == pytest.approx(0.345877721, abs=5e-10)


# What each action is worth under best play ----------------------------------------------------------------------------

GAME = TOY.bind()


@functools.cache
def solved() -> BestPlay:
    """Solved in the process that asks: most tests are played uncompiled."""
    return BestPlay(GAME)


@pytest.mark.uncompiled
def test_the_best_actions_after_every_deal_are_worth_what_the_game_is() -> None:
    env, found = GAME.make(), []
    for card in range(len(PACK)):
        env.reset(options={"decks": [[card]]})
        found.append(solved().values(env).max())
    assert np.mean(found) == pytest.approx(float(by_hand(2, best=True)), abs=1e-12)


@pytest.mark.uncompiled
def test_the_second_seat_is_shown_what_it_gains_itself() -> None:
    env = GAME.make()
    env.reset(options={"decks": [[5, 0, 1, 2, 3, 4]]})
    stop = solved().values(env)[STOP]
    env.step(STOP)
    assert solved().values(env)[STOP] == -1, "a total of 0 loses to 5"
    assert -1 < solved().values(env)[DRAW] == pytest.approx(-stop, abs=1e-12)


@pytest.mark.uncompiled
def test_what_is_not_legal_has_no_value_and_any_row_of_a_batch_can_be_asked_about() -> None:
    batch = GAME.make_vec(2, seed=0)
    batch.reset(options={"decks": [[3, 4, 5, 0, 1, 2]]})
    for _ in range(5):  # 3, 3 and 5 pass 6; the other seat gets 1, 1 and 2, the last cards
        step = batch.step([STOP, DRAW])
    values = solved().values(batch, row=1)
    assert (np.isfinite(values) == (step.action_mask[1] != 0)).all()
    assert values[STOP] == 1
    assert np.isnan(values[DRAW])


@pytest.mark.slow
def test_a_memory_that_is_too_small_grows_and_then_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    env = GAME.make()
    env.reset(options={"decks": [[0]]})
    wanted, roomy = solved().values(env), solved()._store
    solved()._store = memory(GAME, 4)
    assert solved().values(env) == pytest.approx(wanted)
    monkeypatch.setattr(exact, "_LARGEST", 8)
    solved()._store = memory(GAME, 4)
    with pytest.raises(Unsolvable, match="too many to solve"):
        solved().values(env)
    solved()._store = roomy


@pytest.mark.uncompiled
def test_best_play_of_other_games_is_refused_in_a_sentence() -> None:
    with pytest.raises(Unsolvable, match="kuhn cannot be solved by enumeration"):
        BestPlay(KUHN)
    env = backalley.make("backhand")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"The table is of .*backhand.*; what is solved here is .*toy"):
        solved().values(env)
