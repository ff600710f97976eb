"""What the three games of the Backhand series share: hands, the Ace Rule, actions, dealer totals, observations, text.

Paragraphs are numbered through the series: §1 is in `README.md` beside this file, BB 2 in `buffalo_bayou/README.md`, MC
3 in `missouri_city/README.md`. Suits never matter. All cards lie face up; only the order of the stub (the cards not yet
dealt) is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..core import cards, rng
from ..core.kernel import kernel
from ..core.options import option
from ..core.parts import CHANCE, OVER
from ..core.record import field

PACK = 52  # §1.1
ACE, TEN = 1, 10  # values, §1.1
LIMIT = 21  # a total above it has passed 21, §1.4
PLAY_FROM, PUSH_FROM = 12, 17  # least initial values of a play hand and of a push hand, §1.3
HAND_SIZE = 5  # §1.4
MAX_DRAWS = HAND_SIZE - 2
MAX_TOTAL = LIMIT + TEN
MAX_PUSHES = 14  # 28 cards are worth 7 or more, and a push hand needs two of them, §1.4
SHOW_CARDS = 3  # BB 2.1

# ----------------------------------------------------------------------------------------------------------------------
# Options


class AceRule(IntEnum):
    """What becomes of an ace among the two cards of an initial hand, §1.2."""

    ONCE = 0
    UNTIL_CLEAN = 1
    OFF = 2


AceRuleOption = Annotated[
    AceRule, option("each ace of an initial hand is replaced once, or until no ace comes, or not at all")
]
ReplacementOption = Annotated[bool, option("whether the Ace Rule also holds for the two cards dealt after a push")]
DealerCapOption = Annotated[bool, option("an ace drawn against a shown ace: true makes the dealer total 12, false 22")]


class HandOptions(Protocol):
    """The options that all three games have."""

    @property
    def ace_rule(self) -> AceRule: ...
    @property
    def ace_rule_on_replacement(self) -> bool: ...


class DealerOptions(HandOptions, Protocol):
    """The options of a game with a dealer hand."""

    @property
    def dealer_total_cap(self) -> bool: ...


# ----------------------------------------------------------------------------------------------------------------------
# Actions, §1.4
#
# | id | action   |                                                                       |
# |----|----------|-----------------------------------------------------------------------|
# | 0  | hit      | take a card; on a push hand the hand then ends                        |
# | 1  | backhand | take a card that must pass 21; the hand then ends                     |
# | 2  | push     | throw a push hand away for two new cards                              |
# | 3  | stand    | end a hand that is ahead (Missouri City with `stand_pat`, MC 3.5)     |

HIT, BACKHAND, PUSH, STAND = 0, 1, 2, 3
ACTION_NAMES = ("hit", "backhand", "push", "stand")
NUM_ACTIONS = 4


def action_str(options: Any, action: int) -> str:
    """`hit`, `backhand`, `push`, `stand`."""
    return ACTION_NAMES[action]


# ----------------------------------------------------------------------------------------------------------------------
# State


class HandType(IntEnum):
    """What the value of the initial hand makes it, §1.3."""

    LOW = 0
    PLAY = 1
    PUSH = 2


class Method(IntEnum):
    """What ended a hand, §1.4."""

    NONE = 0
    BUST = 1
    FIVE_CARDS = 2
    PUSH = 3
    BACKHAND = 4
    STAND = 5


class Verdict(IntEnum):
    """How a hand ended, §1.6 and BB 2.4."""

    NONE = 0
    WIN = 1
    TIE = 2
    LOSS = 3


def per_seat(options: Any) -> tuple[int, ...]:
    """The shape of a field that each seat has one number of."""
    return (options.seats,)


class HandState:
    """The table of a game of the series; a game's Options say by `seats` how many hands there are.

    All numbers are signed: the difference of two unsigned ones would wrap around in compiled code.
    """

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    deck: npt.NDArray[np.int8] = field("i1", PACK, "the shuffled pack; from `next_card` on it is the stub")
    next_card: int = field("i1", doc="how many cards have been dealt")
    left: npt.NDArray[np.int8] = field("i1", TEN, "cards left in the stub of value 1, 2, ... 10")
    reward: npt.NDArray[np.float32] = field("f4", per_seat, "what each seat gained by the latest action")
    cards: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.seats, HAND_SIZE), "each hand in the order received: 2 + `draws` cards"
    )
    initial_value: npt.NDArray[np.int8] = field("i1", per_seat, "value of the initial hand after the Ace Rule, §1.3")
    hand_type: npt.NDArray[np.int8] = field("i1", per_seat, "type of the initial hand: 0 low, 1 play, 2 push")
    replaced_aces: npt.NDArray[np.int8] = field("i1", per_seat, "aces replaced in the latest initial hand")
    pushes: npt.NDArray[np.int8] = field("i1", per_seat, "push hands thrown away")
    draws: npt.NDArray[np.int8] = field("i1", per_seat, "cards drawn since the initial hand, backhand card included")
    total: npt.NDArray[np.int8] = field("i1", per_seat, "total hand value, §1.5")
    player_total: npt.NDArray[np.int8] = field("i1", per_seat, "player total, §1.5; 0 before the first draw")
    method: npt.NDArray[np.int8] = field(
        "i1", per_seat, "what ended it: 0 nothing, 1 bust, 2 five cards, 3 push, 4 backhand, 5 stand"
    )
    success: npt.NDArray[np.int8] = field("i1", per_seat, "1 when what ended the hand came off, §1.4")
    verdict: npt.NDArray[np.int8] = field("i1", per_seat, "0 none yet, 1 win, 2 tie, 3 loss")


class DealerHand:
    """What a dealer hand adds to a state.

    It is mixed in so that its fields come first: Numba takes a record that begins with all fields of another for a
    subtype of it, and would run the kernels compiled for Backhand's tables on Buffalo Bayou's.
    """

    show: npt.NDArray[np.int8] = field(
        "i1", SHOW_CARDS, "the dealer's show cards from left to right, the order of their use"
    )
    dealer_total: npt.NDArray[np.int8] = field(
        "i1", per_seat, "dealer total against each hand, BB 2.3; 0 before the first draw"
    )
    advantage: npt.NDArray[np.int8] = field(
        "i1", per_seat, "1 player total ahead of the dealer total, 0 level (or no draw yet), -1 behind"
    )


class DealerState(HandState, DealerHand):
    """The table of a game with a dealer hand."""


# ----------------------------------------------------------------------------------------------------------------------
# Cards


@kernel
def value(card: int) -> int:
    """A card's value in a player's hand: ace 1, ten and court cards 10. §1.1"""
    rank = card % 13
    if rank == 12:
        return ACE
    return min(rank + 2, TEN)


@kernel
def take(state: HandState) -> int:
    """The next card of the stub. Nothing else looks at the stub."""
    card = int(state.deck[int(state.next_card)])
    state.next_card = int(state.next_card) + 1
    state.left[value(card) - 1] -= 1
    return card


@kernel
def open_deck(state: HandState, deck: npt.NDArray[Any]) -> None:
    """A fresh pack on the table, nothing dealt yet. §1.1"""
    for place in range(PACK):
        state.deck[place] = deck[place]
    state.next_card = 0
    for number in range(ACE, TEN):
        state.left[number - 1] = 4
    state.left[TEN - 1] = 16


# ----------------------------------------------------------------------------------------------------------------------
# Hands


@kernel
def replaced(options: HandOptions, state: HandState, seat: int, card: int) -> int:
    """The card that stays in an initial hand in the place of `card`. §1.2"""
    while value(card) == ACE:
        card = take(state)
        state.replaced_aces[seat] += 1
        if options.ace_rule == AceRule.ONCE:
            break
    return card


@kernel
def new_hand(options: HandOptions, state: HandState, seat: int, ace_rule_holds: bool) -> None:
    """Two cards, then the Ace Rule for the first and for the second; the hand's type follows. §1.2, §1.3"""
    first = take(state)
    second = take(state)
    state.replaced_aces[seat] = 0
    if ace_rule_holds and options.ace_rule != AceRule.OFF:
        first = replaced(options, state, seat, first)
        second = replaced(options, state, seat, second)
    state.cards[seat, 0] = first
    state.cards[seat, 1] = second
    initial = value(first) + value(second)
    state.initial_value[seat] = initial
    state.total[seat] = initial
    state.hand_type[seat] = hand_type(initial)


