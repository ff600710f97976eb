"""Agents: what one has to bring, one's own by name, models of Stable-Baselines3, play in a loop of one's own, and what
they may answer."""

from __future__ import annotations

import base64
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import Agent, DirectAgent, View, as_agent
from backalley.agents.base.rule_based import BotAgent, KernelAgent, RandomAgent
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.agents.match import Match, play_out
from backalley.agents.people.human import play
from backalley.agents.people.terminal import Terminal
from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.pretrained import pretrained
from backalley.agents.registry import agent
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED, kernel
from backalley.envs.core.compile.tiering import compile_time
from tests.common.cases import BY_NAME, GAMES


class First:
    """The first legal action."""

    def act(self, view: View) -> Any:
        return view.action_mask.argmax(1)


class Last:
    """The last legal action, under a name, made with its game."""

    def __init__(self, game: backalley.Game) -> None:
        self.name = f"last of {game.name}"

    def act(self, view: View) -> Any:
        return view.action_mask.shape[1] - 1 - view.action_mask[:, ::-1].argmax(1)


class TwoThings:
    def __init__(self, game: Any, more: Any) -> None: ...

    def act(self, view: View) -> Any: ...


# One's own -----------------------------------------------------------------------------------------------------------


def test_an_object_that_can_act_is_an_agent() -> None:
    found = as_agent(First())
    assert isinstance(found, Agent)
    assert found.name == "First"
    assert agent(Last(GAMES[0]), GAMES[0]).name == f"last of {GAMES[0].name}"
    bot = RandomAgent()
    assert as_agent(bot) is bot
    report = backalley.evaluate("missouri_city", [First(), "random"], deals=20)
    assert [one.name for one in report.agents] == ["First", "random"]


@pytest.mark.parametrize(
    ("wrong", "says"), [(None, "no agent"), (5, "no agent"), (lambda: 0, "no agent"), (First, r"call it: First\(\)")]
)
def test_what_is_no_agent_is_reported_at_the_door(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        agent(wrong, "backhand")


def test_by_import_path() -> None:
    assert agent("tests.agents.test_agents:First", "backhand").name == "First"
    assert agent("tests.agents.test_agents:Last", "backhand").name == "last of backhand"
    with pytest.raises(ValueError, match="no module 'no_such'"):
        agent("no_such:First", "backhand")
    with pytest.raises(ValueError, match=r"has no 'Frist'; what it has that can act: .*First"):
        agent("tests.agents.test_agents:Frist", "backhand")
    with pytest.raises(ValueError, match=r"TwoThings' cannot be read; its name has the form .*:TwoThings:MORE\.$"):
        agent("tests.agents.test_agents:TwoThings", "backhand")


def test_by_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "class Mine:\n    name = 'mine'\n    def __init__(self):\n        self.seen = 0\n"
        "    def act(self, view):\n        return view.action_mask.argmax(1)\n"
    )
    mine = agent(f"{path}:Mine", "backhand")
    assert mine.name == "mine"
    assert pickle.loads(pickle.dumps(mine)).name == "mine"
    assert backalley.evaluate("backhand", [f"{path}:Mine"], deals=20).agents[0].name == "mine"
    with pytest.raises(ValueError, match="There is no file"):
        agent(f"{tmp_path / 'other.py'}:Mine", "backhand")


def test_wrong_names_are_sentences_that_help() -> None:
    with pytest.raises(ValueError, match=r"no agent 'rondom'; .*sb3:model.zip.*Did you mean random\?"):
        agent("rondom", "pitch")
    with pytest.raises(ValueError, match=r"Did you mean bot:book\?"):
        agent("book", "pitch")


# A loop of one's own --------------------------------------------------------------------------------------------------


@BY_NAME
def test_a_bot_plays_in_a_plain_aec_loop(game: backalley.Game) -> None:
    """The dictionary of the environment is all that it is given; alone, in rows and as a View it does the same."""
    env = game.make()
    env.reset(seed=3)
    bot, random = BotAgent(game), RandomAgent()
    for decision in range(40):
        name = env.agent_selection
        if env.terminations[name]:
            break
        observation = env.observe(name)
        action = bot.act(observation, key=decision)
        assert isinstance(action, int)
        assert observation["action_mask"][action]
        rows = bot.act(
            np.stack([observation["observation"]] * 3), np.stack([observation["action_mask"]] * 3), key=[7] * 3
        )
        assert len(set(rows.tolist())) == 1
        as_floats = bot.act(observation["observation"].astype(np.float32), observation["action_mask"], key=decision)
        assert as_floats == action
        env.step(random.act(observation, key=decision))


