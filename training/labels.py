"""What every legal action is worth beside the bot's: labels for policy improvement by playouts, made by compiled code
on every core.

Tables are played by bots and by the policy so far. On a share of the decisions every legal action is played on from the
true state by the game's best fast bot, all under the same chance and the same bots' dice, up to the end or to where the
game has a leaf value; a label is by how much more the seat gains than by the bot's own action. Where games are to be
won, it is by how much more often, and playouts go to the episode's end. The learner is shown
what the seat sees, so it averages over what the seat cannot know; the true state makes the labels' noise small.

Bertsekas, "Rollout algorithms" (2013); Lagoudakis and Parr, "Reinforcement learning as classification" (ICML 2003).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.corrections import correction, solves_nothing
from backalley.agents.inference import Net, act, chances, forward_advised
from backalley.agents.rule_based import random_act, random_legal, seen_record, seen_vector
from backalley.agents.worlds import no_leaf_value, only_choice, play_on
from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.drivers import Batch, Deck, apply, begin, deal_out, report, show
from backalley.envs.core.engine import table_names
from backalley.envs.core.kernel import kernel, passing
from backalley.envs.core.parts import Bot
from backalley.envs.core.specialise import specialise, template, unbound

from .config import Objective, Playouts

BEST, SECOND, RANDOM, POLICY = 0, 1, 2, 3
"""Who may sit at a table: the player that is to be bettered, the next best bot, nobody in particular, the policy so
far."""

_SEATING, _PLAY, _NEXT = 1, 2, 3
"""Numbers under which randomness is forked off an episode's key."""
_LABEL, _NOISE, _PLAYED_ON = 1, 2, 3
"""And off a decision's: what is played on may not know by which lot it came to be."""
_DRAWS = 1 << 24
_TIED = 1e-6
"""Returns closer than this are a tie: they are sums of 32-bit numbers."""


class Field(NamedTuple):
    """How tables are played; shares are of `_DRAWS`."""

    label: int
    """Share of the decisions with a choice that are labelled."""
    own: int
    """Share of the episodes in which one seat plays the policy so far; only its decisions are labelled there."""
    second: int
    random: int
    policy: int
    """Shares of the other seats that these hold; the rest is the bot's."""
    noise: int
    """Share of the decisions, on tables that are not held out, taken at random."""


def field_of(settings: Playouts) -> Field:
    """How tables are played under these settings."""
    shares = (settings.label_share, settings.own, settings.second, settings.random, settings.self_play, settings.noise)
    return Field(*(round(share * _DRAWS) for share in shares))


class Learner(NamedTuple):
    """The policy so far, for one thread, and what it learns to better."""

    base: Any
    """What the player that is to be bettered, who also plays on, takes first: the options for a bot, or a Net."""
    net: Net
    advised: bool
    """Whether it reads that player's action; otherwise it plays by itself."""
    margin: float
    mix: npt.NDArray[np.float64]
    """Room for how likely that player plays each action [A]."""
    returns: npt.NDArray[np.float64]
    """Room for what each seat has gained when an episode that is played on ends [N]."""
    sides: npt.NDArray[np.int64]
    """Each seat's side [N]."""


class Tables(NamedTuple):
    """What is known of B tables beside the engine's Batch."""

    key: npt.NDArray[np.uint64]
    """The randomness of the episode that is played [B]."""
    who: npt.NDArray[np.int8]
    """Who sits where [B, N]."""
    own: npt.NDArray[np.bool_]
    """Whether only the policy's decisions are labelled [B]."""
    held: npt.NDArray[np.bool_]
    """Whether the table is held out: its labels tell how good the policy is, and nothing is learned from them [B]."""
    episode: npt.NDArray[np.int32]
    """How many episodes have begun [B]."""
    counts: npt.NDArray[np.int64]
    """Decisions made, playouts, the policy's own decisions with a choice, and those of them that departed from the
    bot's [B, 4]."""
    returns: npt.NDArray[np.float64]
    """What each seat has gained in the episode so far [B, N]."""


class Labels(NamedTuple):
    """Up to S labels of each of B tables, in the order of play."""

    flat: npt.NDArray[Any]
    """What the seat saw [B, S, O]."""
    gain: npt.NDArray[np.float32]
    """By how much more it gained by each action than by the bot's, or than the policy's own mix; NaN where that was not
    legal [B, S, A]."""
    advice: npt.NDArray[np.int16]
    """The bot's action [B, S]."""
    episode: npt.NDArray[np.int32]
    """The table's episode [B, S]."""
    made: npt.NDArray[np.int32]
    """How many labels there are [B]."""


@kernel
def happens(key: np.uint64, number: int, share: int) -> bool:
    """An event of probability `share / _DRAWS`, the `number`-th of this key."""
    return rng.below(rng.fork(key, number), _DRAWS)[1] < share


