"""Twenty-One with Back Passing: punters draw towards 21 and bet against a pot that the banker can cash only by
announcing it beforehand.

The rules are README.md; the § marks below are its paragraphs. What a hand is worth is in `hands.py`, how cards and
money move in `stock.py` and `bank.py`, what a seat sees in `observation.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.base import GameType
from ..core.kernel import kernel
from ..core.options import OptionError, option
from ..core.parts import CHANCE, Kernels
from ..core.record import field
from . import VERSION, observation, text
from .bank import (
    answer,
    end_by_king,
    end_round,
    leaf_value,
    live_stakes,
    open_bank,
    pay,
    reward_unit,
    settle,
)
from .hands import (
    EIGHT,
    KING_OF_HEARTS,
    MOST_CARDS,
    NUM_CARDS,
    SEVEN,
    TARGET,
    FifteenTest,
    best_total,
    card_name,
    card_number,
    first_card_trades,
    hand_trades,
    is_royal,
    low_total,
)
from .stock import clear_round, discard_hand, give, lay_pack, restock
from .table import (
    ACT,
    BANKER,
    BUSTED,
    DEALING,
    DECLARE,
    EVERYBODY,
    LARGEST_MONEY,
    NEW_BANKER,
    OUT,
    PUNTERS,
    ROYAL,
    SETTLE,
    SHUFFLE,
    STOOD,
    BackPassTrigger,
    Banker,
    Breaker,
    EightChain,
    Episode,
    Reshuffle,
    Reward,
    credit,
    ends_bank,
    limit,
    must_stop_at_21,
    opening,
    royal_counts,
)

RUNNING = -3
"""`state.seat` within a step, while the rules run on by themselves."""
MOST_DECISIONS = 4000  # of an episode, which is truncated then (§3)
MOST_TRADES = 127  # that `state.trades` counts
WHOLE = 1000
"""`options.bet_fractions` are so many parts of the whole: thousandths, so that shares of money are exact (§3)."""


class Options(NamedTuple):
    """§1.10: what a table may agree on."""

    num_players: Annotated[int, option("seats at the table", low=2, high=8)] = 4
    initial_deposit: Annotated[int, option("what a banker puts into the pot", low=1, high=10**6)] = 20
    min_bet: Annotated[int, option("least opening bet, unless pot or purse hold less", low=1, high=10**6)] = 1
    bankroll: Annotated[
        int,
        option(
            "money of each player at the start; 0: purses begin at 0 and may go below",
            low=0,
            high=10**9,
            words={"none": 0},
        ),
    ] = 100
    banker: Annotated[Banker, option("who holds the first bank (a seat's number is taken too)")] = Banker.SEAT_0
    auto_stand_21: Annotated[bool, option("a punter stands on 21 without being asked")] = True
    trade_seven: Annotated[bool, option("a seven as first card may be traded")] = True
    trade_eight_after_seven: Annotated[bool, option("an eight that replaced a traded seven may be traded")] = True
    trade_five_figures: Annotated[bool, option("a hand of five figures may be traded")] = True
    trade_fifteen: Annotated[bool, option("a hand of fifteen may be traded")] = True
    fifteen_test: Annotated[
        FifteenTest, option("what makes a hand with Chantal a fifteen: any of its totals, or its best")
    ] = FifteenTest.ANY_VALUATION
    eight_chain: Annotated[EightChain, option("whether an eight that replaced a traded eight may be traded too")] = (
        EightChain.ONCE
    )
    chantal: Annotated[
        bool, option("the seven of hearts counts 1, 7, 10 or 11; otherwise it is a seven like others")
    ] = True
    chantal_is_ace: Annotated[bool, option("Chantal and an ace are a Royal Black Jack")] = False
    royal_payout: Annotated[
        int, option("what a royal wins for each coin staked, as far as the pot reaches", low=1, high=3)
    ] = 1
    royal_after_trade: Annotated[bool, option("two aces are royal after a trade too; otherwise they are 22")] = True
    back_pass_trigger: Annotated[
        BackPassTrigger, option("which of the banker's cards end the bank in Back Passing")
    ] = BackPassTrigger.DEALT_CARD
    back_pass_earliest_round: Annotated[
        int, option("first round in which Back Passing may be declared", low=1, high=1000)
    ] = 1
    banker_card_open: Annotated[bool, option("the banker's first card is dealt face up")] = False
    decline_opening_bet: Annotated[bool, option("a punter may stand instead of betting, and is out of the round")] = (
        False
    )
    reshuffle: Annotated[Reshuffle, option("all cards for every round, or the discards when the stock is used up")] = (
        Reshuffle.EVERY_ROUND
    )
    breaker: Annotated[
        Breaker, option("who of the winners has broken the pot, and is the next banker: the one paid last, or most")
    ] = Breaker.LAST_WINNER
    final_round_fifteen: Annotated[bool, option("the banker may trade a fifteen in the final round")] = True
    episode: Annotated[Episode, option("what an episode is: one bank, `rounds` rounds of it, or `banks` banks")] = (
        Episode.SINGLE_BANK
    )
    rounds: Annotated[int, option('rounds of an episode "fixed_rounds"', low=1, high=1000)] = 1
    banks: Annotated[int, option('banks of an episode "session"', low=1, high=100)] = 4
    force_back_pass_round: Annotated[
        int,
        option(
            "round from which Back Passing is declared without being asked; 0: never",
            low=0,
            high=1000,
            words={"none": 0},
        ),
    ] = 10
    max_rounds: Annotated[
        int, option("rounds after which a bank ends and the pot is the banker's", low=1, high=1000)
    ] = 40
    bet_fractions: Annotated[
        tuple[int, int, int],
        option("bets a quarter, half and pot, as shares of the most one can bet", low=0.001, high=1.0, parts=WHOLE),
    ] = (250, 500, 1000)
    reward: Annotated[Reward, option("what each seat gained is told at the end, or after every round")] = Reward.EPISODE


def check(options: Options) -> None:
    """Raises OptionError where options contradict each other."""
    if options.bankroll and options.bankroll < options.initial_deposit:
        raise OptionError(
            f"twenty_one options bankroll {options.bankroll} and initial_deposit "
            f"{options.initial_deposit} leave nobody able to be banker; "
            "the bankroll must be at least the deposit, or 0 for unlimited credit."
        )
    if options.banker != Banker.RANDOM and options.banker >= options.num_players:
        raise OptionError(
            f"twenty_one option banker is seat {int(options.banker)}; "
            f"with num_players {options.num_players} there are seats "
            f'0..{options.num_players - 1}, or "random".'
        )
    if options.chantal_is_ace and not options.chantal:
        raise OptionError(
            "twenty_one option chantal_is_ace needs chantal; without it the seven of hearts is a seven like others."
        )
    if options.force_back_pass_round == 1:
        raise OptionError(
            "twenty_one option force_back_pass_round is 1; it takes 0 (never) "
            "or 2 and more, since a bank could end at its first deal, "
            "before anybody had decided anything."
        )


# Actions (§3), 11 of them:
#   0 stand   1 hit    2 bet min     3 bet quarter   4 bet half   5 bet pot
#   6 trade   7 deal   8 back pass   9 take bank    10 decline bank
STAND, HIT, BET_MIN, BET_QUARTER, BET_HALF, BET_POT, TRADE, DEAL, BACK_PASS, TAKE_BANK, DECLINE_BANK = range(11)
ACTIONS = (
    "stand",
    "hit",
    "bet min",
    "bet quarter",
    "bet half",
    "bet pot",
    "trade",
    "deal",
    "back pass",
    "take bank",
    "decline bank",
)


def action_str(options: Options, action: int) -> str:
    """`hit`, `bet quarter`."""
    return ACTIONS[action]


class State:
    """Everything at the table. Money is whole coins; what a pile does not hold is 0."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "what each seat gained by the latest action"
    )
    purse: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "money of each seat; without a bankroll it may be negative"
    )
    own: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "each punter's own half of his stake, the bank's being as much"
    )
    told: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "purse, the banker's with the pot, when a reward was last paid"
    )
    pot: int = field("i8", doc="money in the bank")
    largest: int = field("i8", doc="largest pay-out of the round")
    silent: int = field("i8", doc="set of cards that the banker would have had to announce if they were KH or an eight")
    phase: int = field("i1", doc="0 declare, 1 punters, 2 banker, 3 new banker")
    turn: int = field("i1", doc="whose turn it is, also while chance shuffles")
    banker: int = field("i1", doc="who holds the bank")
    next_banker: int = field("i1", doc="who was entitled to the bank after the last that ended")
    breaker: int = field("i1", doc="of the punters paid in this round, the one who would have broken the pot")
    result: int = field(
        "i1", doc="how the last bank ended: 0 none has, 1 king of hearts, 2 cashed, 3 broken, 4 last round"
    )
    bank: int = field("i1", doc="banks that have ended")
    asked: int = field("i1", doc="seats that have declined the next bank")
    back_passing: int = field("i1", doc="1 once the banker has declared Back Passing")
    final_round: int = field("i1", doc="1 once he has announced an eight")
    round_number: int = field("i2", doc="round of this bank, from 1")
    shuffles: int = field("i2", doc="times that discards have become the stock since all cards were shuffled")
    status: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players,), "0 wait, 1 act, 2 stood, 3 bust, 4 royal, 5 out"
    )
    trades: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players,), "trades of each seat in this round, 127 for more"
    )
    after_seven: npt.NDArray[np.int8] = field("i1", lambda o: (o.num_players,), "1 where a lone eight may be traded")
    count: npt.NDArray[np.int8] = field("i1", lambda o: (o.num_players,), "cards in each hand")
    cards: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.num_players, MOST_CARDS), "each hand, in the order received"
    )
    dealt: int = field("i1", doc="seats that have been dealt a first card in this round")
    drawn: int = field("i1", doc="cards drawn from the stock")
    stock_size: int = field("i1", doc="cards the stock had when it was last shuffled")
    discarded: int = field("i1", doc="cards in the discards")
    stock: npt.NDArray[np.uint8] = field("u1", NUM_CARDS, "the stock, top first; those drawn are wiped")
    discards: npt.NDArray[np.uint8] = field("u1", NUM_CARDS, "the discards, oldest first")
    known: npt.NDArray[np.int16] = field(
        "i2", NUM_CARDS, "for each card the set of seats that know where it lies, 255 where it is open"
    )
    origin: npt.NDArray[np.int16] = field(
        "i2", NUM_CARDS, "for each card the value of `shuffles` when it was last in the stock"
    )
    cleared: npt.NDArray[np.int16] = field(
        "i2",
        lambda o: (o.num_players, NUM_CARDS),
        "`shuffles` when the seat last knew a card to be among those shuffled",
    )


