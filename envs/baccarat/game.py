"""Baccarat: bets on which of two hands, the Player's and the Banker's, comes closer to nine; all but one choice of
drawing is by rule.

At a betting table the bettor who handles the Player hand may choose on a five; in chemin de fer two seats play the
hands against each other. The rules are README.md; the § marks below are its paragraphs.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.base import GameType
from ..core.kernel import kernel
from ..core.options import OptionError, option
from ..core.parts import CHANCE, OVER, Kernels
from ..core.record import field
from . import VERSION, observation, text
from .coup import (
    BANK,
    BANKER_TURN,
    BETTING,
    COUP,
    DRAW,
    NATURAL,
    NO_BET,
    NUM_ACTIONS,
    PLAYER,
    PLAYER_TURN,
    SHOWN,
    STAND,
    STOOD,
    TIE,
    Bank,
    BankerPolicy,
    BankerRule,
    BankerSees,
    FirstBanker,
    Mode,
    Reshuffle,
    banker_draws,
    banker_is_free,
    card_name,
    card_number,
    most_coups,
    net,
    num_seats,
    pack_size,
    place_value,
    shoe_size,
    side_of,
    stake_of,
    top_stake,
    total,
    two_cards,
)
from .observation import Observation

ODDS_SCALE = 9  # rewards are units over nine times the largest stake (§3)

Stakes = tuple[int, int, int, int]


class Options(NamedTuple):
    """What can be agreed before a game."""

    mode: Annotated[Mode, option("bets and a choice on five; bets only; or the two hands against each other")] = (
        Mode.TABLE
    )
    decks: Annotated[
        int, option("packs mixed", low=0, high=12, words={"inf": 0, "home": 1, "casino6": 6, "casino8": 8})
    ] = 8
    commission: Annotated[float, option("the house's part of what BANK wins", low=0, high=1)] = 0.05
    tie_pays: Annotated[int, option("what TIE wins, to 1", low=1, high=12)] = 9
    banker_rule: Annotated[BankerRule, option("what the rows of the Banker's table speak of")] = BankerRule.THIRD_CARD
    banker_policy: Annotated[BankerPolicy, option("`by_mode`: free in `chemin`, bound to the table elsewhere")] = (
        BankerPolicy.BY_MODE
    )
    reshuffle: Annotated[Reshuffle, option("mix before every coup, or deal from a shoe")] = Reshuffle.EVERY_COUP
    cut_card: Annotated[
        int, option("a shoe with this many cards or fewer is not dealt from again", low=0, high=100)
    ] = 16
    num_coups: Annotated[int, option("coups in an episode", low=0, high=250, words={"shoe": 0})] = 1
    stakes: Annotated[Stakes, option("levels of a bet, in units", low=0, high=10_000, fill=0)] = (1, 2, 5, 10)
    num_bettors: Annotated[int, option("seats at a betting table", low=1, high=8)] = 1
    banker: Annotated[Bank, option("who pays and collects")] = Bank.HOUSE
    first_banker: Annotated[FirstBanker, option("who has the rotating bank first")] = FirstBanker.RIGHT
    chemin_player_free: Annotated[bool, option("the Player of `chemin` chooses on every total from 0 to 7")] = False
    banker_sees: Annotated[BankerSees, option("what the Banker of `chemin` knows of his hand")] = BankerSees.COMPOSITION
    bets_public: Annotated[bool, option("bets are seen as they are placed, not only when all are")] = False
    allow_no_bet: Annotated[bool, option("a bettor may sit a coup out")] = True


def check(options: Options) -> None:
    """Raises OptionError where options contradict each other."""
    chemin, levels = options.mode == Mode.CHEMIN, [stake for stake in options.stakes if stake > 0]
    if options.banker_policy == BankerPolicy.FREE and not chemin:
        raise OptionError(
            'baccarat option banker_policy is "free"; only in mode '
            '"chemin" may the Banker choose: set mode="chemin" too.'
        )
    if options.chemin_player_free and not chemin:
        raise OptionError('baccarat option chemin_player_free is true; it needs mode="chemin".')
    if chemin and (options.num_bettors != 1 or options.banker == Bank.ROTATING):
        raise OptionError(
            "baccarat options num_bettors and banker have no place "
            'in mode "chemin", which has two seats: leave them out.'
        )
    if options.banker == Bank.ROTATING and options.num_bettors == 1:
        raise OptionError(
            'baccarat option banker is "rotating" and num_bettors is 1; a bank that moves needs 2 to 8 bettors.'
        )
    if options.reshuffle == Reshuffle.SHOE and options.decks == 0:
        raise OptionError(
            'baccarat options reshuffle "shoe" and decks "inf" exclude each other; a shoe takes 1 to 12 packs.'
        )
    if options.num_coups == 0 and options.reshuffle != Reshuffle.SHOE:
        raise OptionError('baccarat option num_coups is "shoe" (0); it needs reshuffle="shoe".')
    if tuple(options.stakes) != (*levels, *[0] * (4 - len(levels))) or not levels or len(set(levels)) < len(levels):
        raise OptionError(
            f"baccarat option stakes is {tuple(options.stakes)}; it takes one to four different numbers of 1 or more."
        )


class State:
    """Everything at the table. A coup's cards lie in the shoe as dealt: Player, Banker, Player, Banker, Player's third,
    Banker's."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field(
        "f4", lambda o: (num_seats(o),), "what each seat gained by the latest action"
    )
    units: npt.NDArray[np.float32] = field(
        "f4", lambda o: (num_seats(o),), "what each seat has won in this episode, in units"
    )
    shoe: npt.NDArray[np.uint16] = field("u2", lambda o: (shoe_size(o),), "cards in the order of dealing")
    first: int = field("u2", doc="where in the shoe the present coup begins; cards before it have been turned up")
    exposed: npt.NDArray[np.uint8] = field("u1", 10, "how many cards of each value lie before it")
    phase: int = field(
        "u1", doc="0 betting, 1 the Player hand, 2 the Banker hand, 3 cards turned up at the end of the episode"
    )
    player_drew: int = field("u1", doc="1 when the Player hand has a third card")
    banker_drew: int = field("u1", doc="1 when the Banker hand has a third card")
    bets: npt.NDArray[np.uint8] = field("u1", lambda o: (o.num_bettors,), "each bettor's action of this coup")
    participant: int = field("i1", doc="the bettor who handles the Player hand, -1 for none")
    banker: int = field("i1", doc="the seat that has the bank, -1 for the house")
    coup: int = field("u1", doc="coups finished")
    asked: int = field("u1", doc="1 once anybody has decided anything in this episode")
    last: npt.NDArray[np.uint8] = field(
        "u1", COUP, "the cards of the latest coup, as cards of one pack, where another one follows"
    )
    last_drew: npt.NDArray[np.uint8] = field(
        "u1", 2, "1 where the Player, the Banker hand of that coup had a third card"
    )
    totals: npt.NDArray[np.uint8] = field("u1", 2, "final totals of the latest coup, Player and Banker")
    winner: int = field("u1", doc="who won it: 1 Player, 2 Banker, 3 tie, 0 before the first")


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.2: who has the bank first; then a pack is asked for, before the bets."""
    state.banker = -1
    if options.banker == Bank.ROTATING:
        state.banker = 0 if options.first_banker == FirstBanker.RICHEST else options.num_bettors - 1
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§2.2: a new shoe, or as many cards as a coup can use."""
    for place in range(state.shoe.shape[0]):
        state.shoe[place] = deck[place]
    state.first = 0
    state.exposed[:] = 0
    if begin_coup(options, state):
        go_on(options, state)


