"""Poker Duel in text: actions, where the cards lie, and the table as a seat may see it."""

from __future__ import annotations

from ..core.compile.interfaces import CHANCE, OVER
from ..core.rules import cards, pokerhands
from ..core.rules.table import Pile, Place, Table, laid_out, pile, place
from .slots import discarded, fought, placed, slot_strength, stock_left
from .state import ARRANGE, ASSIGN, HAND, SLOT, SLOTS, STAND, Episode, Options, State


def action_str(options: Options, action: int) -> str:
    """`discard QS`, `stand`, `slot 1`."""
    if action < STAND:
        return f"discard {cards.card_name(action)}"
    return "stand" if action == STAND else f"slot {action - ASSIGN + 1}"


def action_told(options: Options, action: int) -> str:
    """What the opponent is shown: not which card is thrown away, unless discards lie open, nor where one goes."""
    if action > STAND:
        return "assigns a card"
    return action_str(options, action) if action == STAND or options.discards_public else "exchanges a card"


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """Where every card lies."""
    found: dict[str, list[int]] = {}
    for seat in range(2):
        for slot in range(SLOTS):
            found[f"seat {seat} slot {slot + 1}"] = state.slots[seat, slot, : state.filled[seat, slot]].tolist()
        first = placed(state, seat) if state.phase == ARRANGE else HAND
        found[f"seat {seat} unassigned"] = state.offer[seat, first:].tolist()
        found[f"seat {seat} discards"] = state.discards[seat, : discarded(state, seat)].tolist()
    found["deck"] = state.stock[state.drawn : int(state.drawn) + stock_left(options, state)].tolist()
    return found


def table(options: Options, state: State, seat: int | None) -> Table:
    """The match so far and both sides of the table, closed hands face down."""
    lying = piles(options, state)
    deck = pile(_names(lying["deck"]), "deck", shown=seat is None, heap=True)
    seats = [_place(options, state, seat, who, lying) for who in range(2)]
    headline = _headline(state, seat, lying)
    return laid_out([_score_line(options, state)], (*seats, place("table", [deck])), headline=headline)


def _headline(state: State, seat: int | None, lying: dict[str, list[int]]) -> str:
    """What is asked of the seat to act (§1.2, §1.3), or the points after a hand that is not the last."""
    if state.seat < 0:
        return "" if state.seat == OVER else f"points: seat 0 {state.points[0]:g}, seat 1 {state.points[1]:g}"
    if state.phase != ARRANGE:
        return f"exchange a card of slot {state.round_index + 1}, or stand"
    card = _names(lying[f"seat {state.seat} unassigned"])[0] if seat in (None, state.seat) else "a card"
    return f"choose a slot for {card}"


def _place(options: Options, state: State, seat: int | None, who: int, lying: dict[str, list[int]]) -> Place:
    mine = seat in (None, who)
    title, dealer = f"seat {who}", "dealer" * int(state.dealer == who)
    if state.phase == ARRANGE and not mine:
        return place(title, [], [dealer, "fifteen cards, arranged unseen"], who)
    slots = range(SLOTS if state.sudden_death == 0 else 1)
    found = [_slot(options, state, who, slot, mine or fought(state, slot)) for slot in slots]
    unassigned = _names(lying[f"seat {who} unassigned"])
    found += [pile(unassigned[:1], "to assign now"), pile(unassigned[1:], "to assign later")]
    shown = mine or options.discards_public
    found.append(pile(_names(lying[f"seat {who} discards"]), "discards", shown=shown, heap=not shown))
    return place(title, found, [dealer], who)


def _names(lying: list[int]) -> list[str]:
    return [cards.card_name(card) for card in lying]


def _score_line(options: Options, state: State) -> str:
    score = f"points {state.points[0]:g} to {state.points[1]:g}"
    if state.sudden_death > 0:
        hand = f"sudden death, hand {state.sudden_death} of at most {options.max_sudden_death}"
        return hand if options.episode == Episode.SUDDEN_DEATH else f"{hand}, {score}"
    if state.phase == ARRANGE:
        now = "arranging"
    elif state.round_index < SLOTS:
        now = f"round {state.round_index + 1} worth {options.round_points[state.round_index]}"
    else:
        now = "finished"
    number = max(state.game + (state.seat != CHANCE), 1)  # a game that is over counts as played
    return f"game {number} of {options.num_games}, {now}, {score}"


def _slot(options: Options, state: State, who: int, slot: int, shown: bool) -> Pile:
    count = int(state.filled[who, slot])
    hand = sorted(state.slots[who, slot, :count].tolist(), key=lambda card: (card % 13, card))
    notes = []
    if shown and count == SLOT:
        category = pokerhands.Category(slot_strength(options, state, who, slot) >> pokerhands.CATEGORY_SHIFT)
        notes.append(category.name.lower().replace("_", " "))
    swapped = int(state.exchanges[who, slot])
    notes += [f"{swapped} exchanged"] * (swapped > 0) + ["stood"] * int(state.stood[who, slot])
    return pile(_names(hand), f"slot {slot + 1}", *notes, shown=shown)
