"""The command about games that nobody has seen."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path

import click

from .shared import json_option, measure, seed_option


@click.command()
@click.argument("game")
@seed_option(None, "Seed of the first variant. By default it is drawn now.")
@click.option("--count", type=click.IntRange(1, 10**6), default=10, help="Variants, with seeds that follow each other.")
@click.option("--held-out", "is_held_out", is_flag=True, help="The published held-out variants, for tests alone.")
@click.option("--solve", is_flag=True, help="Find what each is worth, too.")
@click.option(
    "--most", type=click.IntRange(1), default=1_000_000, help="With --solve: information sets of one at most."
)
@click.option("--rules", is_flag=True, help="Print the rules of the first variant in words, and nothing else.")
@json_option
def variants(
    game: str, seed: int | None, count: int, is_held_out: bool, solve: bool, most: int, rules: bool, path: Path | None
) -> None:
    """Draw variants of GAME that nobody has seen: other options, and other words for its cards and actions. Each is
    a game by its import path, for evaluate, check, score-rules and every other command."""
    from backalley.benchmarks.variants import variants as room
    from backalley.envs.core.text import rules_text

    if is_held_out and seed is not None:
        raise click.UsageError("--held-out has its own seeds; leave --seed out.")
    seed = secrets.randbelow(room.FIRST_HELD_OUT - count + 1) if seed is None and not is_held_out else seed
    chosen = room.held_out(game) if is_held_out else room.variants(game, seed or 0, count)
    if rules:
        click.echo(rules_text(chosen[0].game))
        return
    instead = {} if is_held_out else {"seed": seed}
    measure("variants", path, partial(room.list_variants, chosen, solve=solve, most=most), **instead)
