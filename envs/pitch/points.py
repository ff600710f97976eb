"""Who may bid how much, what a hand's cards are worth, and what the scores say of the game.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import tricks
from ..core.rules.cards import count_bits
from .state import JOKER, LEAST_BID, NOBODY, AllPass, GameEnd, GameTie, Joker, Mode, Options


@kernel
def top_bid(options: Options) -> int:
    """All the points that there are: the smudge."""
    return 4 if options.joker == Joker.NONE else 5


@kernel
def may_bid(options: Options, highest: int, value: int, is_dealer: bool) -> bool:
    """A bid is higher than the highest so far (0 for none); the dealer may take it for as much, as agreed a smudge or
    less. Where nobody else has bid, as agreed, the dealer's is a two."""
    if value > highest:
        forced = is_dealer and highest == 0 and options.all_pass == AllPass.DEALER_EXACTLY_2
        return value <= (LEAST_BID if forced else top_bid(options))
    agreed = options.smudge_takeable if value == top_bid(options) else options.dealer_can_take
    return is_dealer and value == highest and agreed


@kernel
def may_pass(options: Options, highest: int, is_dealer: bool) -> bool:
    """Anybody may pass, but for the dealer when nobody has bid."""
    return highest > 0 or not is_dealer or options.all_pass == AllPass.REDEAL


@kernel
def is_asked(options: Options, highest: int, is_dealer: bool) -> bool:
    """Whether a player has anything to say: whoever could only pass has not, but whoever must bid two has."""
    return may_bid(options, highest, top_bid(options), is_dealer) or not may_pass(options, highest, is_dealer)


MOST_PIPS = 80  # of a whole pack (§1.4)
FAR = 8.0  # points that even a side at the target lacks: it has yet to win a bid (§5)

_RANK = 1 | 1 << 13 | 1 << 26 | 1 << 39
_TENS, _JACKS, _QUEENS, _KINGS, _ACES = _RANK << 8, _RANK << 9, _RANK << 10, _RANK << 11, _RANK << 12
_JACK_RANK = 9


@kernel
def joker_strength(options: Options) -> int:
    """§2: where the joker stands among the trumps, as `tricks.strength` wants it."""
    return tricks.JOKER_BELOW_JACK if options.joker == Joker.BELOW_JACK else tricks.JOKER_LOW


@kernel
def pips(cards: int) -> int:
    """§1.4: what the cards of a set count for Game: a ten 10, A 4, K 3, Q 2, J 1."""
    courts = (
        4 * count_bits(cards & _ACES)
        + 3 * count_bits(cards & _KINGS)
        + 2 * count_bits(cards & _QUEENS)
        + count_bits(cards & _JACKS)
    )
    return 10 * count_bits(cards & _TENS) + courts


@kernel
def high_card(options: Options, cards: int, trump: int) -> int:
    """§1.4: the highest trump of a set, or -1."""
    trumps = cards & tricks.suit_set(trump, trump)
    plain = trumps & ~(1 << JOKER)
    if plain == 0:
        return JOKER if trumps != 0 else NOBODY
    best = tricks.highest_card(plain)
    return best if plain == trumps or tricks.beats(best, JOKER, trump, joker_strength(options)) else JOKER


@kernel
def low_card(cards: int, trump: int) -> int:
    """§1.4: the lowest trump of a set, or -1; the joker never counts as Low."""
    trumps = cards & tricks.suit_set(trump, trump) & ~(1 << JOKER)
    return tricks.lowest_card(trumps) if trumps != 0 else NOBODY


@kernel
def jack_of(trump: int) -> int:
    """The jack of a suit."""
    return 13 * trump + _JACK_RANK


@kernel
def holder(sets: npt.NDArray[np.int64], card: int) -> int:
    """Which of the sets has a card, or -1."""
    for index in range(sets.shape[0]):
        if (int(sets[index]) >> card) & 1:
            return index
    return NOBODY


@kernel
def game_side(options: Options, pips: npt.NDArray[np.int8], bidder: int) -> int:
    """§1.4: the side with the most pips, or -1; where several have the most, as agreed."""
    best, count, others, other = -1, 0, 0, NOBODY
    for side in range(pips.shape[0]):
        if pips[side] > best:
            best, count, others = int(pips[side]), 0, 0
        if pips[side] == best:
            count += 1
            if side != bidder:
                others, other = others + 1, side
    if count == 1:
        return other if others == 1 else bidder
    if options.game_tie == GameTie.BIDDER:
        return bidder if others < count else NOBODY
    return other if options.game_tie == GameTie.NON_BIDDER and others == 1 else NOBODY


@kernel
def change_of(bid: int, won: int) -> int:
    """§1.5: what a hand does to the bidding side's score: all it won, or the loss of its bid."""
    return won if won >= bid else -bid


@kernel
def match_winner(options: Options, score: npt.NDArray[np.int16], bidder: int, bid: int, made: bool) -> int:
    """§1.6: the side that has won the game after a hand, or -1; `made` tells whether the bidding side made its bid."""
    if made and (score[bidder] >= options.target or (options.smudge_wins_game and bid == top_bid(options))):
        return bidder
    if options.game_end == GameEnd.BIDDER_MUST_WIN:
        return bidder if score[bidder] >= options.target else NOBODY
    if options.game_end == GameEnd.FIRST_PAST:
        for index in range(score.shape[0]):
            side = int((bidder + index) % score.shape[0])
            if score[side] >= options.target:
                return side
    return NOBODY


@kernel
def wins_by_auction(options: Options, score: int) -> bool:
    """§1.6: whether a side with that score has won once it has won an auction, its hand not played."""
    return options.game_end == GameEnd.NEXT_AUCTION and options.mode == Mode.MATCH and score >= options.target


@kernel
def leading_side(score: npt.NDArray[np.int16]) -> int:
    """§1.6: the side with the higher total when the game is cut short, or -1 where the highest is shared."""
    best, shared = 0, False
    for side in range(1, score.shape[0]):
        if score[side] > score[best]:
            best, shared = side, False
        elif score[side] == score[best]:
            shared = True
    return NOBODY if shared else best


@kernel
def chance_to_win(options: Options, score: npt.NDArray[np.int16], side: int) -> float:
    """§5: the chance of a side to win the game before a deal, by the scores alone: as the inverse of the fourth power
    of what it lacks."""
    total, mine = 0.0, 0.0
    for index in range(score.shape[0]):
        weight = (FAR + max(0, options.target - int(score[index]))) ** -4.0
        total += weight
        if index == side:
            mine = weight
    return mine / total
