"""The commands that say what a game is worth, find strategy cards, and draw games that nobody has seen."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backalley.console.progress import progress_bar

from .shared import (
    Amount,
    Neutral,
    Special,
    check_picture,
    check_place,
    finish,
    json_option,
    measure,
    of_a_game,
    seed_option,
    threads_option,
    write_bytes,
    write_picture,
)

if TYPE_CHECKING:
    from backalley.benchmarks.cards.growing import StrategyCard
    from backalley.envs.core.game.game import Game


@click.command()
@of_a_game
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="By whose play, weakest first; all bots by default.",
)
@click.option(
    "--sweep",
    "swept",
    multiple=True,
    metavar="OPTION[=VALUE,...]",
    help="Change this option, to these values or to all; may be repeated. `all` changes every option.",
)
@click.option("--together", is_flag=True, help="Try the changes of --sweep in all combinations, too.")
@click.option("--deals", type=click.IntRange(2), default=1000, help="Deals by each agent.")
@seed_option(0, "Decides the decks.")
@threads_option
@json_option
@click.option(
    "--html", cls=Neutral, type=click.Path(path_type=Path), metavar="FILE", help="Write a page with the results, too."
)
def analyse(
    game: Game,
    agents: tuple[str, ...],
    swept: tuple[str, ...],
    together: bool,
    deals: int,
    seed: int,
    threads: int,
    path: Path | None,
    html: Path | None,
) -> None:
    """Say what GAME is worth. Its fairness, the house's edge and fair pay, skill and luck, its course; with --sweep,
    what its options do."""
    check_place(path)
    check_place(html)
    settings: dict[str, Any] = {"deals": deals, "seed": seed, "num_threads": threads, "keep": path}
    found: Any
    if together and not swept:
        raise click.UsageError("--together combines the changes of --sweep; give it, such as --sweep all.")
    if swept:
        from backalley.benchmarks.analyse.sweep import sweep

        if len(agents) > 1:
            raise click.UsageError("--sweep takes one --agent, who plays all seats.")
        with progress_bar("values") as progress:
            settings |= {"together": together, "agent": agents[0] if agents else None}
            found = sweep(game, _values(swept), progress=progress, **settings)
    else:
        from backalley.benchmarks.analyse.analysis import analyse_game

        with progress_bar("deals") as progress:
            found = analyse_game(game, agents or None, progress=progress, **settings)
    finish(found, path)
    if html is not None:
        from backalley.benchmarks.publish.html_report import page
        from backalley.benchmarks.publish.sources import Source

        write_bytes(html, page([Source(html, found.to_json())], heading=found.heading).encode())


def _values(swept: Sequence[str]) -> dict[str, list[str]]:
    """Values by option; none stand for all."""
    pairs = (one.partition("=") for one in swept if one != "all")
    return {name: [value for value in values.split(",") if value] for name, _, values in pairs}


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


@click.command()
@of_a_game
@click.option("--loses", type=Amount(min=0), default=0.001, help="How much less the card may return.")
@click.option(
    "--from",
    "like",
    default="exact",
    metavar="exact|AGENT",
    help="Whose play it comes near to: best play's, by default.",
)
@click.option(
    "--actions",
    cls=Special,
    default="",
    metavar="PHASE|REGEX",
    help="With --from AGENT: a card for decisions among these actions; AGENT plays the rest.",
)
@click.option("--deals", cls=Special, type=click.IntRange(1), default=5000, help="Deals whose positions it is made of.")
@click.option("--least", cls=Special, type=Amount(0, 1), default=0.0, help="Positions rarer than this are sampled.")
@click.option(
    "--best",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take best play's return from the file of an earlier solution, instead of solving again.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the card: the agent card:FILE.")
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="FILE", help="Write a page of size A6 (.svg, .png, .pdf)."
)
@seed_option(0, "Decides the deals.")
@json_option
def card(
    game: Game,
    loses: float,
    like: str,
    actions: str,
    deals: int,
    least: float,
    best: Path | None,
    save: Path | None,
    svg: Path | None,
    seed: int,
    path: Path | None,
) -> None:
    """Find the smallest decision table of GAME that a person can carry. It loses at most --loses against best play, in
    games of one seat that `solve` solves; or against an agent that sits in its place, in any game."""
    from backalley.agents.base.card import CardAgent
    from backalley.benchmarks.cards.page import page

    check_place(path)
    check_place(save)
    if svg is not None:
        check_picture(svg)
    if like == "exact":
        if actions:
            raise click.UsageError("--actions takes an agent for the rest; give --from AGENT, too.")
        found = _exact_card(game, best, loses=loses, deals=deals, least=least, seed=seed)
    else:
        from backalley.agents.registry import card_base
        from backalley.benchmarks.cards.imitating import card_of_agent

        with progress_bar("deals") as progress:
            found = card_of_agent(game, like, loses=loses, deals=deals, actions=actions, seed=seed, progress=progress)
    made = CardAgent(game, found.sections, base=(found.base, card_base(game, found.base)) if found.base else None)
    click.echo("\n".join([*made.words(), "", *made.meanings(), ""]))
    if save is not None:
        write_bytes(save, json.dumps(made.to_json(), indent=1).encode())
    if svg is not None:
        write_picture(svg, page(made, found.title), 2)
    finish(found, path)


def _exact_card(game: Game, best: Path | None, **settings: Any) -> StrategyCard:
    """The card of best play, whose return comes from a file, or is found now."""
    from backalley.benchmarks.cards.growing import strategy_card
    from backalley.benchmarks.exact.agent_values import check_followed, read_solution
    from backalley.benchmarks.exact.exact import solve

    check_followed(game)
    if best is None:
        with progress_bar("openings") as progress:
            solution = solve(game, progress=progress)
    else:
        solution = read_solution(best, game)
    with progress_bar("deals") as progress:
        return strategy_card(game, solution, progress=progress, **settings)
