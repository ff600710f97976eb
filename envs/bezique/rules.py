"""The rules as kernels, in the order of play; the § marks are paragraphs of README.md."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from .asked import note_asked
from .declarations import copies, entry, may_declare, same_partners
from .groups import kind_of, member, members, most_points, points, seven_to_declare, taken_from_trick
from .pack import (
    beats,
    card_at,
    draw_stock,
    draw_turn_up,
    drawing,
    drop,
    held_types,
    in_last_eight,
    is_brisque,
    is_seven,
    pack_size,
    replies,
    reveal,
    take,
    take_openly,
    tricks,
)
from .state import (
    ALL_TYPES,
    BRISQUE_POINTS,
    DECLARE_SEVEN,
    EXCHANGE_SEVEN,
    IN_PILE,
    IN_SEVEN,
    MOST_DEALS,
    NO_DECLARATION,
    NONE,
    PACKETS,
    POINTS_PER_REWARD,
    SEVEN_LAST,
    SEVEN_POINTS,
    STOCK,
    TRICK_24,
    TRICK_24_POINTS,
    FirstDealer,
    Mode,
    Options,
    Reuse,
    Reward,
    SevenRule,
    State,
    TurnUp,
)

DEAL_POINTS, DEAL_SPREAD = 320.0, 266.0
"""A player's mean points of a deal, and the standard deviation of the difference (§6)."""

# Dealing


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Who deals first. §1.2"""
    state.dealer = start_outcome if options.first_dealer == FirstDealer.RANDOM else options.first_dealer
    state.seat = CHANCE


def num_start_outcomes(options: Options) -> int:
    """Who deals first, where chance decides it. §1.2"""
    return 2 if options.first_dealer == FirstDealer.RANDOM else 1


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """Eight cards each in packets of 3, 2 and 3, the other player first; the next card is the turn-up. Hands of fewer
    cards are full before that. §1.2"""
    clear_table(state)
    dealer, top = int(state.dealer), 0
    for packet in PACKETS:
        for turn in range(2):
            seat = dealer if turn else 1 - dealer
            for _ in range(min(packet, options.cards_dealt - int(state.held[seat]))):
                take(state, seat, card_at(options, int(deck[top])))
                top += 1
    state.turn_up = card_at(options, int(deck[top]))
    state.first_turn_up = int(state.turn_up) >> 1
    state.stock_left = pack_size(options) - top - 1
    state.stock[:] = NONE
    for place in range(STOCK - int(state.stock_left), STOCK):
        top += 1
        state.stock[place] = card_at(options, int(deck[top]))
    state.trump = int(state.turn_up) >> 4
    if is_seven(int(state.turn_up)):
        score(options, state, dealer, SEVEN_POINTS)
    state.deal_number = int(state.deal_number) + 1
    state.leader = 1 - dealer
    state.seat = 1 - dealer


@kernel
def clear_table(state: State) -> None:
    """An empty table; the points of the match stay."""
    state.hand[:] = NONE
    state.held[:] = 0
    state.scored[:] = 0
    state.won[:] = 0
    state.known[:] = 0
    state.score[:] = 0
    state.brisques[:] = 0
    state.taken[:] = NONE
    state.played[:] = NONE
    state.trick = 0
    state.made = 0
    state.led = NONE
    forget(state)


@kernel
def forget(state: State) -> None:
    """Nothing has been asked or declared yet, or it tells nothing any more."""
    state.asked[:] = NONE
    state.declared[:] = 0
    state.sevens[:] = 0


@kernel
def score(options: Options, state: State, seat: int, scored: int) -> None:
    """A seat scores points of the deal. §1.2, §1.4, §1.5"""
    state.score[seat] += scored
    pay(options, state, seat, scored)


@kernel
def pay(options: Options, state: State, seat: int, made: int) -> None:
    """The reward for points, where these are what is paid. §3"""
    if options.reward == Reward.POINTS:
        state.reward[seat] += made / POINTS_PER_REWARD
        state.reward[1 - seat] -= made / POINTS_PER_REWARD


# Legal actions


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Cards that may be played, or what may be declared. §1.3, §1.4, §1.5"""
    if int(state.declaring):
        found = may_declare(options, state)
        for offset in range(NO_DECLARATION - DECLARE_SEVEN):
            mask[DECLARE_SEVEN + offset] = found >> offset & 1
        mask[NO_DECLARATION] = 1
        mask[EXCHANGE_SEVEN] = found >> (EXCHANGE_SEVEN - DECLARE_SEVEN) & 1
        return
    seat = int(state.seat)
    playable = ALL_TYPES
    if in_last_eight(state) and int(state.led) != NONE:
        playable = replies(options.endgame, int(state.trump), int(state.led) >> 1, held_types(state, seat))
    previous, its_scored = NONE, 0
    for index in range(int(state.held[seat])):
        card = int(state.hand[seat, index])
        scored = int(state.scored[card])
        # Of two copies that nothing tells apart only the lower is an action. §3
        twin = int(card ^ 1 == previous) & int(scored == its_scored)
        if twin and scored and options.reuse == Reuse.FREE:
            twin = int(same_partners(state, card >> 1))
        mask[card] = playable >> (card >> 1) & ~twin & 1
        previous, its_scored = card, scored


