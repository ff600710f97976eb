"""Template in words."""

from typing import Any

from backalley.envs.core import cards

from .state import STAY, Options


def action_str(options: Options, action: int) -> str:
    """`fold`, `stay`."""
    return "stay" if action == STAY else "fold"


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card of the pack lies."""
    return {"hands": state.deck[:2].tolist(), "stock": state.deck[2:].tolist()}


def table_str(options: Options, state: Any, seat: int | None) -> str:
    """The table as `seat` may see it; None shows everything."""
    return "  ".join(cards.card_name(card) if seat in (None, who) else "??" for who, card in enumerate(state.deck[:2]))
