"""What Template is played with. The § are README.md's."""

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.rules import trick_hand
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.trick_hand import RANDOM_DEALER, TrickHand, per_seat

PACK_SIZE = 52  # numbered from 0: clubs, diamonds, hearts, spades, each from 2 to A; actions are cards, §1.1
PACK = (1 << PACK_SIZE) - 1  # as a set: bit c is card c
MOST_PLAYERS = 6


class Options(NamedTuple):
    """§2: what can be agreed."""

    num_players: Annotated[int, option("seats at the table", low=2, high=MOST_PLAYERS)] = 4
    hand_size: Annotated[int, option("cards in a hand", low=1, high=8)] = 5
    first_dealer: Annotated[int, trick_hand.first_dealer(MOST_PLAYERS)] = RANDOM_DEALER


def check(options: Options) -> None:
    """Raises OptionError where options contradict each other."""
    trick_hand.check_first_dealer("template", options)


class State(TrickHand):
    """Everything on the table: what every trick game has, and this game's own."""

    turned: int = field("i1", doc="the card turned up for trump")
    won: npt.NDArray[np.int8] = field("i1", per_seat, "the tricks that each seat has won")
