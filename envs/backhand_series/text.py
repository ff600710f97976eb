"""Actions and tables in words. `names` are the names of a game's hands, by seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ..core.rules import cards
from ..core.rules.table import Pile, Table, laid_out, pile, place
from .rules import is_push_hand
from .state import (
    ACTION_NAMES,
    HAND_SIZE,
    PLAY_FROM,
    TEN,
    DealerState,
    HandOptions,
    HandState,
    HandType,
    Method,
    Verdict,
)

_SEATS = "mine", "opponent's"
_CARDS = [f"card {number}" for number in range(1, HAND_SIZE + 1)]
ENTRIES: Mapping[str, Sequence[Sequence[str]]] = {
    **dict.fromkeys(("to_act", "total", "player_total", "draws", "initial_value", "pushes", "success"), (_SEATS,)),
    **dict.fromkeys(("next_show", "dealer_total", "ahead", "dealt_first", "games_won"), (_SEATS,)),
    "hand": [_SEATS, _CARDS],
    "hand_type": [_SEATS, ("low", "play", "push")],
    "method": [_SEATS, ("bust", "five cards", "push", "backhand", "stand")],
    "verdict": [_SEATS, ("win", "tie", "loss")],
    "left": [[f"value {number}" for number in range(1, TEN)]],
    "show": [_CARDS],
}
"""What the entries of the observations' fields are called; a field that a game lacks counts for nothing."""


def action_str(options: HandOptions, action: int) -> str:
    """`hit`, `backhand`, `push`, `stand`."""
    return ACTION_NAMES[action]


def has_dealer(state: HandState) -> TypeGuard[DealerState]:
    """Whether there is a dealer hand on the table."""
    return hasattr(state, "show")


def piles(names: Sequence[str], options: HandOptions, state: HandState) -> Mapping[str, Sequence[int]]:
    """Hands by their seats' `names`, discards (replaced aces and pushed hands, in the order dealt), stub (next card
    first), show cards."""
    dealt = [int(card) for card in state.deck[: state.next_card]]
    found: dict[str, list[int]] = {}
    if has_dealer(state):
        found["show"] = [int(card) for card in state.show] if dealt else []
    for player, name in enumerate(names):
        size = 2 + int(state.draws[player]) if state.initial_value[player] else 0
        found[name] = [int(card) for card in state.cards[player, :size]]
    held = {card for pile in found.values() for card in pile}
    found["discards"] = [card for card in dealt if card not in held]
    found["stub"] = [int(card) for card in state.deck[state.next_card :][: state.left.sum()]]
    return found


def table(names: Sequence[str], options: HandOptions, state: HandState, seat: int | None) -> Table:
    """The table by places. A seat sees all but the stub's order; None sees that too."""
    lying = {name: [cards.card_name(card) for card in found] for name, found in piles(names, options, state).items()}
    middle = [
        pile(lying["show"], "show cards") if has_dealer(state) else Pile(),
        pile(lying["discards"], "discards"),
        pile(lying["stub"], "stub", shown=seat is None, heap=True),
    ]
    hands = [
        place(name, [pile(lying[name], "", *_hand_words(state, number))], seat=number)
        for number, name in enumerate(names)
    ]
    return laid_out((), (*hands, place("table", middle)), headline=_headline(options, state))


def _headline(options: HandOptions, state: HandState) -> str:
    """What is asked of the seat to act. §1.3, §1.4"""
    if state.seat < 0:
        return ""
    if is_push_hand(state, state.seat):
        return "take one last card (hit), or two new ones for both of yours (push)"
    if state.total[state.seat] < PLAY_FROM:
        return "take a card (hit); your hand is too low for anything else"
    return "take a card (hit), or a last one that must go beyond 21 (backhand)"


def _hand_words(state: HandState, player: int) -> list[str]:
    """What a hand is worth and how it ended, in words."""
    if not state.initial_value[player]:
        return []
    words = [f"total {state.total[player]}"]
    if state.draws[player]:
        if has_dealer(state):
            words += [f"player total {state.player_total[player]}", f"dealer total {state.dealer_total[player]}"]
    elif not state.method[player]:
        words.append(f"{HandType(state.hand_type[player]).name.lower()} hand")
    if state.method[player]:
        words.append(
            f"{Method(state.method[player]).name.lower().replace('_', ' ')}: "
            f"{Verdict(state.verdict[player]).name.lower()}"
        )
    return words
