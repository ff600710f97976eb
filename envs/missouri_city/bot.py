"""The rule-based players of Missouri City Backhand; how they play a hand is `backhand_series/players.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..backhand_series import counting, players
from ..backhand_series.counting import Numbers, Stakes
from ..backhand_series.state import Method, Verdict
from ..core.kernel import kernel
from ..core.parts import Bot
from .observation import Observation
from .state import Options

OPPONENT = 1


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
def stakes(options: Options, observation: Observation, chances: Numbers) -> Stakes:
    """What my hand's ends are worth against the chances [place] of the opponent's won hands; the rest to 1 is an
    unsuccessful hand."""
    won = np.empty(counting.PLACES)
    better = 0.0
    for place in range(counting.PLACES):
        won[place] = 1.0 - better - better - chances[place]
        better += chances[place]
    return Stakes(counting.show_cards(observation), options.dealer_total_cap, options.stand_pat, won, -better, -better)


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
def book(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The book play of the series, for its own hand alone."""
    only = players.only_action(mask)
    return only if only >= 0 else players.book(observation, own_stakes(options, observation))


@kernel
def counter(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """One card ahead, against the opponent's hand as it ended; a hand that goes on is taken for an unsuccessful one."""
    only = players.only_action(mask)
    if only >= 0:
        return only
    chances = np.zeros(counting.PLACES)
    finished(observation, chances)
    return players.counter(observation, mask, stakes(options, observation, chances))


@kernel
def planner(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """To the end of the hand, against the opponent's hand as it ended or against the chances of what it may become."""
    only = players.only_action(mask)
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
    return players.planner(options, observation, mask, stakes(options, observation, chances))


BOTS = (
    Bot(
        "book",
        book,
        (
            "Hits to 13, calls backhand from 14 where most of the stub "
            "passes 21 and beats the dealer, throws push hands away."
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