@kernel
def begin_coup(options: Options, state: State) -> bool:
    """§1.3: bets first; chemin de fer has none. True when the coup ends without anybody being asked."""
    state.player_drew = 0
    state.banker_drew = 0
    state.participant = -1
    state.bets[:] = NO_BET
    if options.mode == Mode.CHEMIN:
        return open_hands(options, state)
    state.phase = BETTING
    state.seat = 0
    return False


@kernel
def go_on(options: Options, state: State) -> None:
    """The coup is at its end: on to the next decision, the next shoe, or the end of the episode."""
    ended = True
    while ended:
        ended = finish_coup(options, state) and begin_coup(options, state)


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§3: bets; stand or draw; and standing alone where nothing is left but to turn up the cards."""
    if state.phase == BETTING:
        mask[NO_BET] = int(options.allow_no_bet)
        for level in range(4):
            if options.stakes[level] > 0:
                for side in range(3):
                    mask[1 + 3 * level + side] = 1
        return
    mask[STAND] = 1
    mask[DRAW] = int(state.phase != SHOWN)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.3: a bet, or to draw or stand."""
    seat = int(state.seat)
    state.asked = 1
    ended = True
    if state.phase == BETTING:
        state.bets[seat] = action
        if seat + 1 < options.num_bettors:
            state.seat = seat + 1
            return
        state.participant = participant_of(options, state)
        ended = open_hands(options, state)
    elif state.phase == PLAYER_TURN:
        ended = after_player(options, state, action == DRAW)
    elif state.phase == BANKER_TURN:
        state.banker_drew = int(action == DRAW)
    else:
        state.seat = OVER
        return
    if ended:
        go_on(options, state)


@kernel
def participant_of(options: Options, state: State) -> int:
    """§1.2: the largest bet on PLAYER, or without one the largest at all; the lowest seat of equals; never the seat
    that has the bank."""
    found, most = -1, 0
    for seat in range(options.num_bettors):
        bet = int(state.bets[seat])
        if bet == NO_BET or seat == state.banker:
            continue
        # A bet on PLAYER comes before any other.
        weight = stake_of(options, bet) + (1 << 20 if side_of(bet) == PLAYER else 0)
        if weight > most:
            found, most = seat, weight
    return found


