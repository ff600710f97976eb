"""Rollouts that are continued by whoever sits at the table: the policy so far at its own side, and at the others the
policy, an agent that does not learn, or a bot.

Then a target is what an action gains in the very match-up that is played, not how the bot would go on: the learner
finds an approximate best response to whom it meets (attack), or, where it meets itself too, a policy that holds.
Rollouts by the policies in the seats are the "policy so far" of policy iteration (Bertsekas, "Rollout algorithms",
2013); the frozen opponents are those of fictitious and league play (Heinrich et al. 2015; Vinyals et al. 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import inlined, kernel, passing, template, unbound
from backalley.envs.core.rules import rng

from .targets import BEST, DRAWS, FROZEN, NEXT, POLICY, RANDOM, SEATING, SECOND, Field, Learner, Tables, act_as

BOT = BOT_VIEW = unbound
"""The player that is improved, and its view of a table, in the template below."""


@passing
def whoever_sits_continues(learner: Learner) -> Any:
    """Rollouts are played by `act_seated`."""
    return learner


@inlined
def seen_table(batch: Any, row: int) -> Any:
    """Return the whole table: its seat decides who plays, and each player has a view of its own."""
    return batch, row


@template
def act_seated(learner: Learner, table: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the action of whoever sits there, in the form of a bot's kernel. Random players sit only at the table:
    the player that is improved plays their seats in rollouts, whose noise they would add to."""
    batch, row = table
    player, advice = int(learner.who[batch.state[row].seat]), -1
    if player == RANDOM:
        player = BEST
    if player in (BEST, POLICY):
        advice = BOT(learner.base, BOT_VIEW(batch, row), mask, key)
    played: int = act_as(learner.options, learner, batch, row, player, advice, key)
    return played


@kernel
def seat_sides(tables: Tables, field: Field, sides: npt.NDArray[np.int64], row: int) -> None:
    """Draw who plays the episode that begins on a table: one side the current policy, and each other side one player,
    since partners are one player. Only the policy's decisions get targets. `sides` [N]."""
    tables.key[row] = rng.fork(tables.key[row], NEXT)
    tables.episode[row] += 1
    tables.own[row] = True
    stream, mine = rng.below(rng.fork(tables.key[row], SEATING), sides.shape[0])
    for seat in range(sides.shape[0]):
        stream, drawn = rng.below(stream, DRAWS)
        player = BEST
        if drawn < field.second:
            player = SECOND
        elif drawn < field.second + field.random:
            player = RANDOM
        elif drawn < field.second + field.random + field.policy:
            player = POLICY
        elif drawn < field.second + field.random + field.policy + field.frozen:
            player = FROZEN
        tables.who[row, seat] = POLICY if sides[seat] == sides[mine] else player
    for seat in range(sides.shape[0]):
        for first in range(seat):
            if sides[first] == sides[seat]:
                tables.who[row, seat] = tables.who[row, first]
