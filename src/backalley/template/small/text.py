"""Template in words."""

from typing import Any

from backalley.envs.core.rules import cards
from backalley.envs.core.rules.table import Table, laid_out, pile, place

from .state import PACK, STAY, Options


def action_str(options: Options, action: int) -> str:
    """`fold`, `stay`."""
    return "stay" if action == STAY else "fold"


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card of the pack lies."""
    hands = state.card.tolist()
    return {"hands": hands, "stock": [card for card in range(PACK) if card not in hands]}


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything. Text and pictures are drawn from it."""
    hands = [pile([cards.card_name(card)], shown=seat in (None, who)) for who, card in enumerate(state.card)]
    return laid_out((), tuple(place(f"seat {who}", [hand], seat=who) for who, hand in enumerate(hands)))
