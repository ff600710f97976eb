"""One seat of many tables as Stable-Baselines3's `VecEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks

from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.training.ppo.vec_env import OneSeatVecEnv
from tests.common.cases import BY_NAME

KUHN = kuhn.GAME.bind()


def said(info: dict[str, Any]) -> dict[str, Any]:
    """What both environments say of an end."""
    hidden = ("action_mask", "seat", "scorecard", "terminal_observation", "TimeLimit.truncated")
    return {name: value for name, value in info.items() if name not in hidden}


@BY_NAME
def test_each_row_plays_as_a_gymnasium_environment(game: Game) -> None:
    draw, how = np.random.default_rng(3), {"seat": "random", "opponent": "random", "on_illegal": "random"}
    env, twins = OneSeatVecEnv(game, 3, **how), [GymnasiumEnv(game, **how) for _ in range(3)]
    env.seed(8)
    shown = env.reset()
    begun = [twin.reset(seed=8 + row) for row, twin in enumerate(twins)]
    legal = np.array([info["action_mask"] for _, info in begun])
    np.testing.assert_array_equal(shown, [one for one, _ in begun])
    ended = 0
    for number in range(80):
        np.testing.assert_array_equal(get_action_masks(env).reshape(legal.shape), legal)
        actions = (draw.random(legal.shape) * (legal if number % 4 else 1)).argmax(1)
        shown, reward, over, infos = env.step(actions)
        for row, twin in enumerate(twins):
            one, gained, terminated, truncated, info = twin.step(actions[row])
            assert (over[row], np.float32(gained)) == (terminated or truncated, reward[row])
            assert said(infos[row]) == said(info) if over[row] else infos[row].keys() <= {"illegal_action"}
            if over[row]:
                ended += 1
                np.testing.assert_array_equal(infos[row]["terminal_observation"], one)
                assert infos[row]["TimeLimit.truncated"] is truncated
                one, info = twin.reset()
            np.testing.assert_array_equal(shown[row], one)
            legal[row] = info["action_mask"]
    env.close()
    assert ended or game.name not in ("baccarat", "backhand")


def test_resets_take_seeds_and_packs_once() -> None:
    game = game_of("missouri_city")
    env, twin = OneSeatVecEnv(game, 3), GymnasiumEnv(game)
    packs = {"decks": [range(52)], "start_outcome": 0}
    env.set_options([{}, packs, {}])
    shown = env.reset()
    np.testing.assert_array_equal(shown[1], twin.reset(options=packs)[0])
    assert not np.array_equal(shown[0], shown[1])
    env.seed(5)
    first, second = env.reset(), env.reset()
    assert not np.array_equal(first, second)
    env.seed(5)
    np.testing.assert_array_equal(env.reset(), first)
    with pytest.raises(AttributeError, match="no attributes of their own"):
        env.set_attr("seat", 1)


def test_masked_ppo_learns_a_seat() -> None:
    """Its buffer holds only the learner's own decisions, with their masks: all rows of a Gymnasium environment."""
    env = OneSeatVecEnv(KUHN, 16, seat="random", opponent="random")
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, device="cpu", seed=0)
    before = [one.detach().clone() for one in model.policy.parameters()]
    model.learn(256)
    buffer = model.rollout_buffer
    masks = buffer.action_masks.reshape(-1, KUHN.num_actions)
    assert masks[np.arange(256), buffer.actions.reshape(-1).astype(int)].all()
    assert np.abs(buffer.rewards).sum() > 0
    assert any(not one.equal(then) for one, then in zip(model.policy.parameters(), before, strict=True))
