"""What `backalley serve` answers: which requests are accepted, from whom, and what is sent.

Everything but the page is JSON. Who asks is a session, whose secret is in the header `Authorization: Bearer ...` of
each request: no cookie is used, so that a page from elsewhere cannot act for anybody. Errors are `{"error": sentence}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import ipaddress
import json
import re
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backalley.agents.base.level import LEVEL
from backalley.console.errors import BackAlleyError, NotInstalled
from backalley.envs.core.files import reading
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import options as option_rules

from .showing import about, chapters, colour_rules
from .table import Table
from .table_server import CALLED, LINK, ME, OPEN, Refused, TableServer, called
from .telling import seats_called

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    raise NotInstalled("A table in a browser needs Starlette and uvicorn: pip install 'backalley[web]'.") from error

BODY, FILE = 1 << 16, 1 << 22
"""The greatest number of bytes of a request, and of a recorded game."""
BODY_SECONDS, NEWS_SECONDS = 10.0, 25.0
"""How long a request may take to come in, and how long an answer waits for news of a table."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
PAGE = {"/": "page.html", "/page.css": "page.css", "/ask.js": "ask.js", "/page.js": "page.js"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

_OF_RESEARCH = re.compile(r"reward|observation|cut-down|without a step|\bpaid hand|\bdrill\b")
"""What the options speak of that are for research: they change what is learned from, or make a game small."""

_OF_LENGTH = re.compile(
    r"a game, or|points that (?:win|end)|one deal, or|games in a|coups in an|hands of all|what an episode"
)
"""How the options begin that say how long a game is: they stand beside the button that deals it."""

Answer = Callable[[TableServer, str, Request], Awaitable[Any]]


class RequestChecks:
    """Refuses requests for another host or from another page, and sends the headers of every answer."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        self._app, self._names = app, {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        refused = self._refused(Request(scope)) if scope["type"] == "http" else None
        if refused is not None:
            await said(refused)(scope, receive, sent)
        else:
            await self._app(scope, receive, sent)

    def _refused(self, request: Request) -> Refused | None:
        host = request.headers.get("host", "")
        if not self._known(host):
            return Refused(421, "This server does not answer by that name; start it with --name NAME to allow one.")
        origin = request.headers.get("origin")
        if origin is not None and not _is_of(origin, host):
            return Refused(403, "This request comes from a page of another site, and is refused.")
        return None

    def _known(self, host: str) -> bool:
        """Whether a name is one of ours. An address is: names alone can be bent to this server from elsewhere."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def _is_of(origin: str, host: str) -> bool:
    """Whether a page of this origin is ours."""
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def said(error: Refused) -> JSONResponse:
    """The answer that is an error."""
    return JSONResponse({"error": str(error)}, error.status)


async def body_of(request: Request, most: int = BODY) -> Any:
    """Return the JSON of a request. Raises Refused for one that is too large, too slow or not JSON."""
    data = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                data += part
                if len(data) > most:
                    raise Refused(413, f"The request has more than {most:,} bytes.")
    except TimeoutError:
        raise Refused(408, f"The request did not come in within {BODY_SECONDS:.0f} seconds.") from None
    try:
        return reading.json_of(data)
    except ValueError as error:
        raise Refused(400, f"The request cannot be read: {error}.") from None


async def fields(request: Request, **kinds: type | tuple[type, ...]) -> list[Any]:
    """Return the entries of a request's JSON object, each of its type. Raises Refused."""
    found = await body_of(request)
    for name, kind in kinds.items():
        value = found.get(name) if isinstance(found, dict) else None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            takes = ", ".join(kinds)
            raise Refused(400, f"The request is an object with {takes}; its {name} was missing or of another type.")
    return [found[name] for name in kinds]


def number(request: Request, name: str, most: int, default: int) -> int:
    """Return a whole number of a request's address. Raises Refused for one that is not of -1..most."""
    given = request.query_params.get(name, str(default))
    if given.removeprefix("-").isdecimal() and len(given) < 10 and -1 <= int(given) <= most:
        return int(given)
    raise Refused(400, f"{name} is {given[:20]!r}; it takes a whole number of -1 to {most}.")


# The answers --------------------------------------------------------------------------------------------------------


async def setup(table_server: TableServer, session: str, request: Request) -> Any:
    """A game's options, its seats under them, and who may sit there."""
    given = dict(request.query_params)
    game = _game(given.pop("game", ""), given)
    if not given:
        table_server.prepare(game)
    options: type = game.type.Options
    defaults = game.type.bind().option_values
    presets = [{"name": "preset", "doc": "a named set of options", "default": "", "choices": ["", *game.type.presets],
                "research": False, "length": False}]  # fmt: skip
    offered = table_server.offered(game)
    left_out = "bot:" if any(name.startswith(LEVEL) for name in offered) else "human"
    return {
        "title": game.title,
        "seats": [game.seat_name(seat) for seat in range(game.num_seats)],
        "about": about(game_of(game.name)),
        "agents": [{"name": name, "words": called(name, game)} for name in offered if not name.startswith(left_out)],
        "options": presets * bool(game.type.presets)
        + [
            {"name": name, "doc": note.doc, "default": option_rules.typed(defaults[name])}
            | {"research": bool(_OF_RESEARCH.search(f"{name} {note.doc}")), "length": bool(_OF_LENGTH.match(note.doc))}
            | _takes(option_rules.choices(options, name), kind)
            for name, (kind, note) in option_rules.declared(options).items()
        ],
    }


def _takes(words: str, kind: Any) -> dict[str, Any]:
    """What a field of a form takes: one of several, or what is typed."""
    closed = isinstance(kind, type) and (kind is bool or not issubclass(kind, (int, float, tuple)) or kind is not int)
    several = [word.strip().strip('"') for word in words.split("|")]
    return {"choices": several} if closed and len(several) > 1 else {"takes": words}


def _game(name: str, given: dict[str, Any]) -> Game:
    if name not in game_names():
        raise Refused(404, f"There is no game {name[:40]!r} here; there are: {', '.join(game_names())}.")
    return game_of(name).bind({key: value for key, value in given.items() if value != ""})


async def games(table_server: TableServer, session: str, request: Request) -> Any:
    """The games by name, each with the first sentence of its page."""
    return [{"name": name, "title": game_of(name).title, "about": about(game_of(name))} for name in game_names()]


async def rules(table_server: TableServer, session: str, request: Request) -> Any:
    """A game's rules, by paragraph."""
    game = _game(request.query_params.get("game", ""), {})
    return chapters(game.type.bind())


async def tables(table_server: TableServer, session: str, request: Request) -> Any:
    """One's own tables, and open chairs."""
    return table_server.listed(session)


async def new_table(table_server: TableServer, session: str, request: Request) -> Any:
    """A new game."""
    name, given, seats = await fields(request, game=str, options=dict, seats=list)
    return {"id": (await table_server.open_table(session, _game(name, given), seats)).id}


async def new_recording(table_server: TableServer, session: str, request: Request) -> Any:
    """A recorded game, to look at."""
    return {"id": (await table_server.open_recording(session, await body_of(request, FILE))).id}


async def join(table_server: TableServer, session: str, request: Request) -> Any:
    """A chair, by its link."""
    (link,) = await fields(request, link=str)
    name, seat = await table_server.sit(session, link)
    return {"id": name, "seat": seat}


async def look(table_server: TableServer, session: str, request: Request) -> Any:
    """A table as it is now, or as it was, for who may see it; with `after` when it is another than that version."""
    table = await _table(table_server, session, request)
    seen, after = functools.partial(_seen, table_server, table, session, request), request.query_params.get("after", "")
    if after:
        await table_server.news(table, lambda: seen()["version"] != after, NEWS_SECONDS)
    return seen()


def _seen(table_server: TableServer, table: Table, session: str, request: Request) -> dict[str, Any]:
    """What a session is sent of a table. Its `version` follows from the rest, so that nobody learns from it, or from
    when it changes, of what they cannot see."""
    seat, mine = _eyes(table, session, request.query_params.get("seat", "")), table.seat_of(session)
    frames = table.frames_of(None if table.is_free else seat)
    last = len(frames) - 1
    at = number(request, "at", last, -1)
    theme = "dark" if request.query_params.get("theme") == "dark" else "light"
    width = max(320, number(request, "width", 960, 960))
    shown = table.seen(frames[at], seat, theme, width)
    links = [chair.link for chair in table.chairs] if table.owner == session else []
    names = seats_called(table.game, mine)
    again = [chair.agent or (OPEN if chair.open else LINK) for chair in table.chairs]
    if mine is not None:
        again[mine] = ME
    chairs = [
        {
            "name": names[seat],
            "who": _who(table, seat, mine),
            "link": links[seat] if links and not chair.session else "",
        }
        for seat, chair in enumerate(table.chairs)
    ]
    found = shown | {
        "id": table.id,
        "at": last if at < 0 else at,
        "last": last,
        "ends": [place for place, frame in enumerate(frames) if table.frames[frame].ended is not None],
        "over": table.over,
        "title": table.game.title,
        "game": table.game.name,
        "again": {"game": table.game.name, "options": table.game.changed_options, "seats": again},
        "ending": table.ending(mine),
        "compiling": table_server.is_compiling(table.game),
        "can_undo": mine is not None and not table.over and table.before_last_action_of(mine) is not None,
        "mine": mine,
        "now": table.acting,
        "chairs": chairs,
        "free": table.is_free,
        "undo": table.undo,
        "trouble": table.trouble,
        "recorded": "seed" not in table.opening,
    }
    return found | {"version": hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]}


