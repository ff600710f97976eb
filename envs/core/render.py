"""Draws any game's table in text, from one seat's view."""

from __future__ import annotations

from typing import Any

import numpy as np

from .engine import Engine
from .options import OptionError, unexpected_keyword
from .parts import OVER

RENDER_MODES = ("ansi", "human")


def check_render_mode(given: Any) -> None:
    """Raise OptionError, in the words others look for, for a mode that nothing is drawn in."""
    if given is not None and not (isinstance(given, str) and given in RENDER_MODES):
        raise OptionError(
            f"{unexpected_keyword('render_mode')}: it is {given!r}, and takes "
            f"{', '.join(map(repr, RENDER_MODES))} or None."
        )


def table_text(engine: Engine, row: int, seat: int | None) -> str:
    """The table of `row` as `seat` (by default the seat to act) may see it: a head line, the game's own picture, the
    legal actions."""
    game, batch = engine.game, engine.batch
    acting = int(batch.seat[row])
    viewer = acting if seat is None else seat
    head = f"{game.title} · decision {int(batch.decisions[row]) + 1}"
    if acting == OVER:
        viewer, tail = max(viewer, 0), "The game is over."
        head = f"{game.title} · {int(batch.decisions[row])} decisions"
    else:
        names = [game.action_str(int(action)) for action in np.flatnonzero(batch.mask[row])]
        tail = f"{game.seat_name(acting).capitalize()} to act"
        if viewer == acting:
            tail += ": " + (", ".join(names[:16]) + (f" ... ({len(names)} in all)" if len(names) > 16 else ""))
    seen = f"seen by {game.seat_name(viewer)} (player_{viewer})"
    return f"{head} · {seen}\n{game.table_str(batch.state[row], viewer)}\n{tail}"
