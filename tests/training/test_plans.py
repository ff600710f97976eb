"""The phase `plans`: values of classes by Monte Carlo, for any game that plans."""

from __future__ import annotations

import dataclasses
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.rule_based import BotAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.planner import PlannerAgent, classes_digest, planner, plans_of
from backalley.agents.policies.policy_file import PolicyFileError, observation_layout, save_policy
from backalley.agents.policies.policy_kinds import PlansPlayer
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.macros import plans
from backalley.training.macros.plans import PlanLearner, field_of
from backalley.training.train import train
from tests.common.cases import GAMES, option_sets

PLANNED = [game for game in GAMES if game.type.plans is not None]
BY_NAME = pytest.mark.parametrize("game", PLANNED, ids=lambda game: game.name)
TINY = {
    "plans.episodes": 64 if COMPILED else 16,
    "plans.snapshot_every": 2,
    "plans.keep": 2,
    "plans.best_bot": 0.5,
    "plans.past": 0.25,
    "plans.other_bots": 0,
    "run.evaluation_deals": 4,
}


def learner(game: Any, folder: Path, seed: int = 3, **more: Any) -> PlanLearner:
    settings = config.load(game, overrides=TINY | more)
    made = PlanLearner(game, settings, seed=seed, folder=folder)
    made.begin()
    return made


def test_credits_by_outcomes_and_by_what_comes_next() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    for trace, expected in ((1.0, [1.0, 1.0, 1.0, 0.0]), (0.0, [0.2, 0.3, 1.0, 0.0]), (0.5, [0.425, 0.65, 1.0, 0.0])):
        trail, lengths = np.zeros((1, 8), np.int64), np.zeros(1, np.int64)
        outcomes, counts = np.zeros(4), np.zeros(4)
        for place, outcome in ((-1, np.nan), (0, np.nan), (0, np.nan), (1, np.nan), (2, 1.0), (3, 1.0)):
            shown = np.array([place]), np.array([outcome])
            plans.credit(*shown, trail, lengths, values, trace, outcomes, counts)
        assert outcomes == pytest.approx(expected)
        assert counts.tolist() == [1, 1, 1, 0]


def test_points_are_shared() -> None:
    for returns, expected in (([1, -1], [1, 0]), ([0, 0], [0.5, 0.5]), ([2, 1, 2], [0.5, 0, 0.5]), ([3.0], [1])):
        assert [plans.points_of(np.array(returns, float), seat) for seat in range(len(returns))] == expected


@BY_NAME
def test_the_field_is_shared_as_the_settings_say(game: Any) -> None:
    bots = [f"bot:{name}" for name in list(game.bots)[::-1]]
    found = field_of(game, 0.4, 0.2, 2)
    assert [one.name for one in found] == [*bots[:3], "past"]
    assert [one.share for one in found] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert [one.share for one in field_of(game, 0.4, 0.2, 0)] == pytest.approx([2 / 3, 1 / 3])
    assert [one.name for one in field_of(game, 0.5, 0, 100)] == [*bots, "past"]
    alone = dataclasses.replace(kuhn.GAME, bots=()).bind()
    assert [(one.name, one.share) for one in field_of(alone, 0.4, 0.2, 2)] == [("past", 1.0)]


@pytest.mark.slow
@BY_NAME
def test_what_too_short_a_run_leaves_is_the_planner_as_it_began(game: Any, tmp_path: Path) -> None:
    settings = TINY | {"run.phases": "plans", "run.gate_deals": 16}
    result = train(game, out=tmp_path / "run", decisions=8000, seed=2, config_overrides=settings)
    policy = agent(result.policy, game)
    assert isinstance(policy, PolicyAgent)
    first = plans_of(game).values(game.options)
    assert (policy.arrays["values"] == first.astype(np.float16)).all()
    assert policy.name.endswith("untrained")


