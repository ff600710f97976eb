"""The command that finds strategy cards."""

from __future__ import annotations

import json
from pathlib import Path

import click

from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

from .shared import (
    Amount,
    Special,
    check_picture,
    check_place,
    finish,
    json_option,
    of_a_game,
    seed_option,
    write_bytes,
    write_picture,
)


@click.command()
@of_a_game
@click.option("--loses", type=Amount(min=0), default=0.001, help="How much less than best play the card may return.")
@click.option("--deals", cls=Special, type=click.IntRange(1), default=5000, help="Deals whose positions it is made of.")
@click.option("--least", cls=Special, type=Amount(0, 1), default=0.0, help="Positions rarer than this are sampled.")
@click.option(
    "--best",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take best play's return from the file of an earlier solution, instead of solving again.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the card: the agent card:FILE.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of size A6 (.svg or .png).")
@seed_option(0, "Decides the deals.")
@json_option
def card(
    game: Game,
    loses: float,
    deals: int,
    least: float,
    best: Path | None,
    save: Path | None,
    svg: Path | None,
    seed: int,
    path: Path | None,
) -> None:
    """Find the smallest decision table of GAME that a person can carry. It loses at most --loses against best play. For
    games of one seat that `solve` solves."""
    from backalley.agents.policies.card import CardAgent
    from backalley.benchmarks.cards.growing import strategy_card
    from backalley.benchmarks.cards.page import page
    from backalley.benchmarks.exact.agent_values import check_followed, read_solution
    from backalley.benchmarks.exact.exact import solve

    check_followed(game)
    check_place(path)
    check_place(save)
    if svg is not None:
        check_picture(svg)
    if best is None:
        with progress_bar("openings") as progress:
            solution = solve(game, progress=progress)
    else:
        solution = read_solution(best, game)
    with progress_bar("deals") as progress:
        found = strategy_card(game, solution, loses=loses, deals=deals, least=least, seed=seed, progress=progress)
    made = CardAgent(game, found.sections)
    click.echo("\n".join([*made.words(), "", *made.meanings(), ""]))
    if save is not None:
        write_bytes(save, json.dumps(made.to_json(), indent=1).encode())
    if svg is not None:
        write_picture(svg, page(made, found.title), 2)
    finish(found, path)
