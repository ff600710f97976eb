"""Action-value targets by rollouts: the gain of every legal action over the bot's action, in compiled code on every
core.

Bots and the current policy play the tables. On a share of the decisions, a rollout of the game's best fast bot follows
every legal action from the true state, all with the same chance and the same random numbers of the bots, up to the end
or to where the game has a leaf value. A target is how much more the seat gains than by the bot's own action. Where the
objective is games, it is how much more often the seat wins, and rollouts go to the episode's end. The learner sees what
the seat sees, so it averages over what the seat cannot know; the true state makes the targets' noise small.

Bertsekas, "Rollout algorithms" (2013); Lagoudakis and Parr, "Reinforcement learning as classification" (ICML 2003).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.policies.inference import Net, Rated, act, chances
from backalley.agents.search.determinizations import only_choice, play_on
from backalley.envs.core.api.compiled_play import Batch, Deck, apply, begin, deal_out, random_legal, report, show
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel, passing, template, unbound
from backalley.envs.core.rules import rng

from ..config.config import Rollouts

BEST, SECOND, RANDOM, POLICY, FROZEN = 0, 1, 2, 3, 4
"""Who may play a seat: the player that is improved, the second-best bot, a random player, the current policy, an agent
that does not learn (`opponents.py`)."""

SEATING, PLAY, NEXT = 1, 2, 3
"""Numbers by which randomness is forked off an episode's key."""
_LABEL, _NOISE, _PLAYED_ON = 1, 2, 3
"""And off a decision's key: a rollout must not depend on the draw that chose the decision."""
DRAWS = 1 << 24
_TIED = 1e-6
"""Returns closer than this are a tie: they are sums of 32-bit numbers."""


class Field(NamedTuple):
    """How tables are played; shares are of `DRAWS`."""

    target: int
    """Share of the decisions with a choice that get a target."""
    own: int
    """Share of the episodes in which one seat plays the current policy; only its decisions get a target there."""
    second: int
    random: int
    policy: int
    frozen: int
    """Shares of the other seats that these play; the bot plays the rest."""
    noise: int
    """Share of the decisions taken at random, on tables that are not for validation."""


def field_of(settings: Rollouts) -> Field:
    """Return how tables are played under these settings."""
    others = (settings.second, settings.random, settings.self_play, settings.frozen)
    shares = (settings.target_share, settings.own, *others, settings.noise)
    return Field(*(round(share * DRAWS) for share in shares))


class Learner(NamedTuple):
    """The current policy, for one thread, and the player it improves on."""

    options: Any
    base: Any
    """First argument of the player that is improved: the options for a bot, or a Net."""
    frozen: Any
    """First argument of the agent that does not learn."""
    net: Net
    advised: bool
    """Whether it reads that player's action; otherwise it plays by itself."""
    margin: float
    mix: npt.NDArray[np.float64]
    """Buffer for the probability of each action of that player [A]."""
    returns: npt.NDArray[np.float64]
    """Buffer for each seat's gain when a rollout's episode ends [N]."""
    sides: npt.NDArray[np.int64]
    """Each seat's side [N]."""
    who: npt.NDArray[np.int8]
    """Buffer for who plays which seat at the table that rollouts begin from [N]."""


class Tables(NamedTuple):
    """The data of B tables besides the engine's Batch."""

    key: npt.NDArray[np.uint64]
    """The key of the present episode's randomness [B]."""
    who: npt.NDArray[np.int8]
    """Who plays which seat [B, N]."""
    own: npt.NDArray[np.bool_]
    """Whether only the policy's decisions get a target [B]."""
    held: npt.NDArray[np.bool_]
    """Whether it is a validation table: its targets measure the policy, and nothing is learned from them [B]."""
    episode: npt.NDArray[np.int32]
    """How many episodes have begun [B]."""
    counts: npt.NDArray[np.int64]
    """Decisions made, rollouts, the policy's own decisions with a choice, and those of them that departed from the
    bot's [B, 4]."""
    returns: npt.NDArray[np.float64]
    """What each seat has gained in the episode so far [B, N]."""


class Targets(NamedTuple):
    """Up to S targets of each of B tables, in the order of play."""

    flat: npt.NDArray[Any]
    """What the seat saw [B, S, O]."""
    gain: npt.NDArray[np.float32]
    """How much more it gained by each action than by the bot's, or than by the policy's own mix; NaN for illegal
    actions [B, S, A]."""
    advice: npt.NDArray[np.int16]
    """The bot's action [B, S]."""
    episode: npt.NDArray[np.int32]
    """The table's episode [B, S]."""
    made: npt.NDArray[np.int32]
    """How many targets there are [B]."""

    @property
    def taken(self) -> npt.NDArray[np.bool_]:
        """Where there is a target [B, S]."""
        taken: npt.NDArray[np.bool_] = self.made[:, None] > np.arange(self.advice.shape[1])
        return taken

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the targets that there are, one after the other, and how many each table has."""
        return {name: array if name == "made" else array[self.taken] for name, array in self._asdict().items()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore from `arrays()`."""
        np.copyto(self.made, arrays["made"], casting="no")
        for name in ("flat", "gain", "advice", "episode"):
            getattr(self, name)[self.taken] = arrays[name]