@pytest.mark.slow
@BY_NAME
def test_a_policy_plays_what_was_learned(game: Any, tmp_path: Path) -> None:
    made = learner(game, tmp_path)
    for _ in range(3):
        made.step()
    made.save_policy(tmp_path / "made", {"command": "by hand"})
    policy = agent(tmp_path / "made", game)
    assert isinstance(policy, PolicyAgent)
    assert isinstance(policy.player, PlansPlayer)
    assert policy.metadata["made"]["field"]["past"] == pytest.approx(1 / 3, abs=1e-3)
    values = policy.arrays["values"]
    assert (values == values.astype(np.float16)).all()
    assert (values != plans_of(game).values(game.options)).any()
    twin = PlannerAgent(game, values)
    env, moved = AECEnv(game), pickle.loads(pickle.dumps(policy))
    env.reset(seed=1)
    while not any(env.terminations.values()):
        shown = env.observe(env.agent_selection)
        assert policy.act(shown) == twin.act(shown) == moved.act(shown)
        env.step(policy.act(shown))
    pair = [evaluate(game, [one, BotAgent(game)], deals=8, num_threads=n) for one, n in ((policy, 1), (twin, 2))]
    assert pair[0].agents[0].mean_return == pair[1].agents[0].mean_return
    with pytest.raises(PolicyFileError, match="has no probabilities to draw by"):
        PolicyAgent(tmp_path / "made", game, greedy=False)
    with pytest.raises(TypeError, match="has no logits"):
        policy.logits(np.zeros((1, game.observation_size)))


@BY_NAME
def test_files_of_other_classes_are_refused(game: Any, tmp_path: Path) -> None:
    values = plans_of(game).values(game.options)
    player = PlansPlayer(len(values), classes_digest(game))

    def saved(name: str, player: PlansPlayer, values: Any, of: Any = game) -> Path:
        save_policy(tmp_path / name, {"values": values}, of, name=name, player=player, made={})
        return tmp_path / name

    good = saved("good", player, values)
    assert PolicyAgent(good).greedy
    others = game.bind(next(given for given in option_sets(game) if given and not plans_refuse(game, given)))
    assert "It was trained under" in PolicyAgent(good, others).note
    for name, wrong in (("digest", player._replace(digest="0-1")), ("size", PlansPlayer(7, "7-0"))):
        with pytest.raises(PolicyFileError, match="holds the values of other classes than the plans of"):
            PolicyAgent(saved(name, wrong, values[: wrong.classes]))
    with pytest.raises(PolicyFileError, match="not finite"):
        PolicyAgent(saved("nan", player, np.full_like(values, np.nan)))
    for name, wrong in (("none", player._replace(classes=0)), ("word", player._replace(digest=5))):  # type: ignore[arg-type]
        with pytest.raises(PolicyFileError, match="describes a player that Back Alley does not make"):
            PolicyAgent(saved(name, wrong, values[: wrong.classes]))
    with pytest.raises(PolicyFileError, match="plays by plans, and kuhn has no plans"):
        PolicyAgent(saved("kuhn", player, values, kuhn.GAME.bind()), kuhn.GAME.bind())
    cut = shutil.copytree(good, tmp_path / "cut")
    (cut / "policy.safetensors").write_bytes((good / "policy.safetensors").read_bytes()[:-9])
    with pytest.raises(PolicyFileError, match="truncated"):
        PolicyAgent(cut)


def plans_refuse(game: Any, given: dict[str, Any]) -> bool:
    """Whether nothing is planned under these options, or the observation is another."""
    bound = game.bind(given)
    return bool(bound.type.plans.refuses(bound.options)) or observation_layout(bound) != observation_layout(game)


@BY_NAME
def test_options_under_which_nothing_is_planned_are_refused(game: Any, tmp_path: Path) -> None:
    wrong = [game.bind(given) for given in option_sets(game) if game.type.plans.refuses(game.bind(given).options)]
    if wrong:
        with pytest.raises(ConfigError, match="cannot be planned under these options"):
            learner(wrong[0], tmp_path)
        values = plans_of(game).values(game.options)
        player = PlansPlayer(len(values), classes_digest(game))
        save_policy(tmp_path / "own", {"values": values}, game, name="own", player=player, made={})
        with pytest.raises(PolicyFileError, match=r"plays by plans, and .* cannot be planned under these options"):
            PolicyAgent(tmp_path / "own", wrong[0])


def test_a_game_without_plans_says_so() -> None:
    game = kuhn.GAME.bind()
    with pytest.raises(ValueError, match="kuhn has no plans: its decisions are made one by one"):
        agent("plans", game)


@BY_NAME
def test_candidates_begin_with_what_is_played(game: Any) -> None:
    own, env = plans_of(game), AECEnv(game)
    by = planner(game, own.values(game.options))
    batch, out, planned = env.engine.batch, np.zeros((4, own.steps), np.int64), 0
    env.reset(seed=4)
    while not any(env.terminations.values()):
        action = own.act(by, batch.observation[0], batch.mask[0], np.uint64(planned))
        if own.candidates(by, batch.observation[0], batch.mask[0], out):
            planned += 1
            assert out[0, 0] == action
            assert batch.mask[0, out[:, 0][out[:, 0] >= 0]].all()
        env.step(int(action))
    assert planned