@kernel
def hand_type(initial: int) -> int:
    """The HandType of an initial hand's value. §1.3"""
    if initial >= PUSH_FROM:
        return HandType.PUSH
    if initial >= PLAY_FROM:
        return HandType.PLAY
    return HandType.LOW


@kernel
def is_push_hand(state: HandState, seat: int) -> bool:
    """Whether the hand is an initial hand of 17 or more that has not been hit. §1.3"""
    return int(state.draws[seat]) == 0 and int(state.hand_type[seat]) == HandType.PUSH


@kernel
def legal(options: HandOptions, state: HandState, mask: npt.NDArray[np.int8]) -> None:
    """What the seat to act may do. §1.3"""
    seat = int(state.seat)
    mask[HIT] = 1
    if is_push_hand(state, seat):
        mask[PUSH] = 1
    elif int(state.total[seat]) >= PLAY_FROM:
        mask[BACKHAND] = 1


@kernel
def end(state: HandState, seat: int, method: int, success: bool) -> None:
    """The hand is over. §1.4"""
    state.method[seat] = method
    state.success[seat] = success


@kernel
def draw(state: HandState, seat: int) -> None:
    """One more card to the hand; the player total lags one card behind the total. §1.5"""
    card = take(state)
    draws = int(state.draws[seat])
    state.cards[seat, 2 + draws] = card
    state.draws[seat] = draws + 1
    before = int(state.total[seat])
    state.player_total[seat] = before
    state.total[seat] = before + value(card)


