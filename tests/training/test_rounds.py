"""Rollouts continued by whoever sits there, attacks on an agent, and rounds of attack and generation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.registry import agent as agent_of
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.config.phases import TrainingError
from backalley.training.rollouts import opponents, targets
from backalley.training.rollouts.rounds import Attack, Generation
from backalley.training.rollouts.target_kernels import seat_sides
from backalley.training.rollouts.targets import BEST, FROZEN, POLICY, Field, Tables
from backalley.training.run import gate, loop
from backalley.training.shared.phase import Finished
from backalley.training.train import train
from tests.common.tiny_policies import made, residual
from tests.common.tiny_runs import weights
from tests.training.run.test_phases import save_fixed
from tests.training.test_rollouts import GAME, TINY
from tests.training.test_rollouts import phase as rollouts

RUN = {"run.evaluation_deals": 16, "run.checkpoint_seconds": 0, "run.gate_deals": 200, "run.curve_every": 0}
SMALL = {name: value for name, value in TINY.items() if name.startswith("rollouts.")} | {"network.width": 16} | RUN


def phase(kind: type[Any], folder: Path, num_threads: int = 1, **more: Any) -> Any:
    """A phase of Kuhn poker."""
    history = more.pop("history", ())
    given = {f"{kind.section}.{name}": value for name, value in more.items()}
    settings = config.load(GAME, overrides=SMALL | given)
    made = kind(GAME, settings, seed=3, folder=folder, num_threads=num_threads, history=history)
    made.begin()
    return made


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Policies that always pass and always bet."""
    folder = tmp_path_factory.mktemp("fixed")
    for action in (kuhn.PASS, kuhn.BET):
        save_fixed(folder / str(action), GAME, action, {})
    return {action: folder / str(action) for action in (kuhn.PASS, kuhn.BET)}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The residual of Kuhn's random bot, after a few chunks."""
    folder = tmp_path_factory.mktemp("learned") / "policy"
    made = rollouts(folder.parent)
    for _ in range(4):
        made.step()
    made.margin = 0.0
    made.save_policy(folder, {"command": "by hand"})
    return folder


# Who sits and who plays on --------------------------------------------------------------------------------------------


def test_sides_are_drawn_and_partners_are_one_player() -> None:
    sides, count = np.array([0, 1, 0, 1]), 400
    keys, flags = np.arange(count).astype(np.uint64), np.zeros(count, np.bool_)
    who, number = np.zeros((count, 4), np.int8), np.zeros(count, np.int32)
    tables = Tables(keys, who, flags.copy(), flags, number, np.zeros((count, 4), np.int64), np.zeros((count, 4)))
    half = targets.DRAWS // 2
    for row in range(count):
        seat_sides(tables, Field(0, 0, 0, 0, 0, half, 0), sides, row)
    assert (tables.who[:, 0] == tables.who[:, 2]).all()
    assert (tables.who[:, 1] == tables.who[:, 3]).all()
    mine = tables.who == POLICY
    assert (mine.sum(1) == 2).all()
    assert tables.own.all()
    assert 0.4 < mine[:, 0].mean() < 0.6, "each side is the policy's alike"
    others = tables.who[~mine]
    assert {*others.tolist()} == {BEST, FROZEN}
    assert 0.4 < (others == FROZEN).mean() < 0.6


@pytest.mark.parametrize("reply", [kuhn.PASS, kuhn.BET])
def test_a_target_is_what_an_action_gains_against_who_sits_there(
    fixed: dict[int, Path], reply: int, tmp_path: Path
) -> None:
    """To bet against who always folds wins 1, where to pass wins or loses 1; against who always calls it is 2."""
    made = phase(Attack, tmp_path, against=str(fixed[reply]), noise=0.0, begins="anew")
    made.step()
    fields = {name: slice(place.start, place.stop) for name, place in GAME.observation_fields.items()}
    seen = set()
    for row, place in np.argwhere(made.targets.taken):
        shown, gain = made.targets.flat[row, place], made.targets.gain[row, place]
        bets = shown[fields["bets"]].reshape(3, 2)
        if not bets.any():  # the first decision of a deal
            assert reply == kuhn.BET or gain[kuhn.BET] - gain[kuhn.PASS] in (0.0, 2.0)
            seen.add((int(shown[fields["card"]].argmax()), float(gain[kuhn.BET] - gain[kuhn.PASS])))
    if reply == kuhn.PASS:
        assert seen == {(0, 2.0), (1, 0.0), (1, 2.0), (2, 0.0)}
    else:  # a pass is followed by a bet, and by the policy's own call (the same showdown) or fold
        assert {(0, 0.0), (2, 0.0), (0, -1.0), (2, 3.0)} <= seen
    assert (made.tables.own).all()


