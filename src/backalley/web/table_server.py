"""All tables of one server: who may do what there, whose turn it is to think, and what outlives a restart."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

from backalley.agents.base.agent import Agent, answer
from backalley.agents.base.level import LEVEL, levels_of, plain
from backalley.agents.policies import pretrained
from backalley.agents.registry import agent as agent_of
from backalley.agents.registry import named
from backalley.benchmarks.analyse.review import REVIEWER
from backalley.console.errors import BackAlleyError, InvalidValue, one_line
from backalley.envs.core.files import durable, gate, playthrough, reading
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import compiled_elsewhere
from backalley.envs.core.game.threads import cores

from .compiling import compile_elsewhere
from .table import Chair, Table, contents, restored

Result = TypeVar("Result")

MOST_SESSIONS, MOST_TABLES, MOST_OWNED = 1000, 500, 50
MOST_OF_ADDRESS = {"sessions": 100, "tables": 150}
"""The most of each that come from one address; those of sessions from before the server began are not counted."""
THINKING = 60.0
"""Seconds after which an agent is no longer waited for."""
SEARCHES = ("search:48:500", "search:192:2000")
"""The searches that are offered in every game, with a time limit each."""
QUICK, QUICK_PLANS, BOT = "search:3:1500", "search:1:1500", "bot"
"""What takes the place of searches, where these compare whole plans, and of policies as long as a game runs as Python:
it answers within two seconds."""
CALLED = {
    "random": "Beginner: plays anything",
    "bot": "Regular: the best rules of thumb",
    pretrained.FOLDER: "Trained: has learned from its own games",
    SEARCHES[0]: "Thinker: looks ahead for half a second",
    SEARCHES[1]: "Deep thinker: looks ahead for two seconds",
    "search+policy:96:2000": "Trained thinker: has learned, and looks ahead",
    "plans": "Planner: plans whole hands",
}
"""What people call the agents that are offered; others have their names."""
ME, LINK, OPEN = "me", "link", "open"
"""What a seat may be instead of an agent's name: whoever makes the table, a person with a link, an open chair."""