@kernel
def play(options: HandOptions, state: HandState, seat: int, action: int) -> None:
    """An action up to its effect on the hand; whether it beat a dealer is for `against_dealer`. §1.4"""
    if action == PUSH:
        state.pushes[seat] += 1
        new_hand(options, state, seat, options.ace_rule_on_replacement)
    elif action == STAND:
        end(state, seat, Method.STAND, True)
    else:
        plays_the_push = is_push_hand(state, seat)
        draw(state, seat)
        passed = int(state.total[seat]) > LIMIT
        if action == BACKHAND:
            end(state, seat, Method.BACKHAND, passed)
        elif plays_the_push:
            end(state, seat, Method.PUSH, not passed)
        elif passed:
            end(state, seat, Method.BUST, False)
        elif int(state.draws[seat]) == MAX_DRAWS:
            end(state, seat, Method.FIVE_CARDS, True)


@kernel
def determinize(options: HandOptions, state: HandState, seat: int, key: np.uint64) -> None:
    """Redraw the order of the stub, the same for every seat: all else is public."""
    dealt = 0
    for place in range(int(state.next_card)):
        dealt |= 1 << int(state.deck[place])
    place = int(state.next_card)
    for card in range(PACK):
        if (dealt >> card) & 1 == 0:
            state.deck[place] = card
            place += 1
    rng.shuffle(key, state.deck[int(state.next_card) :], PACK - int(state.next_card))


# ----------------------------------------------------------------------------------------------------------------------
# The dealer hand, BB 2


@kernel
def deal_show_cards(state: DealerState) -> None:
    """Three show cards, dealt from right to left and used from left to right. BB 2.1"""
    for place in range(SHOW_CARDS - 1, -1, -1):
        state.show[place] = take(state)


@kernel
def dealer_total(shown: int, drawn: int, cap: bool) -> int:
    """The total of a show card and the drawn card paired with it, by their values; an ace counts 11, two aces 12
    (uncapped 22). BB 2.3"""
    total = shown + drawn
    if shown == ACE or drawn == ACE:
        total += 10
        if shown == drawn and not cap:
            total += 10
    return total


