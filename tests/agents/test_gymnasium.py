"""One seat as a Gymnasium environment, single and in batches: Gymnasium's and SB3's own checkers, as they are, and what
they do not check."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
import threading
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils import env_checker
from gymnasium.vector import AutoresetMode

import backalley
from backalley.agents.base.agent import Agent, View
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv, GymnasiumVectorEnv
from backalley.agents.search.flat_monte_carlo import SearchAgent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from tests.common.cases import GAMES, TWO_QUICK

HAND = game_of("missouri_city")


class First:
    """A user's own agent, without a name: the first legal action."""

    def act(self, view: View) -> Any:
        return view.action_mask.argmax(1)


@TWO_QUICK
@pytest.mark.parametrize("given", [{}, {"observation": "dict", "dtype": "float32"}], ids=["flat", "dict"])
def test_gymnasiums_own_checker(game: Game, given: dict[str, Any]) -> None:
    """As it is. It draws an action before it deals, so illegal ones must not raise."""
    seat = "random" if game.num_seats > 1 else 0
    env = gymnasium.make(game.type.gymnasium_id, opponent="random", seat=seat, on_illegal="terminate", **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium's checker warns of integer boxes
        env_checker.check_env(env.unwrapped)


@TWO_QUICK
def test_stable_baselines_own_checker(game: Game) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.check_env(gymnasium.make(game.type.gymnasium_id, opponent="random"))


@pytest.mark.slow
def test_learners_that_know_no_masks() -> None:
    """SB3's PPO and DQN by the name of the environment, which is asked for `render_mode="rgb_array"` each time."""
    sb3 = pytest.importorskip("stable_baselines3")
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    settings = {"on_illegal": "terminate", "dtype": "float32", "opponent": "random"}
    envs = env_util.make_vec_env(HAND.type.gymnasium_id, n_envs=2, env_kwargs=settings)
    sb3.PPO("MlpPolicy", envs, n_steps=16, batch_size=16, device="cpu").learn(64)
    settings["observation"] = "dict"
    envs = env_util.make_vec_env(HAND.type.gymnasium_id, n_envs=1, env_kwargs=settings)
    sb3.DQN("MultiInputPolicy", envs, learning_starts=16, buffer_size=64, device="cpu").learn(64)
    sb3.PPO("MlpPolicy", HAND.type.gymnasium_id, n_steps=16, batch_size=16, device="cpu")


@TWO_QUICK
def test_a_batch_of_single_seats_equals_single_environments(game: Game) -> None:
    """Step by step, at the end of episodes too, in observations and in infos."""
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
            assert infos["seat"][row] == alone[row][1]["seat"]
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]])
        shown, rewards, terminated, truncated, infos = envs.step(actions)
        for row, env in enumerate(singles):
            last, reward, over, cut, info = env.step(actions[row])
            assert reward == pytest.approx(rewards[row])
            assert (over, cut) == (terminated[row], truncated[row])
            if over or cut:
                ended += 1
                assert infos["_final_obs"][row]
                assert infos["_final_info"][row]
                assert np.array_equal(infos["final_obs"][row], last)
                for name, value in info.items():
                    assert infos["final_info"][f"_{name}"][row]
                    same = np.array_equal if isinstance(value, np.ndarray) else operator.eq
                    assert same(infos["final_info"][name][row], value)
                last, info = env.reset()
            alone[row] = (last, info)
    envs.close()


@TWO_QUICK
def test_the_end_of_an_episode(game: Game) -> None:
    """The mask is all ones, `info` says why it ended, and the table takes nothing more."""
    env = gymnasium.make(game.type.gymnasium_id, opponent="random", observation="dict")
    shown, info = env.reset(seed=1)
    over = cut = False
    while not (over or cut):
        assert info["ended"] == ""  # a key that came at the end only would be missing numbers to other libraries
        assert np.array_equal(info["action_mask"], shown["action_mask"])
        assert info["seat"].dtype == np.int64
        shown, _, over, cut, info = env.step(env.action_space.sample())
    assert info["ended"] == ("terminated" if over else "truncated")
    for mask in (info["action_mask"], shown["action_mask"], env.unwrapped.action_masks()):  # type: ignore[attr-defined]
        assert mask.all()
    assert env.observation_space.contains(shown)
    with pytest.raises(IllegalAction, match="The game is over"):
        env.step(0)


