"""Pitch's rule-based players: what a suit is worth as trump decides the bid, what a trick is worth and who will take it
the card.

The § marks are README.md's paragraphs. What a bid needs is rounded from what bids brought these bots against each other
(§5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules import tricks
from ..core.rules.cards import count_bits
from ..core.rules.trick_hand import SCORE_UNIT, marked_cards, marked_place
from ..core.rules.tricks import NO_TRUMP
from .observation import Observation
from .points import jack_of, joker_strength, low_card, pips, top_bid, wins_by_auction
from .state import (
    BID,
    BIDDING,
    JOKER,
    LEAST_BID,
    NAME,
    NAMING,
    PASS,
    PLAY,
    Follow,
    GameEnd,
    Joker,
    LowRule,
    Mode,
    Options,
    Teams,
    pack_size,
)
from .styles import BOOK, SHARP, Style

NEEDED_ALONE = (2.0, 2.8, 3.5, 4.5)  # alone, where a hand of others costs only a share
PARTNER_HELP = 0.3  # of what a hand does not win by itself, the part that a partner does


@kernel
def none_out(options: Options, cards: int) -> float:
    """How likely none of so many cards not seen has been dealt to anybody (§6)."""
    unseen = pack_size(options) - options.hand_size
    idle, likely = unseen - options.hand_size * (options.num_players - 1), 1.0
    for index in range(cards):
        likely *= max(0, idle - index) / max(1, unseen - index)
    return likely


@kernel
def with_help(options: Options, own: float) -> float:
    """The chance of a point for the side, of that for the hand alone."""
    return own + (1.0 - own) * PARTNER_HELP if options.teams == Teams.PARTNERS else own


@kernel
def worth_as_trump(options: Options, hand: int, suit: int) -> float:
    """The points that a hand may expect for its side with this suit as trump."""
    trumps = hand & tricks.suit_set(suit, NO_TRUMP)
    count = count_bits(hand & tricks.suit_set(suit, suit))
    if trumps == 0:
        return 0.0
    top, bottom = tricks.highest_card(trumps) % 13, tricks.lowest_card(trumps) % 13
    control = none_out(options, 12 - top)
    worth = with_help(options, control)
    if options.low == LowRule.DEALT:
        worth += with_help(options, none_out(options, bottom))
    else:
        worth += with_help(options, min(0.9, 0.1 + 0.1 * count + 0.25 * control + 0.15 * none_out(options, bottom)))
    if (hand >> jack_of(suit)) & 1:
        worth += min(0.95, 0.35 + 0.12 * count + 0.25 * control)
    else:
        worth += 0.39 * (0.3 + 0.3 * control)
    worth += min(0.85, 0.2 + 0.08 * count + 0.15 * control + 0.006 * pips(hand))
    if options.joker != Joker.NONE:
        worth += min(0.9, 0.4 + 0.1 * count) if (hand >> JOKER) & 1 else 0.39 * (0.3 + 0.3 * control)
    return worth


@kernel
def best_suit(options: Options, hand: int) -> int:
    """The suit that the hand would have as trump."""
    best, most = 0, -1.0
    for suit in range(4):
        worth = worth_as_trump(options, hand, suit)
        if worth > most:
            best, most = suit, worth
    return best


@kernel
def careful_bid(options: Options, observation: Observation, mask: npt.NDArray[np.int8], hand: int) -> int:
    """The least bid that will do, if the best suit is worth it and no partner holds the bid."""
    sure, worth = sure_bid(options, observation, mask), worth_as_trump(options, hand, best_suit(options, hand))
    if sure != PASS:
        return sure
    for value in range(LEAST_BID, top_bid(options) + 1):
        action = BID + value - LEAST_BID
        if mask[action] and (not mask[PASS] or (worth >= value and not partner_holds(options, observation))):
            return action
    return PASS


@kernel
def book_bid(options: Options, observation: Observation, mask: npt.NDArray[np.int8], hand: int, style: Style) -> int:
    """The least bid that will stand, if the best suit is worth it. A two that an opponent can take for as much as the
    dealer is not worth making."""
    worth, alone, margin = worth_as_trump(options, hand, best_suit(options, hand)), options.teams == Teams.SOLO, 0.0
    sure = sure_bid(options, observation, mask)
    if sure != PASS:
        return sure
    takeable = may_be_taken(options, observation)
    if partner_holds(options, observation):
        margin = style.from_partner
    elif takeable and not alone:
        margin = style.before_dealer
    for value in range(LEAST_BID, top_bid(options) + 1):
        action = BID + value - LEAST_BID
        if mask[action] and not (value == LEAST_BID and takeable and not alone):
            needed = NEEDED_ALONE[value - LEAST_BID] if alone else needed_for(value, style) + margin
            return action if worth >= needed or not mask[PASS] else PASS
    return PASS


@kernel
def needed_for(value: int, style: Style) -> float:
    """The points that a hand must expect to bid so many."""
    return style.two if value == 2 else style.three if value == 3 else style.four if value == 4 else style.five


@kernel
def sure_bid(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The highest bid that wins the game even if it is lost, or PASS: where the bidder need not make it, one that
    leaves the side at the target after it; where the auction is enough, any (§1.6)."""
    chosen = PASS
    score = SCORE_UNIT * int(observation.score_128s[0]) + int(observation.score_rest[0])
    if options.game_end == GameEnd.BIDDER_MUST_WIN and options.mode == Mode.MATCH:
        for value in range(LEAST_BID, top_bid(options) + 1):
            action = BID + value - LEAST_BID
            if mask[action] and score - value >= options.target:
                chosen = action
    elif wins_by_auction(options, score):
        for action in range(BID, PLAY):
            chosen = action if mask[action] else chosen
    return chosen


