"""Tricks: suits with trumps and jokers, the winner, the cards that follow suit, and a uniform deal of unseen cards.

Suits C, D, H, S are 0..3. The jokers belong to the trump suit; where there is none, `trump` is NO_TRUMP and they are a
fifth suit of that number, which is then the trump suit. So one rule serves both: a card of suit `trump` beats every
other suit.

Ranks inside a suit are compared by `strength`, where `joker` gives the height of the little joker: JOKERS_HIGH,
JOKER_LOW or JOKER_BELOW_JACK. The big joker, where a pack has one, is one rank above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel
from . import rng
from .cards import LITTLE_JOKER, count_bits

NO_TRUMP = 4
"""The trump suit where no suit is trump, and the jokers' own suit there."""
NUM_SUITS = 5
"""The four suits and NO_TRUMP."""
JOKERS_HIGH = 26
"""`joker` where the jokers are above the ace."""
JOKER_BELOW_JACK = 17
"""`joker` where it is between the ten and the jack."""
JOKER_LOW = -1
"""`joker` where it is below the two."""

_SUIT = (1 << 13) - 1
_JOKERS = 3 << LITTLE_JOKER
_TRIES = (
    4  # whole deals drawn and checked before the constrained one; most knowledge is slight, and then one of these fits
)
_WALKS = 3  # walks per card of the constrained deal; tests compare its law with an enumeration
_LONGEST = 3  # steps of a walk per place, before it is taken back


@kernel
def suit(card: int, trump: int) -> int:
    """Return the suit of a card: 0..3, or NO_TRUMP for a joker where no suit is trump."""
    return trump if card >= LITTLE_JOKER else card // 13


@kernel
def suit_set(which: int, trump: int) -> int:
    """Return all cards of a suit, as a set; both jokers are in the trump suit, whether or not the pack has them."""
    cards = _SUIT << (13 * which) if which < NO_TRUMP else 0
    return cards | _JOKERS if which == trump else cards


@kernel
def strength(card: int, joker: int) -> int:
    """Return a card's height inside its suit: 0, 2, .. 24 for 2, 3, .. A; `joker` for the little joker, `joker + 2` for
    the big one."""
    return joker + 2 * (card - LITTLE_JOKER) if card >= LITTLE_JOKER else 2 * (card % 13)


@kernel
def ranks_of(cards: int, which: int) -> int:
    """Return the ranks that a set of cards has in a suit, as the lowest thirteen bits."""
    return (cards >> (13 * which)) & _SUIT


@kernel
def longest_suit(hand: int, unseen: int, taken: int) -> int:
    """Return the suit of most cards in `hand`, by number and then by rank, that is not one of the suits `taken` (bits),
    or -1; of suits that are equal there that of the most and highest cards in `unseen`. So it does not matter what the
    suits are called."""
    longest, most = -1, -1
    for which in range(NO_TRUMP):
        mine = ranks_of(hand, which)
        length = (count_bits(mine) << 26) | (mine << 13) | ranks_of(unseen, which)
        if (taken >> which) & 1 == 0 and length > most:
            longest, most = which, length
    return longest


@kernel
def beats(card: int, best: int, trump: int, joker: int) -> bool:
    """Return whether `card`, played after `best`, becomes the best card of the trick."""
    its_suit = suit(card, trump)
    if its_suit == suit(best, trump):
        return strength(card, joker) > strength(best, joker)
    return its_suit == trump


@kernel
def winner(cards: npt.NDArray[Any], count: int, trump: int, joker: int) -> int:
    """Return which of the first `count` cards, in order of play, wins the trick: the highest trump, else the highest of
    the suit led."""
    best = 0
    for index in range(1, count):
        if beats(int(cards[index]), int(cards[best]), trump, joker):
            best = index
    return best


@kernel
def following(hand: int, led: int, trump: int) -> int:
    """Return the cards of a hand (a set) that follow the suit led: those of that suit, or the whole hand if it has
    none."""
    held = hand & suit_set(led, trump)
    return held if held != 0 else hand


@kernel
def lowest_card(cards: int) -> int:
    """Return the card of the smallest number in a set that is not empty."""
    return count_bits((cards & -cards) - 1)


@kernel
def highest_card(cards: int) -> int:
    """Return the card of the greatest number in a set that is not empty; in one suit with jokers high, the
    strongest."""
    card = 0
    for width in (32, 16, 8, 4, 2, 1):
        if cards >> width != 0:
            cards >>= width
            card += width
    return card


@kernel
def list_cards(cards: int, out: npt.NDArray[Any], first: int) -> int:
    """Write a set's cards to `out[first:]` in ascending order; return the index after the last."""
    while cards != 0:
        out[first] = lowest_card(cards)
        cards &= cards - 1
        first += 1
    return first


class _Places(NamedTuple):
    """The places of a deal that take cards: place `p` has the slots `first[p]` .. `first[p] + size[p] - 1`."""

    number: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    allowed: npt.NDArray[np.int64]