def test_a_league_meets_all_its_agents_and_knows_them_again(fixed: dict[int, Path], tmp_path: Path) -> None:
    made, met = phase(Generation, tmp_path, against=f"{fixed[kuhn.PASS]},{fixed[kuhn.BET]}", begins="anew"), set()
    for _ in range(6):
        made.step()
        met.add(made.frozen.name)
    assert met == {"always 0", "always 1"}
    other = phase(Generation, tmp_path, against=str(fixed[kuhn.BET]), begins="anew")
    with pytest.raises(ValueError, match="the agents that it played against are others now"):
        other.restore(made.arrays(), made.facts())


def test_a_slow_bot_that_solves_the_end_is_met_as_its_fast_substitute(tmp_path: Path) -> None:
    game = backalley.game("bezique")
    slow = game.reference_bot
    assert slow is not None
    assert slow.quick is not None
    assert opponents.frozen_of(agent_of(f"bot:{slow.name}", game)).kernel is slow.quick
    policy = PolicyAgent(made(tmp_path / "correcting", game, player=residual(game, bot=slow.name)), game)
    assert opponents.frozen_of(policy).kernel is not policy.kernel
    other = agent_of("bot:greedy", game)
    assert opponents.frozen_of(other).kernel is other.kernel


# Beginning from a policy ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_learning_goes_on_from_a_policy(learned: Path, tmp_path: Path) -> None:
    policy = PolicyAgent(learned, GAME)
    made = phase(Attack, tmp_path, against=str(learned))
    assert (made.unit, made.margin, made.fitting.averaged) == (policy.metadata["made"]["unit"], 0.0, 1000)
    for name, array in policy.arrays.items():
        np.testing.assert_array_equal(made.fitting.arrays()[f"average.{name}"], array)
    made.step()
    assert made.margin == 0.0
    made.save_policy(tmp_path / "attacker", {})
    again = PolicyAgent(tmp_path / "attacker", GAME)
    assert again.player == policy.player
    assert again.metadata["made"]["against"] == ["random+"]
    small = phase(Generation, tmp_path, against="bot", begins=str(learned))
    assert small.fitting.network.width == policy.player.width  # type: ignore[union-attr]


def test_where_learning_begins(learned: Path, fixed: dict[int, Path], tmp_path: Path) -> None:
    attacked = Finished(tmp_path / "attacker", learned, True)
    phase(Attack, tmp_path, against=str(learned)).save_policy(attacked.learned, {})
    first = phase(Generation, tmp_path, history=[attacked])
    assert first.start.folder == attacked.learned, "what the attack has learned"
    assert [one.folder for one in first.opponents] == [learned], "against what was current"
    kept = Finished(fixed[kuhn.BET], learned, False)
    again = phase(Attack, tmp_path, history=[attacked, kept])
    assert again.start.folder == learned, "what is current, not what was refused"
    later = Finished(fixed[kuhn.BET], fixed[kuhn.BET], False)
    second = phase(Generation, tmp_path, history=[attacked, later])
    assert [one.folder for one in second.opponents] == [learned, fixed[kuhn.BET]], "all that were current, each once"
    assert phase(Attack, tmp_path, against=str(fixed[kuhn.BET])).start is None, "nothing that it could go on from"