@TWO_QUICK
def test_an_illegal_action_ends_the_episode_or_is_replaced(game: Game) -> None:
    name, given = game.type.gymnasium_id, {"opponent": "random"}
    single = {mode: gymnasium.make(name, on_illegal=mode, **given) for mode in MODES}
    batch = {mode: gymnasium.make_vec(name, num_envs=3, on_illegal=mode, **given) for mode in MODES}
    for env in (*single.values(), *batch.values()):
        env.reset(seed=5)
    with pytest.raises(IllegalAction, match="no action"):
        single["raise"].step(-1)
    with pytest.raises(IllegalAction, match=r"Table 1: .*no action"):
        batch["raise"].step([batch["raise"].action_space.sample()[0], -1, 0])
    _, reward, over, cut, info = single["terminate"].step(2**70)
    assert (reward, over, cut) == (pytest.approx(game.reward_range[0]), True, False)
    assert info["ended"] == "illegal_action"
    assert f"cannot play {2**70}, which is no action" in info["illegal_action"]
    _, rewards, overs, cuts, infos = batch["terminate"].step(np.full(3, -1))
    assert np.allclose(rewards, game.reward_range[0])
    assert overs.all()
    assert not cuts.any()
    assert infos["_illegal_action"].all()
    assert infos["final_info"]["ended"].tolist() == ["illegal_action"] * 3
    legal = batch["terminate"].action_space.sample()
    infos = batch["terminate"].step([*legal[:2], -1])[4]
    assert infos["_illegal_action"].tolist() == [False, False, True]
    assert "illegal_action" not in batch["terminate"].step(batch["terminate"].action_space.sample())[4]
    infos = batch["random"].step(np.full(3, -1))[4]
    assert infos["_illegal_action"].all()
    _, _, over, _, info = single["random"].step(-1)
    assert "cannot play -1" in info["illegal_action"]
    assert info["ended"] in ("", "terminated", "truncated")
    for env in (*single.values(), *batch.values()):
        env.close()


MODES = ("raise", "terminate", "random")


@TWO_QUICK
def test_drawn_actions_are_legal(game: Game) -> None:
    env = gymnasium.make(game.type.gymnasium_id, opponent="random")
    envs = gymnasium.make_vec(game.type.gymnasium_id, num_envs=4, opponent="random", observation="dict")
    env.reset(seed=0)
    shown, _ = envs.reset(seed=0)
    for _ in range(60):
        assert envs.observation_space.contains(shown)
        actions = envs.action_space.sample()
        assert envs.action_space.contains(actions)
        shown = envs.step(actions)[0]
        if any(env.step(env.action_space.sample())[2:4]):
            env.reset()
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    assert envs.metadata["autoreset_mode"] is envs.autoreset_mode is AutoresetMode.SAME_STEP  # type: ignore[attr-defined]


@TWO_QUICK
def test_drawn_actions_are_legal_in_environments_that_gymnasium_puts_side_by_side(game: Game) -> None:
    """By the masks of their infos: the spaces of those are all that it knows of what is legal."""
    envs = gymnasium.make_vec(game.type.gymnasium_id, num_envs=3, vectorization_mode="sync", opponent="random")
    infos = envs.reset(seed=0)[1]
    for _ in range(60):
        actions = envs.action_space.sample(mask=tuple(infos["action_mask"]))
        assert infos["action_mask"][np.arange(3), actions].all()
        infos = envs.step(actions)[4]  # raises for an illegal one