class Refused(BackAlleyError):
    """What a server does not do, with the status of its answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def called(agent: str, game: Game | None = None) -> str:
    """Return what people call an agent of a game, by its name."""
    kind, _, own = agent.partition(":")
    if kind == LEVEL and game is not None:
        return f"Level {own} of {len(levels_of(game))}"
    return CALLED.get(agent, f"Rules of thumb: {own.replace('_', ' ')}" if kind == "bot" else agent)


def digest(secret: str) -> str:
    """Return the digest by which a session is known: its secret is kept nowhere."""
    return hashlib.sha256(secret.encode()).hexdigest()


_NO_TABLE = "There is no such table, or you do not sit at it: it takes the link of a chair."


def _people(kept: dict[str, Any]) -> set[str]:
    """The sessions of who made a table and of who sits there."""
    return {kept["owner"], *(chair["session"] for chair in kept["chairs"])} - {""}


def _held(folder: Path) -> IO[bytes]:
    """Hold a folder for one server, until the file is closed. Raises InvalidValue where another server has it."""
    lock = open(folder / ".lock", "wb")  # noqa: SIM115  # it stays open as long as the server serves
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ModuleNotFoundError:  # not on Windows, where nothing is held
        pass
    except OSError:
        lock.close()
        raise InvalidValue(f"Another server has the tables of {folder}; end it, or name another --folder.") from None
    return lock


class TableServer:
    """The tables of a folder. Its methods belong to one event loop; agents think in threads."""

    def __init__(self, folder: Path, *, pace: float = 0.7, adviser: str = "search:96:1500", own: Sequence[str] = (),
                 compiles: bool = True):  # fmt: skip
        """`pace`: seconds before each action of an agent where people watch. `own`: agents beside those of the games.
        `compiles`: whether kernels are compiled here; otherwise games begin as Python, and another process compiles.
        Raises OSError for a folder that cannot be made."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._held = _held(folder)
        self.folder, self.pace, self.adviser = folder, pace, adviser
        self.own = {f"own {number}: {Path(spec).name}": spec for number, spec in enumerate(own, 1)}
        self.sessions: dict[str, float] = {}
        """Digests, and when each was last seen."""
        self._addresses: dict[str, str] = {}
        """The address that each session came from."""
        self.tables: dict[str, Table] = {}
        """Those that are set up: somebody has asked for them since the server began."""
        self._kept: dict[str, dict[str, Any]] = {}
        """What the files of all tables hold."""
        self._pool = ThreadPoolExecutor(max(2, cores()), "thinking")
        self._changed: dict[str, asyncio.Event] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._asking: set[str] = set()
        self._compiles, self._compiling = compiles, dict[Game, asyncio.Task[None]]()
        self._one_compiler = asyncio.Semaphore(1)
        self._thinking = asyncio.Semaphore(max(2, cores()))
        self._leaving = False
        for path in sorted(folder.glob("*.json")):
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            found = contents(reading.read_json(path))
        except (OSError, ValueError) as error:
            print(f"{path} is left alone: {one_line(str(error))}.", file=sys.stderr)
            return
        self._kept[path.stem] = found
        self.sessions.update(dict.fromkeys(_people(found), time.time()))

    # Sessions -------------------------------------------------------------------------------------------------------

    def new_session(self, address: str = "") -> str:
        """Return the secret of a new session. Where there are too many, one that plays nowhere is forgotten: of this
        address, if that has too many. Raises Refused where none can be."""
        own = [session for session, its in self._addresses.items() if its == address and session in self.sessions]
        crowded = own if len(own) >= MOST_OF_ADDRESS["sessions"] else self.sessions
        if crowded is own or len(self.sessions) >= MOST_SESSIONS:
            busy = {session for kept in self._kept.values() for session in _people(kept)}
            idle = [session for session in crowded if session not in busy]
            if not idle:
                raise Refused(503, f"There are {len(crowded):,} people here already; come again later.")
            forgotten = min(idle, key=self.sessions.__getitem__)
            del self.sessions[forgotten]
            self._addresses.pop(forgotten, None)
        secret = secrets.token_urlsafe(32)
        self.sessions[digest(secret)] = time.time()
        self._addresses[digest(secret)] = address
        return secret

    def session(self, secret: str) -> str:
        """Return the digest of a session. Raises Refused for one that is not known."""
        found = digest(secret)
        if found not in self.sessions:
            raise Refused(401, "This session is not known here; reload the page to begin a new one.")
        self.sessions[found] = time.time()
        return found

    # Tables ---------------------------------------------------------------------------------------------------------

    async def table(self, name: str, session: str) -> Table:
        """Return a table at which a session sits, or which it made; for others none is set up. Raises Refused."""
        if name in self._kept and name not in self.tables:
            kept = self._kept[name]
            if session not in _people(kept):
                raise Refused(404, _NO_TABLE)
            try:
                table = await self.think(lambda: restored(name, kept))
            except ValueError as error:
                raise Refused(410, f"This table cannot be set up again: {error}.") from None
            if name in self._kept and name not in self.tables:
                self.tables[name] = table
                if not table.over:
                    self.prepare(table.game)
                self.play_on(table)
        found = self.tables.get(name)
        if found is None or (found.owner != session and found.seat_of(session) is None):
            raise Refused(404, _NO_TABLE)
        return found

    def listed(self, session: str) -> dict[str, Any]:
        """Return the tables of a session, and those with an open chair for it, the latest first."""
        mine, chairs = [], []
        for name, kept in reversed(self._kept.items()):
            about = {"title": game_of(kept["game"]).title, "options": kept["options"], "over": kept["over"]}
            if session in _people(kept):
                mine.append({**about, "id": name, "owned": kept["owner"] == session})
            elif not kept["over"]:
                free = [chair["link"] for chair in kept["chairs"] if chair["open"] and not chair["session"]]
                chairs += [{**about, "link": link} for link in free[:1]]
        return {"mine": mine, "open": chairs}

    def offered(self, game: Game) -> list[str]:
        """Return the names of the agents that may sit at a table of this game: its policy where one serves it."""
        known = [name for name in named(game) if name != "human" and not name.startswith(pretrained.FOLDER)]
        learned = [pretrained.FOLDER, "search+policy:96:2000"]
        try:
            pretrained.policy_for(game)
        except pretrained.NoPolicy:
            learned, known = [], [name for name in known if not name.startswith(LEVEL)]
        return [*known, *learned[:1], *SEARCHES, *learned[1:], *self.own]

    async def open_table(self, session: str, game: Game, seats: Sequence[Any]) -> Table:
        """Deal a new game, with ME, LINK, OPEN or an agent's name in each seat. Raises Refused or ValueError."""
        self._check_room(session)
        if len(seats) != game.num_seats:
            raise Refused(400, f"{len(seats)} seats were given; {game.title} has {game.num_seats} under these options.")
        if list(seats).count(ME) > 1:
            raise Refused(400, "You can sit in one seat; the others may be agents, open chairs or people with a link.")
        offered, chairs = self.offered(game), list[Chair]()
        for given in seats:
            if given in (ME, LINK, OPEN):
                link = secrets.token_urlsafe(24)
                chairs.append(Chair(link=link, open=given == OPEN, session=session if given == ME else ""))
            elif given in offered:
                chairs.append(Chair(agent=given))
            else:
                raise Refused(400, f"A seat takes me, link, open, or an agent: {', '.join(offered)}.")
        self.prepare(game)
        for name in sorted({chair.agent for chair in chairs if chair.agent}):
            (await self._agent(self._now(name, game), game)).close()
        opening = {"seed": secrets.randbelow(2**53)}  # as JSON of other programs can hold it, too
        return await self._set_up(session, game, opening, chairs)

    async def open_recording(self, session: str, found: Any) -> Table:
        """Return a table that shows a recorded game. Raises Refused or ValueError for what is none."""
        self._check_room(session)
        kept = playthrough.checked("The file", found)
        game, actions = await self.think(lambda: playthrough.actions_of("The file", kept))
        chairs = [Chair() for _ in range(game.num_seats)]
        return await self._set_up(session, game, playthrough.opening_of(kept), chairs, actions)

    def _check_room(self, session: str) -> None:
        owners = [kept["owner"] for kept in self._kept.values()]
        address = self._addresses.get(session)
        near = address is not None and sum(self._addresses.get(owner) == address for owner in owners)
        if (
            len(owners) >= MOST_TABLES
            or owners.count(session) >= MOST_OWNED
            or near >= MOST_OF_ADDRESS["tables"]
        ):  # fmt: skip
            raise Refused(
                429,
                f"There are {MOST_OWNED} tables of yours, {MOST_OF_ADDRESS['tables']} of your address, or "
                f"{MOST_TABLES} in all; delete some first.",
            )

    async def _set_up(
        self, session: str, game: Game, opening: dict[str, Any], chairs: list[Chair], actions: Sequence[int] = ()
    ) -> Table:
        name = secrets.token_urlsafe(12)
        table = await self.think(lambda: Table(name, game, opening, chairs, session, list(actions)))
        self.tables[name] = table
        await self._keep(table)
        self.play_on(table)
        return table

    def join(self, session: str, link: str) -> tuple[str, int]:
        """Seat a session by the link of a chair; return the table and the seat. Raises Refused."""
        for name, kept in self._kept.items():
            for seat, chair in enumerate(kept["chairs"]):
                if not chair["link"] or not secrets.compare_digest(chair["link"].encode(), link.encode()):
                    continue
                if chair["session"] not in ("", session):
                    raise Refused(409, "Somebody sits in this chair already; a link is good for one person.")
                if any(other["session"] == session for other in kept["chairs"] if other is not chair):
                    raise Refused(409, "You sit at this table already, in another seat.")
                return name, seat
        raise Refused(404, "This link leads nowhere: its table has been deleted, or it was not copied as a whole.")

    async def sit(self, session: str, link: str) -> tuple[str, int]:
        """Do what `join` says, and keep it."""
        name, seat = self.join(session, link)
        table = await self.table(name, self._kept[name]["owner"])
        async with self._lock(table):
            self.join(session, link)  # somebody may have been faster
            table.chairs[seat].session = session
            table.version += 1
            await self._keep(table)
        return name, seat

    async def delete(self, table: Table, session: str) -> None:
        """Remove a table and its file. Raises Refused for one that another session made."""
        if table.owner != session:
            raise Refused(403, "Only who made a table may delete it.")
        async with self._lock(table):
            self.tables.pop(table.id, None)
            self._kept.pop(table.id, None)
            (self.folder / f"{table.id}.json").unlink(missing_ok=True)
        self._locks.pop(table.id, None)
        self._tell(table)

    # Play -----------------------------------------------------------------------------------------------------------

    async def act(self, table: Table, session: str, action: int, at: int) -> None:
        """Play a person's action at the frame that they see as number `at`. Raises Refused out of turn, and ValueError
        for an illegal one."""
        async with self._lock(table):
            seat = table.seat_of(session)
            if table.over or seat is None or table.acting != seat:
                raise Refused(409, "It is not your turn.")
            if at != len(table.frames_of(None if table.is_free else seat)) - 1:
                raise Refused(409, "The table has gone on since; look again.")
            table.play(action)
            await self._keep(table)
        self.play_on(table)

    async def take_back(self, table: Table, session: str, agree: bool) -> None:
        """Ask to take one's last action back, agree to that, or refuse it: it is done when all people agree. Raises
        Refused."""
        async with self._lock(table):
            seat = table.seat_of(session)
            if seat is None or table.over:
                raise Refused(409, "There is nothing to take back here: the game is over, or you do not play.")
            if table.undo is None and agree:
                if table.before_last_action_of(seat) is None:
                    raise Refused(409, "There is nothing to take back yet.")
                table.undo = {"seat": seat, "agree": []}
            if table.undo is not None:
                table.undo = {**table.undo, "agree": sorted({*table.undo["agree"], seat})} if agree else None
            if table.undo is not None and set(table.people()) <= set(table.undo["agree"]):
                before = table.before_last_action_of(table.undo["seat"])
                table.undo = None
                table.replay(before or 0)
            table.version += 1
            await self._keep(table)
        self.play_on(table)

    def play_on(self, table: Table) -> None:
        """Let agents play until it is a person's turn."""
        if table.id not in self._playing:
            self._playing[table.id] = asyncio.create_task(self._play_on(table))

    async def _play_on(self, table: Table) -> None:
        agents: dict[str, Agent] = {}
        name = ""
        try:
            while table.id in self.tables and not table.over and (name := table.chairs[table.acting].agent):
                now = self._now(name, table.game)
                if now not in agents:
                    agents[now] = await self._agent(now, table.game)
                if table.people():
                    await asyncio.sleep(self.pace)
                await self._let_play(agents[now], table)
        except Exception as error:  # whatever an agent does wrong, the table can be looked at
            traceback.print_exception(error)
            table.trouble = f"{name} could not decide; the table waits until somebody takes an action back."
            table.version += 1
            self._tell(table)
        finally:
            self._playing.pop(table.id, None)
            for one in agents.values():
                one.close()

    async def _let_play(self, agent: Agent, table: Table) -> None:
        """Play one action of an agent, unless the table has changed while it was thinking. Raises TimeoutError, and the
        errors of its bad answers."""
        view, version = table.question(), table.version
        action = await self._think_in_time(lambda: int(answer(agent, view)[0]))
        async with self._lock(table):
            if version == table.version:
                table.play(action)
                await self._keep(table)

    async def values(self, table: Table, session: str, at: int) -> dict[str, Any]:
        """Return what a search finds at a frame, for who may know. Raises Refused and ValueError."""
        seat = table.frames[at].state.seat
        if not (table.is_free or seat == table.seat_of(session)):
            raise Refused(403, "Values of others' decisions can be seen when the game is over.")
        name = self._now(self.adviser, table.game)
        return await self._asked(session, table, name, lambda agent: table.values(at, agent))

    async def reviewed(self, table: Table, session: str, at: int) -> dict[str, Any]:
        """Return what one's first decision at a frame or later has lost, once the game is over. Raises Refused."""
        seat = table.seat_of(session)
        if seat is None or not table.over:
            raise Refused(403, "A review is for who has played the game, when it is over.")
        if self.is_compiling(table.game):
            raise Refused(503, "The game is being compiled; ask for the review again in a minute.")
        return await self._asked(session, table, REVIEWER, lambda agent: table.reviewed(at, seat, agent))

    async def _asked(self, session: str, table: Table, name: str, work: Callable[[Agent], Result]) -> Result:
        """Return what an agent finds in time for a session, one question at a time."""
        if session in self._asking:
            raise Refused(429, "One question at a time: the one before is being worked on.")
        self._asking.add(session)
        try:
            agent = await self._agent(name, table.game)
            return await self._think_in_time(lambda: work(agent))
        except TimeoutError:
            raise Refused(503, f"The search took longer than {THINKING:.0f} seconds; ask again.") from None
        finally:
            self._asking.discard(session)

    async def _agent(self, name: str, game: Game) -> Agent:
        """An agent by its name here. Raises Refused where it is not offered, or does not play this game."""
        if name not in (self.adviser, REVIEWER, QUICK, QUICK_PLANS) and name not in self.offered(game):
            raise Refused(400, f"{one_line(name)[:60]} is no agent that this server offers for {game.title}.")
        try:
            return await self.think(lambda: agent_of(self.own.get(name, name), game, num_threads=1))
        except (BackAlleyError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            raise Refused(400, f"{name} cannot play {game.title} under these options.") from None

    # Machine code ---------------------------------------------------------------------------------------------------

    def prepare(self, game: Game) -> None:
        """Let another process compile a game, once, unless kernels are compiled here."""
        if not self._compiles and game not in self._compiling:
            self._compiling[game] = asyncio.create_task(self._compile(game))

    async def _compile(self, game: Game) -> None:
        async with self._one_compiler:
            await compile_elsewhere(game, compiled_elsewhere)
        for table in self.tables.values():
            if table.game == game:
                self._tell(table)

    def is_compiling(self, game: Game) -> bool:
        """Whether a game is being compiled now."""
        return game in self._compiling and not self._compiling[game].done()

    def _now(self, name: str, game: Game) -> str:
        """The agent that decides in the place of another for now: some take too long as Python."""
        if not self.is_compiling(game):
            return name
        name = plain(game, name)
        if name.startswith("search"):
            return QUICK if game.type.plans is None else QUICK_PLANS
        return BOT if name.startswith(pretrained.FOLDER) else name

    # What it needs ----------------------------------------------------------------------------------------------

    async def think(self, work: Callable[[], Result]) -> Result:
        """Return the result of work that is done in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _think_in_time(self, work: Callable[[], Result]) -> Result:
        """Return its result. Raises TimeoutError after THINKING seconds; waiting for a free thread does not count."""
        async with self._thinking:
            return await asyncio.wait_for(self.think(work), THINKING)

    async def news(self, table: Table, is_news: Callable[[], bool], seconds: float) -> None:
        """Wait until there `is_news` of a table, which is asked each time that it changes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_news() and table.id in self.tables and not self._leaving:
                    await self._changed.setdefault(table.id, asyncio.Event()).wait()

    def leave(self) -> None:
        """Answer everybody who waits for news: the server ends."""
        self._leaving = True
        for changed in self._changed.values():
            changed.set()

    def _tell(self, table: Table) -> None:
        if (changed := self._changed.pop(table.id, None)) is not None:
            changed.set()

    def _lock(self, table: Table) -> asyncio.Lock:
        return self._locks.setdefault(table.id, asyncio.Lock())

    async def _keep(self, table: Table) -> None:
        """Write a table's file before anybody hears of the change; not that of one that has been deleted."""
        if table.id in self.tables:
            self._kept[table.id] = kept = table.kept()
            data = json.dumps(gate.with_checksum(kept)).encode()
            await asyncio.to_thread(durable.write_file, self.folder / f"{table.id}.json", data)
        self._tell(table)

    def close(self) -> None:
        """Let no more agents think, and leave the folder to other servers."""
        for compiling in self._compiling.values():
            compiling.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._held.close()
