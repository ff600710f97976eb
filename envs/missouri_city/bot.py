"""The rule-based players of Missouri City Backhand; how they play a hand is `backhand_series/counting.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..backhand_series import counting
from ..backhand_series.counting import Numbers, Stakes
from ..backhand_series.state import ACE, BACKHAND, HIT, LIMIT, PUSH, STAND, TEN, Method, Verdict
from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from .match import is_replayed, match_value
from .observation import Observation
from .state import Options

OPPONENT = 1


class Worths(NamedTuple):
    """What the ends of a game are worth."""

    win: float
    stalemate: float
    loss: float


THIS_GAME = Worths(1.0, 0.0, -1.0)
"""To a player who looks at no score."""


@kernel
def own_stakes(options: Options, observation: Observation) -> Stakes:
    """What a hand's ends are worth against an unsuccessful hand."""
    return Stakes(
        counting.show_cards(observation),
        options.dealer_total_cap,
        options.stand_pat,
        np.ones(counting.PLACES),
        0.0,
        0.0,
    )


@kernel
def worths(options: Options, observation: Observation) -> Worths:
    """What the ends of this game are worth to the match; where nothing can change that any more, to the game."""
    if options.num_games == 1:
        return THIS_GAME
    lead = int(np.int64(observation.games_won[0])) - int(np.int64(observation.games_won[OPPONENT]))
    games = options.num_games - int(np.int64(observation.game))
    win = match_value(options, lead + 1, games - 1)
    loss = match_value(options, lead - 1, games - 1)
    if win == loss:
        return THIS_GAME
    replayed = is_replayed(options, int(np.int64(observation.stalemates)))
    return Worths(win, match_value(options, lead, games if replayed else games - 1), loss)


@kernel
def stakes(options: Options, observation: Observation, chances: Numbers, ends: Worths) -> Stakes:
    """What my hand's ends are worth against the chances [place] of the opponent's won hands; the rest to 1 is an
    unsuccessful hand."""
    won = np.empty(counting.PLACES)
    better = 0.0
    for place in range(counting.PLACES):
        level = chances[place]
        won[place] = (1.0 - better - level) * ends.win + level * ends.stalemate + better * ends.loss
        better += level
    lost = (1.0 - better) * ends.stalemate + better * ends.loss
    return Stakes(counting.show_cards(observation), options.dealer_total_cap, options.stand_pat, won, lost, lost)


@kernel
def finished(observation: Observation, chances: Numbers) -> bool:
    """Whether the opponent's hand has ended; where it was won, `chances` [place] becomes 1 at its place."""
    method = 0
    for number in range(len(observation.method[OPPONENT])):
        if observation.method[OPPONENT, number]:
            method = number + 1
    if method != 0 and observation.verdict[OPPONENT, Verdict.WIN - 1] == 1:
        player_total = int(np.int64(observation.player_total[OPPONENT]))
        total = int(np.int64(observation.total[OPPONENT]))
        chances[counting.place(method, player_total, total)] = 1.0
    return method != Method.NONE


@kernel
def inventor(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """As the source reasons over its examples: away with push hands; a backhand where most of the stub passes 21,
    unless even the lowest card to do so would lose, by the dealer total or by what the opponent has won with."""
    only = counting.only_action(mask)
    if only >= 0:
        return only
    if mask[PUSH]:
        return PUSH
    chances = np.zeros(counting.PLACES)
    finished(observation, chances)
    ends = stakes(options, observation, chances, THIS_GAME)
    stub = counting.count_stub(observation)
    total, draws = int(np.int64(observation.total[0])), int(np.int64(observation.draws[0]))
    if mask[STAND] and ends.won[counting.STOOD + total] > ends.loss:
        return STAND
    passing, wins = 0, False
    for drawn in range(max(ACE, LIMIT + 1 - total), TEN + 1):
        passing += stub[drawn]
        worth = counting.end_worth(ends, draws, total, drawn, Method.BACKHAND)
        wins = wins or (stub[drawn] > 0 and worth > ends.loss)
    return BACKHAND if total == LIMIT or (wins and 2 * passing > stub[0]) else HIT


@kernel
def book(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The book play of the series, for its own hand alone while the opponent's goes on."""
    only = counting.only_action(mask)
    if only >= 0:
        return only
    chances = np.zeros(counting.PLACES)
    finished(observation, chances)
    return counting.book(observation, stakes(options, observation, chances, THIS_GAME))


@kernel
def counter(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """One card ahead, against the opponent's hand as it ended; a hand that goes on is taken for an unsuccessful one."""
    only = counting.only_action(mask)
    if only >= 0:
        return only
    chances = np.zeros(counting.PLACES)
    finished(observation, chances)
    ends = stakes(options, observation, chances, worths(options, observation))
    return counting.counter(observation, mask, ends)


@kernel
def planner(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """To the end of the hand, against the opponent's hand as it ended or against the chances of what it may become."""
    only = counting.only_action(mask)
    if only >= 0:
        return only
    chances = np.zeros(counting.PLACES)
    if not finished(observation, chances):
        counting.result_chances(
            options,
            counting.count_stub(observation),
            own_stakes(options, observation),
            int(np.int64(observation.draws[OPPONENT])),
            int(np.int64(observation.total[OPPONENT])),
            counting.is_push_hand(observation, OPPONENT),
            chances,
        )
    ends = stakes(options, observation, chances, worths(options, observation))
    return counting.planner(options, observation, mask, ends)


BOTS = (
    Bot(
        "book",
        book,
        (
            "Hits to 13, calls backhand from 14 where most of the stub passes 21 and beats the dealer, and the "
            "opponent where it has won; throws push hands away."
        ),
    ),
    Bot(
        "inventor",
        inventor,
        (
            "Plays as the source reasons over its examples: throws push hands away, calls backhand where most of the "
            "stub passes 21, unless even the lowest card that does would lose."
        ),
    ),
    Bot(
        "counter",
        counter,
        "Counts the stub and takes the best expectation over the next card against the opponent's hand as it ended.",
    ),
    Bot(
        "planner",
        planner,
        "Counts the stub to the end of its hand, against all that the opponent's hand has become or may become.",
    ),
)
