"""A position in words, as one seat may know it: the table, what has happened, whose turn it is, the legal actions."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..api.game_state import GameState
from ..api.histories import events_str
from ..game.game import Game
from ..rules.options import choices, declared, typed

SO_FAR, YOUR_TURN = "so far", "It is your turn."


def observation_text(state: GameState, seat: int, *, since: str | None = "episode") -> str:
    """Return what a seat may know of a position, in words: the game and its options, who it is, what has happened since
    the episode or the latest deal began (`since="deal"`; None leaves it out), the table, and whose turn it is. The
    legal actions are `legal_texts`. Two positions that the seat cannot tell apart have the same text. Raises TypeError
    or ValueError for an invalid seat or `since`, RuntimeError for a state made without `events=True`."""
    table = state.table_str(seat)
    seen = None if since is None else event_texts(state, seat, since)
    when = "since the latest deal" if since == "deal" else SO_FAR
    return words_for(head_text(state.game, seat), seen, when, table, _turn(state, seat))


def words_for(head: str, seen: Sequence[str] | None, when: str, table: str, turn: str = YOUR_TURN) -> str:
    """Return what `observation_text` does, by its parts: the head (empty leaves it out), the lines of what has happened
    (None leaves that out) and since when, the table, and whose turn it is."""
    happened = "" if seen is None else "\n".join([f"What happened {when}, as you saw it:", *(seen or ["nothing"])])
    shown = table and f"The table as you see it:\n{table}"
    return "\n\n".join(filter(None, [head, happened, shown, turn]))


def legal_texts(state: GameState) -> list[str]:
    """Return the names of the legal actions, in the order of `state.legal_actions()`; of outcomes, where chance
    decides."""
    name = state.outcome_str if state.is_chance else state.game.action_str
    return [name(action) for action in state.legal_actions()]


def event_texts(state: GameState, seat: int, since: str = "episode") -> list[str]:
    """Return what a seat has learned, in order, a line each: `seat 2: bid 3`. Events that differ in the number alone
    share a line. Raises as `GameState.events` does."""
    return events_str(state.game, state.events(seat, since=since), int(seat)).splitlines()


@functools.lru_cache(maxsize=256)
def head_text(game: Game, seat: int) -> str:
    """Return the game, the options that differ from the defaults with what they mean, and who the reader is."""
    kind: type = game.type.Options
    notes = declared(kind)
    options = [
        f"  {name}={typed(value)}: {game.type.reworded(notes[name][1].doc)} (takes {choices(kind, name)})"
        for name, value in game.changed_options.items()
    ]
    lines = [f"Game: {game.title}{', with these options:' if options else '.'}", *options]
    others = [game.seat_name((seat + step) % game.num_seats) for step in range(1, game.num_seats)]
    if not others:
        return "\n".join(lines)
    mates = [other for other, side in enumerate(game.sides) if side == game.sides[seat] and other != seat]
    partners = f", and play together with {', '.join(map(game.seat_name, mates))}" if mates else ""
    around = f"To your left, in order, sit {', '.join(others)}." if others[1:] else f"The other seat is {others[0]}."
    return "\n".join([*lines, f"You are {game.seat_name(seat)}{partners}. {around}"])


def _turn(state: GameState, seat: int) -> str:
    if state.is_over:
        return "The game is over."
    if state.is_chance:
        return "Chance decides next."
    return YOUR_TURN if state.seat == seat else f"It is the turn of {state.game.seat_name(state.seat)}."
