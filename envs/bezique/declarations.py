"""Declarations: what may be declared, which copies of the cards it takes (§1.5, §1.6).

A card that has been declared lies face up in front of its owner until it is played; `state.scored[card]` are the kinds
in which it has scored, so it is 0 for a card in the closed hand.
"""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules.cards import count_bits
from .groups import (
    BEZIQUE_TYPES,
    FOUR_TYPES,
    JACK_OF_DIAMONDS,
    QUEEN_OF_SPADES,
    can_exchange,
    kind_of,
    member,
    members,
    pairs_of,
    quartets_of,
    runs_of,
    seven_in_trick,
    seven_to_declare,
)
from .pack import drawing, held_types
from .state import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    DRAWING,
    EXCHANGE_SEVEN,
    FOUR,
    FOUR_RANKS,
    IN_BEZIQUE,
    IN_DOUBLE,
    IN_FOUR,
    IN_MARRIAGE,
    IN_SEQUENCE,
    IN_SEVEN,
    JACK,
    MARRIAGE,
    NO_DECLARATION,
    NONE,
    QUEEN,
    SEQUENCE,
    SUITS,
    Options,
    Quartet,
    Reuse,
    State,
)

_PATTERN_BITS = 10  # two for each of up to five types, see `copies`


def named_suits(options: Options) -> tuple[int, ...]:
    """Spades and diamonds, the suits of a bezique; all where which copies score can hang on the order of the suits, or
    the pack lacks some. §1.5, §1.6, §2"""
    by_order = options.quartet == Quartet.ANY or options.reuse == Reuse.FREE
    return (0, 1, 2, 3) if by_order or options.suits < SUITS else (JACK_OF_DIAMONDS >> 3, QUEEN_OF_SPADES >> 3)


@kernel
def eligible(reuse: int, scored: int, kind: int) -> bool:
    """Whether a card that has scored in the kinds `scored` may score in `kind`. §1.6"""
    if reuse == Reuse.ONCE:
        return scored == 0
    if reuse == Reuse.FREE:
        return kind != IN_SEVEN or scored & IN_SEVEN == 0
    if kind == IN_MARRIAGE:
        return scored & (IN_MARRIAGE | IN_SEQUENCE) == 0
    if kind == IN_BEZIQUE:
        return scored & (IN_BEZIQUE | IN_DOUBLE) == 0
    return scored & kind == 0


@kernel
def eligible_types(options: Options, state: State, seat: int, kind: int) -> tuple[int, int]:
    """The types of which a seat holds the first, and the second copy, fit to score in a kind: two sets."""
    first, second = 0, 0
    for index in range(int(state.held[seat])):
        card = int(state.hand[seat, index])
        fit = int(eligible(options.reuse, int(state.scored[card]), kind))
        first |= (fit & ~card & 1) << (card >> 1)
        second |= (fit & card & 1) << (card >> 1)
    return first, second


@kernel
def declarable(options: Options, state: State, seat: int) -> int:
    """What a seat can declare with the cards it holds, the seven of trumps apart: bit `action - DECLARE_SEVEN` for
    each. §1.5, §1.6

    Which cards are fit is looked up only for declarations whose cards are there at all, which is seldom.
    """
    held, found = held_types(state, seat), 0
    if pairs_of(held):
        found |= marriages(options, state, seat)
    if runs_of(held):
        found |= sequences(options, state, seat)
    if quartets_of(held) or options.quartet == Quartet.ANY:
        found |= quartets(options, state, seat)
    if held & BEZIQUE_TYPES == BEZIQUE_TYPES:
        found |= beziques(options, state, seat)
    if options.reuse == Reuse.FREE and found != 0:
        found = undeclared(options, state, seat, found)
    return found


@kernel
def marriages(options: Options, state: State, seat: int) -> int:
    """The marriages a seat can declare."""
    first, second = eligible_types(options, state, seat, IN_MARRIAGE)
    pairs, found = pairs_of(first | second), 0
    for suit in range(4):
        found |= (pairs >> (8 * suit + QUEEN) & 1) << (MARRIAGE + suit - DECLARE_SEVEN)
    return found