@kernel
def open_hands(options: Options, state: State) -> bool:
    """§1.3: naturals end the coup; then the Player hand, by choice or by rule. True when the coup is at its end."""
    points = two_cards(state, PLAYER)
    if points >= NATURAL or two_cards(state, BANK) >= NATURAL:
        return True
    seat = player_choice(options, state, points)
    if seat >= 0:
        state.phase = PLAYER_TURN
        state.seat = seat
        return False
    return after_player(options, state, points <= 5)


@kernel
def player_choice(options: Options, state: State, points: int) -> int:
    """§1.3, §2.1: who may choose for the Player hand with this total, -1 where the rule decides."""
    if options.mode == Mode.CHEMIN:
        return 0 if points == 5 or options.chemin_player_free else -1
    if options.mode == Mode.TABLE and points == 5:
        return int(state.participant)
    return -1


@kernel
def after_player(options: Options, state: State, draws: bool) -> bool:
    """§1.3: the Player hand's third card, then the Banker's choice or rule. True when the coup is at its end."""
    state.player_drew = int(draws)
    if banker_is_free(options):
        state.phase = BANKER_TURN
        state.seat = 1
        return False
    third = place_value(state, 4) if draws else STOOD
    state.banker_drew = int(banker_draws(options.banker_rule, two_cards(state, BANK), third, total(state, PLAYER)))
    return True


@kernel
def gain(state: State, seat: int, units: float, scale: float) -> None:
    """Units won, and the same as a reward."""
    state.units[seat] = float(state.units[seat]) + units
    state.reward[seat] = float(state.reward[seat]) + units * scale


@kernel
def settle(options: Options, state: State) -> None:
    """§1.3, §1.4: compare the totals, pay and collect. A seat that has the bank gains what the others and the house do
    not."""
    player, banker = total(state, PLAYER), total(state, BANK)
    winner = PLAYER if player > banker else BANK if banker > player else TIE
    state.totals[PLAYER] = player
    state.totals[BANK] = banker
    state.winner = winner + 1
    if options.mode == Mode.CHEMIN:
        order = float(int(winner == PLAYER) - int(winner == BANK))
        gain(state, 0, order, 1.0)
        gain(state, 1, -order, 1.0)
        return
    scale = 1.0 / (ODDS_SCALE * top_stake(options))
    collected = 0.0
    for seat in range(options.num_bettors):
        if seat != state.banker:
            bet = int(state.bets[seat])
            units = net(options, bet, winner)
            gain(state, seat, units, scale)
            collected -= units
            if winner == BANK and bet != NO_BET and side_of(bet) == BANK:
                collected -= options.commission * stake_of(options, bet)
    if state.banker >= 0:
        gain(state, int(state.banker), collected, scale)


@kernel
def finish_coup(options: Options, state: State) -> bool:
    """§2.2: after a coup, the end of the episode, a new shoe, or (True) another coup from this one."""
    settle(options, state)
    state.coup = int(state.coup) + 1
    used = 4 + int(state.player_drew) + int(state.banker_drew)
    left = state.shoe.shape[0] - int(state.first) - used
    spent = options.reshuffle != Reshuffle.SHOE or left <= options.cut_card or left < COUP
    if state.coup == options.num_coups or (options.num_coups == 0 and spent):
        state.phase = SHOWN
        # An episode needs a decision: where naturals left none, seat 0 turns the cards up.
        state.seat = OVER if state.asked else 0
        return False
    remember(state)
    if state.banker >= 0 and state.winner == PLAYER + 1:
        state.banker = (int(state.banker) - 1) % options.num_bettors
    if spent:
        state.seat = CHANCE
        return False
    for place in range(used):
        state.exposed[place_value(state, place)] += 1
    state.first = int(state.first) + used
    return True


@kernel
def remember(state: State) -> None:
    """Keep a finished coup's cards in view, now that others take their place."""
    state.last_drew[0] = state.player_drew
    state.last_drew[1] = state.banker_drew
    for place in range(COUP):
        shown = place < 4 + int(state.player_drew) + int(state.banker_drew)
        state.last[place] = int(state.shoe[int(state.first) + place]) % 52 if shown else 0


def _returns(options: Options) -> tuple[float, float]:
    coups = most_coups(options)
    if options.mode == Mode.CHEMIN:
        return -float(coups), float(coups)
    # The bank pays every other bettor's best bet, and collects every other bettor's stake.
    others = options.num_bettors - 1 if options.banker == Bank.ROTATING else 0
    best = max(1.0, float(options.tie_pays)) / ODDS_SCALE * coups
    return -max(coups / ODDS_SCALE, others * best), max(best, others * coups / ODDS_SCALE)


GAME = GameType(
    name="baccarat",
    version=VERSION,
    title="Baccarat",
    kernels=Kernels(start, deal, legal, step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table_str=text.table_str,
    piles=text.piles,
    deck_size=pack_size,
    cards_needed=shoe_size,
    with_replacement=lambda options: options.decks == 0,
    reward_range=_returns,
    zero_sum=lambda options: (
        options.mode == Mode.CHEMIN or (options.banker == Bank.ROTATING and options.commission == 0)
    ),
    check=check,
    info=lambda options, state, seat: {"units": round(float(state.units[seat]), 4)},
    card_name=card_name,
    card_number=card_number,
)
