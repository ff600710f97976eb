"""Killer Back Alley Bridge Substitute in words: the table as a seat may see it, and where every card lies."""

from __future__ import annotations

from ..core import cards
from ..core.cards import BIG_JOKER, LITTLE_JOKER, list_set
from ..core.tricks import NO_TRUMP
from .scorecard import ScorecardLine, scorecard
from .state import BOARD, NO_BID, NO_CARD, PACK_SIZE, PLAY, RAINBOW, Options, State, num_hands

SEATS_ABREAST = 4
"""Of how many seats the drawn scorecard shows the same hands in one line."""


def action_str(options: Options, action: int) -> str:
    """`bid 3`, `board`, `rainbow`, `play QS`."""
    if action >= PLAY:
        return f"play {cards.card_name(action - PLAY)}"
    return "board" if action == BOARD else "rainbow" if action == RAINBOW else f"bid {action}"


def bid_str(bid: int) -> str:
    """A bid as the table shows it."""
    return "-" if bid == NO_BID else "board" if bid == BOARD else "rainbow" if bid == RAINBOW else str(bid)


def cries(trick: list[int]) -> str:
    """What is exclaimed at a led big joker, and when the little one (BOHICA) falls to it."""
    if BIG_JOKER not in trick[:1]:
        return ""
    return "  Rake 'em and shake 'em!" + ("  BOHICA!" if LITTLE_JOKER in trick else "")


def scorecard_lines(options: Options, state: State) -> list[str]:
    """§1.6: the scorecard, some seats abreast and the others below them."""
    card = scorecard(options, state)
    if not card:
        return ["scorecard: -"]
    sips = ", sips" if options.drinking else ""
    lines = [f"scorecard: bid (B board, R rainbow) and tricks won, points, total{sips}"]
    for first in range(0, options.num_players, SEATS_ABREAST):
        seats = range(first, min(options.num_players, first + SEATS_ABREAST))
        width = 22 if options.drinking else 17
        names = "".join(f"{f'seat {seat}':>{width}}" for seat in seats)
        lines.append(f"hand cards up  d {names}")
        for line in card:
            turned = "-" if line.turned == NO_CARD else cards.card_name(line.turned)
            entries = "".join(f"{entry_str(options, line, seat):>{width}}" for seat in seats)
            lines.append(f"{line.hand:>4} {line.cards:>5} {turned:>2} {line.dealer:>2} {entries}")
    return lines


def entry_str(options: Options, line: ScorecardLine, seat: int) -> str:
    """A seat's part of a line."""
    bid = {BOARD: "B", RAINBOW: "R"}.get(line.bids[seat], str(line.bids[seat]))
    sips = f" {line.sips[seat]:>4}" if options.drinking else ""
    return f"{bid}/{line.won[seat]} {line.points[seat]:>+4} {line.totals[seat]:>5}{sips}"


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
        drunk = f"  {int(state.sips[who])} sips" if options.drinking else ""
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
        lines.append(f"{name}: {', '.join(played) or '-'}{cries(trick.tolist())}")
    lines += scorecard_lines(options, state)
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