def _who(table: Table, seat: int, mine: int | None) -> str:
    """Who sits in a chair; of one's own, what it is called on the table, where that is not its number."""
    chair, names = table.chairs[seat], table.game.type.seat_names
    if seat == mine:
        return names[seat] if table.game.num_seats > 1 and seat < len(names) else ""
    return _short(chair.agent, table.game) or ("a person" if chair.session else "nobody yet")


def _short(agent: str, game: Game) -> str:
    """What people call an agent at its table; empty for no agent."""
    return called(agent).partition(":")[0] if agent in CALLED else called(agent, game)


def _eyes(table: Table, session: str, wanted: str) -> int | None:
    """The seat whose view a session gets; None for all cards. Raises Refused."""
    mine = table.seat_of(session)
    if not table.is_free:
        if mine is None or wanted not in ("", str(mine)):
            raise Refused(403, "Others' cards can be looked at when the game is over; until then one sees one's own.")
        return mine
    if wanted in map(str, range(table.game.num_seats)):
        return int(wanted)
    return None if wanted == "all" else mine


async def values(table_server: TableServer, session: str, request: Request) -> Any:
    """What a search finds for every action there."""
    table = await _table(table_server, session, request)
    frames = table.frames_of(None if table.is_free else table.seat_of(session))
    at = number(request, "at", len(frames) - 1, -1)
    return await table_server.values(table, session, frames[at])