@kernel
def seat_players(tables: Tables, field: Field, row: int) -> None:
    """Draw who plays the episode that begins on a table."""
    tables.key[row] = rng.fork(tables.key[row], _NEXT)
    tables.episode[row] += 1
    seats = tables.who.shape[1]
    stream, drawn = rng.below(rng.fork(tables.key[row], _SEATING), _DRAWS)
    tables.own[row] = tables.held[row] or drawn < field.own
    for seat in range(seats):
        stream, drawn = rng.below(stream, _DRAWS)
        player = BEST
        if drawn < field.second:
            player = SECOND
        elif drawn < field.second + field.random:
            player = RANDOM
        elif drawn < field.second + field.random + field.policy:
            player = POLICY
        tables.who[row, seat] = player
    if tables.own[row]:
        stream, drawn = rng.below(stream, seats)
        tables.who[row, drawn] = POLICY


BOT = BOT_VIEW = MIX = OTHER = SOLVES = WORTH = unbound
"""The player that is to be bettered, what it is shown of a table, how likely it plays what, the next best bot, where
there is nothing to be learned, and what an action is worth, in the templates below."""


@passing
def mix_of_bot(options: Any, shown: Any, mask: npt.NDArray[np.int8], advice: int, out: npt.NDArray[Any]) -> None:
    """A bot is measured by the action that it plays."""
    out[:] = 0.0
    out[advice] = 1.0


@passing
def mix_of_net(net: Net, shown: Any, mask: npt.NDArray[np.int8], advice: int, out: npt.NDArray[Any]) -> None:
    """A policy by all that it might have played: what was drawn would only add noise."""
    chances(net, shown, mask, out)


@template
def act_as(options: Any, learner: Learner, batch: Batch, row: int, player: int, advice: int, key: np.uint64) -> int:
    """What a player does at a table where the bot would play `advice`."""
    if player == SECOND:
        other: int = OTHER(options, batch.observation[row], batch.mask[row], key)
        return other
    if player == RANDOM:
        return random_legal(batch.mask[row], key)
    if player == BEST or SOLVES(options, batch.observation[row]):
        return advice
    if learner.advised:
        if learner.margin == np.inf:
            return advice
        advantages = forward_advised(learner.net, batch.flat[row], advice)
        return correction(advantages, batch.mask[row], advice, learner.margin)
    return act(learner.net, batch.flat[row], batch.mask[row], key)


@template
def points_gained(
    options: Any, learner: Learner, scratch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int,
    so_far: npt.NDArray[np.float64],
) -> float:  # fmt: skip
    """What a seat gains by an action on the one table of `scratch` and by what follows."""
    gained: float = play_on(learner.base, options, scratch, deck, limit, key, seat, action)
    return gained


@template
def share_won(
    options: Any, learner: Learner, scratch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int,
    so_far: npt.NDArray[np.float64],
) -> float:  # fmt: skip
    """A seat's share of the win after an action and what follows, up to the end of the episode, in which the seats had
    gained `so_far` [N]."""
    for who in range(so_far.shape[0]):
        learner.returns[who] = so_far[who]
    while True:
        apply(options, scratch, 0, action)
        deal_out(options, scratch, deck, 0)
        ended = report(scratch, limit, 0)
        for who in range(learner.returns.shape[0]):
            learner.returns[who] += scratch.reward[0, who]
        if ended:
            return share_of_win(learner.returns, learner.sides, seat)
        action = only_choice(options, scratch)
        if action < 0:
            action = BOT(learner.base, BOT_VIEW(scratch, 0), scratch.mask[0], rng.fork(key, int(scratch.decisions[0])))


@kernel
def share_of_win(returns: npt.NDArray[np.float64], sides: npt.NDArray[np.int64], seat: int) -> float:
    """A seat's share of the win, as `benchmarks.stats.win_shares` has it, from returns and sides [N]."""
    if len(returns) == 1:
        return 1.0 if returns[0] > _TIED else 0.0 if returns[0] < -_TIED else 0.5
    mine, best, ahead = 0.0, -np.inf, 0
    for judged in range(2):
        for side in range(sides.max() + 1):
            total, count = 0.0, 0
            for who in range(len(returns)):
                if sides[who] == side:
                    total += returns[who]
                    count += 1
            mean = total / count
            best = max(best, mean)
            if side == sides[seat]:
                mine = mean
            ahead += int(judged == 1 and mean >= best - _TIED)
    return 1.0 / ahead if mine >= best - _TIED else 0.0