@TWO_QUICK
def test_tables_that_do_not_reset_themselves(game: Game) -> None:
    """Gymnasium's AutoresetMode.DISABLED: the tables of `reset_mask` begin again, the others stay as they ended."""
    given = {"num_envs": 3, "opponent": "random"}
    envs = gymnasium.make_vec(game.type.gymnasium_id, autoreset=False, **given)
    usual = gymnasium.make_vec(game.type.gymnasium_id, **given)
    assert envs.metadata["autoreset_mode"] is envs.autoreset_mode is AutoresetMode.DISABLED  # type: ignore[attr-defined]
    assert usual.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert repr(envs).endswith(", autoreset=False)")
    some = np.array([True, False, True])
    with pytest.raises(RuntimeError, match="have not been dealt"):
        envs.reset(options={"reset_mask": some})
    shown, same = envs.reset(seed=4)[0], usual.reset(seed=4)[0]
    ended = 0
    while ended < 4:
        assert np.array_equal(shown, same)
        usual.action_space.seed(ended)
        actions = usual.action_space.sample()
        shown, *mine, infos = envs.step(actions)
        same, *its, infos_of_usual = usual.step(actions)
        assert all(np.array_equal(one, other) for one, other in zip(mine, its, strict=True))
        over = mine[1] | mine[2]
        if over.any():
            ended += int(over.sum())
            assert infos["_ended"].tolist() == over.tolist()
            assert "_final_obs" not in infos
            for row in np.flatnonzero(over):
                assert np.array_equal(shown[row], infos_of_usual["final_obs"][row])
                assert infos["ended"][row] == infos_of_usual["final_info"]["ended"][row]
            with pytest.raises(IllegalAction, match="The game is over"):
                envs.step(envs.action_space.sample())
            shown = envs.reset(options={"reset_mask": over})[0]
    for bad in (some[:2], some.astype(int), some.tolist(), np.zeros(3, bool), None):
        before = envs.unwrapped.tables.arrays.raw.tobytes()  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="reset_mask is "):
            envs.reset(seed=3, options={"reset_mask": bad})
        assert envs.unwrapped.tables.arrays.raw.tobytes() == before  # type: ignore[attr-defined]
    alone = gymnasium.make(game.type.gymnasium_id, opponent="random").reset(seed=32)[0]
    stays = shown[1].copy()
    shown = envs.reset(seed=30, options={"reset_mask": some})[0]
    assert np.array_equal(shown[1], stays)
    assert np.array_equal(shown[2], alone)