@kernel
def may_be_taken(options: Options, observation: Observation) -> bool:
    """Whether a dealer of another side may take my bid for as much (§1.2)."""
    others = options.teams == Teams.SOLO or observation.dealer[2] == 0
    return bool(options.dealer_can_take and observation.dealer[0] == 0 and others)


@kernel
def partner_holds(options: Options, observation: Observation) -> bool:
    """Whether the highest bid so far is a partner's."""
    return options.teams == Teams.PARTNERS and observation.pitcher[2] == 1


@kernel
def pitched(options: Options, hand: int, style: Style) -> int:
    """The first lead: the best suit's ace or king, else its lowest card; a style may keep that where others are left,
    since it may be Low."""
    suit = best_suit(options, hand)
    trumps = hand & tricks.suit_set(suit, NO_TRUMP)
    if trumps == 0:
        return tricks.lowest_card(hand)
    top, lowest = tricks.highest_card(trumps), tricks.lowest_card(trumps)
    if top % 13 >= 11:
        return top
    if lowest % 13 < style.lowest_pitched and count_bits(trumps) > 2:
        next_lowest = tricks.lowest_card(trumps & ~(1 << lowest))
        return lowest if next_lowest % 13 in (8, 9) else next_lowest
    return lowest


@kernel
def beaten_by(
    options: Options, observation: Observation, who: int, best: int, trump: int, unseen: int, led: int
) -> float:
    """How likely a seat still to play can beat the best card of the trick, to which the suit `led` was led."""
    its_suit, beating = tricks.suit(best, trump), 0
    held = min(1.0, (options.hand_size - int(observation.tricks)) / max(1, count_bits(unseen)))
    if options.follow == Follow.STRICT and led != trump:
        return beaten_strictly(options, observation, who, best, trump, unseen, led, held)
    if its_suit != trump and observation.void[who, its_suit] == 0:
        beating += higher(options, unseen & tricks.suit_set(its_suit, trump), best, trump)
    if observation.void[who, trump] == 0:
        trumps = unseen & tricks.suit_set(trump, trump)
        beating += count_bits(trumps) if its_suit != trump else higher(options, trumps, best, trump)
    return 1.0 - (1.0 - held) ** beating


