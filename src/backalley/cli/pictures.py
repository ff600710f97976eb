"""Pictures of tables."""

from __future__ import annotations

from pathlib import Path

import click

from .shared import again, agents_of, check_place, command_line, game_of, option_option, seed_option


@click.command()
@click.argument("game")
@click.option(
    "--out",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The picture: .svg, or .png with the extra `pictures`.",
)
@seed_option(0, "Decides the deal and the agents' own randomness.")
@click.option("--seat", type=int, help="Whose view; by default of the seat to act.")
@click.option("--decisions", type=click.IntRange(0), default=0, show_default=True, help="Made before the picture.")
@click.option("--agent", help="Who makes them; the game's best bot by default.")
@click.option("--dark", is_flag=True, help="Light on dark.")
@click.option("--four-colours", is_flag=True, help="Clubs green, diamonds blue.")
@click.option("--zoom", type=click.FloatRange(0.1, 8), default=1.0, show_default=True, help="Of a PNG.")
@option_option
def picture(
    game: str,
    path: Path,
    seed: int,
    seat: int | None,
    decisions: int,
    agent: str | None,
    dark: bool,
    four_colours: bool,
    zoom: float,
    given: dict[str, str],
) -> None:
    """Draw a table of GAME. As one seat sees it, at the beginning or some decisions later."""
    from backalley.agents.watching import played
    from backalley.envs.core.durable import write_file
    from backalley.envs.core.pictures.pixels import png
    from backalley.envs.core.render import table_svg

    if path.suffix.lower() not in (".svg", ".png"):
        raise click.UsageError(f"A picture is .svg or .png, and {path.name!r} is neither.")
    check_place(path)
    found = game_of(game, given)
    player = agents_of(found, [agent or ("bot" if found.bots else "random")])[0]
    env = played(found, player, seed=seed, decisions=decisions, render_seat=seat)
    drawn = table_svg(env.engine, 0, seat, theme="dark" if dark else "light", four_colours=four_colours)
    write_file(path, png(drawn, zoom) if path.suffix.lower() == ".png" else drawn.encode())
    click.echo(f"Written to {path}.")
    flags = ["--dark"] * dark + ["--four-colours"] * four_colours
    line = command_line(
        "picture", found.spec, *flags, given=given, out=path, seed=seed, seat=seat, decisions=decisions or None,
        agent=agent, zoom=zoom if zoom != 1 else None,
    )  # fmt: skip
    again(line)
