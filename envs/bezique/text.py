"""Cards, actions and the table in text, and where every card lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backalley.console.errors import InvalidValue

from ..core.rules.table import FACE_DOWN, Pile, Place, Table, laid_out, pile, place, trick
from .events import RANKS, SUITS
from .pack import in_last_eight, top_shown, tricks
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
    Endgame,
    Options,
    State,
)

COPIES = "ab"
_KINDS = ("seven", "marriage", "sequence", "bezique", "double", "four")


def type_name(kind: int) -> str:
    """`QS`: a card as it is seen at the table, where its two copies cannot be distinguished."""
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
        raise InvalidValue(
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


def action_told(options: Options, action: int) -> str:
    """What the opponent is shown: of a card that is played its copy cannot be seen."""
    return f"play {type_name(action >> 1)}" if action < DECLARE_SEVEN else action_str(options, action)


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


def table(options: Options, state: State, seat: int | None) -> Table:
    """The table as `seat` sees it (None: everything). Copies are distinguished only in one's own hand, where actions
    name them."""
    words = f"trumps {SUITS[int(state.trump)]}, trick {min(int(state.trick) + 1, tricks(options))}"
    lines = [words]
    if int(state.declaring):
        lines.append(f"seat {int(state.leader)}: won {_names(state.taken.tolist(), seat)}, may declare")
    led = [(int(state.leader), _card(card, seat)) for card in (int(state.led),) if card != NONE]
    turn_up = [_card(card, seat) for card in (int(state.turn_up),) if card != NONE]
    middle = place("table", [pile(turn_up, "turn-up"), _stock(options, state, seat)])
    places = (*(_place(options, state, who, seat) for who in range(2)), trick(led), middle)
    return laid_out(lines, places, headline=_headline(options, state))


def _headline(options: Options, state: State) -> str:
    """What is asked of the seat to act (§1.3, §1.4)."""
    if state.seat < 0:
        return ""
    if int(state.declaring):
        return "declare something, or nothing"
    if int(state.led) == NONE:
        return "lead a card"
    if not in_last_eight(state):
        return "play a card"
    by_source = options.endgame == Endgame.SOURCE
    return f"play a card: {'win if you can, else follow suit' if by_source else 'follow suit, and win if you can'}"


def _stock(options: Options, state: State, seat: int | None) -> Pile:
    left = int(state.stock_left)
    top = int(state.stock[STOCK - left]) if seat is None and left else top_shown(options, state)
    return pile(
        [FACE_DOWN] * max(left - 1, 0) + [FACE_DOWN if top == NONE else _card(top, seat)] * (left > 0),
        "stock",
        heap=True,
    )


def _place(options: Options, state: State, owner: int, seat: int | None) -> Place:
    """A seat's closed hand, and the cards that lie in front of it."""
    points, brisques = int(state.total[owner]) + int(state.score[owner]), int(state.brisques[owner])
    words = ["dealer" * (int(state.dealer) == owner), f"{points} points", f"{brisques} brisque{'s' * (brisques != 1)}"]
    return place(f"seat {owner}", _cards_of(options, state, owner, seat), words, owner)


def _cards_of(options: Options, state: State, owner: int, seat: int | None) -> list[Pile]:
    held = _hand(state, owner)
    laid = [card for card in held if int(state.scored[card])]
    closed = [card for card in held if not int(state.scored[card])]
    by_kinds: dict[int, list[str]] = {}
    for card in laid:
        by_kinds.setdefault(int(state.scored[card]), []).append(_card(card, None if seat == owner else seat))
    shown = [pile(names, "laid", _kinds(kinds)) for kinds, names in by_kinds.items()]
    if seat in (None, owner):
        return [pile([_card(card, None) for card in closed], "hand"), *shown]
    if in_last_eight(state):
        return [pile([_card(card, seat) for card in closed], "hand")]
    known = [kind for kind, count in enumerate(state.known[owner].tolist()) for _ in range(count)]
    if not options.melds_face_up:
        known = sorted(known + [card >> 1 for card in laid])
        shown = [pile(map(card_name, laid), "laid face down", shown=False)]
    return [pile(map(card_name, closed), "hand", _known(known), shown=False), *shown]


def _known(kinds: list[int]) -> str:
    return "among them " + " ".join(map(type_name, kinds)) if kinds else ""


def _kinds(scored: int) -> str:
    return ", ".join(name for column, name in enumerate(_KINDS) if scored >> column & 1)


def _card(card: int, seat: int | None) -> str:
    if card == NONE:
        return "-"
    return card_name(card) if seat is None else type_name(card >> 1)


def _names(cards: Iterable[int], seat: int | None = None) -> str:
    return " ".join(_card(card, seat) for card in cards)