@kernel
def sequences(options: Options, state: State, seat: int) -> int:
    """The sequences a seat can declare; those of plain suits only where they score."""
    first, second = eligible_types(options, state, seat, IN_SEQUENCE)
    runs, found = runs_of(first | second), 0
    for suit in range(4):
        if suit == int(state.trump) or options.plain_sequence > 0:
            found |= (runs >> (8 * suit + JACK) & 1) << (SEQUENCE + suit - DECLARE_SEVEN)
    return found


@kernel
def quartets(options: Options, state: State, seat: int) -> int:
    """The fours of a kind a seat can declare."""
    first, second = eligible_types(options, state, seat, IN_FOUR)
    complete, found = quartets_of(first | second), 0
    for index in range(4):
        rank = FOUR_RANKS[index]
        held = complete >> rank & 1
        if options.quartet == Quartet.ANY:
            held = int(count_bits(first & FOUR_TYPES << rank) + count_bits(second & FOUR_TYPES << rank) >= 4)
        found |= held << (FOUR + index - DECLARE_SEVEN)
    return found


@kernel
def beziques(options: Options, state: State, seat: int) -> int:
    """Bezique and double bezique, where a seat can declare them."""
    found = 0
    first, second = eligible_types(options, state, seat, IN_BEZIQUE)
    fresh = (first | second) & BEZIQUE_TYPES
    if fresh == BEZIQUE_TYPES:
        found |= 1 << (BEZIQUE - DECLARE_SEVEN)
    first, second = eligible_types(options, state, seat, IN_DOUBLE)
    if first & second & BEZIQUE_TYPES == BEZIQUE_TYPES and fresh != 0:
        found |= 1 << (DOUBLE_BEZIQUE - DECLARE_SEVEN)
    return found


@kernel
def undeclared(options: Options, state: State, seat: int, found: int) -> int:
    """Those of the declarations `found` for which a set of cards remains that has not been declared. §1.6"""
    kept = 0
    for action in range(MARRIAGE, NO_DECLARATION):
        bit = 1 << (action - DECLARE_SEVEN)
        if found & bit and copies_free(options, state, seat, action) != 0:
            kept |= bit
    return kept


# Which cards a declaration takes is a pattern: bits 2 * index and 2 * index + 1 for the two copies of its card number
# `index`.


@kernel
def copies(options: Options, state: State, seat: int, action: int) -> int:
    """The pattern of the cards that a legal declaration takes: those with the most earlier scorings, of equals the
    lower copy. §1.6"""
    if options.reuse == Reuse.FREE:
        return copies_free(options, state, seat, action)
    if action == DOUBLE_BEZIQUE:
        return 0b1111
    first, second = eligible_types(options, state, seat, kind_of(action))
    if options.quartet == Quartet.ANY and kind_of(action) == IN_FOUR:
        return copies_of_any_quartet(state, action, first, second)
    pattern = 0
    for index in range(members(action)):
        kind = member(action, index)
        copy = second >> kind & 1
        if copy and first >> kind & 1:
            copy = int(count_bits(int(state.scored[2 * kind + 1])) > count_bits(int(state.scored[2 * kind])))
        pattern |= 1 << (2 * index + copy)
    return pattern


@kernel
def copies_of_any_quartet(state: State, action: int, first: int, second: int) -> int:
    """Four cards of a rank, whatever their suits: the most earlier scorings, then lower copies, then lower numbers.
    §1.5, §1.6"""
    pattern = 0
    for _ in range(4):
        best, chosen = -1, 0
        for copy in range(2):
            for index in range(4):
                kind = member(action, index)
                bit = 1 << (2 * index + copy)
                held = (second if copy else first) >> kind & 1
                if held and pattern & bit == 0 and count_bits(int(state.scored[2 * kind + copy])) > best:
                    best, chosen = count_bits(int(state.scored[2 * kind + copy])), bit
        pattern |= chosen
    return pattern


