"""What a batch books for learners: the reward of each seat's own decisions, as PettingZoo's `last()` has it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from backalley.testing.play import random_actions
from tests.common.cases import BY_NAME

SHORT: dict[str, dict[str, Any]] = {
    "killer_bridge": {"length": "single", "hand_size": 3},
    "pitch": {"mode": "hand"},
    "poker_duel": {"num_games": 1},
}
"""Options under which a long game ends after some ten decisions."""


def limited(game: Game, decisions: int) -> Game:
    """A game whose episodes are truncated after so many decisions."""
    limits = dataclasses.replace(game.type, max_decisions=lambda options: decisions)
    return limits.bind(SHORT.get(game.name, {}))


def batch_of(game: Game, size: int, **settings: Any) -> BatchEnv:
    batch = BatchEnv(game, size, seed=7, delayed_rewards=True, **settings)
    batch.reset()
    return batch


class Reference:
    """One table through the AEC interface, and what its seats have gained, looked up by `last()`."""

    def __init__(self, game: Game, seed: int, **settings: Any) -> None:
        self.env, self.seats = AECEnv(game, **settings), game.num_seats
        self.env.reset(seed=seed)
        self.decided: set[int] = set()
        self.gained, self.ended = np.zeros(self.seats), np.ones(self.seats, np.bool_)

    def seat(self) -> int:
        return self.env.possible_agents.index(self.env.agent_selection)

    def step(self, action: int) -> bool:
        """Play; at the end of an episode, look up every seat. Returns whether it ended."""
        self.look_up()
        self.decided.add(self.seat())
        self.env.step(action)
        over = any(self.env.terminations.values()) or any(self.env.truncations.values())
        while over and self.env.agents:
            self.look_up()
            self.ended[self.seat()] = True
            self.env.step(None)
        return over

    def look_up(self) -> None:
        """What `last()` says of the selected seat; nothing that it got before its first decision of the episode."""
        if self.seat() in self.decided:
            self.gained[self.seat()] = self.env.last(observe=False)[1]
            self.ended[self.seat()] = False

    def begin(self) -> None:
        self.env.reset()
        self.decided.clear()


def agree(batch: BatchEnv, tables: list[Reference]) -> int:
    """The seats to act, and those of ended episodes, have in the batch what `last()` says; how many these were."""
    compared = 0
    for row, table in enumerate(tables):
        table_ended = batch.time_step.seat[row] == OVER
        for seat in range(batch.num_seats):
            reward, ended = batch.delayed.reward[row, seat], batch.delayed.ended[row, seat]
            if not table_ended and table.env.agents and seat == table.seat():
                table.look_up()
            if table_ended or seat not in table.decided or seat == table.seat():
                assert reward == pytest.approx(table.gained[seat], abs=1e-4), (row, seat)
                assert ended == table.ended[seat], (row, seat)
                compared += 1
    return compared


@BY_NAME
@pytest.mark.parametrize(("autoreset", "limit"), [(True, 100), (False, 100), (True, 5)])
def test_it_is_what_the_aec_environment_gathers(game: Game, autoreset: bool, limit: int) -> None:
    """At random, some tables at a time; where tables do not start again by themselves, they are started later."""
    game = limited(game, limit)
    batch, random = batch_of(game, 5, autoreset=autoreset), np.random.default_rng(3)
    tables = [Reference(game, 7 + row) for row in range(5)]
    compared = ends = cut = paid = 0
    for _ in range(220):
        step = batch.time_step
        rows = np.flatnonzero((step.seat >= 0) & (random.random(5) < 0.7))
        actions = random_actions(step.action_mask[rows], random)
        step = batch.step(actions, rows)
        for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
            if tables[row].step(action):
                ends += 1
                cut += bool(step.truncated[row])
                assert batch.delayed.ended[row].tolist() == tables[row].ended.tolist()
                assert batch.delayed.reward[row] == pytest.approx(tables[row].gained, abs=1e-4)
                if autoreset:
                    tables[row].begin()
        compared += agree(batch, tables)
        paid += int(np.count_nonzero(batch.delayed.reward))
        over = np.flatnonzero(batch.time_step.seat < 0)
        again = over[random.random(len(over)) < 0.5]
        if len(again):
            batch.restart(again)
            for row in again.tolist():
                tables[row].begin()
    assert compared > 500
    assert ends > 5
    assert paid > 0 or limit == 5
    assert cut > 0 or limit == 100 or game.name in ("baccarat", "backhand", "buffalo_bayou")


def test_a_hand_of_kuhn_poker_by_hand() -> None:
    """Seat 0 has the better card: pass, bet, bet is worth 2 to it; pass, pass 1."""
    batch = BatchEnv(KUHN.bind(), 1, seed=0, delayed_rewards=True, autoreset=False)
    batch.reset(options={"decks": [["K", "Q", "J"]]})
    reward, ended = batch.delayed
    assert (reward.tolist(), ended.tolist()) == ([[0, 0]], [[True, True]])
    for action, expected in ((0, [False, True]), (1, [False, False]), (1, [True, True])):
        batch.step([action])
        assert ended.tolist() == [expected]
    assert reward.tolist() == [[2, -2]]
    batch.reset(options={"decks": [["K", "Q", "J"]]})
    assert (reward.tolist(), ended.tolist()) == ([[2, -2]], [[True, True]]), "until they decide again"
    batch.step([0])
    assert (reward.tolist(), ended.tolist()) == ([[0, -2]], [[False, True]])
    batch.restart([0])
    assert (reward.tolist(), ended.tolist()) == ([[0, -2]], [[True, True]]), "a dropped episode is over"


def test_an_illegal_action_that_ends_the_episode_is_a_decision() -> None:
    game = backalley.game("missouri_city")
    batch, table = batch_of(game, 1), Reference(game, 7, on_illegal="terminate")
    illegal = int(np.argmin(batch.time_step.action_mask[0]))
    batch.forfeit([0])
    table.step(illegal)
    seat = int(np.flatnonzero(table.gained)[0])
    assert batch.delayed.reward[0].tolist() == table.gained.tolist()
    assert table.gained[seat] == game.reward_range[0]
    assert batch.delayed.ended.all()


def shown(batch: BatchEnv) -> list[bytes]:
    return [array.tobytes() for array in (*batch.time_step, *batch.delayed)]


def on(batches: list[BatchEnv], steps: int, seed: int) -> None:
    """Play the same random actions in each."""
    for batch in batches:
        random = np.random.default_rng(seed)
        for _ in range(steps):
            batch.step(random_actions(batch.time_step.action_mask, random))


def test_copies_pickles_and_threads_book_alike() -> None:
    game = backalley.game("missouri_city")
    batch, threads = batch_of(game, 1100), batch_of(game, 1100, num_threads=3)
    on([batch, threads], 9, seed=1)
    twins = [threads, copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))]
    for twin in twins:
        assert shown(twin) == shown(batch)
    on([batch, *twins], 9, seed=2)
    assert all(shown(twin) == shown(batch) for twin in twins)
    assert len(np.unique(batch.delayed.reward)) > 2
    threads.close()


def test_rows_that_are_copied_or_set_take_their_accounts_along_or_begin_anew() -> None:
    batch = batch_of(backalley.game("missouri_city"), 4)
    on([batch], 28, seed=5)
    reward, ended = (array.copy() for array in batch.delayed)
    assert len(np.unique(reward[[0, 1, 3]], axis=0)) == 3
    batch.copy_rows([0, 1, 1], [1, 0, 2])
    assert batch.delayed.reward.tolist() == reward[[1, 0, 1, 3]].tolist()
    assert batch.delayed.ended.tolist() == ended[[1, 0, 1, 3]].tolist()
    assert reward[3].any()
    batch.set_states(batch.states([0]), [3])
    assert batch.delayed.reward[3].tolist() == [0, 0]
    assert batch.delayed.ended[3].all()


def test_what_is_handed_out_decides_no_form() -> None:
    batch = batch_of(KUHN.bind(), 4)
    for array in batch.delayed:
        array[...] = 1  # as a checkpoint does
        assert array.base is not None
        array.base.shape = (array.base.size,)
    on([batch], 3, seed=0)
    assert batch.delayed.reward.shape == (4, 2)


def test_it_is_asked_for() -> None:
    batch = backalley.make_vec("missouri_city", num_envs=2, delayed_rewards=True)
    assert repr(batch).endswith("2, delayed_rewards=True)")
    plain = backalley.make_vec("missouri_city", num_envs=2)
    with pytest.raises(RuntimeError, match="make the batch with delayed_rewards=True"):
        _ = plain.delayed
    with pytest.raises(TypeError, match="delayed_rewards is 'yes'"):
        backalley.make_vec("missouri_city", delayed_rewards="yes")  # type: ignore[call-overload]
