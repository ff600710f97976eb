"""Rule-based players of Twenty-One. They see an Observation and a mask, and keep nothing between decisions (§7)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules.trick_hand import marked_place
from . import odds
from .observation import Observation, money, money_scale
from .state import (
    ACE,
    BACK_PASS,
    BANKER,
    BET_HALF,
    BET_MIN,
    BET_POT,
    BET_QUARTER,
    CHANTAL,
    DEAL,
    DECLARE,
    DECLINE_BANK,
    DEPOSIT,
    FIFTEEN,
    HIT,
    MOST_CARDS,
    NEW_BANKER,
    NUM_CARDS,
    PASS_BANK,
    PUT_DEPOSIT,
    STAND,
    STOOD,
    TAKE_BANK,
    TARGET,
    TRADE,
    Options,
)

Mask = npt.NDArray[np.int8]

NINE, TEN = 2, 3  # ranks
CAUTIOUS_POT, SHARK_POT, DP_POT = 3, 5, 0  # deposits in the pot at which Back Passing is declared (§7)
CAUTIOUS_PUTS, SHARK_PUTS, DP_PUTS = PUT_DEPOSIT, PUT_DEPOSIT + 1, PUT_DEPOSIT  # once, twice, once the least (§7)
PUNTER_STANDS, BANKER_STANDS = 15, 16  # the saddle point of §6

_ANSWERS = (
    odds.answer(BANKER_STANDS, trades=True),
    odds.answer(BANKER_STANDS, banker_card=odds.EIGHT_KIND, trades=True),
)
STANDING, HITTING, WORTH = (np.array(tables) for tables in zip(*_ANSWERS, strict=True))
"""[2, 254] what each composition is worth for a punter who stands, takes a card, or does the best thing, against a
banker who stands on 16: in ordinary rounds, and in the final round. The first column of WORTH is a new hand's (§6)."""
NEXT, KIND_OF = odds.ALL.next, odds.KIND_OF


@kernel
def pot_holds(options: Options, observation: Observation, deposits: int) -> bool:
    """Whether the pot has as much as so many of this bank's deposits."""
    scale = money_scale(options)
    needed = deposits * round(math.expm1(float(observation.deposit) / scale))
    return float(observation.pot) > money(needed, scale) - 1e-6


@kernel
def passes_on(options: Options, observation: Observation, mask: Mask) -> int:
    """Who has not the money for a bank declines it, or passes it to the largest purse of those left, of equals the
    nearest to the left. §7"""
    if mask[DECLINE_BANK]:
        return DECLINE_BANK
    me, richest = marked_place(observation.my_number), 0
    for index in range(1, options.num_players):
        named = mask[PASS_BANK + (me + index) % options.num_players]
        if named and (richest == 0 or observation.purse[index] > observation.purse[richest]):
            richest = index
    return PASS_BANK + (me + richest) % options.num_players


@kernel
def before_play(options: Options, observation: Observation, mask: Mask, deposits: int, put: int) -> int:
    """The bank is always welcome, `put` the deposit for it, but the least for a final round; Back Passing from so many
    deposits on. -1 where this is not what is asked. §7"""
    if observation.phase[NEW_BANKER] > 0:
        return TAKE_BANK if mask[TAKE_BANK] else passes_on(options, observation, mask)
    if observation.phase[DEPOSIT] > 0:
        return put if mask[put] and observation.back_passing == 0 else PUT_DEPOSIT
    if observation.phase[DECLARE] > 0:
        return BACK_PASS if mask[BACK_PASS] and pot_holds(options, observation, deposits) else DEAL
    return -1


@kernel
def best_of(observation: Observation) -> int:
    """The best total of my hand."""
    return round(TARGET * float(observation.total[1]))


@kernel
def cards_of(observation: Observation, index: int) -> int:
    """How many cards the seat so many places to my left holds."""
    return round(MOST_CARDS * float(observation.count[index]))


@kernel
def trades(options: Options, observation: Observation, mask: Mask) -> bool:
    """Every trade that the rules give but for hands that Chantal makes better. §7"""
    if not mask[TRADE]:
        return False
    if cards_of(observation, 0) == 1:
        return not (options.chantal and marked_place(observation.first_card) == CHANTAL)
    return observation.trades[1] > 0 or best_of(observation) == FIFTEEN


@kernel
def highest_bet(mask: Mask, wanted: int) -> int:
    """A bet, or the next lower that is not masked: of bets that amount to the same only the first is legal."""
    for action in range(wanted, BET_MIN - 1, -1):
        if mask[action]:
            return action
    return HIT


