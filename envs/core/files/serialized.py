"""A `GameState` as text: its game, its chance and what was applied since the beginning, which are played again.

A playthrough holds packs and what was shown, and begins with a deal; this also holds chance nodes and the stream of the
deals to come. Each action that a text names is checked as any other, so a text from anywhere leads to a state that the
rules allow, or is refused.
"""

from __future__ import annotations

import json

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..api.game_state import GameState, begin
from . import gate, reading

FORMAT = "backalley state 1"
_WORD = 2**64

SHAPE = {
    "format": gate.OneOf([FORMAT]),
    **gate.OF_A_GAME,
    "events": bool,
    "stream": gate.Either((gate.Whole(0, _WORD - 1), None)),
    "moves": gate.ListOf(gate.Whole(-_WORD, 1_000_000), 1_000_000),
    gate.CHECK: gate.Text(32),
}
"""What a text holds (`gate.py`); `stream` is null with explicit chance."""


def serialize_state(state: GameState) -> str:
    """Return a state as a line of JSON, from which `deserialize_state` makes an equal one, here or elsewhere.

    >>> import backalley
    >>> state = backalley.game("pitch").new_state(seed=1, events=True)
    >>> state.apply(state.legal_actions()[0])
    >>> again = backalley.deserialize_state(backalley.serialize_state(state))
    >>> again.public_state_string() == state.public_state_string()
    True

    Raises TypeError for anything else; RuntimeError for a state that was redrawn or taken from a table (`origin`).
    """
    if not isinstance(state, GameState):
        raise InvalidType(f"serialize_state takes a GameState; a {type(state).__name__} was given.")
    game = state.game
    found = {"format": FORMAT, "game": game.name, "version": game.version, "options": game.changed_options}
    return json.dumps(gate.with_checksum(found | state.origin()))


def deserialize_state(text: str) -> GameState:
    """Return the state of a text that `serialize_state` wrote. The game is one that is registered. Raises TypeError for
    what is no text; ValueError for one that is damaged, of an unknown game or of another version of its rules, or that
    names an action that is not legal."""
    if not isinstance(text, str):
        raise InvalidType(f"deserialize_state takes a text; a {type(text).__name__} was given.")
    try:
        found = reading.json_of(text)
        gate.pass_gate(found, SHAPE)
        found = gate.pass_checksum(found)
        state = begin(gate.game_in(found), found["stream"], found["events"])
        for move in found["moves"]:
            state.draw_chance(-1 - move) if move < 0 else state.apply(move)
    except (ValueError, InvalidCall) as error:
        raise InvalidValue(f"The text is no state: {str(error).rstrip('.')}.") from None
    return state
