"""The compiled code that makes targets for one game, and its arguments; and rollouts that are continued by whoever sits
at the table: the policy so far at its own side, and at the others the policy, an agent that does not learn, or a bot.

With these a target is what an action gains in the very match-up that is played, not how the bot would go on: the
learner finds an approximate best response to whom it meets (attack), or, where it meets itself too, a policy that
holds. Rollouts by the policies in the seats are the "policy so far" of policy iteration (Bertsekas, "Rollout
algorithms", 2013); the frozen opponents are those of fictitious and league play (Heinrich et al. 2015; Vinyals et al.
2019).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.rule_based import seen_record, seen_vector
from backalley.agents.policies.inference import Net, Rated, act, own_room, rated_kernels
from backalley.agents.policies.residual import correct_by, solves_nothing
from backalley.agents.search.determinizations import only_choice, play_on
from backalley.envs.core.api.compiled_play import no_leaf_value, random_act, table_names
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import (
    ActionFeatures,
    Bot,
    Bound,
    inlined,
    kernel,
    passing,
    specialise,
    template,
    unbound,
)
from backalley.envs.core.rules import rng

from ..config.config import Objective
from .targets import (
    BEST,
    DRAWS,
    FROZEN,
    NEXT,
    POLICY,
    RANDOM,
    SEATING,
    Field,
    Learner,
    Tables,
    Targets,
    act_as,
    bot_continues,
    draw_by_features,
    draw_by_observation,
    mix_of_bot,
    mix_of_net,
    mix_of_rated,
    play_table,
    played_out,
    player_drawn,
    points_gained,
    points_of,
    seat_players,
    share_won,
    target_rows,
    write_target,
)

_MOST_PER_TARGET = 1000
"""Decisions for each target after which a table is left for this chunk: a game may offer few choices."""

# Whoever sits there ---------------------------------------------------------------------------------------------------

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
        player = player_drawn(field, drawn)
        if player == BEST and drawn < field.second + field.random + field.policy + field.frozen:
            player = FROZEN
        tables.who[row, seat] = POLICY if sides[seat] == sides[mine] else player
    for seat in range(sides.shape[0]):
        for first in range(seat):
            if sides[first] == sides[seat]:
                tables.who[row, seat] = tables.who[row, first]


# The code of a game ---------------------------------------------------------------------------------------------------


def bots_at_tables(game: Game, reference: Bot | None) -> tuple[Bot | None, Bot | None]:
    """Return, as rollouts play them, the bot that is improved, by default the best fast one, and the best of the others
    that are fast; None where there are fewer."""
    best = reference.in_rollouts if reference else game.rollout_bot
    return best, next((bot for bot in reversed(game.type.bots) if bot.fast and best and bot.act is not best.act), None)


class Frozen(NamedTuple):
    """How an agent that does not learn is called."""

    kernel: Callable[..., int] = random_act
    view: Callable[..., Any] = seen_record


class Play(NamedTuple):
    """What the compiled code of targets depends on."""

    game: Game
    reference: Bot | None
    objective: Objective
    seated: bool
    """Whether rollouts are continued by whoever sits there, not by the player that is improved."""
    frozen: Frozen
    features: ActionFeatures | None
    """What the policy's network reads of each action in place of the observation."""


@functools.cache
def target_kernel(play: Play) -> Callable[..., None]:
    """Return `target_rows` for one game. It improves on `reference`; without one, on the policy itself."""
    game, reference = play.game, play.reference
    best, second = bots_at_tables(game, reference)
    names = {
        "BOT": act if reference is None or best is None else best.act,
        "BOT_VIEW": seen_vector if reference is None else seen_record,
        "MIX": mix_of_net if reference is None else mix_of_bot,
        "OTHER": random_act if second is None else second.act,
        "FIXED": play.frozen.kernel,
        "FIXED_VIEW": play.frozen.view,
        "SOLVES": (reference and reference.solves) or solves_nothing,
        "CORRECT": correct_by(play.features),
        "LEAF_VALUE": game.type.leaf_value or no_leaf_value,
    }
    if play.features is None:
        names["DRAW"] = draw_by_observation
    else:
        rated = rated_kernels(play.features)
        drawn = {"RATED": rated["act_rated"], "RATED_CHANCES": rated["chances_rated"]}
        by_rating = specialise([draw_by_features, mix_of_rated], drawn)
        names["DRAW"] = by_rating["draw_by_features"]
        if reference is None:
            names |= {"BOT": rated["act_rated"], "BOT_VIEW": seen_record, "MIX": by_rating["mix_of_rated"]}
    names |= {"SEAT": seat_players, "CONTINUES": bot_continues, **table_names(game.type)}
    continues = dict(names)
    if play.seated:
        sits = specialise([act_as, act_seated], names)["act_seated"]
        names["SEAT"] = seat_sides
        continues = names | {"BOT": sits, "BOT_VIEW": seen_table, "CONTINUES": whoever_sits_continues}
    for_games = play.objective == Objective.GAMES
    continues["RESULT"] = share_won if for_games else points_of
    worth = played_out if for_games else points_gained
    names["WORTH"] = specialise([only_choice, play_on, worth], continues)[worth.__name__]
    return specialise([act_as, write_target, play_table, target_rows], names)["target_rows"]


class Maker(NamedTuple):
    """What targets are made by: the rest is a table's own state and key."""

    play: Play
    field: Field
    net: Net
    """The current policy."""
    advised: bool
    margin: float
    """These two are as in `Learner`."""
    frozen: Callable[[], Any]
    """Returns the first argument of the agent that does not learn, new for each thread."""


def make_targets(
    maker: Maker, batch: BatchEnv, tables: Tables, targets: Targets, scratch: BatchEnv, rows: npt.NDArray[np.int64]
) -> None:
    """Play the tables `rows` of `batch` until each has its targets. This is the unit of work: it depends on those rows
    of the arrays and on the maker alone, and changes nothing else. `scratch` is one table of the thread's own."""
    game = maker.play.game
    base = own_room(maker.net) if maker.play.reference is None else game.options
    if maker.play.features and maker.play.reference is None:
        base = Rated(game.options, base)
    room = np.zeros(game.num_actions), np.zeros(game.num_seats), np.array(game.sides), np.zeros(game.num_seats, np.int8)
    net = own_room(maker.net)
    learner = Learner(game.options, base, maker.frozen(), net, maker.advised, maker.margin, *room)
    given, own = batch.for_kernels(), scratch.for_kernels()
    args = (game.options, learner, maker.field, given.batch, own.batch, own.deck)
    most = targets.advice.shape[1] * _MOST_PER_TARGET
    _bound_kernel(maker.play)(*args, given.start_outcomes, given.limit, tables, targets, most, rows)


@functools.cache
def _bound_kernel(play: Play) -> Bound[None]:
    return Bound(functools.partial(target_kernel, play))
