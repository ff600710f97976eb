"""The table of the Backhand series: the rules' numbers, the options and actions that its games have in common, hands
and the dealer hand."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Protocol

import numpy as np
import numpy.typing as npt

from ..core.rules.options import option
from ..core.rules.record import field

PACK = 52  # §1.1
ACE, TEN = 1, 10  # values, §1.1
LIMIT = 21  # a total above it has passed 21, §1.4
PLAY_FROM, PUSH_FROM = 12, 17  # least initial values of a play hand and of a push hand, §1.3
HAND_SIZE = 5  # §1.4
MAX_DRAWS = HAND_SIZE - 2
MAX_TOTAL = LIMIT + TEN
MAX_PUSHES = 14  # 28 cards are worth 7 or more, and a push hand needs two of them, §1.4
SHOW_CARDS = 3  # §2.1

# ----------------------------------------------------------------------------------------------------------------------
# Options


class AceRule(IntEnum):
    """What becomes of an ace among the two cards of an initial hand, §1.2."""

    ONCE = 0
    UNTIL_CLEAN = 1
    OFF = 2


AceRuleOption = Annotated[
    AceRule, option("each ace of an initial hand is replaced once, or until no ace comes, or not at all")
]
ReplacementOption = Annotated[bool, option("whether the Ace Rule also holds for the two cards dealt after a push")]
DealerCapOption = Annotated[bool, option("an ace drawn against a shown ace: true makes the dealer total 12, false 22")]


class HandOptions(Protocol):
    """The options that all three games have, and how many hands each puts on the table."""

    @property
    def ace_rule(self) -> AceRule: ...
    @property
    def ace_rule_on_replacement(self) -> bool: ...
    @property
    def seats(self) -> int: ...


class DealerOptions(HandOptions, Protocol):
    """The options of a game with a dealer hand."""

    @property
    def dealer_total_cap(self) -> bool: ...


# ----------------------------------------------------------------------------------------------------------------------
# Actions, §1.4
#
# | id | action   |                                                                       |
# |----|----------|-----------------------------------------------------------------------|
# | 0  | hit      | take a card; on a push hand the hand then ends                        |
# | 1  | backhand | take a card that must pass 21; the hand then ends                     |
# | 2  | push     | throw a push hand away for two new cards                              |
# | 3  | stand    | end a hand that is ahead (Missouri City with `stand_pat`, §3.5)     |

HIT, BACKHAND, PUSH, STAND = 0, 1, 2, 3
ACTION_NAMES = ("hit", "backhand", "push", "stand")
NUM_ACTIONS = 4

# ----------------------------------------------------------------------------------------------------------------------
# State


class HandType(IntEnum):
    """What the value of the initial hand makes it, §1.3."""

    LOW = 0
    PLAY = 1
    PUSH = 2


class Method(IntEnum):
    """What ended a hand, §1.4."""

    NONE = 0
    BUST = 1
    FIVE_CARDS = 2
    PUSH = 3
    BACKHAND = 4
    STAND = 5


class Verdict(IntEnum):
    """How a hand ended, §1.6 and §2.4."""

    NONE = 0
    WIN = 1
    TIE = 2
    LOSS = 3


def per_seat(options: HandOptions) -> tuple[int, ...]:
    """The shape of a field that each seat has one number of."""
    return (options.seats,)


class HandState:
    """The hands and the stub of a game of the series.

    All numbers are signed: the difference of two unsigned ones would wrap around in compiled code.
    """

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    deck: npt.NDArray[np.int8] = field("i1", PACK, "the shuffled pack; from `next_card` on it is the stub")
    next_card: int = field("i1", doc="how many cards have been dealt")
    left: npt.NDArray[np.int8] = field("i1", TEN, "cards left in the stub of value 1, 2, ... 10")
    reward: npt.NDArray[np.float32] = field("f4", per_seat, "what each seat gained by the latest action")
    cards: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.seats, HAND_SIZE), "each hand in the order received: 2 + `draws` cards"
    )
    initial_value: npt.NDArray[np.int8] = field("i1", per_seat, "value of the initial hand after the Ace Rule, §1.3")
    hand_type: npt.NDArray[np.int8] = field("i1", per_seat, "type of the initial hand: 0 low, 1 play, 2 push")
    replaced_aces: npt.NDArray[np.int8] = field("i1", per_seat, "aces replaced in the latest initial hand")
    pushes: npt.NDArray[np.int8] = field("i1", per_seat, "push hands thrown away")
    draws: npt.NDArray[np.int8] = field("i1", per_seat, "cards drawn since the initial hand, backhand card included")
    total: npt.NDArray[np.int8] = field("i1", per_seat, "total hand value, §1.5")
    player_total: npt.NDArray[np.int8] = field("i1", per_seat, "player total, §1.5; 0 before the first draw")
    method: npt.NDArray[np.int8] = field(
        "i1", per_seat, "what ended it: 0 nothing, 1 bust, 2 five cards, 3 push, 4 backhand, 5 stand"
    )
    success: npt.NDArray[np.int8] = field("i1", per_seat, "1 when what ended the hand came off, §1.4")
    verdict: npt.NDArray[np.int8] = field("i1", per_seat, "0 none yet, 1 win, 2 tie, 3 loss")


class DealerHand:
    """What a dealer hand adds to a state.

    It is mixed in so that its fields come first: Numba takes a record that begins with all fields of another for a
    subtype of it, and would run the kernels compiled for Backhand's tables on Buffalo Bayou's.
    """

    show: npt.NDArray[np.int8] = field(
        "i1", SHOW_CARDS, "the dealer's show cards from left to right, the order of their use"
    )
    dealer_total: npt.NDArray[np.int8] = field(
        "i1", per_seat, "dealer total against each hand, §2.3; 0 before the first draw"
    )
    advantage: npt.NDArray[np.int8] = field(
        "i1", per_seat, "1 player total ahead of the dealer total, 0 level (or no draw yet), -1 behind"
    )


class DealerState(HandState, DealerHand):
    """The table of a game with a dealer hand."""