class Meddler:
    """Plays the first legal action, and lets another thread call the environment meanwhile."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.said: list[str] = []

    def act(self, view: View) -> Any:
        def ask() -> None:
            for call in self.calls:
                try:
                    call()
                except RuntimeError as error:
                    self.said.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return view.action_mask.argmax(1)


@pytest.mark.parametrize("several", [False, True], ids=["single", "batch"])
def test_one_thread_at_a_time_plays_one_seat(several: bool) -> None:
    meddler = Meddler()
    made: Any = functools.partial(GymnasiumVectorEnv, HAND, 3) if several else functools.partial(GymnasiumEnv, HAND)
    env, twin = made(opponent=meddler), made(opponent=First())
    shown, _ = env.reset(seed=5)
    assert np.array_equal(twin.reset(seed=5)[0], shown)
    meddler.calls = [env.reset, lambda: env.step(action), env.action_masks, lambda: pickle.dumps(env)]
    for _ in range(30):
        action = env.action_space.sample()
        done, same = env.step(action), twin.step(action)
        assert all(np.array_equal(mine, its) for mine, its in zip(done[:4], same[:4], strict=True))
        if not several and (done[2] or done[3]):
            meddler.calls = []
            env.reset()
            twin.reset()
            break
    assert len(meddler.said) >= 4
    assert all("Another thread is in the middle of a call" in said for said in meddler.said)


@pytest.mark.parametrize("several", [False, True], ids=["single", "batch"])
def test_the_refusal_of_an_action_says_what_else_there_is(several: bool) -> None:
    make = functools.partial(gymnasium.make_vec, num_envs=2) if several else gymnasium.make
    env = make(HAND.type.gymnasium_id, opponent="random")
    env.reset(seed=0)
    with pytest.raises(IllegalAction, match=r"made with on_illegal='terminate' or 'random'\.$"):
        env.step([-1, -1] if several else -1)
    env = make(HAND.type.gymnasium_id, opponent="random", on_illegal="random")
    env.reset(seed=0)
    assert "on_illegal" not in str(env.step([-1, -1] if several else -1)[4]["illegal_action"])


@TWO_QUICK
def test_numbers_of_another_type(game: Game) -> None:
    plain = gymnasium.make(game.type.gymnasium_id, opponent="bot")
    other = gymnasium.make(game.type.gymnasium_id, opponent="bot", observation="dict", dtype="float32")
    shown, same = plain.reset(seed=2)[0], other.reset(seed=2)[0]
    assert same["observation"].dtype == np.float32
    assert np.array_equal(same["observation"], shown)
    assert other.observation_space.contains(same)
    assert gymnasium.make(game.type.gymnasium_id).observation_space.dtype == game.observation_base


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"seat": 5}, "seats 0..1"),
    ({"seat": True}, "seats 0..1"),
    ({"seat": "1"}, "seats 0..1"),
    ({"seat": -1}, "seats 0..1"),
    ({"opponent": ["random", "random"]}, "opponents were given"),
    ({"opponent": []}, "0 opponents were given"),
    ({"opponent": "nobody"}, "no agent 'nobody'"),
    ({"opponent": None}, "None is no agent"),
    ({"opponent": 5}, "5 is no agent"),
    ({"opponent": lambda view: 0}, "is no agent"),
    ({"opponent": RandomAgent}, "the class RandomAgent was given"),
    ({"observation": "image"}, "it takes 'flat', 'dict'"),
    ({"dtype": "text"}, "such as 'float32'"),
    ({"dtype": bool}, "such as 'float32'"),
    ({"dtype": "complex64"}, "such as 'float32'"),
    ({"on_illegal": "ignore"}, "it takes 'raise', 'terminate', 'random'"),
    ({"render_mode": "depth_array"}, r"__init__\(\) got an unexpected keyword argument 'render_mode'"),
    ({"frameskip": 1}, r"__init__\(\) got an unexpected keyword argument 'frameskip'"),
]


@pytest.mark.parametrize(("given", "says"), BAD_ARGUMENTS)
def test_arguments_are_checked_when_the_environment_is_made(given: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        gymnasium.make(HAND.type.gymnasium_id, **given)
    with pytest.raises((ValueError, TypeError), match=says):
        gymnasium.make_vec(HAND.type.gymnasium_id, num_envs=2, **given)


def test_actions_and_resets_are_checked() -> None:
    env = gymnasium.make(HAND.type.gymnasium_id, opponent=BotAgent(HAND), render_mode="ansi")
    envs = gymnasium.make_vec(HAND.type.gymnasium_id, num_envs=2, opponent="bot")
    for ask in (lambda: env.step(0), env.render, lambda: envs.step([0, 0])):
        with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
            ask()
    _, info = env.reset(seed=0)
    envs.reset(seed=0)
    for bad in ([0, 1], 0.0, None, "0", True, np.zeros(2, int)):
        with pytest.raises(TypeError, match=r"must be a whole number of 0\.\."):
            env.step(bad)
    for several in ([0], 0, [0.0, 0.0], [[0, 0]], None):
        with pytest.raises((TypeError, ValueError), match=r"whole numbers|one action each"):
            envs.step(several)
    for options, says in (({"deck": []}, "mean decks"), ({"decks": [[4.5]]}, "no card 4.5"), ("x", "dictionary")):
        for one in (env, envs):
            with pytest.raises((TypeError, ValueError), match=says):
                one.reset(options=options)  # type: ignore[arg-type]
    env.step(np.array([np.flatnonzero(info["action_mask"])[0]]))


@TWO_QUICK
def test_decks_are_dealt_as_in_the_aec_environment(game: Game) -> None:
    deck = [number % game.deck_size for number in range(game.cards_drawn)][::-1]
    options = {"decks": [deck], "start_outcome": game.num_start_outcomes - 1}
    aec = AECEnv(game)
    aec.reset(seed=1, options=options)
    first = int(aec.engine.batch.seat[0])
    env = gymnasium.make(game.type.gymnasium_id, opponent="random", seat=first)
    envs = gymnasium.make_vec(game.type.gymnasium_id, num_envs=2, opponent="random", seat=first)
    wanted = aec.observe(aec.agent_selection)["observation"]
    assert np.array_equal(env.reset(seed=2, options=options)[0], wanted)
    assert np.array_equal(envs.reset(seed=3, options=options)[0], [wanted] * 2)


class AskedThroughViews(Agent):
    """Another agent whose kernel nobody calls."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self.name = agent, agent.name

    def act(self, view: View) -> Any:
        return self._agent.act(view)