# The course of the game (§1.4)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.3: everybody has his bankroll; the first banker is agreed, or drawn by lot."""
    for seat in range(options.num_players):
        state.purse[seat] = options.bankroll
        state.told[seat] = options.bankroll
    state.banker = start_outcome if options.banker == Banker.RANDOM else options.banker
    open_bank(options, state)


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.4: all cards for a round; or, where the stock is used up, the discards in the order in which they lie in
    `deck`."""
    state.seat = RUNNING
    if state.phase == SHUFFLE:
        lay_pack(state, deck)
        declare(options, state)
    else:
        restock(options, state, deck)
        if state.phase != DEALING:
            state.seat = state.turn
            give(options, state, int(state.turn))
            judge(options, state, int(state.turn))
    play_on(options, state)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A decision, and all that follows from it until the next."""
    seat = int(state.seat)
    if action == STAND:
        state.status[seat] = OUT if opening(state, seat) else STOOD
        end_turn(state)
    elif action == TRADE:
        trade(options, state, seat)
        draw(options, state, seat)
    elif action <= BET_POT:
        if action != HIT:
            bet(options, state, seat, bet_size(options, state, seat, action))
        draw(options, state, seat)
    elif action <= BACK_PASS:
        if action == BACK_PASS:
            state.back_passing = 1
        state.phase = DEALING
        state.seat = RUNNING
    else:
        answer(options, state, seat, action == TAKE_BANK)
    play_on(options, state)


