"""One game that people and agents play: its history, what each seat may see of it, and the file it is kept in.

What a table is follows from its opening (a seed, or the cards of a recorded game) and its actions: so it is kept, taken
back and looked back on. A seat is sent what it sees at a frame, and nothing else.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.analysis import analyse, view_at
from backalley.agents.base.agent import Agent, View, name_of, view_of
from backalley.agents.base.keys import agent_keys
from backalley.agents.people.watching import action_words
from backalley.benchmarks.analyse.review import judged
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.drawing import scene as scenes
from backalley.envs.core.files import gate, playthrough
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.events import Events
from backalley.envs.core.rules.table import Pile
from backalley.envs.core.rules.table import Table as Shown
from backalley.envs.core.text import event_texts

from . import telling

FORMAT = "backalley table 1"
_SEATS, _SECRET = 64, gate.Text(128)
_CHAIR = {"agent": gate.Text(200), "link": _SECRET, "open": bool, "session": _SECRET}
_DECK = gate.ListOf(gate.Either((gate.Whole(0, 10_000), gate.Text(8))), 10_000)
SHAPE = {
    "format": gate.OneOf([FORMAT]),
    **gate.OF_A_GAME,
    "game": gate.GAME,
    "over": bool,
    "owner": _SECRET,
    "chairs": gate.ListOf(_CHAIR, _SEATS),
    "undo": gate.Either((None, {"seat": gate.Whole(0, _SEATS), "agree": gate.ListOf(gate.Whole(0, _SEATS), _SEATS)})),
    "opening": gate.Either(
        ({"seed": gate.Whole()}, {"decks": gate.ListOf(_DECK, 10_000), "start_outcome": gate.Whole(0, 10_000)})
    ),
    "actions": gate.ListOf(gate.Whole(0, 100_000)),
}
"""What the file of a table holds (`gate.py`), beside its checksum."""
LOOKED_BACK = 4
"""In how many decisions before a frame a finished trick is looked for: between it and the next lead lie but a few."""
MOST_DRAWN = 32
"""How many pictures of a table are kept for others who ask for the same."""


@dataclass
class Chair:
    """Who plays a seat: an agent by its name, or a person, who takes the chair by its link."""

    agent: str = ""
    link: str = ""
    """The secret with which a person takes it; empty for an agent's."""
    open: bool = False
    """Whether the chair is offered to everybody at this server."""
    session: str = ""
    """The digest of the session that has taken it."""


class Frame(NamedTuple):
    """One picture of a game: before a decision, at its end, or where a deal has ended and another follows."""

    state: GameState
    decisions: int
    returns: tuple[float, ...]
    ended: npt.NDArray[np.void] | None = None
    """The State record where a deal has ended; there `state` waits for chance."""