@BY_NAME
def test_a_bot_plays_in_a_plain_batch_loop(game: backalley.Game) -> None:
    batch, bot = game.make_vec(16, seed=1), BotAgent(game)
    step = batch.reset()
    for decision in range(5):
        step = batch.step(bot.act(step.observation, step.action_mask, key=decision))


def test_what_does_not_fit_is_a_sentence() -> None:
    game = backalley.game("missouri_city")
    bot, step = BotAgent(game), game.make_vec(4, seed=1).reset()
    shown, mask = step.observation.copy(), step.action_mask.copy()
    with pytest.raises(TypeError, match="given no action_mask"):
        bot.act(shown)
    with pytest.raises(ValueError, match=f"its game shows {game.observation_size} numbers"):
        bot.act(shown[:, :5], mask)
    with pytest.raises(ValueError, match="takes"):
        bot.act(shown, mask[0])
    with pytest.raises(ValueError, match="without a legal action"):
        bot.act(shown, mask * 0)
    with pytest.raises(ValueError, match="a mask with other numbers than 1, legal, and 0"):
        bot.act(shown, mask * 2)
    with pytest.raises(ValueError, match="no observation of its game holds"):
        bot.act(shown + 0.5, mask)
    far = shown.copy()
    far[0, 0] = 250
    with pytest.raises(ValueError, match="no observation of its game holds"):
        bot.act(far, mask)
    with pytest.raises(ValueError, match="masks of 9 actions; its game has 4"):
        bot.act(shown, np.ones((4, 9), np.int8))
    with pytest.raises(ValueError, match="key is"):
        bot.act(shown, mask, key=[1, 2])
    with pytest.raises(NotImplementedError, match="has to say how it plays"):
        DirectAgent().act(shown, mask)


def test_what_a_kernel_cannot_reckon_with_is_a_sentence() -> None:
    game = backalley.game("missouri_city")
    bot, zeros = BotAgent(game, "counter"), np.zeros((2, game.observation_size), np.uint8)
    with pytest.raises(ValueError, match=r"\(row 0\): it cannot reckon with them \(division by zero\)\."):
        bot.act(zeros, np.ones((2, game.num_actions), np.int8))
    step = game.make_vec(2, seed=1).reset()
    shown, only = step.observation.copy(), np.array([[1, 1, 0, 0], [0, 1, 0, 1]], np.int8)
    with pytest.raises(ValueError, match=r"\(row 1\): what it would play there is not legal in the mask\."):
        BotAgent(game, "book").act(shown, only)


def test_logits_of_what_does_not_fit_are_a_sentence() -> None:
    """Each number beyond the network's inputs was written behind the room for them."""
    policy = load_policy(pretrained(backalley.game("missouri_city"))[0].folder)
    size = policy.game.observation_size
    assert policy.logits(np.zeros((3, size), np.uint8)).shape == (3, policy.game.num_actions)
    for wrong, says in (
        (np.zeros((1, 40 * size), np.uint8), f"its game shows {size} numbers"),
        (np.zeros(size, np.uint8), "logits take"),
        (np.full((1, size), 200, np.uint8), "no observation of its game holds"),
    ):
        with pytest.raises(ValueError, match=says):
            policy.logits(wrong)


def test_agents_show_who_they_are() -> None:
    assert repr(RandomAgent()) == "<RandomAgent 'random'>"
    assert repr(agent("bot", "pitch")) == "<BotAgent 'bot:book' of backalley.game('pitch')>"
    assert repr(as_agent(First())) == "<ThirdPartyAgent 'First'>"


def test_the_same_key_draws_the_same_and_none_draws_anew() -> None:
    mask, shown = np.ones((200, 50), np.int8), np.zeros((200, 1))
    random = RandomAgent()
    one, same, other = (random.act(shown, mask, key=key) for key in (5, 5, 6))
    assert (one == same).all()
    assert (one != other).any()
    assert len(set(one.tolist())) > 20, "a key of its own for each row"
    assert (random.act(shown, mask) != random.act(shown, mask)).any()


# Stable-Baselines3 ----------------------------------------------------------------------------------------------------

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
gymnasium = pytest.importorskip("gymnasium")


def saved(tmp_path: Path, kind: str, **settings: Any) -> tuple[Path, Any]:
    import torch

    env = gymnasium.make("backalley/MissouriCity-v0", opponent="random")
    other = {"net_arch": [24], "activation_fn": torch.nn.ELU}
    small = {"n_steps": 8, "batch_size": 8, "seed": 1}
    if kind == "MaskablePPO":
        made = contrib.MaskablePPO("MlpPolicy", env, policy_kwargs=other, **small)
    else:
        made = (
            sb3.PPO("MlpPolicy", env, **small) if kind == "PPO" else sb3.DQN("MlpPolicy", env, buffer_size=50, seed=1)
        )
    path = tmp_path / f"{kind}.zip"
    made.save(path)
    return path, made


