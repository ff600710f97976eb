"""Pitch in words: the table as a seat may see it, and where every card lies."""

from __future__ import annotations

from ..core.rules import cards
from ..core.rules.cards import list_set
from ..core.rules.table import Place, Table, laid_out, pile, place, trick
from ..core.rules.tricks import NO_TRUMP
from .points import pips
from .state import (
    BID,
    BIDDING,
    JOKER,
    LEAST_BID,
    NAME,
    NAMING,
    NOBODY,
    PASS,
    PLAY,
    AllPass,
    Mode,
    Options,
    State,
    Teams,
    pack_size,
    side_of,
)

SUITS = ("clubs", "diamonds", "hearts", "spades")
POINTS = ("High", "Low", "Jack", "Game", "Joker")


def card_name(card: int) -> str:
    """`QS`, `TD`; the joker is `JOKER`."""
    return "JOKER" if card == JOKER else cards.card_name(card)


def card_number(name: str) -> int:
    """The number of a card's name. Raises ValueError in a sentence."""
    return JOKER if name.strip().upper() == "JOKER" else cards.card_number(name)


def action_str(options: Options, action: int) -> str:
    """`pass`, `bid 3`, `play QS`, `play JOKER`, `name hearts`."""
    if action == PASS:
        return "pass"
    if action < PLAY:
        return f"bid {action - BID + LEAST_BID}"
    return f"play {card_name(action - PLAY)}" if action < NAME else f"name {SUITS[action - NAME]}"


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """Where every card lies: hands, what has been captured, the trick, and the cards that nobody was dealt."""
    found = {f"seat {seat}": list_set(int(held)) for seat, held in enumerate(state.hand)}
    found |= {f"captured by {side}": list_set(int(held)) for side, held in enumerate(state.captured)}
    found["trick"] = state.trick[: state.in_trick].tolist()
    lying = {card for pile in found.values() for card in pile}
    found["out of play"] = [card for card in range(pack_size(options)) if card not in lying]
    return found


def side_name(options: Options, side: int) -> str:
    """`seats 0 and 2`, or `seat 3`."""
    return f"seats {side} and {side + 2}" if options.teams == Teams.PARTNERS else f"seat {side}"


def table(options: Options, state: State, seat: int | None) -> Table:
    """The bids, the trick and the scores, and hands as `seat` may see them; None shows all cards."""
    trump = "trump not yet known" if state.trump == NO_TRUMP else f"{SUITS[int(state.trump)]} are trumps"
    target = "a single hand" if options.mode == Mode.HAND else f"to {options.target}"
    lines = [f"hand {int(state.hand_index) + int(state.seat >= 0)}, {target}, {trump}"]
    if state.point.any() and (state.phase == BIDDING or state.seat < 0):
        lines.append(f"last hand: {_points(options, state)}")
    seats = [_place(options, state, seat, who) for who in range(options.num_players)]
    played = [
        ((int(state.leader) + number) % options.num_players, card_name(card))
        for number, card in enumerate(state.trick[: state.in_trick].tolist())
    ]
    sides = [
        pile(
            map(card_name, list_set(int(state.captured[side]))),
            side_name(options, side),
            f"score {score}",
            f"{pips(int(state.captured[side]))} pips captured",
        )
        for side, score in enumerate(state.score.tolist())
    ]
    return laid_out(lines, (*seats, trick(played), place("captured", sides)), headline=_headline(options, state))


def _headline(options: Options, state: State) -> str:
    """What is asked of the seat to act (§1.2, §1.3), or how the bid of the last hand has ended (§1.5)."""
    if state.seat >= 0:
        lead = "lead a card" if state.trump != NO_TRUMP else "lead a card; its suit becomes trump"
        play = "play a card" if state.in_trick else lead
        must = state.seat == state.dealer and state.high_bid == 0 and options.all_pass != AllPass.REDEAL
        bid = "bid: all others have passed" if must else "bid, or pass"
        return {BIDDING: bid, NAMING: "name the trump suit"}.get(int(state.phase), play)
    if state.pitcher < 0 or not state.captured.any():
        return ""
    side = side_of(options, int(state.pitcher))
    made = sum(int(one) == 1 + side for one in state.point)
    return f"{side_name(options, side)} bid {state.high_bid} and made {made}"


def _place(options: Options, state: State, seat: int | None, who: int) -> Place:
    hand = pile(map(card_name, list_set(int(state.hand[who]))), shown=seat in (None, who))
    notes = [word for word, fits in (("dealer", who == state.dealer), ("pitcher", who == state.pitcher)) if fits]
    return place(f"seat {who}", [hand], [_bid(int(state.bid[who])), *notes], who)


def _bid(bid: int) -> str:
    return ("", "passes")[bid] if bid < LEAST_BID else f"bids {bid}"


def _points(options: Options, state: State) -> str:
    won = [
        f"{POINTS[point]} {side_name(options, int(side) - 1)}"
        for point, side in enumerate(state.point)
        if int(side) - 1 != NOBODY
    ]
    return ", ".join(won)
