"""A server of tables at a port of this machine."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import click

from .app import application
from .house import House


def run(
    folder: Path, host: str, port: int, names: Sequence[str], own: Sequence[str], adviser: str, pace: float
) -> None:
    """Serve the tables of a folder until Ctrl-C. Raises OSError for a folder or a port that cannot be had."""
    import uvicorn

    house = House(folder, pace=pace, adviser=adviser, own=own)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host
    click.echo(f"Tables at http://{shown}:{listening.getsockname()[1]}/, kept in {folder}. Ctrl-C ends the server.")
    config = uvicorn.Config(
        application(house, names),
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])
