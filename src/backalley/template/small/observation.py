"""What a seat of Template may know, and determinizations redrawn from it."""

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.record import field

from .state import PACK, Options, State


class Observation:
    """What a seat may know."""

    card: npt.NDArray[np.uint8] = field("u1", PACK, "1 for my card")
    other_stayed: int = field("u1", doc="1 after the other seat has stayed")


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """One's own card; that seat 1 is to act tells that seat 0 has stayed."""
    out.card[int(state.card[seat])] = 1
    out.other_stayed = seat == 1 and int(state.seat) == 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """The other card may be any but one's own."""
    key, card = rng.below(key, PACK - 1)
    state.card[1 - seat] = card if card < int(state.card[seat]) else card + 1
