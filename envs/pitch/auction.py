"""§1.2 (README.md): who may bid how much, and who may pass."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import LEAST_BID, AllPass, Joker, Options


@kernel
def top_bid(options: Options) -> int:
    """All the points that there are: the smudge."""
    return 4 if options.joker == Joker.NONE else 5


@kernel
def may_bid(options: Options, highest: int, value: int, is_dealer: bool) -> bool:
    """A bid is higher than the highest so far (0 for none); the dealer may take it for as much, unless it is a smudge.
    Where nobody else has bid, as agreed, the dealer's is a two."""
    if value > highest:
        forced = is_dealer and highest == 0 and options.all_pass == AllPass.DEALER_EXACTLY_2
        return value <= (LEAST_BID if forced else top_bid(options))
    takes = is_dealer and options.dealer_can_take and value == highest
    return takes and (value < top_bid(options) or options.smudge_takeable)


@kernel
def may_pass(options: Options, highest: int, is_dealer: bool) -> bool:
    """Anybody may pass, but for the dealer when nobody has bid."""
    return highest > 0 or not is_dealer or options.all_pass == AllPass.REDEAL


@kernel
def is_asked(options: Options, highest: int, is_dealer: bool) -> bool:
    """Whether a player has anything to say: whoever could only pass has not, but whoever must bid two has."""
    return may_bid(options, highest, top_bid(options), is_dealer) or not may_pass(options, highest, is_dealer)