@kernel
def beaten_strictly(
    options: Options,
    observation: Observation,
    who: int,
    best: int,
    trump: int,
    unseen: int,
    led: int,
    held: float,
) -> float:
    """The same to a plain suit where only who has none of it may trump (`follow` strict); `held` is the chance that the
    seat holds a given card."""
    following, trumps = unseen & tricks.suit_set(led, trump), unseen & tricks.suit_set(trump, trump)
    higher_trumps = count_bits(trumps) if tricks.suit(best, trump) != trump else higher(options, trumps, best, trump)
    trumping = 0.0 if observation.void[who, trump] else 1.0 - (1.0 - held) ** higher_trumps
    if observation.void[who, led]:
        return trumping
    above = higher(options, following, best, trump) if tricks.suit(best, trump) == led else 0
    return 1.0 - (1.0 - held) ** above + (1.0 - held) ** count_bits(following) * trumping


@kernel
def higher(options: Options, cards: int, best: int, trump: int) -> int:
    """How many cards of a set beat one of their suit."""
    count = 0
    while cards != 0:
        count += int(tricks.beats(tricks.lowest_card(cards), best, trump, joker_strength(options)))
        cards &= cards - 1
    return count


@kernel
def is_mine(options: Options, who: int) -> bool:
    """Whether a seat, counted from me, is on my side."""
    return who % 2 == 0 if options.teams == Teams.PARTNERS else who == 0


@kernel
def taking(
    options: Options, observation: Observation, best: int, mine: bool, trump: int, unseen: int, led: int, style: Style
) -> float:
    """How likely my side takes the trick, `best` winning it now, after those who are still to play."""
    leader = marked_place(observation.leader)
    last = leader if leader > 0 else options.num_players
    likely = 1.0 if mine else 0.0
    for who in range(1, last):
        beats = beaten_by(options, observation, who, best, trump, unseen, led)
        if is_mine(options, who):
            likely += (1.0 - likely) * (style.partner_takes * beats)
        else:
            likely *= 1.0 - style.opponent_takes * beats
    return likely


@kernel
def at_stake(options: Options, cards: int, trump: int, gone: int, unseen: int, style: Style) -> float:
    """The points that the cards of a trick bring to whoever takes it."""
    worth = style.pip * pips(cards) + style.jack * float((cards >> jack_of(trump)) & 1) + float((cards >> JOKER) & 1)
    low = low_card(cards, trump)
    if options.low == LowRule.CAPTURED and low >= 0:
        below = tricks.suit_set(trump, trump) & ((1 << low) - 1)
        if gone & below == 0:
            worth += none_out(options, count_bits(unseen & below))
    return worth


@kernel
def kept(options: Options, card: int, trump: int, gone: int, unseen: int, style: Style) -> float:
    """The points that a card may still bring if it stays in hand."""
    rank, trumps = card % 13, tricks.suit_set(trump, trump)
    if tricks.suit(card, trump) != trump:
        return style.plain_ace if rank == 12 else style.plain_ten if rank == 8 else 0.0
    worth = style.top_trump if higher(options, unseen & trumps, card, trump) == 0 else style.trump
    worth += style.trump_rank * rank
    if rank == 8:
        worth += style.trump_ten
    elif rank == 9:
        worth += style.trump_jack
    elif rank < 4 and options.low == LowRule.CAPTURED and gone & trumps & ((1 << card) - 1) == 0:
        worth += style.low_trump * (5 - rank)
    return worth if unseen & trumps else worth * style.last_trumps


class Table(NamedTuple):
    """What a player keeps in mind when a card is due. Sets of cards are bits."""

    hand: int
    gone: int  # the cards played in this hand
    unseen: int
    in_trick: int
    trump: int
    led: int  # the suit led, or NO_TRUMP
    best: int  # the card that wins the trick so far, or -1
    mine: bool  # whether it is my side's


