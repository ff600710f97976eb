"""The standard interfaces: PettingZoo's, Gymnasium's and SB3's own checkers, and what they do not check."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils import env_checker
from pettingzoo.test import api_test, seed_test

import backalley
from backalley.agents.rule_based import BotAgent
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.parts import OVER
from tests.cases import CASES, GAMES, random_action

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@BY_NAME
@pytest.mark.filterwarnings(
    "ignore"
)  # PettingZoo's tests warn of what they merely do not expect, such as integer observations
def test_pettingzoo(game: Game) -> None:
    api_test(backalley.make(game.id), num_cycles=300)
    seed_test(lambda: backalley.make(game.id))


@pytest.mark.parametrize("game", CASES)
@pytest.mark.filterwarnings("ignore")
def test_pettingzoo_under_every_option(game: Game) -> None:
    api_test(backalley.make(game), num_cycles=30)


@BY_NAME
def test_pettingzoos_registry(game: Game) -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    env = pettingzoo.make("aec", f"backalley/{game.id}", render_mode="ansi")
    assert isinstance(env, AECEnv)
    assert env.game == game


@BY_NAME
def test_rendering_shows_the_seat_to_act_its_table(game: Game, capsys: pytest.CaptureFixture[str]) -> None:
    env = backalley.make(game.id, render_mode="ansi")
    env.reset(seed=3)
    text = env.render()
    assert isinstance(text, str)
    assert game.title in text
    assert "to act" in text
    human = backalley.make(game.id, render_mode="human", render_seat=0)
    human.reset(seed=3)
    assert human.render() is None
    assert "player_0" in capsys.readouterr().out
    for bad in ({"render_mode": "rgb"}, {"render_seat": 99}):
        with pytest.raises(ValueError, match=r"it takes|has seats"):
            backalley.make(game.id, **bad)


@BY_NAME
def test_masks_off_turn_are_zero_and_rewards_add_up(game: Game) -> None:
    env = AECEnv(game.bind())
    random = np.random.default_rng(0)
    for episode in range(3):
        env.reset(seed=episode)
        told = dict.fromkeys(env.possible_agents, 0.0)
        gained = np.zeros(len(told))
        for agent in env.agent_iter():
            shown, reward, terminated, truncated, info = env.last()
            told[agent] += reward
            for other in env.agents:
                if other != agent:
                    assert not env.observe(other)["action_mask"].any()
            if terminated or truncated:
                assert not shown["action_mask"].any()
                env.step(None)
                continue
            assert np.array_equal(info["action_mask"], shown["action_mask"])
            assert env.observation_space(agent).contains(shown)
            env.step(random_action(env, random))
            gained += env.engine.batch.reward[0]
        assert np.allclose(list(told.values()), gained)


@BY_NAME
def test_actions_that_are_no_actions_are_refused_in_a_sentence(game: Game) -> None:
    env = AECEnv(game.bind())
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    before = env.engine.batch.raw.tobytes()
    for bad in (None, 1.0, "hit", np.zeros(2, int), np.float32(1), True):
        with pytest.raises(TypeError, match="whole number"):
            env.step(bad)  # type: ignore[arg-type]
    for number in (-1, game.num_actions, 10**30):
        with pytest.raises(IllegalAction, match="no action"):
            env.step(number)
    assert env.engine.batch.raw.tobytes() == before
    legal = np.flatnonzero(env.engine.batch.mask[0])[0]
    env.step(np.int64(legal))
    env.reset(seed=0)
    env.step(np.array(legal))


@BY_NAME
def test_a_finished_table_takes_no_action(game: Game) -> None:
    env = AECEnv(game.bind())
    env.reset(seed=0)
    while env.engine.batch.seat[0] != OVER:
        env.step(random_action(env, np.random.default_rng(0)))
    with pytest.raises(IllegalAction, match="The game is over"):
        env.step(0)
    for _ in env.possible_agents:
        env.step(None)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(None)


@BY_NAME
def test_gymnasium(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gymnasium's own checks; the action of one of them is drawn before a reset, so that it has to be legal after
    it."""
    deterministic = env_checker.check_step_determinism
    monkeypatch.setattr(
        env_checker, "check_step_determinism", lambda env, seed=123: (env.reset(seed=seed), deterministic(env, seed))
    )
    env = gymnasium.make(
        game.type.gymnasium_id, opponent="random", seat="random" if game.num_seats(game.bind()) > 1 else 0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium's checker warns of integer boxes
        env_checker.check_env(env.unwrapped, skip_render_check=False)


@BY_NAME
def test_stable_baselines(game: Game) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.check_env(gymnasium.make(game.type.gymnasium_id, opponent="random"))


@BY_NAME
def test_a_batch_of_single_seats_equals_single_environments(game: Game) -> None:
    envs = gymnasium.make_vec(game.type.gymnasium_id, num_envs=3, opponent="bot")
    singles = [gymnasium.make(game.type.gymnasium_id, opponent="bot") for _ in range(3)]
    shown, infos = envs.reset(seed=8)
    alone = [env.reset(seed=8 + row) for row, env in enumerate(singles)]
    random = np.random.default_rng(0)
    ended = played = 0
    while played < 120 or not ended:
        played += 1
        for row in range(3):
            assert np.array_equal(shown[row], alone[row][0])
            assert np.array_equal(infos["action_mask"][row], alone[row][1]["action_mask"])
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
        shown, rewards, terminated, truncated, infos = envs.step(actions)
        for row, env in enumerate(singles):
            last, reward, over, cut, info = env.step(actions[row])
            assert reward == pytest.approx(rewards[row])
            assert (over, cut) == (terminated[row], truncated[row])
            if over or cut:
                ended += 1
                assert np.array_equal(infos["final_obs"][row], last)
                last, info = env.reset()
            alone[row] = (last, info)
    envs.close()


@BY_NAME
def test_single_seat_rewards_are_that_seats_returns(game: Game) -> None:
    """Against the same bot on the same packs, the seat's rewards add up to what the table gives it."""
    env = gymnasium.make(game.type.gymnasium_id, opponent="bot")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            _, reward, over, cut, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
            total, over = total + reward, over or cut
        low, high = game.reward_range(game.bind())
        assert low - 1e-6 <= total <= high + 1e-6


def test_opponents_and_seats_are_checked() -> None:
    game = game_of("missouri_city")
    bad: list[tuple[dict[str, Any], str]] = [
        ({"seat": 5}, "seats 0..1"),
        ({"opponent": ["random", "random"]}, "opponents were given"),
        ({"opponent": "nobody"}, "no agent"),
    ]
    for given, says in bad:
        with pytest.raises(ValueError, match=says):
            gymnasium.make(game.type.gymnasium_id, **given)
    env = gymnasium.make(game.type.gymnasium_id, opponent=BotAgent(game.bind()))
    env.reset(seed=0)


@pytest.mark.parametrize(
    ("name", "says"), [("no_such_game", "There is no game"), (GAMES[0].name + "-v99", "is here in version")]
)
def test_unknown_games_are_sentences(name: str, says: str) -> None:
    with pytest.raises(backalley.UnknownGame, match=says):
        backalley.make(name)


@BY_NAME
def test_unknown_options_and_values_name_the_choices(game: Game) -> None:
    with pytest.raises(backalley.OptionError, match="has no option 'colour'; it has: "):
        backalley.make(game.id, colour="red")
    for name in game.type.Options._fields:  # type: ignore[attr-defined]
        with pytest.raises(backalley.OptionError, match=f"option {name} is .*; it takes "):
            backalley.make(game.id, **{name: "no such value"})