@kernel
def copies_free(options: Options, state: State, seat: int, action: int) -> int:
    """Under `reuse: free`, of the sets not yet declared the one with the most earlier scorings, then with the fewest
    second copies, then of the lowest numbers; 0 where every set has been declared. §1.6"""
    size = members(action)
    first, second = eligible_types(options, state, seat, kind_of(action))
    held = 0
    for index in range(size):
        kind = member(action, index)
        held |= (first >> kind & 1) << (2 * index) | (second >> kind & 1) << (2 * index + 1)
    chosen, most, fewest = 0, -1, 0
    # `order` has the first card in its highest bits, so that counting down meets the sets in the order of their
    # numbers.
    for order in range(4**size - 1, 0, -1):
        pattern = 0
        for place in range(2 * size):
            pattern |= (order >> place & 1) << (2 * size - 1 - place)
        if pattern & ~held or not well_formed(options, action, pattern) or was_declared(state, action, pattern):
            continue
        total, seconds = 0, 0
        for place in range(2 * size):
            if pattern >> place & 1:
                total += scorings(state, 2 * member(action, place >> 1) + (place & 1))
                seconds += place & 1
        if total > most or (total == most and seconds < fewest):
            chosen, most, fewest = pattern, total, seconds
    return chosen


@kernel
def well_formed(options: Options, action: int, pattern: int) -> bool:
    """Whether a pattern has the right number of cards: one of each type, but all four of a double bezique, and any four
    of a quartet where `quartet: any` holds."""
    if action == DOUBLE_BEZIQUE:
        return pattern == 0b1111
    if options.quartet == Quartet.ANY and kind_of(action) == IN_FOUR:
        return count_bits(pattern) == 4
    single = 0
    for index in range(members(action)):
        single += int(pattern >> (2 * index) & 3 in (1, 2))
    return single == members(action)


@kernel
def entry(action: int, pattern: int) -> int:
    """A declaration as `state.declared` keeps it."""
    return (action - DECLARE_SEVEN) << _PATTERN_BITS | pattern


@kernel
def declared(state: State, number: int) -> tuple[int, int]:
    """The action and the pattern of a declaration that `state.declared` keeps."""
    kept = int(state.declared[number])
    return DECLARE_SEVEN + (kept >> _PATTERN_BITS), kept & (1 << _PATTERN_BITS) - 1


@kernel
def with_copies_exchanged(action: int, pattern: int, kinds: int) -> int:
    """The pattern of a declaration after the two copies of each of a set of types have changed places."""
    for index in range(members(action)):
        if kinds >> member(action, index) & 1:
            copies = pattern >> (2 * index) & 3
            pattern ^= (copies ^ (copies >> 1 | (copies & 1) << 1)) << (2 * index)
    return pattern


@kernel
def same_partners(state: State, kind: int) -> bool:
    """Under `reuse: free`, whether the two copies of a type have been declared with the very same cards: exchanged,
    they leave what was declared as it is. §3"""
    same = True
    for number in range(DRAWING):
        action, pattern = declared(state, number)
        if pattern:
            same = same and was_declared(state, action, with_copies_exchanged(action, pattern, 1 << kind))
    return same


@kernel
def was_declared(state: State, action: int, pattern: int) -> bool:
    """Under `reuse: free`, whether this very set of cards has been declared."""
    found = 0
    for number in range(DRAWING):
        found |= int(int(state.declared[number]) == entry(action, pattern))
    return found != 0


@kernel
def scorings(state: State, card: int) -> int:
    """Under `reuse: free`, in how many declarations a card has scored, its seven apart."""
    count = 0
    for number in range(DRAWING):
        action, pattern = declared(state, number)
        for index in range(members(action)):
            if member(action, index) == card >> 1:
                count += pattern >> (2 * index + (card & 1)) & 1
    return count


@kernel
def may_declare(options: Options, state: State) -> int:
    """What the winner of the trick may declare now: bit `action - DECLARE_SEVEN` for each. §1.3, §1.5"""
    if int(state.trick) == drawing(options) and not options.declare_at_trick_24:
        return 0
    seat, found = int(state.leader), 0
    if int(state.made) & 2 == 0:
        found = declarable(options, state, seat)
    if int(state.made) & 1 == 0:
        found |= int(seven_to_declare(options, state, seat, DECLARE_SEVEN) != NONE)
        if can_exchange(options, state) and seven_in_trick(state) != NONE:
            found |= 1 << (EXCHANGE_SEVEN - DECLARE_SEVEN)
    return found