@kernel
def seen_table(options: Options, observation: Observation) -> Table:
    """Read an observation."""
    hand, trump = marked_cards(observation.hand), marked_place(observation.trump)
    gone, in_trick, best, led = 0, 0, -1, NO_TRUMP
    for who in range(options.num_players):
        gone |= marked_cards(observation.played[who])
        card = marked_place(observation.trick[who])
        if card >= 0:
            in_trick |= 1 << card
            if observation.winning[who]:
                best = card
            if observation.leader[who]:
                led = tricks.suit(card, trump)
    mine = best >= 0 and is_mine(options, marked_place(observation.winning))
    unseen = ((1 << pack_size(options)) - 1) & ~(hand | gone)
    return Table(hand, gone, unseen, in_trick, trump, led, best, mine)


class Weighed(NamedTuple):
    """What a card does."""

    likely: float  # how likely my side takes the trick
    stake: float  # the points that the trick brings
    worth: float  # what the card brings by these, less what it is worth in hand


@kernel
def weigh_card(options: Options, observation: Observation, card: int, table: Table, style: Style) -> Weighed:
    """What the trick is worth times who will take it, less what the card is worth in hand."""
    trump, gone, unseen = table.trump, table.gone, table.unseen
    others = 1.0 if options.teams == Teams.PARTNERS else 1.0 / (options.num_players - 1)
    leads = table.best < 0
    takes = leads or tricks.beats(card, table.best, trump, joker_strength(options))
    suit_led = tricks.suit(card, trump) if leads else table.led
    winner = card if takes else table.best
    likely = taking(options, observation, winner, takes or table.mine, trump, unseen, suit_led, style)
    stake = at_stake(options, table.in_trick | 1 << card, trump, gone & ~table.in_trick, unseen, style) + style.trick
    worth = stake * (likely - (1.0 - likely) * others)
    worth -= kept(options, card, trump, gone, unseen, style) + style.rank * (card % 13)
    if leads and suit_led == trump:
        ours = is_mine(options, marked_place(observation.pitcher))
        worth += style.lead_trump if ours else style.lead_trump_against
    return Weighed(likely, stake, worth)


@kernel
def card_of(options: Options, observation: Observation, mask: npt.NDArray[np.int8], style: Style) -> int:
    """The card that brings most."""
    table, chosen, most = seen_table(options, observation), PASS, -1e9
    for action in range(PLAY, NAME):
        if mask[action]:
            worth = weigh_card(options, observation, action - PLAY, table, style).worth
            if worth > most:
                chosen, most = action, worth
    return chosen


@kernel
def careful(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Bids only what it expects to win."""
    hand = marked_cards(observation.hand)
    if observation.phase[BIDDING]:
        return careful_bid(options, observation, mask, hand)
    return play(options, observation, mask, hand, BOOK)


@kernel
def sharp(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Bids and plays as `book` does, by other numbers."""
    return in_style(options, observation, mask, SHARP)


@kernel
def book(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Bids where that brings more than to pass."""
    return in_style(options, observation, mask, BOOK)


@kernel
def in_style(options: Options, observation: Observation, mask: npt.NDArray[np.int8], style: Style) -> int:
    """A bid that brings more than to pass; then a card, or the name of a suit."""
    hand = marked_cards(observation.hand)
    if observation.phase[BIDDING]:
        return book_bid(options, observation, mask, hand, style)
    return play(options, observation, mask, hand, style)


@kernel
def play(options: Options, observation: Observation, mask: npt.NDArray[np.int8], hand: int, style: Style) -> int:
    """A card, or the name of a suit."""
    if observation.phase[NAMING]:
        return NAME + best_suit(options, hand)
    if observation.trump[NO_TRUMP]:
        return PLAY + pitched(options, hand, style)
    return card_of(options, observation, mask, style)


BOTS = (
    Bot(
        "careful",
        careful,
        "Bids the points that its best suit is worth as trump, and plays the card that brings most to its side.",
    ),
    Bot(
        "sharp",
        sharp,
        (
            "Bids and plays as `book` does by other numbers, found by playing: bolder bids, trumps kept longer. "
            "It beats `book`, which stays the game's bot."
        ),
    ),
    Bot(
        "book",
        book,
        (
            "Plays the same cards as `careful`; bids where that brings more than "
            "to pass, and leaves a two to a dealer who could take it."
        ),
    ),
)
