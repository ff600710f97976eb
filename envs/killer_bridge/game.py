"""Killer Back Alley Bridge Substitute: 1 to 54 players bid exactly how many tricks they will take, hand by hand of
every size.

Two jokers are always trumps, the dealer may not make the bids come out even, and the big joker, led, calls for
everybody's highest trump. The rules are README.md; the § marks below are its paragraphs.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import cards, tricks
from ..core.base import GameType
from ..core.cards import LITTLE_JOKER
from ..core.kernel import kernel
from ..core.options import OptionError, option, plain
from ..core.parts import CHANCE, OVER, Kernels
from ..core.record import field
from ..core.tricks import NO_TRUMP
from . import VERSION, observation, text
from .hands import (
    BOARD,
    LARGEST_HAND,
    NO_BID,
    NO_CARD,
    NUM_ACTIONS,
    PACK,
    PACK_SIZE,
    PLAY,
    RAINBOW,
    RANDOM_DEALER,
    Length,
    LinearPenalty,
    Scoring,
    SipRule,
    Variant,
    after,
    bid_value,
    hand_points,
    hand_sizes,
    hook,
    is_rainbow,
    left_possible,
    num_hands,
    playable,
    score_bounds,
    size_of_hand,
)
from .observation import History, Observation

ULTIMATE_POINTS = 37  # a total that wins outright (§1.5)
GAME_SCALE, HAND_SCALE = 1000.0, 100.0  # points to one unit of reward, of a game and of a single hand (§3)


class Reward(IntEnum):
    """§3: what a player is paid for; AUTO is POINTS, but WIN in the ultimate game."""

    AUTO = 0
    POINTS = 1
    WIN = 2


class Options(NamedTuple):
    """§1.5: what a table may agree on."""

    num_players: Annotated[int, option("seats at the table", low=1, high=54)] = 4
    variant: Annotated[Variant, option("`ultimate`: exactly 37 wins; `drinking`: sips are counted")] = Variant.STANDARD
    scoring: Annotated[Scoring, option("f(x) is x² or x")] = Scoring.SQUARED
    linear_penalty: Annotated[LinearPenalty, option("f(x) of a missed bid in the linear game")] = LinearPenalty.LINEAR
    length: Annotated[Length, option("hands of all sizes down and up again, down only, up only, or one hand")] = (
        Length.FULL
    )
    hand_size: Annotated[int, option("cards of a single hand", low=0, high=54, words={"largest": LARGEST_HAND})] = (
        LARGEST_HAND
    )
    first_dealer: Annotated[
        int, option("who deals the first hand", low=-1, high=53, words={"random": RANDOM_DEALER})
    ] = RANDOM_DEALER
    allow_board: Annotated[bool, option("BOARD may be bid")] = True
    allow_rainbow: Annotated[bool, option("RAINBOW may be bid")] = True
    shared_win: Annotated[
        bool, option("equal totals share the win; otherwise the number of bids made decides first")
    ] = True
    sip_rule: Annotated[SipRule, option("sips for a bid missed in the drinking game: one, or one per trick")] = (
        SipRule.ONE_PER_MISS
    )
    history: Annotated[History, option("observations show the whole hand's tricks, or the last finished one")] = (
        History.FULL
    )
    reward: Annotated[
        Reward, option("points above the table's mean, or the win; `auto` is points, in `ultimate` the win")
    ] = Reward.AUTO
    per_hand_rewards: Annotated[bool, option("points are paid hand by hand; otherwise when the game ends")] = False


def check(options: Options) -> None:
    """Raises OptionError for a dealer who has no seat, a hand that the pack cannot give, and options that have nothing
    to act on."""
    largest = PACK_SIZE // options.num_players
    if options.first_dealer >= options.num_players:
        raise OptionError(
            f"killer_bridge option first_dealer is {options.first_dealer}; with {options.num_players} players it takes "
            f"0..{options.num_players - 1} or 'random'."
        )
    if options.hand_size > largest:
        raise OptionError(
            f"killer_bridge option hand_size is {options.hand_size}; "
            f"{options.num_players} players get at most {largest} cards each."
        )
    if options.hand_size != LARGEST_HAND and options.length != Length.SINGLE:
        raise OptionError(f"killer_bridge option hand_size is {options.hand_size}; it needs length='single'.")
    if options.per_hand_rewards and not pays_points(plain(options)):
        raise OptionError("killer_bridge option per_hand_rewards pays points hand by hand; it needs reward='points'.")


def _per_seat(options: Options) -> tuple[int]:
    return (options.num_players,)


class State:
    """Everything at the table. Cards in nobody's hand, not played and not turned up are the unseen leftover.

    All numbers are signed: kernels subtract them from each other.
    """

    seat: int = field("i1", doc="who acts")
    playing: int = field("i1", doc="0 while bids are made, 1 while cards are played")
    dealer: int = field("i1", doc="who dealt this hand")
    hand_index: int = field("i1", doc="hands finished before this one")
    hand_size: int = field("i1", doc="cards dealt to each seat in this hand")
    turned: int = field("i1", doc="the card turned up, 54 for none")
    trump: int = field("i1", doc="the trump suit: 0..3, 4 for none")
    leader: int = field("i1", doc="who led, or is to lead, this trick")
    in_trick: int = field("i1", doc="cards in this trick")
    best: int = field("i1", doc="which of them wins so far, in order of play")
    finished: int = field("i1", doc="tricks of this hand that are finished")
    last_leader: int = field("i1", doc="who led the last finished trick")
    reward: npt.NDArray[np.float32] = field("f4", _per_seat, "what each seat gained by the latest action")
    score: npt.NDArray[np.int32] = field("i4", _per_seat, "points of each seat")
    sips: npt.NDArray[np.int16] = field("i2", _per_seat, "sips of each seat in the drinking game")
    made: npt.NDArray[np.int8] = field("i1", _per_seat, "how many bids each seat has made good")
    bid: npt.NDArray[np.int8] = field("i1", _per_seat, "each seat's bid as its action, 111 before it")
    won: npt.NDArray[np.int8] = field("i1", _per_seat, "tricks of this hand that each seat has won")
    trick: npt.NDArray[np.int8] = field("i1", _per_seat, "the cards of this trick in order of play")
    last_trick: npt.NDArray[np.int8] = field("i1", _per_seat, "the cards of the last finished trick of this hand")
    hand: npt.NDArray[np.int64] = field("i8", _per_seat, "each seat's cards, as a set")
    played: npt.NDArray[np.int64] = field("i8", _per_seat, "the cards that each seat has played in this hand, as a set")
    may_hold: npt.NDArray[np.int64] = field(
        "i8", _per_seat, "what each seat's plays leave possible in its hand, as a set"
    )


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.2: a game begins; with a random first dealer the start_outcome is the cut for it."""
    state.dealer = start_outcome if options.first_dealer == RANDOM_DEALER else options.first_dealer
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.3: one card at a time from the dealer's left, then a card is turned up for trump if there is one."""
    clear_hand(state)
    size = size_of_hand(options, int(state.hand_index))
    first = after(options, int(state.dealer))
    index = 0
    for _ in range(size):
        seat = first
        for _ in range(options.num_players):
            state.hand[seat] |= 1 << int(deck[index])
            index += 1
            seat = after(options, seat)
    state.hand_size = size
    state.turned = deck[index] if index < PACK_SIZE else NO_CARD
    state.trump = int(state.turned) // 13 if state.turned < LITTLE_JOKER else NO_TRUMP
    state.leader = first
    state.seat = first


