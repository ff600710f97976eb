"""What drawing and standing are worth to a bet where both hands lie open: exact, over the cards that nobody has seen.
The § marks are README.md's paragraphs."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .bets import unit_net
from .coup import banker_draws, banker_is_free
from .observation import Observation
from .state import BANK, NATURAL, PLAYER, STOOD, TIE, Mode, Options

FIVE = 5  # the two-card total on which the Player hand has a choice (§1.3)
NOTHING = -1  # no card gone
SLIGHT = 1e-9  # sums of the same numbers in another order differ by less, and no two answers do

Three = tuple[float, float, float]
"""A number for each of three: where the Player hand, the Banker hand, nobody wins, how likely that is or what it gains;
or a number for PLAYER, BANK, TIE."""


@kernel
def gains_of(options: Options, side: int) -> Three:
    """§1.4, §2.1: what a unit on a side gains; in chemin de fer there are no bets, and no commission."""
    if options.mode == Mode.CHEMIN:
        return (1.0, -1.0, 0.0) if side == PLAYER else (-1.0, 1.0, 0.0)
    return (unit_net(options, side, PLAYER), unit_net(options, side, BANK), unit_net(options, side, TIE))


@kernel
def mean(gains: Three, chances: Three) -> float:
    """What is gained on average."""
    return gains[0] * chances[0] + gains[1] * chances[1] + gains[2] * chances[2]


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
def banker_answers(observation: Observation, left: int, player: int, banker: int, gone: int, draws: bool) -> Three:
    """How likely each outcome is where the Banker draws or stands, the Player hand being at its end."""
    if not draws:
        return (float(int(player > banker)), float(int(banker > player)), float(int(player == banker)))
    less, more = 0.0, 0.0
    for value in range(10):
        total = (banker + value) % 10
        if total != player:
            chance = likely(observation, left, value, gone)
            if total < player:
                less += chance
            else:
                more += chance
    return (less, more, 1.0 - less - more)


@kernel
def after_player(options: Options, observation: Observation, left: int, player: int, banker: int, third: int) -> Three:
    """§1.3: the same with the Banker bound by the table, or, where free, giving the better answer for the Banker hand;
    `third` is 10 where the Player stood."""
    gone = NOTHING if third == STOOD else third
    if not banker_is_free(options):
        draws = banker_draws(options.banker_rule, banker, third, player)
        return banker_answers(observation, left, player, banker, gone, draws)
    stood = banker_answers(observation, left, player, banker, gone, False)
    drew = banker_answers(observation, left, player, banker, gone, True)
    return drew if drew[BANK] - drew[PLAYER] > stood[BANK] - stood[PLAYER] else stood


@kernel
def player_answers(
    options: Options, observation: Observation, left: int, player: int, banker: int, draws: bool
) -> Three:
    """§1.5: how likely each outcome is where the Player hand draws or stands, both two-card totals being known."""
    if not draws:
        return after_player(options, observation, left, player, banker, STOOD)
    wins, loses = 0.0, 0.0
    for value in range(10):
        chance = likely(observation, left, value, NOTHING)
        if chance > 0.0:
            after = after_player(options, observation, left, (player + value) % 10, banker, value)
            wins += chance * after[PLAYER]
            loses += chance * after[BANK]
    return (wins, loses, 1.0 - wins - loses)


@kernel
def total_comes(observation: Observation, left: int, points: int) -> float:
    """How likely two cards make this total, about: as if the first were put back."""
    chance = 0.0
    for value in range(10):
        chance += likely(observation, left, value, NOTHING) * likely(observation, left, (points - value) % 10, NOTHING)
    return chance


@kernel
def choice_is_worth(options: Options, observation: Observation, left: int) -> Three:
    """§1.5: what the best answers on a five with both hands open add, about, to a unit on each side over always
    drawing; before the coup is dealt."""
    player, bank, tie = 0.0, 0.0, 0.0
    for banker in range(NATURAL):
        drew = player_answers(options, observation, left, FIVE, banker, True)
        stood = player_answers(options, observation, left, FIVE, banker, False)
        comes = total_comes(observation, left, banker)
        player += comes * max(0.0, gained(options, PLAYER, stood, drew))
        bank += comes * max(0.0, gained(options, BANK, stood, drew))
        tie += comes * max(0.0, gained(options, TIE, stood, drew))
    five = total_comes(observation, left, FIVE)
    return (five * player, five * bank, five * tie)


@kernel
def gained(options: Options, side: int, one: Three, other: Three) -> float:
    """What a unit on a side gains more by one answer than by another."""
    gains = gains_of(options, side)
    return mean(gains, one) - mean(gains, other)