@kernel
def play_on(options: Options, state: State) -> None:
    """§1.4: the round goes on until a seat has to decide, chance has to shuffle, or the episode is over."""
    while state.seat == RUNNING:
        if state.phase == PUNTERS:
            next_punter(options, state)
        elif state.phase == DEALING:
            deal_first_cards(options, state)
        elif state.phase == SETTLE:
            settle(options, state)
            end_round(options, state)
        else:
            new_round(options, state)


@kernel
def new_round(options: Options, state: State) -> None:
    """§1.4: the same banker, the same pot."""
    state.round_number = int(state.round_number) + 1
    if options.reshuffle == Reshuffle.EVERY_ROUND:
        state.phase = SHUFFLE
        state.seat = CHANCE
        return
    for seat in range(options.num_players):
        discard_hand(state, seat, False)
    clear_round(state)
    declare(options, state)


@kernel
def declare(options: Options, state: State) -> None:
    """§1.4: unless Back Passing has been declared, or is forced from this round on, the banker is asked."""
    forced = options.force_back_pass_round > 0 and int(state.round_number) >= options.force_back_pass_round
    if forced:
        state.back_passing = 1
    if state.back_passing:
        state.phase = DEALING
    else:
        state.phase = DECLARE
        state.seat = state.banker


@kernel
def deal_first_cards(options: Options, state: State) -> None:
    """§1.4: one card face down to each seat from the banker's left, the banker last, who has to look at it in Back
    Passing."""
    while int(state.dealt) < options.num_players:
        if state.drawn == state.stock_size:
            state.seat = CHANCE
            return
        give(options, state, (int(state.banker) + 1 + int(state.dealt)) % options.num_players)
        state.dealt = int(state.dealt) + 1
    state.turn = state.banker
    state.phase = PUNTERS
    if state.back_passing:
        check_banker_card(options, state)