@kernel
def clear_hand(state: State) -> None:
    """Take up all cards and bids of the last hand."""
    state.playing = 0
    state.in_trick = 0
    state.best = 0
    state.finished = 0
    state.last_leader = 0
    state.bid[:] = NO_BID
    state.won[:] = 0
    state.trick[:] = 0
    state.last_trick[:] = 0
    state.hand[:] = 0
    state.played[:] = 0
    state.may_hold[:] = PACK


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§1.3: bids, or cards."""
    seat = int(state.seat)
    if state.playing == 0:
        legal_bids(options, state, seat, mask)
        return
    hand = int(state.hand[seat])
    if state.in_trick > 0:
        hand = playable(hand, int(state.trick[0]), int(state.trump))
    while hand != 0:
        mask[PLAY + tricks.lowest_card(hand)] = 1
        hand &= hand - 1


@kernel
def legal_bids(options: Options, state: State, seat: int, mask: npt.NDArray[np.int8]) -> None:
    """§1.3: any number up to the size of the hand, BOARD, and RAINBOW with the cards for it; the dealer not what the
    hook forbids."""
    size = int(state.hand_size)
    barred = hook(options, state) if seat == state.dealer else -1
    mask[: size + 1] = 1
    mask[BOARD] = int(options.allow_board)
    mask[RAINBOW] = int(options.allow_rainbow and is_rainbow(int(state.hand[seat]), size, int(state.trump)))
    if 0 <= barred <= size:
        mask[barred] = 0
        if barred == size:
            mask[BOARD] = 0
        if barred == size // 4:
            mask[RAINBOW] = 0


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.3: a bid, or a card."""
    seat = int(state.seat)
    if action < PLAY:
        state.bid[seat] = action
        state.seat = after(options, seat)
        if seat == state.dealer:
            state.playing = 1
        return
    play(state, seat, action - PLAY)
    if state.in_trick < options.num_players:
        state.seat = after(options, seat)
        return
    finish_trick(options, state)
    if state.finished == state.hand_size:
        finish_hand(options, state)