@kernel
def against_dealer(options: DealerOptions, state: DealerState, seat: int) -> None:
    """After a draw: the dealer total, who has the advantage and, where the hand has ended, its verdict. BB 2.2, 2.3,
    2.4"""
    drawn = int(state.draws[seat])
    total = dealer_total(
        value(int(state.show[drawn - 1])), value(int(state.cards[seat, 1 + drawn])), options.dealer_total_cap
    )
    state.dealer_total[seat] = total
    lead = int(state.player_total[seat]) - total
    state.advantage[seat] = (lead > 0) - (lead < 0)
    if int(state.method[seat]) == Method.NONE:
        return
    if int(state.success[seat]) == 0 or (lead < 0 and int(state.method[seat]) != Method.FIVE_CARDS):
        state.verdict[seat] = Verdict.LOSS
    elif lead == 0 and int(state.method[seat]) != Method.FIVE_CARDS:
        state.verdict[seat] = Verdict.TIE
    else:
        state.verdict[seat] = Verdict.WIN


# ----------------------------------------------------------------------------------------------------------------------
# One seat (Backhand, Buffalo Bayou)


@kernel
def start_one_seat(options: HandOptions, state: HandState, start_outcome: int) -> None:
    """An episode of a one-seat game wants its pack."""
    state.seat = CHANCE


@kernel
def finish_one_seat(state: HandState) -> None:
    """Where the only hand has its verdict, the game is over: win 1, tie 0, loss -1. §1.6"""
    verdict = int(state.verdict[0])
    if verdict != Verdict.NONE:
        state.reward[0] = Verdict.TIE - verdict
        state.seat = OVER


# ----------------------------------------------------------------------------------------------------------------------
# Observation


class HandObservation:
    """What a seat may know of hands and stub; index 0 of a per-seat field is the seat itself, 1 its opponent."""

    to_act: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for the seat whose turn it is")
    hand: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, HAND_SIZE), "values of its cards as received; 0 none", high=TEN
    )
    total: npt.NDArray[np.uint8] = field("u1", per_seat, "total hand value", high=MAX_TOTAL)
    player_total: npt.NDArray[np.uint8] = field("u1", per_seat, "player total; 0 before the first draw", high=LIMIT)
    draws: npt.NDArray[np.uint8] = field("u1", per_seat, "cards drawn since the initial hand", high=MAX_DRAWS)
    initial_value: npt.NDArray[np.uint8] = field("u1", per_seat, "value of the initial hand", high=2 * TEN)
    hand_type: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, len(HandType)), "type of the initial hand: low, play, push"
    )
    pushes: npt.NDArray[np.uint8] = field("u1", per_seat, "push hands thrown away", high=MAX_PUSHES)
    method: npt.NDArray[np.uint8] = field(
        "u1",
        lambda o: (o.seats, len(Method) - 1),
        "what ended the hand: bust, five cards, push, backhand, stand; zeros while it goes on",
    )
    success: npt.NDArray[np.uint8] = field("u1", per_seat, "1 when what ended the hand came off")
    verdict: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, len(Verdict) - 1), "its end: win, tie, loss; zeros while it goes on"
    )
    left: npt.NDArray[np.uint8] = field("u1", TEN - 1, "cards left in the stub of value 1, 2, ... 9", high=4)
    tens_left: int = field("u1", doc="cards left in the stub of value 10", high=16)
    stub: int = field("u1", doc="cards left in the stub", high=PACK - 2)


class DealerHandObservation:
    """What a dealer hand adds to an observation; mixed in first for the same reason as `DealerHand`."""

    show: npt.NDArray[np.uint8] = field(
        "u1", SHOW_CARDS, "values of the show cards in the order of their use", high=TEN
    )
    next_show: npt.NDArray[np.uint8] = field(
        "u1", per_seat, "the show card that the hand's next draw is paired with; 0 none", high=TEN
    )
    dealer_total: npt.NDArray[np.uint8] = field(
        "u1",
        per_seat,
        "dealer total against the hand; 0 before the first draw",
        high=lambda o: LIMIT if o.dealer_total_cap else LIMIT + 1,
    )
    ahead: npt.NDArray[np.uint8] = field("u1", per_seat, "1 when the player total is greater than the dealer total")


class DealerObservation(HandObservation, DealerHandObservation):
    """What a seat may know where there is a dealer hand."""