# Play


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action."""
    if action < DECLARE_SEVEN:
        play(options, state, action)
    elif action == NO_DECLARATION:
        draw(options, state)
    else:
        declare(options, state, action)


@kernel
def play(options: Options, state: State, card: int) -> None:
    """Lead a card, or reply to the one led. §1.3"""
    seat = int(state.seat)
    leads = int(state.led) == NONE
    state.played[int(state.trick), int(not leads)] = card
    reveal(state, seat, card)
    drop(state, seat, card)
    if leads:
        state.led = card
        state.seat = 1 - seat
        return
    led = int(state.led)
    finish_trick(options, state, led, card, seat if beats(int(state.trump), led, card) else 1 - seat)


@kernel
def finish_trick(options: Options, state: State, led: int, reply: int, winner: int) -> None:
    """The winner takes both cards; while there is a stock they may declare. §1.3, §1.4"""
    state.led = NONE
    put_away(options, state, winner, led)
    put_away(options, state, winner, reply)
    state.leader = winner
    state.seat = winner
    state.trick = int(state.trick) + 1
    if int(state.trick) == tricks(options):
        end_deal(options, state)
    elif int(state.trick) <= drawing(options):
        if int(state.trick) == drawing(options) and options.last_trick == TRICK_24:
            score(options, state, winner, TRICK_24_POINTS)
        state.taken[0], state.taken[1] = led, reply
        state.made = 0
        offer_declaration(options, state)


@kernel
def put_away(options: Options, state: State, seat: int, card: int) -> None:
    """Put a card on a seat's pile. A brisque is paid now, and scored at the end."""
    state.won[card] = IN_PILE + seat
    if is_brisque(card):
        state.brisques[seat] = int(state.brisques[seat]) + 1
        pay(options, state, seat, BRISQUE_POINTS)


@kernel
def offer_declaration(options: Options, state: State) -> None:
    """Let the winner declare, if they can; otherwise draw at once. Either tells the other seat something of the hand.
    §1.5, §4"""
    found = may_declare(options, state)
    note_asked(options, state, found)
    if found:
        state.declaring = 1
    else:
        draw(options, state)


@kernel
def declare(options: Options, state: State, action: int) -> None:
    """Lay a declaration down and score it; it is the trick's only one, but that the seven may count apart. §1.5"""
    seat = int(state.seat)
    score(options, state, seat, points(options, int(state.trump), action))
    if action in (DECLARE_SEVEN, EXCHANGE_SEVEN):
        state.made = int(state.made) | 1
        declare_seven(options, state, seat, action)
    else:
        state.made = int(state.made) | 2
        lay_down(options, state, seat, action)
    if options.seven_is_declaration:
        state.asked[int(state.trick) - 1] = NONE  # the declaration explains the question
        draw(options, state)
    else:
        offer_declaration(options, state)


@kernel
def lay_down(options: Options, state: State, seat: int, action: int) -> None:
    """The cards of a declaration lie face up from now on, marked with its kind. §1.5, §1.6"""
    pattern = copies(options, state, seat, action)
    kind = kind_of(action)
    for index in range(members(action)):
        for copy in range(2):
            if pattern >> (2 * index + copy) & 1:
                card = 2 * member(action, index) + copy
                reveal(state, seat, card)
                state.scored[card] = int(state.scored[card]) | kind
    state.declared[int(state.trick) - 1] = entry(action, pattern)


