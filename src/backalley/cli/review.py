"""The command that reviews recorded games."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backalley.console.errors import printable
from backalley.console.progress import progress_bar

from .shared import again, check_place, write, write_bytes

if TYPE_CHECKING:
    from backalley.agents.review import Review

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("files", type=_FILE, nargs=-1, required=True)
@click.option("--seat", type=click.IntRange(0), default=0, help="Whose decisions.")
@click.option("--agent", default="mc:200", help="The search, mc:DETERMINIZATIONS.")
@click.option("--json", "json_path", type=_FILE, metavar="FILE", help="Every decision, as JSON.")
@click.option("--html", type=_FILE, metavar="FILE", help="A page with pictures.")
def review(files: tuple[Path, ...], seat: int, agent: str, json_path: Path | None, html: Path | None) -> None:
    """Review a seat's decisions in FILES. Games of `backalley record --out`, all of the same rules: what each decision
    has lost by a search that knows what the seat knew, with the three that cost most and the better actions."""
    from backalley.agents.review import review as run
    from backalley.agents.review import words
    from backalley.envs.core.files.playthrough import table_in

    check_place(json_path)
    check_place(html)
    with progress_bar("decisions") as progress:
        found = run(*files, seat=seat, agent=agent, progress=progress)
    click.echo(f"{found}\n")
    for one in found.costliest():
        env, _ = table_in(files[one.file], one.number)
        where = f"{files[one.file]}. " if len(files) > 1 else ""
        click.echo(f"{printable(where)}{words(one)}\n{found.game.table_str(env.arrays.state[0], seat)}\n")
    write(json_path, found.payload())
    if html is not None:
        write_bytes(html, _page(found, files).encode())
    again()


def _page(found: Review, files: tuple[Path, ...]) -> str:
    """The review as a page: the costliest decisions with a slider over their tables."""
    from backalley.agents.review import words
    from backalley.envs.core.drawing.pictures import pixels
    from backalley.envs.core.drawing.render import table_svg
    from backalley.envs.core.files.playthrough import table_in

    costly = found.costliest()
    tables = [table_in(files[one.file], one.number)[0] for one in costly]
    pictures = [table_svg(env, 0, found.seat) for env in tables]
    said = f"<pre>{escape(printable(str(found)))}</pre>"
    title = f"{found.game.title}: review"
    if not costly:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
            f"<body><main>{said}<p>No better action was found.</p></main></body></html>\n"
        )
    return pixels.page(pictures, [words(one) for one in costly], title).replace("</main>", f"{said}</main>")