@pytest.mark.parametrize("kind", ["MaskablePPO", "PPO", "DQN"])
def test_a_saved_model_plays_as_sb3_would_have_it(kind: str, tmp_path: Path) -> None:
    import torch

    path, model = saved(tmp_path, kind)
    game = backalley.game("missouri_city")
    player = agent(f"sb3:{path}", game)
    step = game.make_vec(64, seed=2).reset()
    shown, mask = step.observation.copy(), step.action_mask.copy()
    actions = player.act(shown, mask)  # type: ignore[call-arg, arg-type]
    assert mask[np.arange(64), actions].all()
    if kind == "MaskablePPO":
        assert actions.tolist() == model.predict(shown, deterministic=True, action_masks=mask)[0].tolist()
    else:
        with torch.no_grad():
            seen = torch.from_numpy(shown).float()
            values = model.q_net(seen) if kind == "DQN" else model.policy.get_distribution(seen).distribution.logits
        assert actions.tolist() == np.where(mask == 1, values.numpy(), -np.inf).argmax(1).tolist()
    assert backalley.evaluate("missouri_city", [f"sb3:{path}", "random"], deals=8).agents[0].name == f"sb3:{kind}.zip"


def test_nothing_in_a_model_is_executed(tmp_path: Path) -> None:
    """Pickles stand in SB3's own files, too: they are not opened. One in place of the weights is refused."""
    path, _ = saved(tmp_path, "PPO")
    trap = tmp_path / "sprung"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path(trap).touch, ())

    def rewritten(changes: dict[str, bytes | None]) -> str:
        out = io.BytesIO()
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name)) if name not in changes else None
            for name, data in changes.items():
                new.writestr(name, data) if data is not None else None
        place = tmp_path / "changed.zip"
        place.write_bytes(out.getvalue())
        return f"sb3:{place}"

    game = backalley.game("missouri_city")
    with pytest.raises(ValueError, match="damaged, or holds more than weights"):
        agent(rewritten({"policy.pth": pickle.dumps(Trap())}), game)
    data = json.loads(zipfile.ZipFile(path).read("data"))
    pickled = base64.b64encode(pickle.dumps(Trap())).decode()
    data["policy_kwargs"] = {":type:": "dict", ":serialized:": pickled}
    agent(rewritten({"data": json.dumps(data).encode()}), game)
    assert not trap.exists()
    for changes, says in (
        ({"extra.py": b"print()"}, "it holds 'extra.py'"),
        ({"policy.pth": None}, "it has no policy.pth"),
        ({"policy.pth": b"nonsense"}, "damaged"),
    ):
        with pytest.raises(ValueError, match=says):
            agent(rewritten(changes), game)  # type: ignore[arg-type]
    for place, says in ((tmp_path / "none.zip", "cannot be read"), (Path(__file__), "damaged")):
        with pytest.raises(ValueError, match=says):
            agent(f"sb3:{place}", game)
    with pytest.raises(ValueError, match="trained on another game"):
        agent(f"sb3:{path}", "backhand")


# Answers are checked wherever agents play -----------------------------------------------------------------------------


GAME = backalley.game("missouri_city")


class Odd:
    """An agent that answers as it is asked to, and has no name."""

    def __init__(self, answer: Callable[[View], Any]) -> None:
        self.answer = answer

    def act(self, view: View) -> Any:
        return self.answer(view)


def changed_mask(view: View) -> Any:
    view.action_mask[:] = 1
    return np.full(len(view), 3)


ODD: list[tuple[Callable[[View], Any], type[Exception], str]] = [
    (lambda view: None, TypeError, "answered None"),
    (lambda view: "hit", TypeError, "answered 'hit'"),
    (lambda view: view.action_mask.argmax(1).astype(float), TypeError, "float64; they must be whole numbers"),
    (lambda view: view.action_mask[:, 0] > 0, TypeError, "bool; they must be whole numbers"),
    (lambda view: [[0], [0, 1]], TypeError, "cannot be read as one array"),
    (lambda view: 0, ValueError, r"shape \(\)"),
    (lambda view: np.zeros(1, int), ValueError, r"shape \(1,\); it was shown 4 tables"),
    (lambda view: np.zeros((len(view), 1), int), ValueError, r"shape \(4, 1\)"),
    (lambda view: np.full(len(view), -1), IllegalAction, "cannot play -1"),
    (lambda view: np.full(len(view), 2**63, np.uint64), IllegalAction, f"cannot play {2**63}"),
    (changed_mask, IllegalAction, "cannot play 3"),
]