@kernel
def declare_seven(options: Options, state: State, seat: int, action: int) -> None:
    """The seven of trumps takes the place of the turn-up, unless that is a seven or drawn; under `seven_rule: both`
    only one from the trick does. §1.5"""
    seven, turn_up = seven_to_declare(options, state, seat, action), int(state.turn_up)
    from_trick = taken_from_trick(options, action)
    if not from_trick:
        reveal(state, seat, seven)
    state.scored[seven] = int(state.scored[seven]) | IN_SEVEN
    state.sevens[seven & 1] = int(state.trick) | SEVEN_LAST * int(int(state.made) & 2 != 0)
    stays = options.seven_rule == SevenRule.BOTH and not from_trick
    if stays or turn_up == NONE or is_seven(turn_up):
        return
    state.turn_up = seven
    if from_trick:
        state.won[seven] = 0
        put_away(options, state, seat, turn_up)
        state.taken[0 if int(state.taken[0]) == seven else 1] = turn_up
    else:
        drop(state, seat, seven)
        take_openly(state, seat, turn_up)


@kernel
def draw(options: Options, state: State) -> None:
    """Both draw, the winner first; after trick 24 the declared cards go back into the hands. §1.3, §1.4"""
    winner = int(state.leader)
    for index in range(2):
        state.scored[int(state.taken[index])] = 0
        state.taken[index] = NONE
    state.declaring = 0
    if options.turn_up == TurnUp.TAKEN_FIRST and int(state.trick) == 1:
        draw_turn_up(state, winner)
    else:
        draw_stock(state, winner, bool(options.stock_top_open))
    if int(state.stock_left) > 0:
        draw_stock(state, 1 - winner, False)
    else:
        draw_turn_up(state, 1 - winner)
    state.seat = winner
    if int(state.trick) == drawing(options):
        state.scored[:] = 0
        state.known[:] = 0
        forget(state)


# The end


@kernel
def end_deal(options: Options, state: State) -> None:
    """The last trick and the brisques score; then the episode ends, or the other player deals. §1.4, §1.7"""
    if options.last_trick != TRICK_24:
        score(options, state, int(state.leader), options.last_trick)
    for seat in range(2):
        state.score[seat] += BRISQUE_POINTS * int(state.brisques[seat])
    if options.mode == Mode.DEAL:
        if options.reward == Reward.RESULT:
            gain = (int(state.score[0]) - int(state.score[1])) / POINTS_PER_REWARD
            state.reward[0] += gain
            state.reward[1] -= gain
        state.seat = OVER
    else:
        end_match_deal(options, state)


@kernel
def end_match_deal(options: Options, state: State) -> None:
    """A match ends when a deal leaves somebody with the target and ahead, or after twenty deals. §1.7"""
    first, second = int(state.total[0]) + int(state.score[0]), int(state.total[1]) + int(state.score[1])
    reached = max(first, second) >= options.target and first != second
    if reached or int(state.deal_number) == MOST_DEALS:
        if options.reward == Reward.RESULT:
            ahead = int(first > second) - int(first < second)
            state.reward[0] += ahead
            state.reward[1] -= ahead
        state.seat = OVER
    else:
        state.total[0], state.total[1] = first, second
        state.dealer = 1 - int(state.dealer)
        state.seat = CHANCE


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """What a seat may expect of a match between two deals: the lead against the spread of what is still to come. §3"""
    if options.reward == Reward.POINTS:
        return 0.0
    lead = int(state.total[seat]) - int(state.total[1 - seat])
    short = options.target - max(int(state.total[0]), int(state.total[1]))
    deals = min(max(short / DEAL_POINTS, 1.0), float(MOST_DEALS - int(state.deal_number)))
    return math.erf(lead / (DEAL_SPREAD * math.sqrt(2.0 * deals)))


def reward_range(options: Options) -> tuple[float, float]:
    """A deal's difference in thousands of points, that of as many deals as a match can have, or a match lost and won.
    §3"""
    most = most_points(options) / POINTS_PER_REWARD
    if options.mode == Mode.MATCH:
        most = 1.0 if options.reward == Reward.RESULT else MOST_DEALS * most
    return -most, most
