"""One table as one seat sees it: the table, whose turn it is, the legal actions. Text and pictures are drawn only from
this."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..compile.interfaces import OVER
from ..engine.batch_kernels import Batch
from ..game.game import Game
from ..rules.table import Table, broken, text_of

_MOST_NAMED = 16


class Tables(Protocol):
    """What is drawn: a batch, or an environment of one table."""

    game: Game

    @property
    def arrays(self) -> Batch: ...


class Scene(NamedTuple):
    """A table, and the text beside it."""

    title: str
    seen: str
    """Who sees it."""
    table: Table
    viewer: int | None
    """The seat that sees it; None sees everything."""
    acting: int | None
    """Whose turn it is; None where the game is over."""
    turn: str
    """That in words."""
    actions: tuple[tuple[int, str], ...] = ()
    """The numbers and names of the legal actions, where the viewer is to act."""


def scene(tables: Tables, row: int, seat: int | None, face_up: bool = False) -> Scene:
    """Return the table of `row` as `seat` (by default the seat to act) may see it; with `face_up` everybody's own cards
    are shown as they see them."""
    game, batch = tables.game, tables.arrays
    acting = int(batch.seat[row])
    viewer = acting if seat is None else seat
    made, over = int(batch.decisions[row]), acting == OVER
    where = f" · {made} decision{'s' * (made != 1)}" if over else f" · decision {made + 1}"
    viewer = max(viewer, 0)
    legal = [] if over or viewer != acting else np.flatnonzero(batch.mask[row]).tolist()
    return Scene(
        title=game.title + where * face_up,  # a seat may not know how often others have decided
        seen="all hands face up" if face_up else f"seen by {game.seat_name(viewer)} (player_{viewer})",
        table=_face_up(game, batch.state[row], viewer) if face_up else game.table(batch.state[row], viewer),
        viewer=viewer,
        acting=None if over else acting,
        turn="The game is over." if over else f"{game.seat_name(acting).capitalize()} to act",
        actions=tuple((action, game.action_str(action)) for action in legal),
    )


def _face_up(game: Game, state: Any, viewer: int) -> Table:
    """The table from a chair, with each seat's place as that seat sees it."""
    table = game.table(state, viewer)
    own = [one for who in range(game.num_seats) for one in game.table(state, who).places if one.seat == who]
    return table._replace(places=(*own, *(one for one in table.places if one.seat is None)))


def text(shown: Scene) -> str:
    """Return a head line, the table, and the legal actions, in 80 columns."""
    named, more = [name for _, name in shown.actions[:_MOST_NAMED]], len(shown.actions) > _MOST_NAMED
    tail = shown.turn + (": " + ", ".join(named) if named else "")
    tail += f" ... ({len(shown.actions)} in all)" if more else ""
    return "\n".join([*broken(f"{shown.title} · {shown.seen}"), text_of(shown.table), *broken(tail, "  ")])
