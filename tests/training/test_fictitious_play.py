"""The phase `fictitious_play`: responses by a game's model of its plans, against an agent and mixed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent
from backalley.agents.match import Match
from backalley.agents.policies import policy_kinds
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.mixture import MixtureAgent, model_of, shares_upto
from backalley.agents.policies.planner import ROWS, PlannerAgent, classes_digest, plans_of
from backalley.agents.policies.policy_file import PolicyFileError, save_policy
from backalley.agents.policies.policy_kinds import MixturePlayer
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.kernels import MEMORY
from backalley.envs.poker_duel.observation import Observation
from backalley.envs.poker_duel.state import ASSIGN
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.macros.fictitious_play import FictitiousPlay

GAME = game_of("poker_duel")


def learner(folder: Path, against: Agent | None = None, **more: Any) -> FictitiousPlay:
    settings = {"run.phases": "fictitious_play", "fictitious_play.episodes": 64, **more}
    made = FictitiousPlay(GAME, config.load(GAME, overrides=settings), seed=3, folder=folder, against=against)
    made.begin()
    return made


def mixture(seed: int = 1) -> tuple[dict[str, Any], MixturePlayer]:
    """Three tables, of which two are far from each other."""
    values, classes = plans_of(GAME).values(GAME.options), model_of(GAME).classes(GAME.options)
    noise = np.random.default_rng(seed).uniform(0, 1, (2, len(classes)))
    tables = np.concatenate([values[classes][None], noise]).astype(np.float16).astype(np.float32)
    arrays = {"values": values.astype(np.float16).astype(np.float32), "tables": tables, "shares": np.array([1.0, 3.0])}
    return arrays, MixturePlayer(len(values), 3, len(classes), 0.25, classes_digest(GAME))


@pytest.mark.slow
def test_the_response_finds_what_an_agent_gives_away(tmp_path: Path) -> None:
    victim = BotAgent(GAME, "greedy")
    made = learner(tmp_path, victim, **{"fictitious_play.episodes": 1024})
    for _ in range(3):
        made.step()
    before, after = (
        evaluate(GAME, [PlannerAgent(GAME, values), victim], deals=1000, seed=9).agents[0].mean_return.mean
        for values in (plans_of(GAME).values(GAME.options), made.values)
    )
    assert after > 0.2
    assert after > before + 0.02


@pytest.mark.slow
def test_a_table_without_mixing_is_exploited(tmp_path: Path) -> None:
    policy = agent("policy:standard", GAME)
    assert isinstance(policy, PolicyAgent)
    values = policy.arrays["values"].copy()
    if "tables" in policy.arrays:
        values[model_of(GAME).classes(GAME.options)] = policy.arrays["tables"][0]
    victim = PlannerAgent(GAME, values)
    made = learner(tmp_path, victim, **{"fictitious_play.episodes": 2048})
    for _ in range(4):
        made.step()
    found = evaluate(GAME, [PlannerAgent(GAME, made.values), victim], deals=2000, seed=9)
    assert found.agents[0].mean_return.mean > 0.10


def test_tables_of_the_classes_that_decide_plans_play_as_all_values_do() -> None:
    arrays, _ = mixture()
    whole = arrays["values"].copy()
    whole[model_of(GAME).classes(GAME.options)] = arrays["tables"][1]
    only = MixtureAgent(GAME, {**arrays, "tables": arrays["tables"][:2], "shares": np.ones(1)}, 0.0)
    twin = PlannerAgent(GAME, whole)
    env = AECEnv(GAME)
    env.reset(seed=4)
    for _ in range(60):
        if any(env.terminations.values()):
            break
        shown = env.observe(env.agent_selection)
        assert only.act(shown) == twin.act(shown)
        env.step(only.act(shown))


def test_a_plan_is_drawn_by_ones_own_cards_alone() -> None:
    """The key is the same at all fifteen steps, whatever the opponent holds or does, and differs from deal to deal."""
    key, fields, found = model_of(GAME).key, {}, set()
    for seed in range(3):
        env = AECEnv(GAME)
        env.reset(seed=seed)
        keys: dict[str, set[int]] = {name: set() for name in env.possible_agents}
        for _ in range(30):
            who = env.agent_selection
            shown = GAME.records(np.ascontiguousarray(env.observe(who)["observation"][None]))[0]
            fields = dict.fromkeys(shown.dtype.names)
            if shown["phase"][0] == 1:
                keys[who].add(int(key(shown.view(np.recarray))))
            env.step(int(np.flatnonzero(env.observe(who)["action_mask"])[0]))
        assert all(len(one) == 1 for one in keys.values())
        found |= set.union(*keys.values())
    assert len(found) == 6
    assert set(fields) == set(Observation.__annotations__)


def test_a_mixture_from_disk_plays_alike_single_and_batched(tmp_path: Path) -> None:
    arrays, player = mixture()
    save_policy(tmp_path / "made", arrays, GAME, name="made", player=player, made={})
    policy = PolicyAgent(tmp_path / "made", GAME)
    assert policy.is_deterministic
    twin, moved = MixtureAgent(GAME, arrays, 0.25), pickle.loads(pickle.dumps(policy))
    env, shown = AECEnv(GAME), []
    env.reset(seed=1)
    for _ in range(40):
        now = env.observe(env.agent_selection)
        shown.append({name: np.array(value) for name, value in now.items()})
        assert policy.act(now) == twin.act(now) == moved.act(now)
        env.step(policy.act(now))
    rows, masks = (np.stack([one[name] for one in shown]) for name in ("observation", "action_mask"))
    assert policy.choose(rows, masks, np.zeros(40, np.uint64)).tolist() == [policy.act(one) for one in shown]


class WithoutKernel(Agent):
    """A bot that acts through views alone."""

    is_deterministic = True

    def __init__(self) -> None:
        self.bot = BotAgent(GAME, "greedy")

    def act(self, view: Any) -> Any:
        return self.bot.act(view)


def test_plans_are_remembered_from_step_to_step_in_bounded_memory() -> None:
    """At many tables at once a mixture plays as in machine code, and makes each plan once."""
    planned, results = MixtureAgent(GAME, mixture()[0], 0.25), []
    keys = np.random.default_rng(2).integers(0, 2**64, (60, 2), np.uint64)
    for other in (WithoutKernel(), BotAgent(GAME, "greedy")):
        match = Match(GAME, [planned, other], np.array([[0, 1], [1, 0]]))
        results.append(match.play(keys[:, 0], keys))
        assert match.compiled == (other.kernel is not None)
        match.close()
    for by_views, in_machine_code in zip(*results, strict=True):
        assert (by_views == in_machine_code).all()
    (kept,) = planned._idle[0]._players[0].by.values
    assert kept.memory.shape == (ROWS, MEMORY)
    assert 200 < np.count_nonzero(kept.memory[:, 0]) <= 2 * 2 * 60


def check_first_actions() -> None:
    player, env = MixtureAgent(GAME, mixture()[0], 0.25), AECEnv(GAME)
    env.reset(seed=1)
    actions = ""
    for _ in range(30):
        action = player.act(env.observe(env.agent_selection))
        actions += str(action - ASSIGN + 1)
        env.step(action)
    assert actions == "121333332211122111332222233113"


def test_first_actions() -> None:
    check_first_actions()


@pytest.mark.uncompiled
def test_first_actions_uncompiled() -> None:
    check_first_actions()


def test_files_that_are_no_mixture_are_refused(tmp_path: Path) -> None:
    arrays, player = mixture()
    negative = {**arrays, "shares": np.array([2.0, -1.0])}
    short = {**arrays, "tables": arrays["tables"][:, :-1]}
    for name, wrong, of, message in (
        ("negative", negative, player, "not all of them 0"),
        ("none", {**arrays, "shares": np.zeros(2)}, player, "not all of them 0"),
        ("short", short, player._replace(planned=player.planned - 1), "decide the plans"),
        ("digest", arrays, player._replace(digest="0"), "other classes"),
    ):
        save_policy(tmp_path / name, wrong, GAME, name=name, player=of, made={})
        with pytest.raises(PolicyFileError, match=message):
            PolicyAgent(tmp_path / name, GAME)
    for name, value in (("field", 1.5), ("field", float("nan")), ("tables", 1), ("tables", 10**9), ("planned", 0)):
        described = policy_kinds.to_json(player._replace(**{name: value}))
        with pytest.raises(ValueError, match="does not make"):
            policy_kinds.from_json(described)


def test_shares_of_tables() -> None:
    assert shares_upto(np.array([1.0, 3.0]), 0.2) == pytest.approx([0.2, 0.4, 1.0])


@pytest.mark.slow
def test_a_run_stopped_between_rounds_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, first, second = (learner(tmp_path / name) for name in ("whole", "first", "second"))
    for _ in range(4):
        whole.step()
    for _ in range(2):
        first.step()
    second.restore(first.arrays(), first.facts())
    for _ in range(2):
        second.step()
    assert len(whole.tables) == 4
    assert all((array == second.arrays()[name]).all() for name, array in whole.arrays().items())
    whole.save_policy(tmp_path / "made", {})
    policy = PolicyAgent(tmp_path / "made", GAME)
    assert isinstance(policy.player, MixturePlayer)
    assert policy.player.tables == 4


def test_what_cannot_be_mixed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="kuhn has no plans"):
        FictitiousPlay.check(kuhn.GAME.bind(), config.load(GAME))
    with pytest.raises(ConfigError, match="is a run of its own"):
        learner(tmp_path, **{"run.phases": "plans,fictitious_play"})
    with pytest.raises(ConfigError, match="no policy of plans"):
        learner(tmp_path, **{"fictitious_play.field": "bot:greedy"})
    with pytest.raises(ConfigError, match="takes one policy"):
        learner(tmp_path, **{"fictitious_play.field": "bot:greedy,bot:blotto"})
