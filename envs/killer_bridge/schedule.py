"""§1.2 (README.md): how large the hands of a game are."""

from __future__ import annotations

from ..core.compile.kernel import kernel, uncompiled
from .state import LARGEST_HAND, Length, Options, largest_hand, num_hands, pack_size


@kernel
def size_of_hand(options: Options, index: int) -> int:
    """Cards each in hand `index`, counted from 0."""
    largest = largest_hand(options)
    if options.length == Length.SINGLE:
        return options.hand_size if options.hand_size != LARGEST_HAND else largest
    if options.length == Length.UP:
        return index + 1
    return largest - index if index < largest else index - largest + 1


@kernel
def left_over(options: Options, index: int) -> int:
    """Cards that hand `index` leaves undealt, the one to be turned up among them."""
    return pack_size(options) - options.num_players * size_of_hand(options, index)


def hand_sizes(options: Options) -> list[int]:
    """The sizes of a game's hands."""
    return [size_of_hand(options, index) for index in range(num_hands(options))]


def cards_needed(options: Options) -> int:
    """The largest hand's cards and the one turned up; nobody ever sees those below."""
    pack: int = uncompiled(pack_size)(options)
    return min(pack, options.num_players * max(hand_sizes(options)) + 1)