@template
def write_label(
    options: Any, learner: Learner, batch: Batch, scratch: Batch, deck: Deck, limit: int, tables: Tables,
    labels: Labels, row: int, advice: int, key: np.uint64,
) -> None:  # fmt: skip
    """Play every legal action on from the state of a table, and note what each gains over the player that is to be
    bettered, who plays `advice` there, or draws."""
    place, seat = labels.made[row], int(batch.seat[row])
    for number in range(batch.flat.shape[1]):
        labels.flat[row, place, number] = batch.flat[row, number]
    labels.advice[row, place], labels.episode[row, place] = advice, tables.episode[row]
    gain = labels.gain[row, place]
    for action in range(gain.shape[0]):
        gain[action] = np.nan
        if batch.mask[row, action]:
            scratch.state[0] = batch.state[row]
            scratch.decisions[0], scratch.stream[0] = batch.decisions[row], key
            so_far = tables.returns[row]
            gain[action] = WORTH(options, learner, scratch, deck, limit, key, seat, action, so_far)
            tables.counts[row, 1] += 1
    MIX(learner.base, BOT_VIEW(batch, row), batch.mask[row], advice, learner.mix)
    mean = 0.0
    for action in range(gain.shape[0]):
        if batch.mask[row, action]:
            mean += learner.mix[action] * gain[action]
    for action in range(gain.shape[0]):
        gain[action] -= mean
    labels.made[row] += 1


@template
def play_table(
    options: Any, learner: Learner, field: Field, batch: Batch, scratch: Batch, deck: Deck, start_outcomes: int,
    limit: int, tables: Tables, labels: Labels, row: int,
) -> None:  # fmt: skip
    """One decision on a table, with its label if the lot says so; where the episode ends, the next begins."""
    key = rng.fork(rng.fork(tables.key[row], _PLAY), int(batch.decisions[row]))
    player, choices = int(tables.who[row, batch.seat[row]]), 0
    for action in range(batch.mask.shape[1]):
        choices += int(batch.mask[row, action])
    advice = BOT(learner.base, BOT_VIEW(batch, row), batch.mask[row], key)
    action = act_as(options, learner, batch, row, player, advice, key)
    teaches = choices > 1 and not SOLVES(options, batch.observation[row])
    if teaches and (player == POLICY or not tables.own[row]):
        tables.counts[row, 2] += int(player == POLICY)
        tables.counts[row, 3] += int(player == POLICY and action != advice)
        if happens(key, _LABEL, field.label):
            here = rng.fork(key, _PLAYED_ON)
            write_label(options, learner, batch, scratch, deck, limit, tables, labels, row, advice, here)
    if not tables.held[row] and happens(key, _NOISE, field.noise):
        action = random_legal(batch.mask[row], key)
    apply(options, batch, row, action)
    deal_out(options, batch, deck, row)
    ended = report(batch, limit, row)
    for seat in range(tables.returns.shape[1]):
        tables.returns[row, seat] += batch.reward[row, seat]
    if ended:
        for seat in range(tables.returns.shape[1]):
            tables.returns[row, seat] = 0.0
        begin(options, batch, start_outcomes, row)
        deal_out(options, batch, deck, row)
        seat_players(tables, field, row)
    show(options, batch, row)
    tables.counts[row, 0] += 1


@template
def label_rows(
    options: Any, learner: Learner, field: Field, batch: Batch, scratch: Batch, deck: Deck, start_outcomes: int,
    limit: int, tables: Tables, labels: Labels, most: int, rows: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Play each table of `rows` on until it has as many labels as there is room for, or `most` decisions were made."""
    for row in rows:
        labels.made[row] = 0
        for _ in range(most):
            if labels.made[row] == labels.advice.shape[1]:
                break
            play_table(options, learner, field, batch, scratch, deck, start_outcomes, limit, tables, labels, row)


def fast_bots(game: Game) -> tuple[Bot | None, Bot | None]:
    """The best and the second-best bot that are fast enough to play on with, as far as the game has them."""
    best = game.playout_bot
    return best, next((bot for bot in reversed(game.type.bots) if bot.fast and bot is not best), None)


@functools.cache
def label_driver(game: Game, advisor: Bot | None, objective: Objective) -> Callable[..., None]:
    """`label_rows` for one game: what is bettered is its best fast bot, which plays as `advisor` does but where that
    one solves the game; without an advisor, the policy itself."""
    best, second = fast_bots(game)
    names = {
        "BOT": act if advisor is None or best is None else best.act,
        "BOT_VIEW": seen_vector if advisor is None else seen_record,
        "MIX": mix_of_net if advisor is None else mix_of_bot,
        "OTHER": random_act if second is None else second.act,
        "SOLVES": (advisor and advisor.solves) or solves_nothing,
        "LEAF_VALUE": game.type.leaf_value or no_leaf_value,
    }
    names |= table_names(game.type)
    worth = share_won if objective == Objective.GAMES else points_gained
    names["WORTH"] = specialise([only_choice, play_on, worth], names)[worth.__name__]
    return specialise([act_as, write_label, play_table, label_rows], names)["label_rows"]