def test_what_learning_cannot_begin_from_is_refused(fixed: dict[int, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot begin from .* it has to be a residual of bot:random"):
        train(GAME, out=tmp_path / "run", begins=fixed[kuhn.BET], config_overrides=SMALL | {"run.phases": "rollouts"})
    with pytest.raises(TrainingError, match=r"The first phase is ppo, which does not go on"):
        train(GAME, out=tmp_path / "run", begins=fixed[kuhn.BET], config_overrides=SMALL | {"run.phases": "ppo"})
    assert not (tmp_path / "run").exists()


# Attacks --------------------------------------------------------------------------------------------------------------


def test_an_attack_finds_what_a_poor_agent_gives_away(fixed: dict[int, Path], tmp_path: Path) -> None:
    result = train(GAME, out=tmp_path / "run", decisions=4000, against=fixed[kuhn.PASS], config_overrides=SMALL)
    gain = result.phases[0].gain
    assert gain is not None
    assert result.phases[0].gate is None
    assert (gain.against, gain.deals, gain.pays) == ("always 0", 200, True)
    assert gain.gain > 0.9, "to bet always wins 1"
    assert gain.sentence() in result.table()
    assert PolicyAgent(result.policy, GAME).metadata["made"]["against"] == ["always 0"]
    assert f"--set attack.against={fixed[kuhn.PASS]}" in result.command


# Rounds ---------------------------------------------------------------------------------------------------------------


def rounds(folder: Path, monkeypatch: pytest.MonkeyPatch, *, pays: bool, worse: bool = False) -> Any:
    """A run of rounds whose measurements come out as asked."""
    gain = gate.Gain("attacker", "standing", 10, 0.1, 0.05 if pays else -0.05, 0.2)
    passed = gate.Gate("new", "old", 10, 0.1, 0.2, 0.1, True)
    third = gate.Comparison("third", 10, 0.0, 0.1, -0.2, not worse)
    monkeypatch.setattr(loop, "gain_of", lambda *given: gain)
    monkeypatch.setattr(loop, "play_gate", lambda *given: passed)
    monkeypatch.setattr(loop, "compare_at", lambda *given, **more: third)
    settings = SMALL | {"run.phases": "rollouts,attack,generation,attack"}
    return train(GAME, out=folder, decisions=[1000] * 4, config_overrides=settings)


def test_rounds_end_when_an_attack_does_not_pay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = rounds(tmp_path / "run", monkeypatch, pays=False)
    assert [one.kind for one in result.phases] == ["rollouts", "attack"]
    assert [one.policy for one in result.phases] == ["phases/1-rollouts/policy"] * 2, "an attacker replaces nobody"
    assert "--set run.phases=rollouts,attack --seed" in result.command


def test_a_generation_replaces_the_policy_that_was_attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = rounds(tmp_path / "run", monkeypatch, pays=True)
    current = ["phases/1-rollouts/policy"] * 2 + ["phases/3-generation/policy"] * 2
    assert [one.policy for one in result.phases] == current
    assert [one.against for one in result.phases[2].comparisons] == ["third", "third"], "the best bot and a third party"
    refused = rounds(tmp_path / "refused", monkeypatch, pays=True, worse=True)
    assert refused.phases[2].policy == "phases/1-rollouts/policy", "a policy that fares worse with others is not kept"
    assert "worse, or may be" in refused.table()
    said = "No later phase changed the policy: it has the weights of phase"
    assert f"{said} 1, rollouts." in refused.table()
    assert f"{said} 3, generation." in result.table(), "an attacker replaces nobody"
    assert weights(tmp_path / "refused") == weights(tmp_path / "refused/phases/1-rollouts")


def test_rounds_may_begin_with_an_attack_on_what_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kuhn poker comes with no policy: its best bot is current."""
    monkeypatch.setattr(loop, "compare_at", lambda *given, **more: gate.Comparison("x", 2, 0, 0, 0, True))
    settings = SMALL | {"run.phases": "attack,generation"}
    result = train(GAME, out=tmp_path / "run", decisions=[3000, 1000], config_overrides=settings)
    assert result.phases[0].gain.against == "bot:random"  # type: ignore[union-attr]
    assert result.phases[0].policy == "phases/1-attack/start"
    assert PolicyAgent(tmp_path / "run/phases/1-attack/start", GAME).player.margin is None  # type: ignore[union-attr]
    assert result.phases[1].gate.against == "random+"  # type: ignore[union-attr]
    kept = result.phases[1].policy == "phases/1-attack/start"
    assert ("No gate changed the policy: it has the weights that the run began with." in result.table()) == kept


def test_two_policies_against_a_third_agent(fixed: dict[int, Path]) -> None:
    """Always to bet gains 0.5 against random play, and always to pass loses 0.5."""
    bets, passes = (PolicyAgent(fixed[action], GAME) for action in (kuhn.BET, kuhn.PASS))
    keys, points = gate.keys_of(gate.OTHERS, 0, 0, 0), config.Objective.POINTS

    def compared(new: Any, old: Any, deals: int, *, few: bool) -> gate.Comparison:
        rival = agent_of("bot", GAME)
        return gate.compare_at(GAME, [new, old], rival, deals, keys, points, 0.1, lambda done, planned: None, few=few)

    assert compared(bets, passes, 400, few=False).passed
    assert not compared(passes, bets, 400, few=False).passed
    assert compared(bets, bets, 400, few=False).passed, "the same deals: the difference is 0"
    assert not compared(passes, bets, 400, few=True).passed
    assert compared(passes, passes, 20, few=True).passed