@kernel
def observe(options: HandOptions, state: HandState, seat: int, out: HandObservation) -> None:
    """Hands and stub as `seat` may know them: all of them but the stub's order."""
    seats = len(state.total)
    for relative in range(seats):
        player = (seat + relative) % seats
        draws = int(state.draws[player])
        out.to_act[relative] = int(state.seat) == player
        out.total[relative] = state.total[player]
        out.player_total[relative] = state.player_total[player]
        out.draws[relative] = draws
        out.initial_value[relative] = state.initial_value[player]
        out.pushes[relative] = state.pushes[player]
        out.success[relative] = state.success[player]
        if int(state.initial_value[player]) > 0:
            out.hand_type[relative, int(state.hand_type[player])] = 1
            for place in range(2 + draws):
                out.hand[relative, place] = value(int(state.cards[player, place]))
        if int(state.method[player]) > 0:
            out.method[relative, int(state.method[player]) - 1] = 1
        if int(state.verdict[player]) > 0:
            out.verdict[relative, int(state.verdict[player]) - 1] = 1
    for number in range(TEN - 1):
        out.left[number] = state.left[number]
    out.tens_left = state.left[TEN - 1]
    out.stub = PACK - int(state.next_card) if int(state.next_card) > 0 else 0


@kernel
def observe_dealer(options: DealerOptions, state: DealerState, seat: int, out: DealerObservation) -> None:
    """Show cards and dealer totals as `seat` may know them."""
    if int(state.next_card) == 0:
        return
    seats = len(state.total)
    for place in range(SHOW_CARDS):
        out.show[place] = value(int(state.show[place]))
    for relative in range(seats):
        player = (seat + relative) % seats
        draws = int(state.draws[player])
        out.dealer_total[relative] = state.dealer_total[player]
        out.ahead[relative] = int(state.advantage[player]) > 0
        if int(state.method[player]) == Method.NONE and draws < MAX_DRAWS:
            out.next_show[relative] = value(int(state.show[draws]))


# ----------------------------------------------------------------------------------------------------------------------
# Text


def piles(names: Sequence[str], state: Any) -> Mapping[str, Sequence[int]]:
    """Hands by their seats' `names`, discards (replaced aces and pushed hands, in the order dealt), stub (next card
    first), show cards."""
    dealt = [int(card) for card in state.deck[: state.next_card]]
    found: dict[str, list[int]] = {}
    if "show" in state.dtype.names:
        found["show"] = [int(card) for card in state.show] if dealt else []
    for player, name in enumerate(names):
        size = 2 + int(state.draws[player]) if state.initial_value[player] else 0
        found[name] = [int(card) for card in state.cards[player, :size]]
    held = {card for pile in found.values() for card in pile}
    found["discards"] = [card for card in dealt if card not in held]
    found["stub"] = [int(card) for card in state.deck[state.next_card :]] if dealt else []
    return found


def table_str(names: Sequence[str], state: Any, seat: int | None) -> str:
    """The table in text, one line a place. A seat sees all but the stub's order; None sees that too."""
    lying = piles(names, state)
    width = max(len(name) for name in lying)
    lines = []
    for name, pile in lying.items():
        shown = cards.card_names(pile) if name != "stub" or seat is None else f"{len(pile)} cards"
        words = _hand_words(state, names.index(name)) if name in names else ""
        lines.append(f"{name:{width}}  {shown:{3 * HAND_SIZE}} {words}".rstrip())
    return "\n".join(lines)


def _hand_words(state: Any, player: int) -> str:
    """What a hand is worth and how it ended, in words."""
    if not state.initial_value[player]:
        return ""
    words = [f"total {state.total[player]}"]
    if state.draws[player]:
        words.append(f"player total {state.player_total[player]}")
        if "show" in state.dtype.names:
            words.append(f"dealer total {state.dealer_total[player]}")
    elif not state.method[player]:
        words.append(f"{HandType(state.hand_type[player]).name.lower()} hand")
    if state.method[player]:
        words.append(
            f"{Method(state.method[player]).name.lower().replace('_', ' ')}: "
            f"{Verdict(state.verdict[player]).name.lower()}"
        )
    return ", ".join(words)
