"""Play tables on in one kernel: a decision is drawn, or made by a bot, and played while its table is in the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..compile.bit_rows import ones, word_at, zeros_below
from ..compile.interfaces import Bot
from ..compile.kernel import passing, specialise, template, unbound, wrapping
from ..game.game import Game, GameType
from ..rules import rng
from .batch_kernels import Batch, Deck, IntArray, hand_out, step_table
from .engine import table_names

_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
"""The lowest bit, and the highest, of each of eight bytes."""
_CHOICES = 0x63686F696365
"""The number by which the stream of a table's choices is forked off its stream of chance."""


class Played(NamedTuple):
    """What happened at n tables that were played on; entry k belongs to the k-th of them."""

    reward: npt.NDArray[np.float64]
    """[n, N] what every seat gained, all decisions together."""
    episodes: npt.NDArray[np.int64]
    """[n] episodes that ended."""
    decisions: npt.NDArray[np.int64]
    """[n] decisions made: as many as were asked for, or fewer where the table finished and stayed so."""


@wrapping
def random_legal(mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return a uniformly drawn legal action, or -1 where the mask is all zero. Eight actions are looked at together."""
    whole, count, tail = mask.shape[0] >> 3, 0, np.uint64(0)
    for word in range(whole):
        count += ones(word_at(mask, word << 3))
    for place in range(mask.shape[0] & 7):
        tail |= np.uint64(mask[(whole << 3) + place]) << np.uint64(8 * place)
    count += ones(tail)
    if count == 0:
        return -1
    key, chosen = rng.below(key, count)
    first, before, seen, inside = 0, 0, 0, tail
    for word in range(whole + 1):
        here = word_at(mask, word << 3) if word < whole else tail
        if seen <= chosen:  # chosen values in place of a branch
            first, before, inside = word << 3, seen, here
        seen += ones(here)
    # The multiplication gives each byte the number of ones up to it; the first with more than are before the chosen one
    # has its highest bit set after the subtraction.
    found = ((inside * _ONES | _HIGH) - np.uint64(chosen - before + 1) * _ONES) & _HIGH
    return first + (zeros_below(found) >> 3)


@passing
def random_act(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The random player in the form of a bot's kernel."""
    return random_legal(mask, key)


@passing
def random_chances(options: Any, observation: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """Write the random player's probabilities: every legal action has the same."""
    count = 0
    for action in range(mask.shape[0]):
        count += int(mask[action])
    for action in range(mask.shape[0]):
        out[action] = int(mask[action]) / max(1, count)


RANDOM_BOT = Bot("random", random_act, "Every legal action is equally likely.", chances=random_chances)
"""The random player for games that have no other bot."""


@wrapping
def fork_choices(streams: npt.NDArray[np.uint64], out: npt.NDArray[np.uint64]) -> None:
    """Write to `out[k]` the stream of choices that belongs to a table's stream of chance, `streams[k]`."""
    for k in range(out.shape[0]):
        out[k] = rng.fork(streams[k], _CHOICES)


ACT = unbound
"""Who plays in the template below: the random player or a bot."""


@template
def play_rows(
    options: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    autoreset: bool,
    steps: int,
    rows: IntArray,
    choices: npt.NDArray[np.uint64],
    reward: npt.NDArray[np.float64],
    episodes: IntArray,
    decisions: IntArray,
) -> tuple[int, int]:
    """Play `steps` decisions on each table of `rows`, one table after the other, and add what happened to the arrays of
    `Played`. `choices` [B] has each table's own stream for them. A finished table takes none.

    Return (-1, 0), or the first k whose table got an illegal action and that action, which has not been played.
    """
    for k in range(rows.shape[0]):
        row = rows[k]
        for _ in range(steps):
            if batch.seat[row] < 0:
                break
            choices[row] = rng.advance(choices[row])
            action = ACT(options, batch.observation[row], batch.mask[row], choices[row])
            if action < 0 or action >= batch.mask.shape[1] or batch.mask[row, action] == 0:
                hand_out(batch, row)
                return k, action
            episodes[k] += int(step_table(options, batch, deck, start_outcomes, limit, autoreset, row, action))
            for seat in range(reward.shape[1]):
                reward[k, seat] += batch.reward[row, seat]
            decisions[k] += 1
        hand_out(batch, row)
    return -1, 0


@functools.cache
def play_kernels(game: GameType, options: Any, act: Callable[..., int]) -> dict[str, Callable[..., Any]]:
    """Return `play_rows` of one game for the random player or a bot."""
    return specialise([play_rows], {**table_names(game, options), "ACT": act})


def bot_of(game: Game, name: str | None) -> Bot:
    """Return a bot of a game by its name, by default the last, which is the game's best. Raises TypeError or
    ValueError."""
    bots = game.bots
    if name is not None and not isinstance(name, str):
        raise InvalidType(f"The bot is {name!r}; it takes the name of one: {', '.join(bots) or 'there are none'}.")
    if not bots:
        raise InvalidValue(f"{game.name} has no bots; other agents play it.")
    if name is not None and name not in bots:
        raise InvalidValue(f"{game.name} has no bot {name!r}; it has: {', '.join(bots)}.")
    return bots[name] if name else list(bots.values())[-1]
