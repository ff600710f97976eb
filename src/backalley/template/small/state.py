"""What Template is played with. The § are README.md's."""

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field

PACK = 52  # numbered from 0: clubs, diamonds, hearts, spades, each from 2 to A, §1.1
FOLD, STAY = 0, 1  # actions, §1.2


class Options(NamedTuple):
    """§2: what can be agreed."""

    fold_costs: Annotated[float, option("what a seat that folds loses", low=0, high=1)] = 0.5


class State:
    """Everything on the table. Numbers are signed: the difference of two unsigned ones would wrap around."""

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    card: npt.NDArray[np.int8] = field("i1", 2, "the seats' cards")
    reward: npt.NDArray[np.float32] = field("f4", 2, "what each seat gained by the latest action")
