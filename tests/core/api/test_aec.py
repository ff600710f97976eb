"""PettingZoo's AEC interface: its own checkers, as they are, and what they do not check."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import wrappers

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.game import Game
from backalley.testing.play import random_action
from tests.common.cases import BY_NAME, CASES, GAMES


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
@pytest.mark.filterwarnings("ignore")
def test_pettingzoo_with_flat_observations(game: Game) -> None:
    api_test(backalley.make(game.id, observation="flat"), num_cycles=100)
    seed_test(lambda: backalley.make(game.id, observation="flat"), num_cycles=50)


@BY_NAME
def test_flat_observations_are_those_of_the_dictionaries(game: Game) -> None:
    env, plain = backalley.make(game, observation="flat"), backalley.make(game)
    assert repr(env) == f"AECEnv({game!r}, observation='flat')"
    env.reset(seed=2)
    plain.reset(seed=2)
    for agent in env.agents:
        assert np.array_equal(env.observe(agent), plain.observe(agent)["observation"])
        assert env.observation_space(agent).contains(env.observe(agent))
    assert np.array_equal(env.last()[4]["action_mask"], plain.last()[0]["action_mask"])
    twin = pickle.loads(pickle.dumps(env))
    assert np.array_equal(twin.last()[0], env.last()[0])


@BY_NAME
def test_the_refusal_of_an_action_says_what_else_there_is(game: Game) -> None:
    env = backalley.make(game)
    env.reset(seed=0)
    with pytest.raises(IllegalAction, match=r"legal: .*made with on_illegal='terminate' or 'random'\.$"):
        env.step(-1)
    for other in ("terminate", "random"):
        env = backalley.make(game, on_illegal=other)
        env.reset(seed=0)
        agent = env.agent_selection
        env.step(-1)
        reason = env.infos[agent].get("illegal_action") or env._refused[agent]
        assert "on_illegal" not in reason
    batch = backalley.make_vec(game, 1, seed=0)  # which has no such choice
    batch.reset()
    with pytest.raises(IllegalAction, match="legal: ") as caught:
        batch.step([-1])
    assert "on_illegal" not in str(caught.value)


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


@BY_NAME
def test_actions_that_are_no_actions_are_refused_in_a_sentence(game: Game) -> None:
    env = AECEnv(game.bind())
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    before = env.engine.batch.raw.tobytes()
    for bad in (None, 1.0, "hit", np.zeros(2, int), np.float32(1), True, np.True_, np.ones(1), [0], np.zeros(0, int)):
        with pytest.raises(TypeError, match="whole number"):
            env.step(bad)  # type: ignore[arg-type]
    for number in (-1, game.num_actions, 10**30, np.uint64(2**63), np.array(2**63, np.uint64)):
        with pytest.raises(IllegalAction, match=f"{int(number)}, which is no action"):
            env.step(number)  # type: ignore[arg-type]
    assert env.engine.batch.raw.tobytes() == before
    legal = np.flatnonzero(env.engine.batch.mask[0])[0]
    played = []
    for same in (int(legal), np.int64(legal), np.uint8(legal), np.array(legal), np.array([legal])):
        env.reset(seed=0)
        env.step(same)
        played.append(env.engine.batch.raw.tobytes())
    assert played == [played[0]] * len(played)
    assert played[0] != before


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


def test_tensors_are_actions() -> None:
    torch = pytest.importorskip("torch")
    env = backalley.make(GAMES[0].id)
    env.reset(seed=0)
    legal = int(np.flatnonzero(env.engine.batch.mask[0])[0])
    for bad in (torch.tensor(0.0), torch.tensor(True), torch.tensor([0, 0])):
        with pytest.raises(TypeError, match="whole number"):
            env.step(bad)
    env.step(torch.tensor(legal))
    env.reset(seed=0)
    env.step(torch.tensor([legal]))
    assert env.engine.batch.decisions[0] == 1


BEFORE_RESET: list[Callable[[AECEnv], Any]] = [
    lambda env: env.last(),
    lambda env: env.observe("player_0"),
    lambda env: env.state(),
    lambda env: env.snapshot(),
    lambda env: env.render(),
    lambda env: env.step(0),
]


@pytest.mark.parametrize("ask", BEFORE_RESET)
def test_before_a_reset_there_is_nothing_to_see(ask: Callable[[AECEnv], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        ask(backalley.make(GAMES[0].id, render_mode="ansi"))


def test_agents_who_are_none_are_named() -> None:
    env = backalley.make(GAMES[0].id)
    env.reset(seed=0)
    for ask in (env.observe, env.action_space, env.observation_space):
        for nobody in ("bob", "player_99", 0, None, ["player_0"]):
            with pytest.raises(ValueError, match="the agents are player_0"):
                ask(nobody)  # type: ignore[operator]


BAD_RESETS: list[tuple[Any, str]] = [
    ({"deks": []}, "has no option 'deks'; it has: decks, start_outcome. Did you mean decks"),
    ({"seed": 3}, "has no option 'seed'"),
    ("foo", "takes a dictionary"),
    ({"decks": 5}, "decks is 5; it takes a list of decks"),
    ({"decks": "QS"}, "decks is 'QS'; it takes"),
    ({"decks": [None]}, "A deck is None"),
    ({"decks": ["QS"]}, "A deck is 'QS'"),
    ({"decks": [[4.5]]}, "no card 4.5"),
    ({"decks": [[True]]}, "no card True"),
    ({"decks": [[-1]]}, "no card -1"),
    ({"decks": [[10**9]]}, "no card 1000000000"),
    ({"decks": [["Q?"]]}, "Q"),
    ({"decks": [[0] * 100_000]}, "A deck of 100000 cards was given"),
    ({"start_outcome": "x"}, "start_outcome is 'x'"),
    ({"start_outcome": -1}, "start_outcome is -1"),
    ({"start_outcome": 10**6}, "start_outcome is 1000000"),
    ({"start_outcome": 0.0}, "start_outcome is 0.0"),
]


@BY_NAME
@pytest.mark.parametrize(("options", "says"), BAD_RESETS)
def test_options_of_a_reset_are_checked_before_anything_changes(game: Game, options: Any, says: str) -> None:
    env = backalley.make(game)
    env.reset(seed=4)
    before = env.engine.batch.raw.tobytes() + env.engine.batch.stream.tobytes()
    with pytest.raises((ValueError, TypeError), match=says):
        env.reset(seed=5, options=options)
    assert env.engine.batch.raw.tobytes() + env.engine.batch.stream.tobytes() == before
    for seed in (1.5, -1, "0", True):
        with pytest.raises(ValueError, match="whole number of 0 or more"):
            env.reset(seed=seed)  # type: ignore[arg-type]
    env.reset(seed=np.int64(4), options={"options": 1})  # PettingZoo's own test says this
    assert env.engine.batch.raw.tobytes() + env.engine.batch.stream.tobytes() == before


@BY_NAME
def test_info_says_why_an_episode_ended(game: Game) -> None:
    env = backalley.make(game)
    env.reset(seed=2)
    random = np.random.default_rng(2)
    assert not any("ended" in info for info in env.infos.values())
    while True:
        before = env.agent_selection
        env.step(random_action(env, random))
        if env.engine.batch.seat[0] == OVER:
            break
        assert env.infos[before]["ended"] == env.last()[4]["ended"] == ""
    why = "terminated" if env.terminations["player_0"] else "truncated"
    assert {info["ended"] for info in env.infos.values()} == {why}


def illegal_moment(env: AECEnv) -> int | None:
    """Play on to a decision with an action that is not legal (every action may be, in a game of few); gives it."""
    random = np.random.default_rng(0)
    for _ in range(500):
        illegal = np.flatnonzero(env.engine.batch.mask[0] == 0)
        if len(illegal):
            return int(illegal[-1])
        env.step(random_action(env, random))
        if env.engine.batch.seat[0] == OVER:
            env.reset()
    return None


@BY_NAME
@pytest.mark.parametrize("outside", [True, False])
def test_an_illegal_action_may_end_the_episode(game: Game, outside: bool) -> None:
    env = backalley.make(game, on_illegal="terminate")
    env.reset(seed=3)
    illegal = 10**20 if outside else illegal_moment(env)
    if illegal is None:
        pytest.skip("every action was legal")
    offender, before = env.agent_selection, dict(env._cumulative_rewards)
    with pytest.raises(TypeError, match="whole number"):
        env.step(1.5)  # type: ignore[arg-type]
    env.step(illegal)
    lowest = game.reward_range[0]
    assert env.rewards == {agent: pytest.approx(lowest if agent == offender else 0.0) for agent in env.agents}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    for agent in list(env.agents):
        shown, reward, terminated, _, info = env.last()
        assert terminated
        assert shown is not None
        assert not shown["action_mask"].any()
        assert env.agent_selection in env.agents
        expected = lowest if env.agent_selection == offender else before[env.agent_selection]
        assert reward == pytest.approx(expected), agent
        assert info["ended"] == "illegal_action"
        assert "cannot play" in info["illegal_action"]
        env.step(None)
    env.reset(seed=3)
    assert "illegal_action" not in env.last()[4]


@BY_NAME
def test_an_illegal_action_may_be_replaced_by_a_random_one(game: Game) -> None:
    """The table's own stream is where it would be, had that action been played; and the choice depends on the table
    alone."""
    env = backalley.make(game, on_illegal="random")
    env.reset(seed=3)
    illegal = illegal_moment(env)
    if illegal is None:
        pytest.skip("every action was legal")
    twin, third = pickle.loads(pickle.dumps(env)), AECEnv(game)
    third.reset()
    third.restore(env.snapshot())
    mask, stream = env.engine.batch.mask[0].copy(), env.engine.batch.stream[0]
    instead = env.engine.legal_instead(0)
    assert mask[instead]
    assert env.engine.batch.stream[0] == stream
    offender = env.agent_selection
    env.step(illegal)
    twin.step(illegal)
    third.step(instead)
    reason = env.infos[offender] if env.agent_selection == offender else env._refused
    assert "cannot play" in str(reason)
    for other in (twin, third):
        assert other.engine.batch.raw.tobytes() == env.engine.batch.raw.tobytes()
        assert other.engine.batch.stream[0] == env.engine.batch.stream[0]
    random = np.random.default_rng(0)
    while env.agent_selection != offender and env.engine.batch.seat[0] != OVER:
        env.step(random_action(env, random))
    assert "cannot play" in env.infos[offender]["illegal_action"]
    if env.engine.batch.seat[0] != OVER:
        env.step(random_action(env, random))
        assert "illegal_action" not in env.infos[offender]


@BY_NAME
def test_environments_say_what_they_are(game: Game) -> None:
    env = backalley.make(game, render_mode="ansi", on_illegal="random")
    assert repr(env) == f"AECEnv({game!r}, render_mode='ansi', on_illegal='random')"
    assert repr(AECEnv(game)) == f"AECEnv({game!r})"


def test_pettingzoos_own_wrapper_ends_the_game_of_an_offender() -> None:
    env = wrappers.TerminateIllegalWrapper(backalley.make(GAMES[0].id), illegal_reward=-1)
    env = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))
    env.reset(seed=0)
    shown = env.last()[0]
    assert shown is not None
    env.step(int(np.flatnonzero(shown["action_mask"] == 0)[0]))
    assert all(env.terminations.values())


MADE_WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    *(({"observation": bad}, ValueError, "it takes 'flat', 'dict'") for bad in ("vector", None, 1, ["flat"])),
    *(({"on_illegal": bad}, ValueError, "it takes 'raise', 'terminate', 'random'") for bad in ("ignore", None, 1)),
    *(({"render_mode": bad}, ValueError, "and takes") for bad in ("rgb", 5)),
    *(({"render_seat": bad}, ValueError, "has seats") for bad in (99, "0", True)),
    # Stable-Baselines3 tries again on a TypeError, TorchRL on one that has Python's phrase.
    ({"render_mode": "depth_array"}, TypeError, r"__init__\(\) got an unexpected keyword argument 'render_mode'"),
    ({"frameskip": 1}, TypeError, r"__init__\(\) got an unexpected keyword argument 'frameskip'"),
]


@pytest.mark.parametrize(("given", "error", "says"), MADE_WRONG)
def test_what_cannot_be_made_is_a_sentence(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        backalley.make(GAMES[0].id, **given)


@BY_NAME
def test_unknown_options_and_values_name_the_choices(game: Game) -> None:
    for wrong in (ValueError, TypeError):
        with pytest.raises(
            wrong, match=r"no option 'colour' \(__init__\(\) got an unexpected keyword argument 'colour'\); it has: "
        ):
            backalley.make(game.id, colour="red")
        with pytest.raises(wrong, match=r"no option 'colour'; it has: "):  # no library looks for Python's words here
            backalley.game(game.name, colour="red")
    for name in game.type.Options._fields:  # type: ignore[attr-defined]
        with pytest.raises(backalley.OptionError, match=f"option {name} is .*; it takes "):
            backalley.make(game.id, **{name: "no such value"})
