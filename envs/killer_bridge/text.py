"""Killer Back Alley Bridge Substitute in words: the table as a seat may see it, and where every card lies."""

from __future__ import annotations

from ..core.compile.interfaces import CHANCE
from ..core.compile.kernel import uncompiled
from ..core.rules import cards
from ..core.rules.cards import BIG_JOKER, LITTLE_JOKER, list_set
from ..core.rules.table import Place, Table, laid_out, pile, place, trick
from ..core.rules.tricks import NO_TRUMP
from .scorecard import ScorecardLine, scorecard
from .state import BOARD, NO_BID, NO_CARD, PLAY, RAINBOW, Options, State, num_hands, pack_size

SUITS = ("clubs", "diamonds", "hearts", "spades")
_pack_size = uncompiled(pack_size)


def action_str(options: Options, action: int) -> str:
    """`bid 3`, `board`, `rainbow`, `play QS`."""
    if action >= PLAY:
        return f"play {cards.card_name(action - PLAY)}"
    return "board" if action == BOARD else "rainbow" if action == RAINBOW else f"bid {action}"


def bid_str(bid: int) -> str:
    """A bid as the table shows it; nothing where there is none yet."""
    return "" if bid == NO_BID else "board" if bid == BOARD else "rainbow" if bid == RAINBOW else f"bid {bid}"


def cries(trick: list[int]) -> list[str]:
    """What is exclaimed at a led big joker, and when the little one (BOHICA) falls to it."""
    if BIG_JOKER not in trick[:1]:
        return []
    return ["Rake 'em and shake 'em!"] + ["BOHICA!"] * (LITTLE_JOKER in trick)


def sheet(options: Options, state: State) -> tuple[tuple[str, ...], ...]:
    """§1.6: the scorecard, a row a hand: how many cards, the card turned up, and each seat's entry."""
    card = scorecard(options, state)
    if not card:
        return ()
    rows = []
    for line in card:
        turned = "-" if line.turned == NO_CARD else cards.card_name(line.turned)
        entries = (entry_str(options, line, seat) for seat in range(options.num_players))
        rows.append((f"{line.hand}: {line.cards} {turned}", *entries))
    return (("hand", *(f"seat {seat}" for seat in range(options.num_players))), *rows)


def entry_str(options: Options, line: ScorecardLine, seat: int) -> str:
    """A seat's part of a line, with a star where it dealt."""
    bid = {BOARD: "B", RAINBOW: "R"}.get(line.bids[seat], str(line.bids[seat]))
    sips = f" {line.sips[seat]:>4}" if options.drinking else ""
    return f"{'*' * (seat == line.dealer)}{bid}/{line.won[seat]} {line.points[seat]:>+4} {line.totals[seat]:>5}{sips}"


def table(options: Options, state: State, seat: int | None) -> Table:
    """The hand, the trick and everybody's bid and score, as `seat` may see them; None shows all cards."""
    trump = "no trump" if state.trump == NO_TRUMP else f"trump {SUITS[int(state.trump)]}"
    size = int(state.hand_size)
    hand = max(int(state.hand_index) + (state.seat != CHANCE), 1)  # a hand that is over counts as played
    head = f"hand {hand} of {num_hands(options)}: {size} card{'s' * (size > 1)} each, {trump}"
    turned = [] if state.turned == NO_CARD else [cards.card_name(int(state.turned))]
    played = state.trick[: int(state.in_trick)].tolist()
    last = state.last_trick[: options.num_players if state.finished else 0].tolist()
    lying = _by_seat(options, int(state.last_leader), last)
    places = [_place(options, state, seat, who) for who in range(options.num_players)]
    places += [
        place("turned up", [pile(turned)]),
        trick(_by_seat(options, int(state.leader), played), cries(played), "this trick"),
        place("last trick", [pile([card], f"seat {who}") for who, card in lying], cries(last)),
    ]
    if seat is None:
        places.append(place("left over", [pile(map(cards.card_name, piles(options, state)["leftover"]))]))
    sips = ", sips" if options.drinking else ""
    legend = f"scorecard: cards each, the card turned up; bid/won (* dealer, B board, R rainbow), points, total{sips}"
    return laid_out([head], places, sheet(options, state), legend, _headline(options, state, seat))


def _headline(options: Options, state: State, seat: int | None) -> str:
    """What is asked of the seat to act (§1.3), or what the last hand has brought `seat` (§1.4)."""
    if state.seat >= 0 and state.playing:
        return "play a card" if state.in_trick else "lead a card"
    if state.seat >= 0:
        words = [f"bid how many tricks you will win, of {state.hand_size}"]
        words += ["board is all"] * options.allow_board + ["rainbow is a quarter"] * options.allow_rainbow
        return "; ".join(words)
    lines = scorecard(options, state)
    if seat is None or not lines:
        return ""
    return f"seat {seat}: {bid_str(lines[-1].bids[seat])}, won {lines[-1].won[seat]}, points {lines[-1].points[seat]:+}"


def _by_seat(options: Options, leader: int, played: list[int]) -> list[tuple[int, str]]:
    """Who played which card."""
    return [((leader + number) % options.num_players, cards.card_name(card)) for number, card in enumerate(played)]


def _place(options: Options, state: State, seat: int | None, who: int) -> Place:
    hand = pile(map(cards.card_name, list_set(int(state.hand[who]))), shown=seat in (None, who), heap=True)
    words = [
        "dealer" * int(who == state.dealer),
        bid_str(int(state.bid[who])),
        f"won {int(state.won[who])}",
        f"score {int(state.score[who])}",
        f"{int(state.sips[who])} sips" * options.drinking,
    ]
    return place(f"seat {who}", [hand], words, who)


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """§1.1: the 54 cards by place."""
    found = {f"hand {seat}": list_set(int(state.hand[seat])) for seat in range(options.num_players)}
    found |= {f"played {seat}": list_set(int(state.played[seat])) for seat in range(options.num_players)}
    found["turned"] = [] if state.turned == NO_CARD else [int(state.turned)]
    lying = {card for pile in found.values() for card in pile}
    found["leftover"] = [card for card in range(_pack_size(options)) if card not in lying]
    return found
