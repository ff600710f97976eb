"""Events: what the seats learn in the course of an episode, one entry after another.

The engine writes each action by itself, as others may see it (`GameType.action_told`). A game's `events.py`
declares the rest, in an `Events`: what a deal shows, what an action brings to light besides itself, and to whom.
`GameType.events` is that declaration. Only a batch or environment made with `events=True` keeps events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..compile.kernel import kernel
from ..compile.memory import put_word
from .record import dtype, field

EVERYBODY = -1
"""Addressee of a `tell`: all seats."""
NOBODY = -1
"""`who` of an event that no seat brings about."""
UNKNOWN = -1
"""`what` of an event whose number its reader may not know, such as a card face down."""

NOTHING, ACTION, HIDDEN_ACTION, OWN = 0, 1, 2, 3
"""Kinds of events: the padding after the last one; an action by its number; an action of which its reader knows only
`action_told` (`what` is the first action with these words); a game's own kinds begin with OWN."""

COLUMNS = 3
"""Numbers of an event as a seat gets it: kind, who, what."""


class Kind(NamedTuple):
    """A kind of event, in words."""

    name: str
    """What happened to `who`, such as "dealt" or "shows": `seat 2: shows QS`."""
    meaning: str
    """A sentence for the game's page: who learns what, by which § of the rules."""
    what: str = "number"
    """What the number is: "card", "value" (a card's), "number", "seat", or "nothing"."""
    words: tuple[str, ...] = ()
    """Names of the numbers 0, 1, 2, ... in place of digits."""


class Log:
    """The events of one table, in the memory of its batch. A record is handed on as one address, and arrays as seven
    numbers each (*measured*: Baccarat plays with events at 0.76 instead of 0.61 of its speed without)."""

    filled: int = field("i8", doc="events so far")
    room: int = field("i8", doc="events that the memory holds; where there is no more, they are only counted")
    address: int = field("i8", doc="the memory: addressee, kind, who, what of each as int16; who is a seat's number")


class Events(NamedTuple):
    """What a game's seats learn besides the actions that they see."""

    kinds: tuple[Kind, ...] = ()
    """The game's own kinds, numbered from OWN."""
    deal: Callable[..., None] | None = None
    """A kernel `deal(options, state, log)`, called after each deal: what it shows to whom. It reads the state as it is
    after the deal. None: a deal shows nothing."""
    step: Callable[..., None] | None = None
    """A kernel `step(options, before, state, action, log)`, called after each action and before the deals that follow:
    what becomes known besides the action itself. `before` is the state before the action (`before.seat` acted). None:
    nothing does."""
    secret: Callable[[Any, int], bool] = lambda options, action: False
    """`secret(options, action)`: whether other seats learn nothing of an action, not even that it was taken."""
    most: Callable[[Any], int] = lambda options: 64
    """`most(options)`: the most events that one action and the deals up to the next decision write, the action
    included."""
    length: Callable[[Any], int] = lambda options: 256
    """`length(options)`: the most events that one seat learns in an episode."""


@kernel
def all_but(seat: int) -> int:
    """Return the addressee of a `tell` to all seats but one."""
    return -2 - seat


@kernel
def tell(log: Log, addressee: int, kind: int, who: int, what: int) -> None:
    """Write one event. `addressee` is a seat, EVERYBODY, or `all_but(seat)`; `who` is a seat or NOBODY. Where the
    memory is full it is only counted; the engine reports that as an error."""
    at = log.filled
    if at < log.room:
        head = int(addressee) & 0xFFFF | (int(kind) & 0xFFFF) << 16 | (int(who) & 0xFFFF) << 32
        put_word(log.address + 8 * at, head | int(what) << 48)  # as int16 in the order of a little-endian processor
    log.filled = at + 1


LOG_TYPE = dtype(Log)
telling = kernel
"""What kernels that take a Log had to be marked with in 1.0.0; any kernel may take one."""