@kernel
def check_banker_card(options: Options, state: State) -> None:
    """§1.4: the banker's latest card counts in Back Passing. KH ends the bank, an eight is announced, silence tells of
    neither."""
    banker = int(state.banker)
    card = int(state.cards[banker, int(state.count[banker]) - 1])
    if not ends_bank(card):
        state.silent = int(state.silent) | (1 << card)
        return
    state.known[card] = EVERYBODY
    if card == KING_OF_HEARTS:
        end_by_king(options, state)
    else:
        state.final_round = 1


# A turn (§1.5, §1.6)


@kernel
def next_punter(options: Options, state: State) -> None:
    """§1.4: the next seat that can bet; after the last, the banker if a stake is live."""
    seat = (int(state.turn) + 1) % options.num_players
    state.turn = seat
    if seat == int(state.banker):
        if live_stakes(options, state) == 0:
            state.phase = SETTLE
            return
        state.phase = BANKER
    elif limit(options, state, seat) <= 0:
        state.status[seat] = OUT
        return
    state.status[seat] = ACT
    state.seat = seat


@kernel
def end_turn(state: State) -> None:
    """§1.4: each turn is completed before the next; after the banker's, the round is settled."""
    if state.phase == BANKER:
        state.phase = SETTLE
    state.seat = RUNNING


@kernel
def bet_size(options: Options, state: State, seat: int, action: int) -> int:
    """What a bet amounts to now. §3"""
    most = limit(options, state, seat)
    return min(options.min_bet, most) if action == BET_MIN else share(most, options.bet_fractions[action - BET_QUARTER])


@kernel
def share(most: int, thousandths: int) -> int:
    """A share of the most one can bet, rounded up to whole coins. §3"""
    return (most * thousandths + WHOLE - 1) // WHOLE  # below 2**63, since no money passes 2**53


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§3: what the seat to act may do."""
    seat = int(state.seat)
    if state.phase == DECLARE:
        mask[DEAL] = 1
        mask[BACK_PASS] = int(int(state.round_number) >= options.back_pass_earliest_round)
    elif state.phase == NEW_BANKER:
        mask[TAKE_BANK] = int(int(state.purse[seat]) + credit(options) >= options.initial_deposit)
        mask[DECLINE_BANK] = 1
    else:
        mask[TRADE] = int(may_trade(options, state, seat))
        if opening(state, seat):
            mask[STAND] = int(options.decline_opening_bet)
            legal_bets(options, state, seat, min(options.min_bet, limit(options, state, seat)), mask)
            return
        mask[STAND] = int(int(state.count[seat]) >= 2)
        mask[HIT] = 1
        if seat != int(state.banker):
            legal_bets(options, state, seat, 1, mask)


@kernel
def legal_bets(options: Options, state: State, seat: int, least: int, mask: npt.NDArray[np.int8]) -> None:
    """§3: bets of `least` and more, of those that amount to the same only the first."""
    most = limit(options, state, seat)
    if most <= 0:
        return
    shares = options.bet_fractions
    lowest, quarter, half, pot = (
        min(options.min_bet, most),
        share(most, shares[0]),
        share(most, shares[1]),
        share(most, shares[2]),
    )
    mask[BET_MIN] = 1
    mask[BET_QUARTER] = int(quarter >= least and quarter != lowest)
    mask[BET_HALF] = int(half >= least and half != lowest and half != quarter)
    mask[BET_POT] = int(pot >= least and pot != lowest and pot != quarter and pot != half)


@kernel
def may_trade(options: Options, state: State, seat: int) -> bool:
    """§1.5, §1.6: whether a seat may trade what it holds."""
    count = int(state.count[seat])
    if count == 1:
        return first_card_trades(options, int(state.cards[seat, 0]), int(state.after_seven[seat]) == 1)
    banker_in_final_round = seat == int(state.banker) and int(state.final_round) == 1
    return hand_trades(options, state.cards[seat], count, options.final_round_fifteen or not banker_in_final_round)


@kernel
def bet(options: Options, state: State, seat: int, size: int) -> None:
    """§1.5: the banker matches a punter's bet from the pot."""
    state.purse[seat] = int(state.purse[seat]) - size
    state.own[seat] = int(state.own[seat]) + size
    state.pot = int(state.pot) - size