@dataclass
class Table:
    """A game with its chairs. Raises ValueError where a file's game cannot be played as it is kept."""

    id: str
    game: Game
    opening: dict[str, Any]
    """`seed`, or `decks` and `start_outcome`."""
    chairs: list[Chair]
    owner: str
    """The digest of the session that made it."""
    actions: list[int] = field(default_factory=list)
    undo: dict[str, Any] | None = None
    """Who asks to take their last action back (`seat`), and which seats agree (`agree`)."""
    trouble: str = ""
    """Why it waits; empty where it does not."""
    version: int = 0
    """Changes with all that is shown; not kept."""

    def __post_init__(self) -> None:
        self.env = AECEnv(self.game, events=self.game.type.events is not None)
        self._keys = agent_keys([rng.stream_of(self.opening.get("seed", 0))])
        self.replay(len(self.actions))

    # What happens ---------------------------------------------------------------------------------------------------

    def replay(self, decisions: int) -> None:
        """Go to where that many actions have been played, and forget the others."""
        actions, self.actions, self.trouble = self.actions[:decisions], [], ""
        cards = {name: value for name, value in self.opening.items() if name != "seed"}
        self.env.reset(seed=self.opening.get("seed", 0), options=cards or None)
        self.frames, self._returns = list[Frame](), np.zeros(self.game.num_seats)
        self._drawn: dict[tuple[int, int | None, str, int], dict[str, Any]] = {}
        self._results: dict[tuple[int, int | None], tuple[int, list[str]]] = {}
        self._look()
        for action in actions:
            self.play(action)

    def play(self, action: int) -> None:
        """Play an action of the seat to act. Raises ValueError for an illegal one, with nothing changed."""
        after = self.frames[-1].state.clone()
        after.apply(action)
        if after.is_chance:
            gained = self._returns + after.rewards()
            self.frames.append(Frame(after, len(self.actions) + 1, tuple(gained.tolist()), after.record()))
        self.env.step(action)
        self.actions.append(action)
        self._returns = self._returns + self.env.arrays.reward[0]
        self._look()
        self.undo, self.trouble = None, ""

    def _look(self) -> None:
        self.frames.append(Frame(self.env.position(), len(self.actions), tuple(self._returns.tolist())))
        self.version += 1

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.acting == OVER

    @property
    def acting(self) -> int:
        """The seat to act."""
        return self.frames[-1].state.seat

    @property
    def is_free(self) -> bool:
        """Whether everything may be looked at: the game is over, or no person plays."""
        return self.over or not any(chair.link for chair in self.chairs)

    def people(self) -> list[int]:
        """The seats in which people sit."""
        return [seat for seat, chair in enumerate(self.chairs) if chair.session]

    def before_last_action_of(self, seat: int) -> int | None:
        """The number of actions before this seat's last one; None where it has not acted."""
        made = [frame.decisions for frame in self.frames[:-1] if frame.ended is None and frame.state.seat == seat]
        return made[-1] if made else None

    def question(self) -> View:
        """Return what the seat to act sees now, at a copy of the table: an agent may think there, in another thread."""
        return view_of(copy.deepcopy(self.env), np.zeros(1, np.int64), self._keys)

    # What a seat sees -----------------------------------------------------------------------------------------------

    def frames_of(self, seat: int | None) -> list[int]:
        """Return the frames that a seat looks back on, by their numbers: all of them for None. Where another seat has
        done what the rules keep secret altogether (`Events.secret`), it is not shown that anything was decided."""
        last, secret = len(self.frames) - 1, self._secret
        return [
            at
            for at, frame in enumerate(self.frames)
            if seat is None or at == last or frame.ended is not None or frame.state.seat in (seat, OVER)
            or not secret[self.actions[frame.decisions]]
        ]  # fmt: skip

    @functools.cached_property
    def _secret(self) -> list[bool]:
        """Of each action, whether others learn nothing of it."""
        events, game = self.game.type.events, self.game
        return [events is not None and events.secret(game.options, action) for action in range(game.num_actions)]

    def seat_of(self, session: str) -> int | None:
        """The seat of a session; None where it has none."""
        return next((seat for seat, chair in enumerate(self.chairs) if chair.session == session), None)

    def seen(self, at: int, seat: int | None, theme: str = "light", width: int = 960) -> dict[str, Any]:
        """Return frame `at` as a seat sees it, with a picture `width` pixels wide; None shows all cards. Nothing in it
        depends on what the seat cannot know."""
        look = at, seat, theme, width
        if look not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            self._drawn[look] = self._draw(*look)
        return self._drawn[look]

    def _draw(self, at: int, seat: int | None, theme: str, width: int) -> dict[str, Any]:
        from backalley.envs.core.drawing.pictures.drawing import svg  # letters are read when the first is drawn

        frame, names = self.frames[at], telling.seats_called(self.game, seat)
        asked = self._scene(at, seat)
        if seat is not None:
            asked = asked._replace(seen=f"seen by {names[seat]}")
        scene = telling.by_place(asked._replace(actions=()), names)  # actions keep their names: they are answers
        picture = svg(scene._replace(actions=asked.actions), theme, width=width)
        return {
            "seat": seat,
            "acting": scene.acting,
            "turn": telling.by_place(telling.turn(asked.table, asked.acting, asked.turn, seat), names),
            "svg": telling.by_place(picture, names),
            "words": scenes.text(scene),
            "actions": asked.actions,
            "events": [telling.by_place(line, names) for line in self._log(at, seat)],
            "returns": frame.returns,
            "deal_over": frame.ended is not None,
        }

    def ending(self, seat: int | None) -> str:
        """Return how the game has ended, for who sat in a seat or for an onlooker; empty before."""
        last = len(self.frames) - 1
        return telling.ending(self.game, self.frames[-1].returns, seat, self._table(last, seat)) if self.over else ""

    # What has happened ----------------------------------------------------------------------------------------------

    def _log(self, at: int, seat: int | None) -> list[str]:
        """What a seat has learned in the present deal, and what came of it: who took a trick, what was scored."""
        lines = self._events(at, seat)
        for place in range(at, self._begun(at), -1):
            where, results = self._result(place, seat)
            lines[where:where] = results
        return telling.folded(lines)

    def _begun(self, at: int) -> int:
        """The first frame of the deal that a frame shows."""
        return max((place for place in range(at) if self.frames[place].ended is not None), default=-1) + 1

    def _events(self, at: int, seat: int | None) -> list[str]:
        if seat is not None and self.game.type.events is not None:
            return self._learned(at, seat, self.game.type.events)
        made = (frame for frame in self.frames[self._begun(at) : at] if frame.ended is None)
        return [action_words(self.game, frame.state.seat, self.actions[frame.decisions], seat) for frame in made]

    def _learned(self, at: int, seat: int, events: Events) -> list[str]:
        """The events of the present deal; of cards that are shown by their values, the cards that lie there."""
        kinds = [kind.name for kind in events.kinds if kind.what == "value"]
        if not kinds:
            return self._texts(at, seat)
        lines = list[str]()
        for place in range(self._begun(at), at + 1):
            more = self._texts(place, seat)[len(lines) :]
            lines += telling.with_cards(more, kinds, self._table(place, seat), self.game, seat)
        return lines

    def _texts(self, at: int, seat: int) -> list[str]:
        """The events of the present deal in words."""
        return event_texts(self.frames[at].state, seat, "deal")

    def _result(self, at: int, seat: int | None) -> tuple[int, list[str]]:
        """After which line of the log it says what the decision before a frame has brought, and those lines."""
        if (at, seat) not in self._results:
            whole = self.frames[at].ended is not None or self.frames[at].state.is_over
            trick, before, after = self._finished(at, seat), self._table(at - 1, seat), self._table(at, seat)
            lines = [f"the trick is taken by seat {self._leader(at)}"] if trick else []
            lines += telling.changes(before, after, whole) if trick or whole else telling.points(before, after)
            lines += telling.verdicts(before, after)
            where = 0
            if lines:  # what its winner draws comes after a trick
                where = len(self._events(at - 1, seat)) + 1 if trick and not whole else len(self._events(at, seat))
            self._results[at, seat] = where, lines
        return self._results[at, seat]

    def _finished(self, at: int, seat: int | None) -> tuple[Pile, ...]:
        """The cards of the trick that the decision before a frame has finished, the one before in the same deal."""
        if at <= self._begun(at):
            return ()
        before = self.frames[at - 1]
        action, who = self.actions[before.decisions], before.state.seat
        words = self.game.action_str(action) if seat in (None, who) else self.game.action_told(action)
        return telling.finished(self._table(at - 1, seat), self._table(at, seat), who, words)

    def _leader(self, at: int) -> int | None:
        """Who leads next, as who took the last trick does, where the game's State says so."""
        frame = self.frames[at]
        record = frame.state.record() if frame.ended is None else frame.ended
        return int(record["leader"]) if "leader" in (record.dtype.names or ()) else None

    def _table(self, at: int, seat: int | None) -> Shown:
        frame = self.frames[at]
        return self.game.table(frame.state.record() if frame.ended is None else frame.ended, seat)

    def _scene(self, at: int, seat: int | None) -> scenes.Scene:
        """A frame with the last trick, which lies there until the next lead."""
        scene, place = self._bare_scene(at, seat), at
        trick = telling.trick_of(scene.table)
        if trick is None or trick.piles:
            return scene
        while place > max(self._begun(at), at - LOOKED_BACK) and not (piles := self._finished(place, seat)):
            place -= 1
        if place <= max(self._begun(at), at - LOOKED_BACK):
            return scene
        return scene._replace(table=telling.with_trick(scene.table, piles, self._leader(place)))

    def _bare_scene(self, at: int, seat: int | None) -> scenes.Scene:
        frame = self.frames[at]
        if frame.ended is not None:
            before = self._bare_scene(at - 1, seat)
            table = self.game.table(frame.ended, seat)
            return before._replace(table=table, acting=None, turn=telling.dealt(table, seat), actions=())
        batch = BatchEnv.from_states(frame.state.states())
        scene = scenes.scene(batch, 0, 0 if seat is None else seat)
        if seat is not None:
            return scene
        every = self.game.table(batch.arrays.state[0], None)
        return scene._replace(table=every, viewer=None, seen="all cards are shown", actions=())

    def values(self, at: int, agent: Agent) -> dict[str, Any]:
        """Return what a search finds at a frame for the seat to act, which it sees as that seat does. Raises as
        `backalley.analyse` does."""
        frame = self.frames[at]
        if frame.ended is not None or frame.state.is_over:
            raise InvalidValue("Nobody is to act here, so there is nothing to value.")
        found = analyse(BatchEnv.from_states(frame.state.states()), agent)
        played = self.actions[frame.decisions] if frame.decisions < len(self.actions) else None
        actions = [
            {**one._asdict(), "taken": one.action == played}
            | ({} if one.determinizations else {"value": None, "error": None})
            for one in found
        ]
        return {"seat": frame.state.seat, "by": name_of(agent), "actions": actions}

    def reviewed(self, at: int, seat: int, agent: Any) -> dict[str, Any]:
        """Return what the first decision of a seat with a choice, at frame `at` or later, has lost, and its frame;
        nothing where none is left."""
        for place, frame in list(enumerate(self.frames[:-1]))[at:]:
            if frame.ended is None and frame.state.seat == seat and len(frame.state.legal_actions()) > 1:
                view, action = view_at(BatchEnv.from_states(frame.state.states())), self.actions[frame.decisions]
                one = judged(view, action, agent, frame.decisions)
                return {"at": place, **one._asdict(), "interval": one.interval}
        return {}

    def recording(self) -> dict[str, Any]:
        """Return the whole game as a playthrough. Raises ValueError for one that came from a playthrough."""
        if "seed" not in self.opening:
            raise InvalidValue("This game came from a file; it has not changed.")
        return playthrough.recorded(self.game, self.opening["seed"], self.actions)

    # The file -------------------------------------------------------------------------------------------------------

    def kept(self) -> dict[str, Any]:
        """Return the contents of the table's file."""
        return {
            "format": FORMAT,
            "game": self.game.name,
            "version": self.game.version,
            "options": self.game.changed_options,
            "over": self.over,
            "owner": self.owner,
            "chairs": [asdict(chair) for chair in self.chairs],
            "undo": self.undo,
            "opening": self.opening,
            "actions": self.actions,
        }


def contents(found: Any) -> dict[str, Any]:
    """Return what the JSON of a table's file holds, once it is known to be one. Raises ValueError in a clause."""
    if not isinstance(found, dict):
        raise InvalidValue(f"it is no table; its first entry would be {FORMAT!r}")
    kept = gate.pass_checksum(found)
    gate.pass_gate(kept, SHAPE)
    if any(chair["agent"] and (chair["link"] or chair["session"]) for chair in kept["chairs"]):
        raise InvalidValue("a person has a chair of it that is an agent's")
    return kept


def restored(name: str, found: Mapping[str, Any]) -> Table:
    """Return the table of a file's contents, which have passed the gate. Raises ValueError."""
    game = gate.game_in(found)
    if len(found["chairs"]) != game.num_seats:
        raise InvalidValue(f"it has {len(found['chairs'])} chairs; {game.name} has {game.num_seats} seats")
    undo = found["undo"]
    if undo is not None and max(undo["seat"], *undo["agree"], 0) >= game.num_seats:
        raise InvalidValue(f"a seat that {game.name} has not asks to take an action back")
    chairs = [Chair(**chair) for chair in found["chairs"]]
    return Table(name, game, dict(found["opening"]), chairs, found["owner"], list(found["actions"]), undo)
