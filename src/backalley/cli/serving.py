"""The command that serves tables to browsers."""

from __future__ import annotations

from pathlib import Path

import click

from .shared import Amount


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address to listen at; 0.0.0.0 is everybody's."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8017, show_default=True, help="0 takes a free one.")
@click.option(
    "--name",
    "names",
    multiple=True,
    help="A name by which this machine is asked for, besides localhost; may be repeated.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where tables are kept; by default in your folder of settings.",
)
@click.option("--agent", "own", multiple=True, help="An agent of yours that is offered, too; may be repeated.")
@click.option("--hint", "adviser", default="search:96:1500", show_default=True, help="The search that values actions.")
@click.option(
    "--pace", type=Amount(0, 60), default=0.7, show_default=True, help="Seconds before each action of an agent."
)
def serve(
    host: str, port: int, names: tuple[str, ...], folder: Path | None, own: tuple[str, ...], adviser: str, pace: float
) -> None:
    """Serve tables to browsers, for people and agents. Tables outlive the server; Ctrl-C ends it."""
    from backalley.web.server import run

    run(folder or Path(click.get_app_dir("backalley")) / "tables", host, port, names, own, adviser, pace)
