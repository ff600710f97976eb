"""A server of tables at a port of this machine."""

from __future__ import annotations

import ipaddress
import socket
from asyncio import TimerHandle, Transport
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from backalley.agents.registry import agent as agent_of
from backalley.console.errors import BackAlleyError, InvalidValue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.game.kernels import COMPILED, compiled_elsewhere

from .app import application
from .table_server import TableServer

HEAD_SECONDS = 10.0
"""How long the head of a request may take to come in."""
MOST_CONNECTIONS = 2000
"""More are asked to come again."""


def run(
    folder: Path, host: str, port: int, names: Sequence[str], own: Sequence[str], adviser: str, pace: float
) -> None:
    """Serve the tables of a folder until Ctrl-C. Raises OSError for a folder or a port that cannot be had, and
    ValueError for agents that play no game here, or a folder that another server has."""
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes a connection whose request does not come in."""

        _late: TimerHandle | None = None

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait()
            elif self._late is not None:
                self._late.cancel()
                self._late = None

        def connection_lost(self, exc: Exception | None) -> None:
            if self._late is not None:
                self._late.cancel()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self._late is None:
                self._late = self.loop.call_later(HEAD_SECONDS, self._end)

        def _end(self) -> None:
            self._late = None
            if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
                self.transport.close()

    class Server(uvicorn.Server):
        """Answers who waits for news before it ends."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            table_server.leave()
            await super().shutdown(sockets)

    compiles = not (COMPILED and compiled_elsewhere())
    check_agents(own, adviser)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    try:
        table_server = TableServer(folder, pace=pace, adviser=adviser, own=own, compiles=compiles)
    except BaseException:
        listening.close()
        raise
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host
    click.echo(f"Tables at http://{shown}:{listening.getsockname()[1]}/, kept in {folder}. Ctrl-C ends the server.")
    config = uvicorn.Config(
        application(table_server, names),
        http=Impatient,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    Server(config).run(sockets=[listening])


def is_of_this_machine(host: str) -> bool:
    """Whether an address can be reached from this machine alone. Raises ValueError for an empty one."""
    if not host:
        raise InvalidValue("--host is empty; it takes an address, such as 127.0.0.1.")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_agents(own: Sequence[str], adviser: str) -> None:
    """Raise ValueError for an agent that plays no game of this server, and for an adviser that is no search."""
    for option, name in (*(("--agent", one) for one in own), ("--hint", adviser)):
        reasons = [_reason(name, game, values=option == "--hint") for game in game_names()]
        if all(reasons):
            raise InvalidValue(f"{option} {name}: {reasons[0]}")


def _reason(name: str, game: str, *, values: bool) -> str:
    """Why an agent does not play a game, or does not value actions; empty where it does."""
    try:
        made: Any = agent_of(name, game_of(game), num_threads=1)
    except (BackAlleyError, OSError, ImportError) as error:
        return str(error)
    made.close()
    valued = not values or hasattr(made, "analyse")
    return "" if valued else "it does not value actions; a search does, such as search:96:1500."