def no_targets(game: Game, tables: int, most: int) -> Targets:
    """Return arrays for up to `most` targets of each table, without any."""
    room = (tables, most)
    return Targets(
        flat=np.zeros((*room, game.observation_size), game.observation_base),
        gain=np.zeros((*room, game.num_actions), np.float32),
        advice=np.zeros(room, np.int16),
        episode=np.zeros(room, np.int32),
        made=np.zeros(tables, np.int32),
    )


@kernel
def happens(key: np.uint64, number: int, share: int) -> bool:
    """Return whether the `number`-th event of this key, of probability `share / DRAWS`, happens."""
    return rng.below(rng.fork(key, number), DRAWS)[1] < share


@kernel
def player_drawn(field: Field, drawn: int) -> int:
    """The player whose share of the seats a number below DRAWS falls into."""
    if drawn < field.second:
        return SECOND
    if drawn < field.second + field.random:
        return RANDOM
    return POLICY if drawn < field.second + field.random + field.policy else BEST


@kernel
def seat_players(tables: Tables, field: Field, sides: npt.NDArray[np.int64], row: int) -> None:
    """Draw who plays the episode that begins on a table, seat by seat; `sides` [N] do not matter."""
    tables.key[row] = rng.fork(tables.key[row], NEXT)
    tables.episode[row] += 1
    seats = tables.who.shape[1]
    stream, drawn = rng.below(rng.fork(tables.key[row], SEATING), DRAWS)
    tables.own[row] = tables.held[row] or drawn < field.own
    for seat in range(seats):
        stream, drawn = rng.below(stream, DRAWS)
        tables.who[row, seat] = player_drawn(field, drawn)
    if tables.own[row]:
        stream, drawn = rng.below(stream, seats)
        tables.who[row, drawn] = POLICY


BOT = BOT_VIEW = MIX = RATED = RATED_CHANCES = OTHER = FIXED = FIXED_VIEW = SOLVES = CORRECT = DRAW = unbound
SEAT = CONTINUES = WORTH = RESULT = unbound
"""In the templates below: the player that is improved, its view of a table, its probabilities of actions, a policy that
rates actions and its probabilities, the second-best bot, the agent that does not learn and its view, where there is
nothing to learn, how a residual corrects and a policy draws; who sits down at a table, the first argument of the player
of rollouts, the value of an action, and what an episode that ends comes to."""


@passing
def bot_continues(learner: Learner) -> Any:
    """Rollouts are played by the player that is improved."""
    return learner.base


@passing
def mix_of_bot(options: Any, shown: Any, mask: npt.NDArray[np.int8], advice: int, out: npt.NDArray[Any]) -> None:
    """The baseline of a bot is the action that it plays."""
    out[:] = 0.0
    out[advice] = 1.0


@passing
def mix_of_net(net: Net, shown: Any, mask: npt.NDArray[np.int8], advice: int, out: npt.NDArray[Any]) -> None:
    """The baseline of a policy is the mean over its probabilities: a drawn action would only add noise."""
    chances(net, shown, mask, out)


@template
def mix_of_rated(by: Rated, shown: Any, mask: npt.NDArray[np.int8], advice: int, out: npt.NDArray[Any]) -> None:
    """The same of one that rates actions."""
    RATED_CHANCES(by, shown, mask, out)


@passing
def draw_by_observation(options: Any, net: Net, batch: Batch, row: int, key: np.uint64) -> int:
    """A policy that reads the observation draws."""
    return act(net, batch.flat[row], batch.mask[row], key)


@template
def draw_by_features(options: Any, net: Net, batch: Batch, row: int, key: np.uint64) -> int:
    """A policy that rates actions draws."""
    return int(RATED(Rated(options, net), batch.observation[row], batch.mask[row], key))


@template
def act_as(options: Any, learner: Learner, batch: Batch, row: int, player: int, advice: int, key: np.uint64) -> int:
    """Return a player's action at a table where the bot would play `advice`."""
    if player == SECOND:
        other: int = OTHER(options, batch.observation[row], batch.mask[row], key)
        return other
    if player == FROZEN:
        fixed: int = FIXED(learner.frozen, FIXED_VIEW(batch, row), batch.mask[row], key)
        return fixed
    if player == RANDOM:
        return random_legal(batch.mask[row], key)
    if player == BEST or SOLVES(options, batch.observation[row]):
        return advice
    if learner.advised:
        if learner.margin == np.inf:
            return advice
        shown = batch.observation[row], batch.flat[row]
        return int(CORRECT(options, learner.net, shown, batch.mask[row], advice, learner.margin))
    return int(DRAW(options, learner.net, batch, row, key))


