"""Template in words."""

from typing import Any

from backalley.envs.core import cards

from .state import PACK, STAY, Options


def action_str(options: Options, action: int) -> str:
    """`fold`, `stay`."""
    return "stay" if action == STAY else "fold"


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card of the pack lies."""
    held = state.card.tolist()
    return {"hands": held, "stock": [card for card in range(PACK) if card not in held]}


def table_str(options: Options, state: Any, seat: int | None) -> str:
    """The table as `seat` may see it; None shows everything."""
    return "  ".join(cards.card_name(card) if seat in (None, who) else "??" for who, card in enumerate(state.card))
