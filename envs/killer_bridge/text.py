"""Killer Back Alley Bridge Substitute in words: the table as a seat may see it, and where every card lies."""

from __future__ import annotations

from ..core import cards
from ..core.cards import BIG_JOKER, list_set
from ..core.tricks import NO_TRUMP
from .schedule import num_hands
from .state import BOARD, NO_BID, NO_CARD, PACK_SIZE, PLAY, RAINBOW, Options, State, Variant


def action_str(options: Options, action: int) -> str:
    """`bid 3`, `board`, `rainbow`, `play QS`."""
    if action >= PLAY:
        return f"play {cards.card_name(action - PLAY)}"
    return "board" if action == BOARD else "rainbow" if action == RAINBOW else f"bid {action}"


def bid_str(bid: int) -> str:
    """A bid as the table shows it."""
    return "-" if bid == NO_BID else "board" if bid == BOARD else "rainbow" if bid == RAINBOW else str(bid)


def table_str(options: Options, state: State, seat: int | None) -> str:
    """The hand, the trick and everybody's bid and score, as `seat` may see them; None shows all cards."""
    trump = (
        "no trump"
        if state.trump == NO_TRUMP
        else f"trump {('clubs', 'diamonds', 'hearts', 'spades')[int(state.trump)]}"
    )
    turned = "nothing turned up" if state.turned == NO_CARD else f"{cards.card_name(int(state.turned))} turned up"
    head = (
        f"hand {int(state.hand_index) + 1} of {num_hands(options)}: "
        f"{int(state.hand_size)} cards each, {turned}, {trump}"
    )
    lines = [head, "seat  bid      won  score  cards"]
    for who in range(options.num_players):
        dealer = "d" if who == state.dealer else " "
        hand = int(state.hand[who])
        shown = cards.card_names(list_set(hand)) if seat in (None, who) else f"({hand.bit_count()} cards)"
        drunk = f"  {int(state.sips[who])} sips" if options.variant == Variant.DRINKING else ""
        bid = bid_str(int(state.bid[who]))
        lines.append(f"{who:>3}{dealer}  {bid:<8} {int(state.won[who]):>3} {int(state.score[who]):>6}  {shown}{drunk}")
    for name, leader, trick in (
        ("last trick", int(state.last_leader), state.last_trick[: options.num_players if state.finished else 0]),
        ("this trick", int(state.leader), state.trick[: int(state.in_trick)]),
    ):
        played = [
            f"{(leader + index) % options.num_players}: {cards.card_name(int(card))}"
            for index, card in enumerate(trick)
        ]
        cry = "  Rake 'em and shake 'em!" if played and trick[0] == BIG_JOKER else ""
        lines.append(f"{name}: {', '.join(played) or '-'}{cry}")
    if seat is None:
        lines.append(f"left over: {cards.card_names(piles(options, state)['leftover']) or '-'}")
    return "\n".join(lines)


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """§1.1: the 54 cards by place."""
    found = {f"hand {seat}": list_set(int(state.hand[seat])) for seat in range(options.num_players)}
    found |= {f"played {seat}": list_set(int(state.played[seat])) for seat in range(options.num_players)}
    found["turned"] = [] if state.turned == NO_CARD else [int(state.turned)]
    lying = {card for pile in found.values() for card in pile}
    found["leftover"] = [card for card in range(PACK_SIZE) if card not in lying]
    return found