async def review(table_server: TableServer, session: str, request: Request) -> Any:
    """What one's own next decision has lost, from a frame on, in a game that is over."""
    table = await _table(table_server, session, request)
    return await table_server.reviewed(table, session, number(request, "at", len(table.frames) - 1, 0))


async def act(table_server: TableServer, session: str, request: Request) -> Any:
    """An action of one's own seat."""
    table = await _table(table_server, session, request)
    action, at = await fields(request, action=int, at=int)
    await table_server.act(table, session, action, at)
    return {}


async def undo(table_server: TableServer, session: str, request: Request) -> Any:
    """What one says to taking an action back."""
    table = await _table(table_server, session, request)
    (agree,) = await fields(request, agree=bool)
    await table_server.take_back(table, session, agree)
    return {}


async def delete(table_server: TableServer, session: str, request: Request) -> Any:
    """A table's end."""
    await fields(request)
    await table_server.delete(await _table(table_server, session, request), session)
    return {}


async def recording(table_server: TableServer, session: str, request: Request) -> Any:
    """A finished game as a playthrough."""
    table = await _table(table_server, session, request)
    if not table.over:
        raise Refused(409, "The game is not over; its file would tell the cards.")
    return await table_server.think(table.recording)


async def _table(table_server: TableServer, session: str, request: Request) -> Table:
    return await table_server.table(request.path_params["id"], session)


# The server ---------------------------------------------------------------------------------------------------------

ROUTES: list[tuple[str, str, Answer]] = [
    ("GET", "/api/games", games),
    ("GET", "/api/setup", setup),
    ("GET", "/api/rules", rules),
    ("GET", "/api/tables", tables),
    ("POST", "/api/tables", new_table),
    ("POST", "/api/recordings", new_recording),
    ("POST", "/api/join", join),
    ("GET", "/api/tables/{id}", look),
    ("GET", "/api/tables/{id}/values", values),
    ("GET", "/api/tables/{id}/review", review),
    ("GET", "/api/tables/{id}/recording", recording),
    ("POST", "/api/tables/{id}/act", act),
    ("POST", "/api/tables/{id}/undo", undo),
    ("POST", "/api/tables/{id}/delete", delete),
]


def application(table_server: TableServer, names: Sequence[str] = ()) -> ASGIApp:
    """Return the ASGI application that serves the tables of a server by its address, `localhost` and other `names`."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        table_server.close()

    async def begin(request: Request) -> Response:
        await fields(request)
        return JSONResponse({"token": table_server.new_session(request.client.host if request.client else "")})

    def page(path: str) -> Callable[[Request], Awaitable[Response]]:
        file = Path(__file__).with_name(PAGE[path])

        async def shown(request: Request) -> Response:
            head = colour_rules() if file.suffix == ".css" else ""
            return Response(head.encode() + file.read_bytes(), media_type=KINDS[file.suffix])

        return shown

    def answering(how: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            secret = request.headers.get("authorization", "").removeprefix("Bearer ")
            return JSONResponse(await how(table_server, table_server.session(secret), request))

        return answered

    routes = [Route(path, page(path), methods=["GET"]) for path in PAGE]
    routes.append(Route("/api/session", begin, methods=["POST"]))
    routes += [Route(path, answering(how), methods=[method]) for method, path, how in ROUTES]
    handlers = {BackAlleyError: _ours, HTTPException: _http, ClientDisconnect: _left, Exception: _bug}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.state.table_server = table_server
    return RequestChecks(app, names)


async def _ours(request: Request, error: Exception) -> Response:
    return said(error if isinstance(error, Refused) else Refused(400, str(error)))


async def _left(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "There is nothing at this address.", 405: f"This address does not take {request.method}."}
    return said(Refused(status, known.get(status, "The request could not be answered.")))


async def _bug(request: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    return said(Refused(500, "The server could not do this; its terminal says why. Nothing that was saved is lost."))
