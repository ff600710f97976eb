"""The table in text, and where every card lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .observation import in_last_eight, top_shown
from .pack import NONE, NUM_CARDS, STOCK, SUITS, card_name, type_name

_KINDS = ("seven", "marriage", "sequence", "bezique", "double", "four")


def piles(options: Any, state: Any) -> Mapping[str, Sequence[int]]:
    """Where every card of the pack lies."""
    won = state.won.tolist()
    found = {f"hand of seat {seat}": _hand(state, seat) for seat in range(2)}
    found |= {f"pile of seat {seat}": [card for card in range(NUM_CARDS) if won[card] == 1 + seat] for seat in range(2)}
    found["stock"] = state.stock[STOCK - int(state.stock_left) :].tolist()
    found["turn-up"] = [card for card in (int(state.turn_up),) if card != NONE]
    found["led"] = [card for card in (int(state.led),) if card != NONE]
    return found


def _hand(state: Any, seat: int) -> list[int]:
    held: list[int] = state.hand[seat][: int(state.held[seat])].tolist()
    return held


def table_str(options: Any, state: Any, seat: int | None) -> str:
    """The table as `seat` sees it (None: everything). Copies are told apart only in one's own hand, where actions name
    them."""
    top = (
        int(state.stock[STOCK - int(state.stock_left)])
        if seat is None and int(state.stock_left)
        else top_shown(options, state)
    )
    lines = [
        f"Trumps {SUITS[int(state.trump)]}   turn-up {_card(int(state.turn_up), seat)}   "
        f"stock {int(state.stock_left)}, top {_card(top, seat)}   trick {min(int(state.trick) + 1, 32)}"
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


def _cards_of(options: Any, state: Any, owner: int, seat: int | None) -> list[str]:
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
