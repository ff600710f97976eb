"""Twenty-One in words: cards, actions, and the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backalley.console.errors import InvalidValue

from ..core.compile.interfaces import OVER
from ..core.rules.table import FACE_DOWN, Pile, Place, Table, laid_out, pile, place
from .state import BANKER, DECLARE, DEPOSIT, MOST_SEATS, NEW_BANKER, POINTS, PUNTERS, RANKS, SUITS, Options, State
from .stock import sees
from .valuation import totals

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
    *(f"pass bank to seat {seat}" for seat in range(MOST_SEATS)),
    "deposit once",
    "deposit twice",
    "deposit five times",
)
_STATUS = ("waits", "to act", "stands", "bust", "Royal Black Jack", "out")
_RESULTS = ("", "ended by the king of hearts", "cashed by the banker", "broken", "ended by its last round")


def card_name(card: int) -> str:
    """`QS`, `TD`."""
    return RANKS[card & 7] + SUITS[card >> 3]


def card_number(name: str) -> int:
    """The number of a card's name, in either case. Raises ValueError in a sentence when there is no such card."""
    text = name.strip().upper()
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise InvalidValue(
            f"There is no card {name!r}; a card is a rank of {RANKS} and a suit of {SUITS}, such as QS or TD."
        )
    return SUITS.index(text[1]) * 8 + RANKS.index(text[0])


def action_str(options: Options, action: int) -> str:
    """`hit`, `bet quarter`."""
    return ACTIONS[action]


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """Where every card of the pack lies."""
    found = {
        f"hand of seat {seat}": state.cards[seat, : int(state.count[seat])].tolist()
        for seat in range(options.num_players)
    }
    found["stock"] = state.stock[int(state.drawn) : int(state.stock_size)].tolist()
    found["discards"] = state.discards[: int(state.discarded)].tolist()
    return found


def table(options: Options, state: State, seat: int | None) -> Table:
    """Pot, stakes and purses, and the cards that `seat` sees (None: all of them); the others face down."""
    lying = piles(options, state)
    middle = [
        pile(_cards(state, lying["stock"], None), "stock", shown=seat is None, heap=True),
        pile(_discards(state, lying["discards"], seat), "discards"),
    ]
    seats = [_place(options, state, seat, who, lying[f"hand of seat {who}"]) for who in range(options.num_players)]
    return laid_out([_bank_line(options, state)], (*seats, place("table", middle)), headline=_headline(state))


def _headline(state: State) -> str:
    """What is asked of the seat to act (§1.3 to §1.6, §1.9), or how the bank has ended (§1.8)."""
    if state.seat < 0:
        return f"the bank was {_RESULTS[int(state.result)]}" if state.seat == OVER else f"the pot holds {state.pot}"
    if int(state.phase) == PUNTERS and int(state.count[int(state.seat)]) == 1:
        return "bet that you beat the banker; the pot puts in as much"
    asked = {
        DECLARE: "deal, or declare Back Passing, in which your eight or king of hearts ends the bank",
        PUNTERS: "bet again, take a card, or stand",
        BANKER: "take a card, or stand; punters with more than you win",
        NEW_BANKER: "take the bank, or not",
        DEPOSIT: "choose how much you put into the bank",
    }
    return asked[int(state.phase)]


def _place(options: Options, state: State, seat: int | None, who: int, hand: list[int]) -> Place:
    words = ["banker" * (who == int(state.banker)), f"purse {int(state.purse[who])}", _STATUS[int(state.status[who])]]
    if int(state.own[who]):
        words.append(f"stake {int(state.own[who])} matched by the pot")
    if int(state.trades[who]):
        words.append(f"traded {int(state.trades[who])}")
    points = ""
    if hand and seat in (None, who):
        points = "= " + " or ".join(str(total) for total in totals(options, state.cards[who], len(hand)))
    return place(f"seat {who}", [_hand(state, hand, seat, points)], words, who)


def _hand(state: State, hand: Sequence[int], seat: int | None, points: str) -> Pile:
    """A hand, with what its jacks, queens, kings and aces count."""
    seen = _cards(state, hand, seat)
    counts = (str(POINTS[RANKS.index(name[0])]) if name[0] in "JQKA" else "" for name in seen)
    return pile(seen, "", points)._replace(counts=tuple(counts))


def _bank_line(options: Options, state: State) -> str:
    ended = int(state.phase) == NEW_BANKER or int(state.seat) == OVER
    words = [f"bank {int(state.bank) + (not ended)}, round {int(state.round_number)}, pot {int(state.pot)}"]
    if state.back_passing:
        words.append("Back Passing")
    if state.final_round:
        words.append("final round")
    if int(state.phase) == NEW_BANKER:
        words.append(f"{_RESULTS[int(state.result)]}; the bank is offered to seat {int(state.turn)}")
    elif int(state.phase) == DEPOSIT:
        words.append(f"seat {int(state.turn)} chooses the deposit")
    elif int(state.seat) == OVER:
        words.append(_RESULTS[int(state.result)])
    return ", ".join(words)


def _discards(state: State, cards: Sequence[int], seat: int | None) -> list[str]:
    """The discards as a seat may know them: not in the order in which somebody drew them."""
    if seat is None:
        return _cards(state, cards, None)
    return _cards(state, sorted(cards, key=lambda card: (not sees(state, seat, card), card)), seat)


def _cards(state: State, cards: Iterable[int], seat: int | None) -> list[str]:
    return [card_name(card) if seat is None or sees(state, seat, card) else FACE_DOWN for card in cards]
