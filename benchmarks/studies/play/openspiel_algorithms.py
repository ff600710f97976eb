"""OpenSpiel's algorithms on our games, and on OpenSpiel's own where it has the same. Imports OpenSpiel."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import (
    best_response,
    cfr,
    expected_game_score,
    exploitability,
    external_sampling_mccfr,
    outcome_sampling_mccfr,
)

from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.rules.events import ACTION
from backalley.openspiel import SpielAgent, game_string

from ...exact.exploit import agent_probabilities
from ...exact.solver import solver_of
from ...exact.tree import tree as tree_of

KUHN, LEDUC, DICE = (f"backalley.examples.{name}" for name in ("kuhn", "leduc", "liars_dice"))
SAME_GAMES = {KUHN: "kuhn_poker", LEDUC: "leduc_poker"}
_TABLES = 8
"""Tables on which PPO learns."""


def steps(iterations: int) -> list[Iterator[dict[str, Any]]]:
    """Return what is done, with so many iterations of CFR; each yields rows."""
    exact = [*(_exact(path, iterations) for path in SAME_GAMES), liars_dice(iterations)]
    return [*exact, *(step() for step in (_sampling, _nfsp, _ppo))]


def _named(path: str) -> Any:
    return pyspiel.load_game(game_string(game_of(path)))


def _exact(path: str, iterations: int) -> Iterator[dict[str, Any]]:
    games = _named(path), pyspiel.load_game(SAME_GAMES[path])
    ours, theirs = (list(_measures(game, iterations)) for game in games)
    title, uniform = game_of(path).title, ours[0]["value"]
    for mine, its in zip(ours, theirs, strict=True):
        yield {"game": title, "what": mine["what"], "ours": mine["value"], "theirs": its["value"]}
    learned = next(one for one in ours if "NashConv of CFR" in one["what"])
    did = {"game": title, "method": "CFR", "did": f"{iterations:,} iterations", "what": "NashConv"}
    yield {**did, "before": uniform, "after": learned["value"], "seconds": learned["seconds"]}


def _measures(game: Any, iterations: int) -> Iterator[dict[str, Any]]:
    """NashConv and best responses of uniform play, then of CFR's average policy."""
    began, solver = time.process_time(), cfr.CFRSolver(game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    seconds, average = time.process_time() - began, solver.average_policy()
    for name, played in (("uniform play", policy.UniformRandomPolicy(game)), (f"CFR, {iterations:,}", average)):
        yield {
            "what": f"NashConv of {name}",
            "value": float(exploitability.nash_conv(game, played)),
            "seconds": seconds,
        }
        root = game.new_initial_state()
        for seat in range(2):
            reply = best_response.BestResponsePolicy(game, seat, played, root)
            yield {"what": f"best response of seat {seat} to {name}", "value": float(reply.value(root))}
        value = expected_game_score.policy_value(root, [played, played])[0]
        yield {"what": f"value of {name}, seat 0", "value": float(value)}


def position(game: Any, dealt: str) -> Callable[[GameState], Any]:
    """Return what makes a state of OpenSpiel's own `game` out of one of ours, where both number cards and actions
    alike; `dealt` is the field of our State with what is dealt first."""

    def theirs(state: GameState) -> Any:
        record, found = state.record(), game.new_initial_state()
        for outcome in record[dealt].tolist():
            found.apply_action(outcome)
        for kind, _, number in state.events(state.seat).tolist():
            if found.is_chance_node():  # Leduc's public card
                found.apply_action(int(record["public"]))
            if kind == ACTION:
                found.apply_action(number)
        return found

    return theirs


def liars_dice(iterations: int) -> Iterator[dict[str, Any]]:
    """What is found here of policies that come from OpenSpiel, by information states, and what OpenSpiel finds."""
    game, small, tree = pyspiel.load_game("liars_dice"), solver_of(DICE), tree_of(DICE)
    for count in (0, iterations):
        solver = pyspiel.CFRSolver(game)
        for _ in range(count):
            solver.evaluate_and_update_policy()
        policy = solver.tabular_average_policy()  # uniform play before the first iteration
        played, theirs = (
            SpielAgent(policy, tree.game, position=position(game, "die")),
            float(pyspiel.nash_conv(game, policy)),
        )
        plays, _ = agent_probabilities(played, small)
        name = f"their CFR, {count:,}" if count else "uniform play"
        found = {"exploit": 2 * small.exploitability(plays), "tree": tree.nash_conv(tree.strategy(played))}
        for way, ours in found.items():
            what = f"NashConv of {name}, by `{way}`"
            yield {"game": tree.game.title, "what": what, "ours": ours, "theirs": theirs}


def _seeded() -> None:
    """OpenSpiel's algorithms draw from these."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


def _sampling() -> Iterator[dict[str, Any]]:
    """Monte Carlo CFR on Kuhn poker."""
    game = _named(KUHN)
    before = float(exploitability.nash_conv(game, policy.UniformRandomPolicy(game)))
    for method, made, count in (
        ("MCCFR, external sampling", external_sampling_mccfr.ExternalSamplingSolver, 1_000),
        ("MCCFR, outcome sampling", outcome_sampling_mccfr.OutcomeSamplingSolver, 5_000),
    ):
        _seeded()
        began, solver = time.process_time(), made(game)
        for _ in range(count):
            solver.iteration()
        after = float(exploitability.nash_conv(game, solver.average_policy()))
        row = {"game": "Kuhn poker", "method": method, "did": f"{count:,} iterations", "what": "NashConv"}
        yield {**row, "before": before, "after": after, "seconds": time.process_time() - began}


def _nfsp(episodes: int = 15_000) -> Iterator[dict[str, Any]]:
    """Neural fictitious self-play on Kuhn poker."""
    import torch
    from open_spiel.python.pytorch import nfsp

    _seeded()
    torch.manual_seed(0)
    game = _named(KUHN)
    env = rl_environment.Environment(game)
    settings = {
        "state_representation_size": env.observation_spec()["info_state"][0],
        "num_actions": game.num_distinct_actions(),
        "hidden_layers_sizes": [64],
        "reservoir_buffer_capacity": 2_000_000,
        "anticipatory_param": 0.1,
        "min_buffer_size_to_learn": 1_000,
        "rl_learning_rate": 0.1,
        "epsilon_decay_duration": 50_000,
        "epsilon_end": 0.001,
    }
    agents = [nfsp.NFSP(seat, **settings) for seat in range(2)]

    class Average(policy.Policy):  # type: ignore[misc]
        """The average policies of both agents."""

        def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
            """What the seat to act plays."""
            seat = state.current_player()
            shown = {"info_state": {seat: state.information_state_tensor(seat)}, "current_player": seat}
            shown["legal_actions"] = {seat: state.legal_actions()}
            step = rl_environment.TimeStep(observations=shown, rewards=None, discounts=None, step_type=None)
            with agents[seat].temp_mode_as(nfsp.MODE.AVERAGE_POLICY):
                probabilities = agents[seat].step(step, is_evaluation=True).probs
            return {action: float(probabilities[action]) for action in state.legal_actions()}

    before = float(exploitability.nash_conv(game, policy.UniformRandomPolicy(game)))
    began = time.process_time()
    for _ in range(episodes):
        step = env.reset()
        while not step.last():
            step = env.step([agents[step.observations["current_player"]].step(step).action])
        for agent in agents:
            agent.step(step)
    after, seconds = float(exploitability.nash_conv(game, Average(game, [0, 1]))), time.process_time() - began
    row = {"game": "Kuhn poker", "method": "NFSP (PyTorch)", "did": f"{episodes:,} episodes", "what": "NashConv"}
    yield {**row, "before": before, "after": after, "seconds": seconds}


def _ppo(updates: int = 10, steps: int = 64) -> Iterator[dict[str, Any]]:
    """PPO on Backhand, a game of one seat, with sampled chance."""
    import torch
    from open_spiel.python.pytorch.ppo import PPO, PPOAgent
    from open_spiel.python.vector_env import SyncVectorEnv

    _seeded()
    torch.manual_seed(0)
    game = pyspiel.load_game(game_string(game_of("backhand"), "sampled"))
    envs = SyncVectorEnv([rl_environment.Environment(game, seed=number) for number in range(_TABLES)])
    shape = tuple(envs.envs[0].observation_spec()["info_state"])
    agent = PPO(shape, game.num_distinct_actions(), 1, 0, _TABLES, steps_per_batch=steps, agent_fn=PPOAgent)

    def mean_return(episodes: int = 1_000) -> float:
        step, gained = envs.reset(), list[float]()
        while len(gained) < episodes:
            step, rewards, ended, _ = envs.step(agent.step(step, is_evaluation=True), reset_if_done=True)
            gained += [float(one[0]) for one, over in zip(rewards, ended, strict=True) if over]
        return float(np.mean(gained))

    before, began, step = mean_return(), time.process_time(), envs.reset()
    for _ in range(updates):
        for _ in range(steps):
            step, rewards, ended, _ = envs.step(agent.step(step), reset_if_done=True)
            agent.post_step(rewards, ended)
        agent.learn(step)
    seconds = time.process_time() - began
    decisions = f"{updates * steps * _TABLES:,} decisions"
    row = {"game": "Backhand", "method": "PPO (PyTorch)", "did": decisions, "what": "mean return"}
    yield {**row, "before": before, "after": mean_return(), "seconds": seconds}
