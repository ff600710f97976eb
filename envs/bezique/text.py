"""Cards, actions and the table in text, and where every card lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .drawing import in_last_eight, top_shown
from .state import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    EXCHANGE_SEVEN,
    FOUR,
    IN_PILE,
    MARRIAGE,
    NO_DECLARATION,
    NONE,
    NUM_CARDS,
    SEQUENCE,
    STOCK,
    TRICKS,
    Options,
    State,
)

RANKS = "789JQKTA"
SUITS = "CDHS"
COPIES = "ab"
_KINDS = ("seven", "marriage", "sequence", "bezique", "double", "four")


def type_name(kind: int) -> str:
    """`QS`: a card as it is seen at the table, where its two copies cannot be told apart."""
    return RANKS[kind & 7] + SUITS[kind >> 3]


def card_name(card: int) -> str:
    """`QSa`, `QSb`: a card with its copy."""
    return type_name(card >> 1) + COPIES[card & 1]


NUMBERS = {card_name(card).lower(): card for card in range(NUM_CARDS)}


def card_number(name: str) -> int:
    """The number of a card's name, in either case. Raises ValueError in a sentence when there is no such card."""
    try:
        return NUMBERS[name.strip().lower()]
    except KeyError:
        raise ValueError(
            f"There is no card {name!r}; a card is a rank of {RANKS}, a "
            f"suit of {SUITS} and its copy, a or b, such as QSa or 7Cb."
        ) from None


def action_str(options: Options, action: int) -> str:
    """`play QSa`, `declare seven`, `declare marriage S`, `declare four A`, `no declaration`, `exchange
    seven`."""
    if action < DECLARE_SEVEN:
        return f"play {card_name(action)}"
    if action == EXCHANGE_SEVEN:
        return "exchange seven"
    if action >= SEQUENCE:
        return "no declaration" if action == NO_DECLARATION else f"declare sequence {SUITS[action - SEQUENCE]}"
    if action >= FOUR:
        return f"declare four {'JQKA'[action - FOUR]}"
    named = {DECLARE_SEVEN: "declare seven", BEZIQUE: "declare bezique", DOUBLE_BEZIQUE: "declare double bezique"}
    return named.get(action, f"declare marriage {SUITS[(action - MARRIAGE) & 3]}")


def piles(options: Options, state: State) -> Mapping[str, Sequence[int]]:
    """Where every card of the pack lies."""
    won = state.won.tolist()
    found = {f"hand of seat {seat}": _hand(state, seat) for seat in range(2)}
    found |= {
        f"pile of seat {seat}": [card for card in range(NUM_CARDS) if won[card] == IN_PILE + seat] for seat in range(2)
    }
    found["stock"] = state.stock[STOCK - int(state.stock_left) :].tolist()
    found["turn-up"] = [card for card in (int(state.turn_up),) if card != NONE]
    found["led"] = [card for card in (int(state.led),) if card != NONE]
    return found


def _hand(state: State, seat: int) -> list[int]:
    held: list[int] = state.hand[seat][: int(state.held[seat])].tolist()
    return held


def table_str(options: Options, state: State, seat: int | None) -> str:
    """The table as `seat` sees it (None: everything). Copies are told apart only in one's own hand, where actions name
    them."""
    top = (
        int(state.stock[STOCK - int(state.stock_left)])
        if seat is None and int(state.stock_left)
        else top_shown(options, state)
    )
    lines = [
        f"Trumps {SUITS[int(state.trump)]}   turn-up {_card(int(state.turn_up), seat)}   "
        f"stock {int(state.stock_left)}, top {_card(top, seat)}   trick {min(int(state.trick) + 1, TRICKS)}"
    ]
    for owner in range(2):
        role = " (dealer)" if int(state.dealer) == owner else ""
        points = int(state.total[owner]) + int(state.score[owner])
        lines.append(f"Seat {owner}{role}: {points} points, {int(state.brisques[owner])} brisques")
        lines += [f"  {line}" for line in _cards_of(options, state, owner, seat)]
    if int(state.led) != NONE:
        lines.append(f"Led: {_card(int(state.led), seat)}")
    if int(state.declaring):
        lines.append(f"Seat {int(state.leader)} has won {_names(state.taken.tolist(), seat)} and may declare.")
    return "\n".join(lines)


def _cards_of(options: Options, state: State, owner: int, seat: int | None) -> list[str]:
    """A seat's closed hand and the cards that lie in front of it."""
    held = _hand(state, owner)
    laid = [card for card in held if int(state.scored[card])]
    closed = [card for card in held if not int(state.scored[card])]
    shown = [
        f"laid {_card(card, None if seat == owner else seat)} ({_kinds(int(state.scored[card]))})" for card in laid
    ]
    if seat in (None, owner):
        return ["hand " + _names(closed), *shown]
    if in_last_eight(state):
        return ["hand " + _names(closed, seat)]
    known = [kind for kind, count in enumerate(state.known[owner].tolist()) for _ in range(count)]
    if not options.melds_face_up:
        known = sorted(known + [card >> 1 for card in laid])
        return [f"hand of {len(closed)}, {len(laid)} laid face down" + _known(known)]
    return [f"hand of {len(closed)}" + _known(known), *shown]


def _known(kinds: list[int]) -> str:
    return ", among them " + " ".join(map(type_name, kinds)) if kinds else ""


def _kinds(scored: int) -> str:
    return ", ".join(name for column, name in enumerate(_KINDS) if scored >> column & 1)


def _card(card: int, seat: int | None) -> str:
    if card == NONE:
        return "-"
    return card_name(card) if seat is None else type_name(card >> 1)


def _names(cards: Iterable[int], seat: int | None = None) -> str:
    return " ".join(_card(card, seat) for card in cards)