@kernel
def trade(options: Options, state: State, seat: int) -> None:
    """§1.5: the hand is shown and discarded; an eight that replaces a lone seven may be traded in its turn."""
    rank = int(state.cards[seat, 0]) & 7
    lone = int(state.count[seat]) == 1
    again = lone and (rank == SEVEN or (rank == EIGHT and options.eight_chain == EightChain.REPEAT))
    discard_hand(state, seat, True)
    state.after_seven[seat] = int(again)
    state.trades[seat] = min(MOST_TRADES, int(state.trades[seat]) + 1)


@kernel
def draw(options: Options, state: State, seat: int) -> None:
    """§1.5: one card; chance shuffles the discards where the stock is used up."""
    if state.drawn == state.stock_size:
        state.seat = CHANCE
        return
    give(options, state, seat)
    judge(options, state, seat)


@kernel
def judge(options: Options, state: State, seat: int) -> None:
    """§1.5, §1.6: what the card just drawn means: the bank's end, a royal, a bust, 21, or another decision."""
    count = int(state.count[seat])
    if seat == int(state.banker) and state.back_passing and drawn_card_counts(options, count):
        check_banker_card(options, state)
        if state.seat != seat:
            return
    if count < 2:
        return
    hand = state.cards[seat]
    if is_royal(options, hand, count) and royal_counts(options, state, seat):
        finish_hand(options, state, seat, ROYAL)
    elif low_total(options, hand, count) > TARGET:
        finish_hand(options, state, seat, BUSTED)
    elif best_total(options, hand, count) == TARGET and must_stop_at_21(options, state, seat):
        state.status[seat] = STOOD
        end_turn(state)


@kernel
def drawn_card_counts(options: Options, count: int) -> bool:
    """§1.4: whether a card that the banker draws, his hand being `count` with it, counts in Back Passing."""
    if options.back_pass_trigger == BackPassTrigger.FIRST_CARD_AFTER_TRADES:
        return count == 1
    return options.back_pass_trigger == BackPassTrigger.ANY_CARD


@kernel
def finish_hand(options: Options, state: State, seat: int, status: int) -> None:
    """§1.5: a royal or bust hand is shown and discarded. A punter's is settled at once, the banker's with the
    stakes."""
    state.status[seat] = status
    discard_hand(state, seat, True)
    stake = 2 * int(state.own[seat])
    if seat != int(state.banker):
        if status == ROYAL:
            extra = min(int(state.pot), (options.royal_payout - 1) * int(state.own[seat]))
            state.pot = int(state.pot) - extra
            pay(options, state, seat, stake + extra)
        else:
            state.pot = int(state.pot) + stake
        state.own[seat] = 0
    end_turn(state)


# The descriptor


def reward_range(options: Options) -> tuple[float, float]:
    """§3: nobody can lose more than his bankroll, or credit, nor win more than all the others'."""
    each = options.bankroll or LARGEST_MONEY // options.num_players
    return -each / reward_unit(options), (options.num_players - 1) * each / reward_unit(options)


GAME = GameType(
    name="twenty_one",
    version=VERSION,
    title="Twenty-One with Back Passing",
    kernels=Kernels(start, deal, legal, step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=observation.Observation,
    num_actions=len(ACTIONS),
    action_str=action_str,
    table_str=text.table_str,
    piles=text.piles,
    deck_size=lambda options: NUM_CARDS,
    reward_range=reward_range,
    # Without bankrolls gains have no bound, and rewards rounded to 32 bits do not sum to 0 exactly.
    zero_sum=lambda options: options.bankroll > 0,
    num_start_outcomes=lambda options: options.num_players if options.banker == Banker.RANDOM else 1,
    check=check,
    card_name=card_name,
    card_number=card_number,
    max_decisions=lambda options: MOST_DECISIONS,
    leaf_value=leaf_value,
    speed_floor=2_000_000,
)