@kernel
def draws_to(observation: Observation, mask: Mask, total: int) -> int:
    """A card until the hand has a total."""
    return HIT if best_of(observation) < total or not mask[STAND] else STAND


@kernel
def banker_stands(observation: Observation, seats: int) -> int:
    """The total on which a banker stands: 16, or 15 against a single hand of two cards. §7"""
    live, cards = 0, 0
    for index in range(1, seats):
        if observation.status[index, STOOD] > 0:
            live += 1
            cards += cards_of(observation, index)
    return BANKER_STANDS - 1 if live == 1 and cards == 2 else BANKER_STANDS


@kernel
def cautious(options: Options, observation: Observation, mask: Mask, key: np.uint64) -> int:
    """§7, baseline 2."""
    asked = before_play(options, observation, mask, CAUTIOUS_POT, CAUTIOUS_PUTS)
    return asked if asked >= 0 else by_thumb(options, observation, mask, False)


@kernel
def shark(options: Options, observation: Observation, mask: Mask, key: np.uint64) -> int:
    """§7, baseline 3."""
    asked = before_play(options, observation, mask, SHARK_POT, SHARK_PUTS)
    return asked if asked >= 0 else by_thumb(options, observation, mask, True)


@kernel
def by_thumb(options: Options, observation: Observation, mask: Mask, bold: bool) -> int:
    """Trades what it may, draws to a total; a `bold` player bets by its cards, and as banker minds those of others."""
    if trades(options, observation, mask):
        return TRADE
    if observation.phase[BANKER] > 0:
        return draws_to(observation, mask, banker_stands(observation, options.num_players) if bold else BANKER_STANDS)
    if not mask[HIT]:
        return highest_bet(mask, opening_bet(options, observation) if bold else BET_MIN)
    if bold and cards_of(observation, 0) == 2 and 10 <= best_of(observation) <= 11:
        return highest_bet(mask, BET_QUARTER)
    return draws_to(observation, mask, PUNTER_STANDS)


@kernel
def opening_bet(options: Options, observation: Observation) -> int:
    """The shark's opening bet by its first card, higher in the final round. §7"""
    card = marked_place(observation.first_card)
    rank = card & 7
    chantal = options.chantal and card == CHANTAL
    if observation.final_round > 0:
        return BET_POT if chantal or rank in (ACE, TEN) else BET_HALF if rank == NINE else BET_MIN
    return BET_POT if chantal else BET_HALF if rank == ACE else BET_QUARTER if rank == TEN else BET_MIN


@kernel
def composition(observation: Observation) -> int:
    """The number of my hand's composition in the tables; below 0 for one that is bust there."""
    number = 0
    for card in range(NUM_CARDS):
        if observation.hand[card] > 0 and number >= 0:
            number = int(NEXT[number, KIND_OF[card]])
    return number


@kernel
def dp(options: Options, observation: Observation, mask: Mask, key: np.uint64) -> int:
    """§7, baseline 4."""
    asked = before_play(options, observation, mask, DP_POT, DP_PUTS)
    if asked >= 0:
        return asked
    if observation.phase[BANKER] > 0:
        if trades(options, observation, mask):
            return TRADE
        return draws_to(observation, mask, banker_stands(observation, options.num_players))
    hand, table = composition(observation), int(observation.final_round > 0)
    if hand < 0:
        return STAND if mask[STAND] else HIT
    worth = WORTH[table, hand]
    if mask[TRADE] and worth < WORTH[table, 0] + 1e-6:
        return TRADE
    if not mask[HIT]:
        return highest_bet(mask, BET_POT if worth > 0 else BET_MIN)
    hitting = HITTING[table, hand]
    if mask[STAND] and STANDING[table, hand] >= hitting:
        return STAND
    return highest_bet(mask, BET_POT) if hitting > 0 else HIT


BOTS = (
    Bot(
        "cautious",
        cautious,
        "bets the least, trades what it may, draws to 15, as banker to 16; Back Passing from three deposits on",
    ),
    Bot(
        "shark",
        shark,
        "as cautious, but bets by its first card, bets more on a two-card 10 or 11; Back Passing from five deposits on",
    ),
    Bot(
        "dp",
        dp,
        (
            "plays, trades and bets by its hand's worth against a banker "
            "who stands on 16; banker as shark but Back Passing at once"
        ),
    ),
)