@template
def points_gained(
    options: Any, learner: Learner, scratch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int,
    so_far: npt.NDArray[np.float64],
) -> float:  # fmt: skip
    """Return what a seat gains by an action on the one table of `scratch` and by what follows."""
    by, no_plan = CONTINUES(learner), deck.cards[:0]
    gained: float = play_on(by, options, scratch, deck, limit, key, seat, action, no_plan)
    return gained


@template
def played_out(
    options: Any, learner: Learner, scratch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int,
    so_far: npt.NDArray[np.float64],
) -> float:  # fmt: skip
    """Return what comes of an action and what follows for a seat, up to the end of the episode, in which the seats had
    gained `so_far` [N]."""
    learner.returns[:] = 0.0
    while True:
        apply(options, scratch, 0, action)
        deal_out(options, scratch, deck, 0)
        ended = report(scratch, limit, 0)
        for who in range(learner.returns.shape[0]):
            learner.returns[who] += scratch.reward[0, who]
        if ended:
            result: float = RESULT(learner, so_far, seat)
            return result
        action = only_choice(options, scratch)
        if action < 0:
            key_here = rng.fork(key, int(scratch.decisions[0]))
            action = BOT(CONTINUES(learner), BOT_VIEW(scratch, 0), scratch.mask[0], key_here)


@passing
def points_of(learner: Learner, so_far: npt.NDArray[np.float64], seat: int) -> float:
    """What a seat has gained since the action."""
    return float(learner.returns[seat])


@passing
def share_won(learner: Learner, so_far: npt.NDArray[np.float64], seat: int) -> float:
    """A seat's share of the win of the whole episode."""
    for who in range(so_far.shape[0]):
        learner.returns[who] += so_far[who]
    return share_of_win(learner.returns, learner.sides, seat)


@kernel
def share_of_win(returns: npt.NDArray[np.float64], sides: npt.NDArray[np.int64], seat: int) -> float:
    """Return a seat's share of the win, as in `benchmarks/figures/stats.py` (`win_shares`), from returns and sides
    [N]."""
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
def write_target(
    options: Any, learner: Learner, batch: Batch, scratch: Batch, deck: Deck, limit: int, tables: Tables,
    targets: Targets, row: int, advice: int, key: np.uint64,
) -> None:  # fmt: skip
    """Play rollouts of every legal action from the state of a table, and write what each gains over the player that is
    improved, who plays `advice` there, or draws."""
    place, seat = targets.made[row], int(batch.seat[row])
    for number in range(batch.flat.shape[1]):
        targets.flat[row, place, number] = batch.flat[row, number]
    targets.advice[row, place], targets.episode[row, place] = advice, tables.episode[row]
    for who in range(learner.who.shape[0]):
        learner.who[who] = tables.who[row, who]
    gain = targets.gain[row, place]
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
    targets.made[row] += 1


@template
def play_table(
    options: Any, learner: Learner, field: Field, batch: Batch, scratch: Batch, deck: Deck, start_outcomes: int,
    limit: int, tables: Tables, targets: Targets, row: int,
) -> None:  # fmt: skip
    """Play one decision on a table, with its target if that is drawn; where the episode ends, begin the next."""
    key = rng.fork(rng.fork(tables.key[row], PLAY), int(batch.decisions[row]))
    player, choices = int(tables.who[row, batch.seat[row]]), 0
    for action in range(batch.mask.shape[1]):
        choices += int(batch.mask[row, action])
    advice = BOT(learner.base, BOT_VIEW(batch, row), batch.mask[row], key)
    action = act_as(options, learner, batch, row, player, advice, key)
    teaches = choices > 1 and not SOLVES(options, batch.observation[row])
    if teaches and (player == POLICY or not tables.own[row]):
        tables.counts[row, 2] += int(player == POLICY)
        tables.counts[row, 3] += int(player == POLICY and action != advice)
        if happens(key, _LABEL, field.target):
            here = rng.fork(key, _PLAYED_ON)
            write_target(options, learner, batch, scratch, deck, limit, tables, targets, row, advice, here)
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
        SEAT(tables, field, learner.sides, row)
    show(options, batch, row)
    tables.counts[row, 0] += 1


@template
def target_rows(
    options: Any, learner: Learner, field: Field, batch: Batch, scratch: Batch, deck: Deck, start_outcomes: int,
    limit: int, tables: Tables, targets: Targets, most: int, rows: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    """Play each table of `rows` until it has as many targets as there is space for, or `most` decisions were made."""
    for row in rows:
        targets.made[row] = 0
        for _ in range(most):
            if targets.made[row] == targets.advice.shape[1]:
                break
            play_table(options, learner, field, batch, scratch, deck, start_outcomes, limit, tables, targets, row)