@kernel
def deal_unseen(
    key: np.uint64,
    unseen: int,
    room: npt.NDArray[np.int64],
    may_hold: npt.NDArray[np.int64],
    dealt: npt.NDArray[np.int64],
) -> np.uint64:
    """Deal a set of unseen cards to places, uniformly over all deals that agree with what is known; return the advanced
    key.

    Place `p` takes `room[p]` cards, all from the set `may_hold[p]`; the sum of `room` is the number of unseen cards,
    and at least one such deal must exist (the true one does). `dealt[p]` becomes the set of its cards. A hand about
    which more is known, such as its number of cards of each suit, is several places. At most 62 places have room.

    A few whole deals are drawn and the first that agrees is taken, which is exactly uniform. If none agrees, one is
    built and then mixed by a Markov chain whose only stationary distribution is uniform (`_stir`).
    """
    slots = np.empty(64, np.int64)
    count = list_cards(unseen, slots, 0)
    places = _places(unseen, room, may_hold)
    for _ in range(_TRIES):
        key = rng.shuffle(key, slots, count)
        if _agrees(places, slots):
            break
    else:
        key = _build(key, places, slots, count)
        key = _stir(key, places, slots, count)
    dealt[:] = 0
    for place in range(places.number.shape[0]):
        cards = 0
        for slot in range(places.first[place], places.first[place] + places.size[place]):
            cards |= 1 << int(slots[slot])
        dealt[places.number[place]] = cards
    return key


@kernel
def _places(unseen: int, room: npt.NDArray[np.int64], may_hold: npt.NDArray[np.int64]) -> _Places:
    """The places that have room, with the unseen cards that each may hold."""
    count = 0
    for number in range(room.shape[0]):
        count += int(room[number] > 0)
    places = _Places(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    )
    place, filled = 0, 0
    for number in range(room.shape[0]):
        if room[number] > 0:
            places.number[place] = number
            places.first[place] = filled
            places.size[place] = room[number]
            places.allowed[place] = may_hold[number] & unseen
            filled += int(room[number])
            place += 1
    return places


@kernel
def _agrees(places: _Places, slots: npt.NDArray[np.int64]) -> bool:
    """Whether every place holds only allowed cards."""
    for place in range(places.first.shape[0]):
        for slot in range(places.first[place], places.first[place] + places.size[place]):
            if (places.allowed[place] >> slots[slot]) & 1 == 0:
                return False
    return True


@kernel
def _build(key: np.uint64, places: _Places, slots: npt.NDArray[np.int64], count: int) -> np.uint64:
    """Build some deal that agrees. Each card in turn goes to a place with room that may hold it; if there is none,
    cards already dealt move along a shortest augmenting path, so it fails only where no deal exists."""
    cards = np.empty(count, np.int64)
    for slot in range(count):
        cards[slot] = slots[slot]
    size = places.first.shape[0]
    used = np.zeros(size, np.int64)
    came_from, via_slot, queue = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    for card in cards:
        key, turn = rng.below(key, size)
        place = _way(places, slots, int(card), turn, used, came_from, via_slot, queue)
        assert place >= 0, "no deal agrees with what is known"
        free = int(places.first[place] + used[place])
        used[place] += 1
        while came_from[place] >= 0:
            mover = int(via_slot[place])
            slots[free] = slots[mover]
            free = mover
            place = int(came_from[place])
        slots[free] = card
    return key


@kernel
def _way(
    places: _Places,
    slots: npt.NDArray[np.int64],
    card: int,
    turn: int,
    used: npt.NDArray[np.int64],
    came_from: npt.NDArray[np.int64],
    via_slot: npt.NDArray[np.int64],
    queue: npt.NDArray[np.int64],
) -> int:
    """Search breadth first from a card to the nearest place with room; -1 if there is none. `came_from` and `via_slot`
    say which card of which place moves on to each place; -1 where the new card itself goes there. Places are tried from
    `turn` on, so that no place is always first."""
    size = int(places.first.shape[0])
    seen, waiting, head = 0, 0, -1
    while head < waiting:
        source = -1 if head < 0 else int(queue[head])
        low = 0 if head < 0 else int(places.first[source])
        for slot in range(low, low + (1 if head < 0 else int(used[source]))):
            mover = card if head < 0 else int(slots[slot])
            for offset in range(size):
                place = (turn + offset) % size
                if (seen >> place) & 1 == 0 and (places.allowed[place] >> mover) & 1 != 0:
                    seen |= 1 << place
                    came_from[place] = source
                    via_slot[place] = slot
                    if used[place] < places.size[place]:
                        return int(place)
                    queue[waiting] = place
                    waiting += 1
        head += 1
    return -1


@kernel
def _stir(key: np.uint64, places: _Places, slots: npt.NDArray[np.int64], count: int) -> np.uint64:
    """Walk at random over the deals that agree.

    A walk takes a random card, puts it into a random place that may hold it, takes a random card from there instead,
    and so on until a card goes to the place where the walk began. A walk that gets too long is undone. The reversed
    walk is as long and chooses among equally many, so the chain is symmetric and its stationary distribution uniform.
    Any two deals differ by such closed walks, none longer than the number of places, so the chain reaches all of them.
    """
    size = places.first.shape[0]
    visited = np.empty(_LONGEST * size, np.int64)
    for _ in range(_WALKS * count):
        key, hole = rng.below(key, count)
        home = 0
        while hole >= places.first[home] + places.size[home]:
            home += 1
        card = int(slots[hole])
        steps, place = 0, -1
        while place != home and steps < visited.shape[0]:
            key, place = rng.below(key, size)
            if (places.allowed[place] >> card) & 1 == 0:
                place = -1
            elif place != home:
                key, index = rng.below(key, int(places.size[place]))
                visited[steps] = places.first[place] + index
                card = _exchange(slots, int(visited[steps]), card)
                steps += 1
        if place != home:
            for step in range(steps - 1, -1, -1):
                card = _exchange(slots, int(visited[step]), card)
        slots[hole] = card
    return key


@kernel
def _exchange(slots: npt.NDArray[np.int64], slot: int, card: int) -> int:
    """Put a card into a slot; return the card that was there."""
    other = int(slots[slot])
    slots[slot] = card
    return other
