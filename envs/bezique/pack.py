"""The cards of Bezique: which are sevens and brisques, which card wins, what may be played in the last eight tricks
(§1.1 to §1.4), which of them a cut-down game has (§2); cards on their way from the stock into a hand, kept in ascending
order, and from the hand to the table; what each seat knows of the other's, and of the stock (§1.3, §4)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules.options import OptionError
from .state import (
    COPIES,
    DRAWING,
    HAND,
    NONE,
    NUM_CARDS,
    RANKS,
    SEVEN,
    STOCK,
    SUITS,
    TEN,
    Endgame,
    Options,
    State,
    TurnUp,
)


@kernel
def is_seven(card: int) -> bool:
    """Whether a card is a seven."""
    return (card >> 1) & 7 == SEVEN


@kernel
def is_brisque(card: int) -> bool:
    """Whether a card is an ace or a ten. §1.4"""
    return (card >> 1) & 7 >= TEN


@kernel
def beats(trump: int, led: int, reply: int) -> bool:
    """Whether the second card wins: a higher card of the suit led, or a trump on a plain suit. Of two alike the first
    wins. §1.3"""
    if led >> 4 == reply >> 4:
        return reply >> 1 > led >> 1
    return reply >> 4 == trump


@kernel
def replies(rule: int, trump: int, led: int, held: int) -> int:
    """What may be played to a card of type `led` in the last eight tricks, of the types `held`. §1.4"""
    suit = led >> 3
    following = held & 0xFF << (8 * suit)
    higher = following & ~((1 << (led + 1)) - 1)
    trumps = held & 0xFF << (8 * trump)
    if suit == trump:
        trumps = 0  # only a higher trump beats a trump
    if rule == Endgame.SOURCE:
        if higher | trumps:
            return higher | trumps
        return following if following else held
    if following:
        return higher if higher else following
    return trumps if trumps else held


# The pack of a cut-down game, §2


@kernel
def pack_size(options: Options) -> int:
    """`GameType.deck_size`: how many cards the pack has. §1.1, §2"""
    return (options.highest - options.lowest + 1) * options.suits * options.copies


@kernel
def card_at(options: Options, place: int) -> int:
    """The card at a place of the pack in order; where it lacks none, the place itself. §2"""
    if pack_size(options) == NUM_CARDS:  # *measured*: the divisions below cost a batch 7 % of its speed
        return place
    ranks = options.highest - options.lowest + 1
    kind = place // options.copies
    suit = kind // ranks
    if options.suits == 2:
        suit = 2 * suit + 1  # diamonds and spades, which make a bezique
    else:
        suit += SUITS - options.suits
    return (suit * RANKS + options.lowest + kind % ranks) * COPIES + place % options.copies


@kernel
def copies_of(options: Options, kind: int) -> int:
    """How many cards of a type the pack has. §2"""
    suit, rank = kind >> 3, kind & 7
    first = SUITS - options.suits
    in_suit = suit in (1, 3) if options.suits == 2 else suit >= first
    return options.copies if in_suit and options.lowest <= rank <= options.highest else 0


@kernel
def tricks(options: Options) -> int:
    """Tricks of a deal. §1.4"""
    return pack_size(options) // 2


@kernel
def drawing(options: Options) -> int:
    """Tricks before the stock is used up: all but as many as a hand has cards. §1.3"""
    return tricks(options) - options.cards_dealt


def pack(options: Options) -> list[int]:
    """`GameType.pack`: the cards of the pack in order."""
    return [card_at(options, place) for place in range(pack_size(options))]


def check(options: Options) -> None:
    """Raise OptionError where the pack and the hands leave no stock, or a longer one than the whole pack has."""
    if options.lowest > options.highest:
        raise OptionError("bezique option lowest is a higher rank than highest; choose it no higher.")
    size = pack_size(options)
    if size % 2 or not 1 <= drawing(options) <= DRAWING:
        least, most = 2 * (options.cards_dealt + 1), 2 * (options.cards_dealt + DRAWING)
        raise OptionError(
            f"bezique options lowest, highest, suits and copies leave {size} cards; with cards_dealt "
            f"{options.cards_dealt} it takes an even number of {least} to {most}. Change cards_dealt, or the pack."
        )


# Cards on their way, §1.3, §4


@kernel
def take(state: State, seat: int, card: int) -> None:
    """Put a card into a hand. All its places are gone through, as in `drop`: how far to go could not be predicted,
    which takes longer."""
    held, place = int(state.held[seat]), 0
    for index in range(HAND):
        place += int(index < held) & int(int(state.hand[seat, index]) < card)
    for index in range(HAND - 1, 0, -1):
        state.hand[seat, index] = state.hand[seat, index - int(index > place)]
    state.hand[seat, place] = card
    state.held[seat] = held + 1


@kernel
def drop(state: State, seat: int, card: int) -> None:
    """Take a card out of a hand."""
    last, place = int(state.held[seat]) - 1, 0
    for index in range(HAND - 1, -1, -1):
        place = index if int(state.hand[seat, index]) == card else place
    for index in range(HAND - 1):
        state.hand[seat, index] = state.hand[seat, index + int(index >= place)]
    state.hand[seat, last] = NONE
    state.held[seat] = last


@kernel
def reveal(state: State, seat: int, card: int) -> None:
    """A card leaves the closed hand before all eyes, or lies on the table already: if the other seat knew of one like
    it in the hand, this is taken to be the one. §4"""
    kind = card >> 1
    known = int(state.known[seat, kind])
    state.known[seat, kind] = known - int(known > 0 and int(state.scored[card]) == 0)


@kernel
def take_openly(state: State, seat: int, card: int) -> None:
    """Take a card that both see. One that has scored, a seven come back, lies face up again. §1.5"""
    take(state, seat, card)
    if int(state.scored[card]) == 0:
        state.known[seat, card >> 1] = int(state.known[seat, card >> 1]) + 1


@kernel
def held_types(state: State, seat: int) -> int:
    """The types of the cards of a seat, as a set."""
    found = 0
    for index in range(int(state.held[seat])):
        found |= 1 << (int(state.hand[seat, index]) >> 1)
    return found


@kernel
def draw_stock(state: State, seat: int, openly: bool) -> None:
    """A seat draws the top card of the stock after a trick."""
    top = STOCK - int(state.stock_left)
    card = int(state.stock[top])
    state.stock[top] = NONE
    state.stock_left = int(state.stock_left) - 1
    if openly:
        take_openly(state, seat, card)
        state.drawn[int(state.trick) - 1] = card >> 1
    else:
        take(state, seat, card)


@kernel
def draw_turn_up(state: State, seat: int) -> None:
    """A seat draws the turn-up, or the seven that lies there."""
    take_openly(state, seat, int(state.turn_up))
    state.turn_up = NONE


@kernel
def top_shown(options: Options, state: State) -> int:
    """The top card of the stock where both see it, or NONE. Under `taken_first` it lies below the turn-up until trick 1
    is drawn. §1.3"""
    covered = options.turn_up == TurnUp.TAKEN_FIRST and int(state.turn_up) != NONE
    if not options.stock_top_open or covered or int(state.stock_left) == 0:
        return NONE
    return int(state.stock[STOCK - int(state.stock_left)])


@kernel
def in_last_eight(state: State) -> bool:
    """Whether the stock is used up and drawn: from now on everybody knows every card. §1.4"""
    return int(state.stock_left) == 0 and int(state.turn_up) == NONE and not int(state.declaring)
