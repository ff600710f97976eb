"""The two hands of a coup: what cards count, and who draws. The § marks are README.md's paragraphs."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import PLAYER, STOOD, BankerPolicy, BankerRule, HandsDeclared, Mode, Options, State

VALUES = (2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 1)  # §1.1: by rank, 2 to ace

# §1.3: when the Banker draws, a row for each of the Banker's totals 0-7: bit v for the value v of the Player's third
# card, bit 10 where the Player stood.
ALWAYS = (1 << 11) - 1
DRAWS = (ALWAYS, ALWAYS, ALWAYS, ALWAYS & ~(1 << 8), 1 << STOOD | 0b1111_1100, 1 << STOOD | 0b1111_0000, 0b1100_0000, 0)
LAST_ROW_OF_ALWAYS = 2  # the Banker draws to 0-2 whatever the Player did


@kernel
def value(card: int) -> int:
    """§1.1: what a card counts."""
    return VALUES[card % 13]


@kernel
def place_value(state: State, place: int) -> int:
    """The value of the coup's card at a place, 0-5 in the order of dealing."""
    return value(int(state.shoe[int(state.first) + place]))


@kernel
def two_cards(state: State, hand: int) -> int:
    """§1.1: the total of a hand's first two cards; hand 0 is the Player's, 1 the Banker's."""
    return (place_value(state, hand) + place_value(state, hand + 2)) % 10


@kernel
def total(state: State, hand: int) -> int:
    """§1.1: the total of a hand with its third card, if it has one."""
    points = two_cards(state, hand)
    if hand == PLAYER:
        return (points + place_value(state, 4)) % 10 if state.player_drew else points
    return (points + place_value(state, 4 + int(state.player_drew))) % 10 if state.banker_drew else points


@kernel
def cards_used(state: State) -> int:
    """How many of its six cards the coup has come to."""
    return 4 + int(state.player_drew) + int(state.banker_drew)


@kernel
def banker_draws(rule: int, points: int, third: int, player_total: int) -> bool:
    """§1.3, §6.1: whether the Banker draws to `points` (0-7); `third` is the value of the Player's third card, or 10
    where the Player stood."""
    if rule == BankerRule.TOTAL:
        third = player_total
    elif rule == BankerRule.TABLE_ONLY and third == STOOD:
        return points <= LAST_ROW_OF_ALWAYS
    return bool((DRAWS[points] >> third) & 1)


@kernel
def banker_is_free(options: Options) -> bool:
    """§2.1: whether the Banker chooses."""
    return options.mode == Mode.CHEMIN and options.banker_policy != BankerPolicy.TABLE


@kernel
def hands_are_declared(options: Options) -> bool:
    """§1.5: whether both hands lie open while a choice is open."""
    by_mode = options.hands_declared == HandsDeclared.BY_MODE and options.mode == Mode.TABLE
    return by_mode or options.hands_declared == HandsDeclared.ON


@kernel
def player_choice(options: Options, state: State, points: int) -> int:
    """§1.3, §2.1: who may choose for the Player hand with this total, -1 where the rule decides."""
    if options.mode == Mode.CHEMIN:
        return 0 if points == 5 or options.chemin_player_free else -1
    if options.mode == Mode.TABLE and points == 5:
        return int(state.participant)
    return -1