@kernel
def play(state: State, seat: int, card: int) -> None:
    """§1.3: a card goes from a hand to the trick, and may win it so far."""
    count = int(state.in_trick)
    state.trick[count] = card
    state.hand[seat] &= ~(1 << card)
    state.played[seat] |= 1 << card
    trump = int(state.trump)
    if count == 0:
        state.best = 0
    else:
        state.may_hold[seat] &= left_possible(card, int(state.trick[0]), trump)
        if tricks.beats(card, int(state.trick[state.best]), trump, tricks.JOKERS_HIGH):
            state.best = count
    state.in_trick = count + 1


@kernel
def finish_trick(options: Options, state: State) -> None:
    """§1.3: whoever played the best card has won the trick, and leads the next."""
    winner = int(state.leader) + int(state.best)
    if winner >= options.num_players:
        winner -= options.num_players
    state.won[winner] += 1
    for index in range(options.num_players):
        state.last_trick[index] = state.trick[index]
        state.trick[index] = 0
    state.last_leader = state.leader
    state.leader = winner
    state.in_trick = 0
    state.best = 0
    state.finished += 1
    state.seat = winner


@kernel
def finish_hand(options: Options, state: State) -> None:
    """§1.3, §1.5: points, sips, and the next hand or the end."""
    total = 0
    for seat in range(options.num_players):
        value, won = bid_value(int(state.bid[seat]), int(state.hand_size)), int(state.won[seat])
        gained = hand_points(options, int(state.bid[seat]), int(state.hand_size), won)
        total += gained
        state.score[seat] += gained
        if value == won:
            state.made[seat] += 1
        elif options.variant == Variant.DRINKING:
            state.sips[seat] += abs(value - won) if options.sip_rule == SipRule.DIFFERENCE else 1
    if options.per_hand_rewards:
        for seat in range(options.num_players):
            gained = hand_points(options, int(state.bid[seat]), int(state.hand_size), int(state.won[seat]))
            state.reward[seat] = paid(options, gained, total)
    if int(state.hand_index) + 1 < num_hands(options):
        state.hand_index += 1
        state.dealer = after(options, int(state.dealer))
        state.seat = CHANCE
    else:
        finish_game(options, state)