@pytest.mark.parametrize(("answer", "error", "says"), ODD)
def test_an_answer_that_cannot_be_played_is_refused_with_its_agents_name(
    answer: Callable[[View], Any], error: type[Exception], says: str
) -> None:
    tables = BatchEnv(GAME, 4, seed=2, autoreset=False)
    tables.reset()
    before = tables.engine.batch.raw.tobytes()
    with pytest.raises(error, match=f"The agent Odd.*{says}"):
        play_out(tables, [Odd(answer)], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]
    assert tables.engine.batch.raw.tobytes() == before


def test_whole_numbers_of_any_type_are_answers() -> None:
    for kind in (np.int8, np.uint64, np.int64):
        tables = BatchEnv(GAME, 4, seed=2, autoreset=False)
        tables.reset()
        agent = Odd(lambda view, kind=kind: view.action_mask.argmax(1).astype(kind))
        play_out(tables, [agent], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]
    tables.reset()
    listing = Odd(lambda view: view.action_mask.argmax(1).tolist())
    play_out(tables, [listing], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]


def test_in_a_match_and_in_a_seat_of_an_environment() -> None:
    lazy = Odd(lambda view: np.zeros(1, int) if len(view) > 1 else np.full(1, -1))
    match = Match(GAME, [lazy, RandomAgent()], np.array([[0, 1], [1, 0]]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"The agent Odd answered with an array of shape \(1,\)"):
        match.play(np.arange(3, dtype=np.uint64), np.zeros((3, 2), np.uint64))
    env = GymnasiumEnv(GAME, opponent=lazy)  # type: ignore[arg-type]
    with pytest.raises(IllegalAction, match=r"The agent Odd: .*cannot play -1"):
        _begin_often(env)


def _begin_often(env: GymnasiumEnv) -> None:
    """Often enough for the other seat to be the first to act."""
    for seed in range(9):
        env.reset(seed=seed)


@kernel
def never(options: Any, observation: Any, mask: Any, key: Any) -> int:
    return 99


@pytest.mark.slow
def test_kernels_too() -> None:
    agent = KernelAgent("never", never, GAME)
    match = Match(GAME, [agent, BotAgent(GAME)], np.array([[0, 1]]))
    assert match.compiled
    with pytest.raises(IllegalAction, match=r"The agent never: .*cannot play 99"):
        match.play(np.arange(3, dtype=np.uint64), np.zeros((3, 1), np.uint64))
    tables = BatchEnv(GAME, 2, seed=0, autoreset=False)
    tables.reset()
    with pytest.raises(IllegalAction, match=r"The agent never: .*cannot play 99"):
        play_out(tables, [agent], np.zeros((2, 2), np.int64), np.zeros(2, np.uint64))


@pytest.mark.skipif(not COMPILED, reason="counts what is compiled")
def test_agents_are_compiled_once_and_not_for_every_pair() -> None:
    """The last match seats agents that have played, in another pair."""
    game = backalley.game("killer_bridge", num_players=3)
    bot, other, lazy = BotAgent(game), BotAgent(game, next(iter(game.bots))), RandomAgent()
    keys, seats = np.arange(30, dtype=np.uint64), np.arange(3)[None]
    for agents in ([bot, lazy, lazy], [other, lazy, lazy], [lazy, bot, other]):
        before = compile_time()
        Match(game, agents, seats).play(keys, keys[:, None])
    assert compile_time() == before


def test_rows_of_other_types_are_answered_alike() -> None:
    step, keys, bot = BatchEnv(GAME, 8, seed=3).reset(), np.arange(8, dtype=np.uint64), BotAgent(GAME)
    odd = bot.choose(np.asfortranarray(step.observation.astype(int)), step.action_mask.astype(bool), keys)
    assert odd.tolist() == bot.choose(step.observation, step.action_mask, keys).tolist()


def test_bots_see_the_table_and_not_what_a_caller_wrote() -> None:
    """A batch's observations may be written to; who plays on from there is shown them again."""
    bot, returns = BotAgent(GAME), []
    for scribble in (False, True):
        tables = BatchEnv(GAME, 64, seed=3, autoreset=False)
        step = tables.reset()
        if scribble:
            step.observation[:] = 255
            step.action_mask[:] = 1
            step.seat[:] = 1
        returns.append(play_out(tables, [bot], np.zeros((64, 2), np.int64), np.arange(64, dtype=np.uint64))[0])
    assert np.array_equal(*returns)


def test_against_a_person() -> None:
    quiet = Terminal(lambda: "hit", lambda text: None)
    with pytest.raises(IllegalAction, match=r"The agent Odd: .*cannot play 7"):
        play(GAME, [Odd(lambda view: [7])], seat=0, seed=0, terminal=quiet)  # type: ignore[list-item]