def play_alike(game: Game, num_envs: int, opponents: list[tuple[Any, int]], decks: list[Any]) -> None:
    """Opponents, each on some threads."""
    made = functools.partial(GymnasiumVectorEnv, game, num_envs, seat="random")
    draw = np.random.default_rng(5)
    envs = [made(opponent=one, num_threads=threads) for one, threads in opponents]
    shown = [env.reset(seed=3, options={"decks": decks})[::-1] for env in envs]
    for _ in range(60):
        legal = shown[0][0]["action_mask"]
        for info, *arrays in shown[1:]:
            for mine, its in zip((info["action_mask"], *arrays), (legal, *shown[0][1:]), strict=True):
                np.testing.assert_array_equal(mine, its)
        actions = (draw.random(legal.shape) * legal).argmax(1)
        shown = [env.step(actions)[::-1] for env in envs]


@TWO_QUICK
@pytest.mark.parametrize(("num_envs", "packs"), [(1, 0), (130, 0), (3, 2)])
def test_opponents_play_the_same_in_compiled_code_and_through_views(game: Game, num_envs: int, packs: int) -> None:
    draw, opponent = np.random.default_rng(5), BotAgent(game) if game.bots else RandomAgent()
    decks = [draw.permutation(game.deck_size)[: game.cards_drawn].tolist() for _ in range(packs)]
    play_alike(game, num_envs, [(opponent, 1), (opponent, 2), (AskedThroughViews(opponent), 1)], decks)


@TWO_QUICK
@pytest.mark.parametrize(("num_envs", "packs"), [(1, 0), (5, 1)])
def test_different_opponents_too(game: Game, num_envs: int, packs: int) -> None:
    """All compiled, every other one, and none."""
    best = BotAgent(game) if game.bots else RandomAgent()
    others = [(best, RandomAgent())[place % 2] for place in range(max(1, game.num_seats - 1))]
    seen = [AskedThroughViews(one) for one in others]
    some = [(seen[place], one)[place % 2] for place, one in enumerate(others)]
    decks = [list(range(game.cards_drawn))] * packs
    play_alike(game, num_envs, [(others, 1), (some, 1), (seen, 1)], decks)


def test_stacked_decks_are_dealt_once() -> None:
    env = gymnasium.make(HAND.type.gymnasium_id, opponent="bot")
    stacked = env.reset(options={"decks": [range(52)]})[0]
    assert any(not np.array_equal(env.reset()[0], stacked) for _ in range(3))


