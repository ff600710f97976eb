"""What drawing and standing are worth to a bet where both hands lie open: exact, over the cards that nobody has seen.
The § marks are README.md's paragraphs."""

from __future__ import annotations

from ..core.kernel import kernel
from .bets import unit_net
from .coup import banker_draws, banker_is_free
from .observation import Observation
from .state import BANK, NATURAL, PLAYER, STOOD, TIE, Mode, Options

FIVE = 5  # the two-card total on which the Player hand has a choice (§1.3)
NOTHING = -1  # no card gone
SLIGHT = 1e-9  # sums of the same numbers in another order differ by less, and no two answers do

Gains = tuple[float, float, float]
"""What is gained where the Player hand, the Banker hand, nobody wins."""


@kernel
def gains_of(options: Options, side: int) -> Gains:
    """§1.4, §2.1: what a unit on a side gains; in chemin de fer there are no bets, and no commission."""
    if options.mode == Mode.CHEMIN:
        return (1.0, -1.0, 0.0) if side == PLAYER else (-1.0, 1.0, 0.0)
    return (unit_net(options, side, PLAYER), unit_net(options, side, BANK), unit_net(options, side, TIE))


@kernel
def cards_left(observation: Observation) -> int:
    """How many cards nobody has seen; 0 with packs without end."""
    left = 0
    for value in range(10):
        left += int(observation.remaining[value])
    return left


@kernel
def likely(observation: Observation, left: int, value: int, gone: int) -> float:
    """How likely the next card has this value, of `left` unseen, where one of the value `gone` was dealt since."""
    if left == 0:
        return (4.0 if value == 0 else 1.0) / 13.0
    return (float(observation.remaining[value]) - int(value == gone)) / (left - int(gone != NOTHING))


@kernel
def compared(gains: Gains, player: int, banker: int) -> float:
    """§1.3: what the totals gain."""
    return gains[PLAYER if player > banker else BANK if banker > player else TIE]


@kernel
def banker_answers(
    observation: Observation, gains: Gains, left: int, player: int, banker: int, gone: int, draws: bool
) -> float:
    """The mean gain where the Banker draws or stands, the Player hand being at its end."""
    if not draws:
        return compared(gains, player, banker)
    mean = 0.0
    for value in range(10):
        mean += likely(observation, left, value, gone) * compared(gains, player, (banker + value) % 10)
    return mean


@kernel
def after_player(
    options: Options, observation: Observation, gains: Gains, left: int, player: int, banker: int, third: int
) -> float:
    """§1.3: the same with the Banker bound by the table, or, where free, giving away as little as can be; `third` is 10
    where the Player stood."""
    gone = NOTHING if third == STOOD else third
    if banker_is_free(options):
        stands = banker_answers(observation, gains, left, player, banker, gone, False)
        return min(stands, banker_answers(observation, gains, left, player, banker, gone, True))
    draws = banker_draws(options.banker_rule, banker, third, player)
    return banker_answers(observation, gains, left, player, banker, gone, draws)


@kernel
def player_answers(
    options: Options, observation: Observation, gains: Gains, left: int, player: int, banker: int, draws: bool
) -> float:
    """§1.5: the mean gain where the Player hand draws or stands, both two-card totals being known."""
    if not draws:
        return after_player(options, observation, gains, left, player, banker, STOOD)
    mean = 0.0
    for value in range(10):
        chance = likely(observation, left, value, NOTHING)
        if chance > 0.0:
            mean += chance * after_player(options, observation, gains, left, (player + value) % 10, banker, value)
    return mean


@kernel
def total_comes(observation: Observation, left: int, points: int) -> float:
    """How likely two cards make this total, about: as if the first were put back."""
    chance = 0.0
    for value in range(10):
        chance += likely(observation, left, value, NOTHING) * likely(observation, left, (points - value) % 10, NOTHING)
    return chance


@kernel
def choice_is_worth(options: Options, observation: Observation, side: int, left: int) -> float:
    """§1.5: what the best answers on a five with both hands open add, about, to a unit on a side over always drawing;
    before the coup is dealt."""
    gains, more = gains_of(options, side), 0.0
    for banker in range(NATURAL):
        draws = player_answers(options, observation, gains, left, FIVE, banker, True)
        stands = player_answers(options, observation, gains, left, FIVE, banker, False)
        if stands > draws:
            more += total_comes(observation, left, banker) * (stands - draws)
    return more * total_comes(observation, left, FIVE)