@kernel
def pays_points(options: Options) -> bool:
    """§3: whether points are paid, or the win."""
    return options.reward == Reward.POINTS or (options.reward == Reward.AUTO and options.variant != Variant.ULTIMATE)


@kernel
def paid(options: Options, points: int, total: int) -> float:
    """§3: the reward for points, of which all seats together have `total`."""
    if options.num_players == 1:
        return points / HAND_SCALE
    scale = HAND_SCALE if options.length == Length.SINGLE else GAME_SCALE
    return (points - total / options.num_players) / scale


@kernel
def finish_game(options: Options, state: State) -> None:
    """§1.5, §3: the game is over."""
    state.seat = OVER
    if not pays_points(options):
        chosen = winners(options, state)
        count = cards.count_bits(chosen)
        for seat in range(options.num_players):
            state.reward[seat] = ((chosen >> seat) & 1) / count - 1.0 / options.num_players
    elif not options.per_hand_rewards:
        total = 0
        for seat in range(options.num_players):
            total += int(state.score[seat])
        for seat in range(options.num_players):
            state.reward[seat] = paid(options, int(state.score[seat]), total)


@kernel
def winners(options: Options, state: State) -> int:
    """§1.5: who has won, as a set of seats: in the ultimate game all who stand on 37, else the highest total."""
    exact, best, most_made = 0, int(state.score[0]), 0
    for seat in range(options.num_players):
        best = max(best, int(state.score[seat]))
        exact |= int(state.score[seat] == ULTIMATE_POINTS) << seat
    if options.variant == Variant.ULTIMATE and exact != 0:
        return exact
    for seat in range(options.num_players):
        if state.score[seat] == best:
            most_made = max(most_made, int(state.made[seat]))
    chosen = 0
    for seat in range(options.num_players):
        if state.score[seat] == best and (options.shared_win or state.made[seat] == most_made):
            chosen |= 1 << seat
    return chosen


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """Between two hands: what the points gained so far will pay (§3). A win is not to be told from them: NaN, the game
    goes on."""
    if not pays_points(options):
        return math.nan
    if options.per_hand_rewards:
        return 0.0
    total = 0
    for other in range(options.num_players):
        total += int(state.score[other])
    return paid(options, int(state.score[seat]), total)


def reward_range(options: Options) -> tuple[float, float]:
    """§3: bounds of a seat's return."""
    seats = options.num_players
    if not pays_points(options):
        return -1.0 / seats, 1.0 - 1.0 / seats
    low, high = score_bounds(options)
    if seats == 1:
        return low / HAND_SCALE, high / HAND_SCALE
    most = (high - low) * (seats - 1) / seats / (HAND_SCALE if options.length == Length.SINGLE else GAME_SCALE)
    return -most, most


def info(options: Options, state: Any, seat: int) -> dict[str, Any]:
    """§1.5: a seat's points, whether it has won and, in the drinking game, its sips."""
    told: dict[str, Any] = {"points": int(state.score[seat]), "winner": bool(winners(options, state) >> seat & 1)}
    if options.variant == Variant.DRINKING:
        told["sips"] = int(state.sips[seat])
    return told


def cards_needed(options: Options) -> int:
    """§1.2: the largest hand's cards and the one turned up; nobody ever sees those below."""
    return min(PACK_SIZE, options.num_players * max(hand_sizes(options)) + 1)


GAME = GameType(
    name="killer_bridge",
    version=VERSION,
    title="Killer Back Alley Bridge Substitute",
    kernels=Kernels(start, deal, legal, step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table_str=text.table_str,
    piles=text.piles,
    deck_size=lambda options: PACK_SIZE,
    cards_needed=cards_needed,
    reward_range=reward_range,
    zero_sum=lambda options: options.num_players > 1 or not pays_points(options),
    num_start_outcomes=lambda options: options.num_players if options.first_dealer == RANDOM_DEALER else 1,
    check=check,
    info=info,
    leaf_value=leaf_value,
)