def test_tables_without_a_seed_go_on_with_their_own_chance() -> None:
    envs, twin = (gymnasium.make_vec(HAND.type.gymnasium_id, num_envs=3, opponent="bot") for _ in range(2))
    for one in (envs, twin):
        one.reset(seed=1)
    shown, again = envs.reset(seed=[7, None, 7])[0], twin.reset()[0]
    assert np.array_equal(shown[1], again[1])
    assert np.array_equal(shown[0], shown[2])


def agents_of(game: Game) -> dict[str, Any]:
    return {"bot": "bot", "random": "random", "search": SearchAgent(game, 2, num_threads=1), "own": First()}


def copied(game: Game, kind: str) -> Any:
    slow = [pytest.mark.slow] if kind == "search" and game != HAND else []
    return pytest.param(game, kind, id=f"{kind}-{game.name}", marks=slow)


@pytest.mark.parametrize(
    ("game", "kind"), [copied(game, kind) for kind in ("bot", "random", "search", "own") for game in GAMES]
)
@pytest.mark.parametrize("several", [False, True], ids=["single", "batch"])
def test_copies_in_mid_game_play_on_identically(game: Game, kind: str, several: bool) -> None:
    made: Any = functools.partial(GymnasiumVectorEnv, game, 3) if several else functools.partial(GymnasiumEnv, game)
    env = made(opponent=agents_of(game)[kind])
    env.reset(seed=4)
    for _ in range(3):
        done = env.step(env.action_space.sample())
        if not several and any(done[2:4]):
            env.reset()
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(3 if kind == "search" else 12):
        action = env.action_space.sample()
        shown = env.step(action)
        for twin in copies:
            assert np.array_equal(twin.action_space.sample(), action)
            same = twin.step(action)
            both = zip((*shown[:4], shown[4]["action_mask"]), (*same[:4], same[4]["action_mask"]), strict=True)
            assert all(np.array_equal(mine, its) for mine, its in both)
        if not several and (shown[2] or shown[3]):
            for one in (env, *copies):
                one.reset()
    assert repr(copies[1]) == repr(env)


def copy_of(pickled: bytes) -> Any:
    return pickle.loads(pickled)


@pytest.mark.slow
def test_other_processes_play_with_bots_and_searches_in_the_seats() -> None:
    """Gymnasium's and SB3's, each of which is sent the environment itself."""
    made = [GymnasiumEnv(HAND, opponent=kind) for kind in ("bot", SearchAgent(HAND, 2, num_threads=1))]
    makers = [functools.partial(copy_of, pickle.dumps(env)) for env in made]
    envs = gymnasium.vector.AsyncVectorEnv(makers, context="spawn")
    _, infos = envs.reset(seed=3)
    for _ in range(6):
        infos = envs.step(np.array([np.flatnonzero(mask)[0] for mask in infos["action_mask"]]))[4]
    envs.close()
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    envs = vec_env.SubprocVecEnv(makers, start_method="spawn")
    envs.reset()
    for _ in range(6):
        envs.step([int(np.flatnonzero(mask)[0]) for mask in envs.env_method("action_masks")])
    envs.close()


@TWO_QUICK
def test_environments_say_what_they_are(game: Game) -> None:
    env = GymnasiumEnv(game, opponent="random", render_mode="ansi", on_illegal="random")
    said = f"GymnasiumEnv({game!r}, seat=0, opponent='random', on_illegal='random', render_mode='ansi')"
    assert repr(env) == str(env) == said
    envs = GymnasiumVectorEnv(game, 7, opponent="random", observation="dict", dtype="float64")
    said = f"GymnasiumVectorEnv({game!r}, 7, seat=0, opponent='random', observation='dict', dtype='float64')"
    assert repr(envs) == said


def test_a_bound_game_is_made_too() -> None:
    bound = backalley.game("missouri_city", dealer_total_cap=False)
    assert GymnasiumEnv(bound).game == bound
    assert gymnasium.make(bound.type.gymnasium_id, dealer_total_cap=False).unwrapped.game == bound  # type: ignore[attr-defined]
