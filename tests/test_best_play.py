"""What actions are worth under best play: against fractions worked out by hand, for both seats, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import backalley
from backalley.benchmarks import exact
from backalley.benchmarks.best_play import BestPlay
from backalley.benchmarks.enumeration import memory
from backalley.benchmarks.exact import Unsolvable
from tests.kuhn import GAME as KUHN
from tests.toy import DRAW, PACK, STOP, TOY, by_hand

GAME = TOY.bind()


@pytest.fixture(scope="module")
def best() -> BestPlay:
    return BestPlay(GAME)


def test_the_best_actions_after_every_deal_are_worth_what_the_game_is(best: BestPlay) -> None:
    env, found = GAME.make(), []
    for card in range(len(PACK)):
        env.reset(options={"decks": [[card]]})
        found.append(best.values(env).max())
    assert np.mean(found) == pytest.approx(float(by_hand(2, best=True)), abs=1e-12)


def test_the_second_seat_is_told_what_it_gains_itself(best: BestPlay) -> None:
    env = GAME.make()
    env.reset(options={"decks": [[5, 0, 1, 2, 3, 4]]})
    stop = best.values(env)[STOP]
    env.step(STOP)
    assert best.values(env)[STOP] == -1, "a total of 0 loses to 5"
    assert -1 < best.values(env)[DRAW] == pytest.approx(-stop, abs=1e-12)


def test_what_is_not_legal_has_no_value_and_any_row_of_a_batch_can_be_asked_about(best: BestPlay) -> None:
    batch = GAME.make_vec(2, seed=0)
    batch.reset(options={"decks": [[3, 4, 5, 0, 1, 2]]})
    for _ in range(5):  # 3, 3 and 5 pass 6; the other seat gets 1, 1 and 2, the last cards
        step = batch.step([STOP, DRAW])
    values = best.values(batch, row=1)
    assert (np.isfinite(values) == (step.action_mask[1] != 0)).all()
    assert values[STOP] == 1
    assert np.isnan(values[DRAW])


def test_a_memory_that_is_too_small_grows_and_then_gives_up(best: BestPlay, monkeypatch: pytest.MonkeyPatch) -> None:
    env = GAME.make()
    env.reset(options={"decks": [[0]]})
    wanted, roomy = best.values(env), best._store
    best._store = memory(GAME, 4)
    assert best.values(env) == pytest.approx(wanted)
    monkeypatch.setattr(exact, "_LARGEST", 8)
    best._store = memory(GAME, 4)
    with pytest.raises(Unsolvable, match="too many to solve"):
        best.values(env)
    best._store = roomy


def test_other_games_are_refused_in_a_sentence(best: BestPlay) -> None:
    with pytest.raises(Unsolvable, match="kuhn cannot be solved by enumeration"):
        BestPlay(KUHN)
    env = backalley.make("backhand")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"The table is of .*backhand.*; what is solved here is .*toy"):
        best.values(env)
