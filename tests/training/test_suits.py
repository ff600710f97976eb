"""The learner meets every game under any names of the suits, and nobody else does."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.base.rule_based import bots_of
from backalley.agents.policies.network import masked, weights_of
from backalley.envs.core.game.catalogue import game
from backalley.training.config import config
from backalley.training.ppo.kernels import Playing
from backalley.training.ppo.seats import LEARNER, League
from backalley.training.ppo.vec_env import SeatsVecEnv
from tests.training.test_ppo import TABLES, model_of

GAME = game("pitch", mode="hand")


def permuted(env: SeatsVecEnv, shown: npt.NDArray[Any], which: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Observations as they are seen under each one's renaming, row by row."""
    orders = [symmetry.observation for symmetry in env.game.symmetries]
    return np.stack([row[orders[number]] for row, number in zip(shown, which, strict=True)])


def test_what_is_learned_under_other_names_is_played_under_the_games_own() -> None:
    """Beside tables with the suits' own names, with the same seed and the same actions by other names: the same
    games."""
    league = [League(bots_of(GAME)) for _ in range(2)]
    plain, other = (
        SeatsVecEnv(GAME, 32, seed=3, league=league[number], league_share=0.5, symmetry=bool(number))
        for number in range(2)
    )
    random, rows, met = np.random.default_rng(1), np.arange(32), set()
    shown = [plain.reset(), other.reset()]
    for _ in range(60):
        which = other.names.number[rows, other.to_act()]
        np.testing.assert_array_equal(shown[1], permuted(other, shown[0], which))
        masks, chosen = plain.action_masks(), np.zeros((2, 32), np.int64)
        for row in rows:
            action = int(random.choice(np.flatnonzero(masks[row])))
            symmetry = GAME.symmetries[which[row]]
            chosen[:, row] = action, symmetry.actions[action]
            np.testing.assert_array_equal(other.action_masks()[row], masks[row][symmetry.chosen])
        met |= set(other.names.number[other.who == LEARNER].tolist())
        assert (other.names.number[other.who != LEARNER] == 0).all()
        played = [env.step(actions) for env, actions in zip((plain, other), chosen, strict=True)]
        shown = [step[0] for step in played]
        np.testing.assert_array_equal(played[1][1], played[0][1])
        np.testing.assert_array_equal(played[1][2], played[0][2])
        np.testing.assert_array_equal(other.tables.engine.batch.raw, plain.tables.engine.batch.raw)
    assert met == set(range(24))


def test_a_seat_keeps_its_names_for_an_episode() -> None:
    env = SeatsVecEnv(GAME, TABLES, seed=1)
    env.reset()
    for _ in range(40):
        before = env.names.number.copy()
        env.step(env.names.actions(env.action_masks().argmax(1), np.zeros(TABLES, np.int64)))
        np.testing.assert_array_equal(env.names.number[~env.ended], before[~env.ended])
        assert not env.ended.any() or (env.names.number[env.ended] != before[env.ended]).any()


def test_samples_are_the_policys_own() -> None:
    """What is kept of a decision, in the names it was taken under, has the probability that was noted."""
    model = model_of(SeatsVecEnv(GAME, TABLES, seed=2), learning_rate=0.0)
    model.iterate()
    buffer = model.rollout
    for step in range(len(buffer.actions)):
        shown, chosen, legal = buffer.observations[step], buffer.actions[step], buffer.action_masks[step]
        assert np.take_along_axis(legal, chosen[:, None], 1).all()
        with torch.no_grad():
            logits = masked(model.network(torch.from_numpy(shown))[0], torch.from_numpy(legal))
            found = torch.log_softmax(logits, 1).numpy()[np.arange(TABLES), chosen]
        np.testing.assert_allclose(found, buffer.log_probs[step], atol=1e-5)


def test_the_critic_is_asked_in_the_names_that_each_seat_has() -> None:
    """Where a rollout is cut, and where an episode is."""
    env = SeatsVecEnv(dataclasses.replace(GAME.type, max_decisions=lambda options: 3).bind(mode="hand"), TABLES, seed=4)
    model = model_of(env)
    asked = []

    class Critic(Playing):
        def values(self, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
            asked.append(shown)
            return np.arange(len(shown), dtype=np.float32)

    model.iterate()
    weights = weights_of(model.network)
    last = model.rollout.last_values(Critic(env.game, None, weights, weights, model.pool))
    rows, seats = np.nonzero(np.ones((TABLES, env.num_seats)))
    np.testing.assert_array_equal(last[rows, seats], np.arange(len(rows)))
    np.testing.assert_array_equal(
        asked[0], permuted(env, env.tables.observe(seats, rows), env.names.number[rows, seats])
    )
    restart = env.tables.restart
    for _ in range(3):
        which, plain = env.names.number.copy(), list[npt.NDArray[Any]]()

        def watch(over: Any, plain: list[npt.NDArray[Any]] = plain) -> Any:
            seats = np.tile(np.arange(env.num_seats), len(over))
            plain.append(env.tables.observe(seats, np.repeat(over, env.num_seats)))
            return restart(over)

        env.tables.restart = watch  # type: ignore[method-assign]
        env.step(env.action_masks().argmax(1))
        if env.cut_off is not None:
            found = env.cut_off.observation.reshape(len(plain[0]), -1)
            np.testing.assert_array_equal(found, permuted(env, plain[0], which[env.cut_off.rows].reshape(-1)))
            return
    raise AssertionError("no episode was cut off")


def test_the_setting_says_whether() -> None:
    assert config.load(GAME).ppo.symmetry
    env = SeatsVecEnv(GAME, TABLES, symmetry=False)
    np.testing.assert_array_equal(env.reset(), env.tables.time_step.observation)
    assert env.names.plain
    assert SeatsVecEnv(game("backhand"), TABLES).names.plain
