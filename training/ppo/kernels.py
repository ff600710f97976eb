"""The compiled parts of PPO: its loss, advantages along each seat's own decisions, and its network as it plays in
training, in single precision."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.policies.inference import Net, drawn, forward, net_of, own_room, rated_kernels
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import ActionFeatures, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..shared.learner import Task, ThreadPool

LOGGED = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")
"""What `ppo_loss` sums besides the rows, in this order."""


@kernel
def ppo_loss(
    outputs: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_],
    action: npt.NDArray[np.int64],
    log_prob: npt.NDArray[np.float32],
    advantage: npt.NDArray[np.float32],
    returned: npt.NDArray[np.float32],
    clip: float,
    entropy_weight: float,
    value_weight: float,
    sums: npt.NDArray[np.float64],
) -> None:
    """Write to `outputs` [n, A + 1], logits and value, the derivative of the sum of the loss of PPO (Schulman et al.
    2017) with an entropy bonus,

        -min(ratio * advantage, clipped ratio * advantage) - entropy_weight * entropy
        + value_weight * (value - return)^2

    by each of them: with p the probabilities, d log p[a] / d logit[b] = (a == b) - p[b], and d entropy / d logit[b] =
    -p[b] * (log p[b] + entropy). Add the number of rows and the sums of LOGGED to `sums` [6].
    """
    actions = mask.shape[1]
    chance = np.empty(actions, np.float32)
    for row in range(outputs.shape[0]):
        logits, legal, chosen = outputs[row], mask[row], action[row]
        highest, total, weighted = logits[chosen], np.float32(0.0), np.float32(0.0)
        for one in range(actions):
            if legal[one] and logits[one] > highest:
                highest = logits[one]
        for one in range(actions):
            chance[one] = np.float32(0.0)
            if legal[one]:
                chance[one] = np.exp(logits[one] - highest)
                total += chance[one]
                weighted += chance[one] * (logits[one] - highest)
        log_total = np.log(total)
        entropy = log_total - weighted / total
        difference = logits[chosen] - highest - log_total - log_prob[row]
        # Both in double precision: compiled, float() keeps a 32-bit number, and the products below would differ.
        ratio, gain = math.exp(np.float64(difference)), np.float64(advantage[row])
        clipped = min(max(ratio, 1.0 - clip), 1.0 + clip)
        # Beyond the clip range nothing pushes the action further; whatever pulls it back still counts.
        push = ratio * gain if ratio * gain <= clipped * gain else 0.0
        missed = np.float64(logits[actions]) - np.float64(returned[row])
        for one in range(actions):
            p = np.float64(chance[one] / total)
            slope = push * p
            if legal[one]:
                slope += entropy_weight * p * np.float64(logits[one] - highest - log_total + entropy)
            outputs[row, one] = slope - (push if one == chosen else 0.0)
        outputs[row, actions] = 2.0 * value_weight * missed
        sums[0] += 1.0
        sums[1] -= min(ratio * gain, clipped * gain)
        sums[2] += missed * missed
        sums[3] -= np.float64(entropy)
        sums[4] += ratio - 1.0 - difference
        sums[5] += int(abs(ratio - 1.0) > clip)


@kernel
def seat_advantages(
    seat: npt.NDArray[np.int8],
    learned: npt.NDArray[np.bool_],
    ended: npt.NDArray[np.bool_],
    reward: npt.NDArray[np.float32],
    value: npt.NDArray[np.float32],
    last_value: npt.NDArray[np.float32],
    gamma: float,
    lam: float,
    advantage: npt.NDArray[np.float32],
) -> None:
    """Compute generalised advantages (Schulman et al. 2016) along each seat's own decisions, for T steps of B tables
    with N seats.

    seat, learned, ended, value [T, B]: who decided, whether the learner decided, whether the episode ended there, and
    the critic's value; reward [T, B, N]: what every seat gained by the step; last_value [B, N]: each seat's value after
    the last step. Fills advantage [T, B], with 0 where the learner did not decide. `gamma` discounts per decision of
    the same seat. What a seat gains before its first decision of an episode counts for no decision.
    """
    steps, tables = seat.shape
    seats = reward.shape[2]
    next_value, next_advantage, gained = np.empty(seats), np.empty(seats), np.empty(seats)
    for table in range(tables):
        for who in range(seats):
            next_value[who] = last_value[table, who]
            next_advantage[who] = 0.0
            gained[who] = 0.0
        for step in range(steps - 1, -1, -1):
            if ended[step, table]:
                next_value[:] = 0.0
                next_advantage[:] = 0.0
                gained[:] = 0.0
            for who in range(seats):
                gained[who] += float(reward[step, table, who])
            advantage[step, table] = 0.0
            if learned[step, table]:
                who = int(seat[step, table])
                now = float(value[step, table])
                found = gained[who] + gamma * next_value[who] - now + gamma * lam * next_advantage[who]
                advantage[step, table] = found
                next_value[who] = now
                next_advantage[who] = found
                gained[who] = 0.0


_FEWEST_ROWS = 16
"""Rows that a thread plays at once."""


@kernel
def next_keys(stream: np.uint64, out: npt.NDArray[np.uint64]) -> np.uint64:
    """Write the next keys of a stream, one per row; return the advanced stream."""
    for k in range(out.shape[0]):
        stream = rng.advance(stream)
        out[k] = rng.mix(stream)
    return stream


@kernel
def log_chance(logits: npt.NDArray[np.float32], legal: npt.NDArray[np.int8], action: int) -> float:
    """Return the log-probability of one legal action."""
    total = 0.0
    for one in range(legal.shape[0]):
        if legal[one]:
            total += math.exp(float(logits[one]) - float(logits[action]))
    return -math.log(total)


@kernel
def play_rows(
    net: Net,
    shown: npt.NDArray[Any],
    mask: npt.NDArray[np.int8],
    wanted: npt.NDArray[np.bool_],
    keys: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    log_probs: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
) -> None:
    """Draw an action for each row that is `wanted`, by its key, and write it with its log-probability and the value of
    the observation."""
    for row in range(wanted.shape[0]):
        if wanted[row]:
            outputs = forward(net, shown[row])
            actions[row] = drawn(outputs, mask[row], keys[row])
            log_probs[row], values[row] = log_chance(outputs, mask[row], actions[row]), outputs[mask.shape[1]]


RATE = unbound
"""`rate` of a game in the template below."""


@template
def play_rated_rows(
    options: Any,
    net: Net,
    records: Any,
    mask: npt.NDArray[np.int8],
    wanted: npt.NDArray[np.bool_],
    keys: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    log_probs: npt.NDArray[np.float32],
) -> None:
    """Do the same, but for the values, by a network that rates one action by its features."""
    for row in range(wanted.shape[0]):
        if wanted[row]:
            RATE(options, net, records[row], mask[row])
            actions[row] = drawn(net.room.gains, mask[row], keys[row])
            log_probs[row] = log_chance(net.room.gains, mask[row], actions[row])


@functools.cache
def rated_play(features: ActionFeatures) -> Callable[..., None]:
    """Return `play_rated_rows` for the features of a game."""
    return specialise([play_rated_rows], {"RATE": rated_kernels(features)["rate"]})["play_rated_rows"]


@kernel
def value_rows(net: Net, shown: npt.NDArray[Any], values: npt.NDArray[np.float32]) -> None:
    """Write the value of each observation."""
    for row in range(values.shape[0]):
        outputs = forward(net, shown[row])
        values[row] = outputs[outputs.shape[0] - 1]


class Playing:
    """A network as it plays during one rollout: compiled, in single precision, on every thread of a pool."""

    def __init__(
        self,
        game: Game,
        features: ActionFeatures | None,
        actor: Mapping[str, npt.NDArray[Any]],
        critic: Mapping[str, npt.NDArray[Any]],
        pool: ThreadPool,
    ) -> None:
        """Of the arrays of PolicyNetworks. Without `features` both are the same network."""
        self._game, self._pool = game, pool
        self._play_rated = rated_play(features) if features else None

        def nets(weights: Mapping[str, npt.NDArray[Any]], **more: Any) -> list[Net]:
            net = net_of(weights, 1 / weights["scale"].astype(np.float64), greedy=False, **more)
            return [own_room(net) for _ in range(pool.num_threads)]

        self._critics = nets(critic, value=True)
        self._actors = nets(actor, rates=game.num_actions) if features else self._critics

    def act(
        self,
        shown: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        wanted: npt.NDArray[np.bool_],
        keys: npt.NDArray[np.uint64],
        actions: npt.NDArray[np.int64],
        log_probs: npt.NDArray[np.float32],
        values: npt.NDArray[np.float32],
        first: Sequence[Task] = (),
    ) -> None:
        """Play as `play_rows` does, after the tasks `first`."""

        def work(thread: int, low: int, high: int) -> None:
            rows, critic = slice(low, high), self._critics[thread]
            given = mask[rows].view(np.int8), wanted[rows], keys[rows], actions[rows], log_probs[rows]
            if self._play_rated is None:
                play_rows(critic, shown[rows], *given, values[rows])
            else:
                records = self._game.records(shown[rows])
                self._play_rated(self._game.options, self._actors[thread], records, *given)
                value_rows(critic, shown[rows], values[rows])

        self._pool.share_rows(len(shown), _FEWEST_ROWS, work, first)

    def values(self, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the values of observations [n, O]."""
        found = np.empty(len(shown), np.float32)
        self._pool.share_rows(
            len(shown),
            _FEWEST_ROWS,
            lambda thread, low, high: value_rows(self._critics[thread], shown[low:high], found[low:high]),
        )
        return found
