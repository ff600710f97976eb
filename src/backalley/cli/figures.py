"""Commands that measure and solve."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import backalley
from backalley.console.command import INTERRUPTED
from backalley.console.progress import progress_bar

from .shared import (
    Amount,
    Special,
    agents_argument,
    agents_of,
    check_place,
    cluster_option,
    finish,
    game_of,
    games_argument,
    json_option,
    measure,
    of_a_game,
    option_option,
    seed_option,
    threads_option,
)

if TYPE_CHECKING:
    from backalley.benchmarks.exact.agent_values import AgentValues
    from backalley.benchmarks.exact.exact import Solution
    from backalley.envs.core.game.game import Game


@click.command()
@games_argument
@option_option
@click.option(
    "--tables",
    multiple=True,
    type=click.IntRange(1),
    help="A number of tables; by default 1, 64, 1,024, 4,096 and 16,384.",
)
@click.option("--seconds", type=Amount(min=0, max=3600, min_open=True), default=0.4, help="Length of a repetition.")
@click.option("--repeats", type=click.IntRange(1), default=5, help="Repetitions of each measurement.")
@click.option("--agent", "agents", multiple=True, metavar="AGENT", help="Time a decision of this agent, too.")
@json_option
def speed(
    games: tuple[str, ...], given: dict[str, str], tables: tuple[int, ...], path: Path | None, **settings: Any
) -> None:
    """Measure the speed of GAMES, by default all. Decisions a second of random play, and the wait before the first."""
    from backalley.benchmarks.speed.speed import TABLES
    from backalley.benchmarks.speed.speed import speed as run

    if given and len(games) != 1:
        raise click.UsageError("--option goes with one game.")
    chosen = [game_of(name, given) for name in games or backalley.game_names()]
    check_place(path)
    with progress_bar("games") as progress:
        speeds = run(chosen, tables=tables or TABLES, **settings, progress=progress, keep=path)
    finish(speeds, path, games=[game.spec for game in chosen])
    if not speeds.complete:
        click.echo(f"Stopped by Ctrl-C after {len(speeds.games)} of {speeds.planned} games.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@click.command()
@of_a_game
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="An agent whose exact value is computed, too; may be repeated.",
)
@click.option(
    "--best",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --agent: take optimal and random play from the file of an earlier solution, instead of solving again.",
)
@click.option(
    "--least",
    cls=Special,
    type=Amount(0, 1),
    default=0.0,
    help="With --agent: positions rarer than this after their opening are sampled; 0 follows all.",
)
@click.option(
    "--objective",
    cls=Special,
    type=click.Choice(["reward", "win", "win_or_tie"]),
    default="reward",
    help="The objective, in a game of one seat: the mean return, or how often it wins, or does not lose.",
)
@click.option(
    "--from",
    "recorded",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Solve the position in this recorded game, which also has the options: the value of every action there.",
)
@click.option("--decisions", type=click.IntRange(0), help="With --from: after this many decisions; by default all.")
@click.option(
    "--deck", metavar="CARDS", help="Solve the position after this deal: cards in the order of dealing, as in '4S TH'."
)
@click.option("--moves", metavar="ACTIONS", help="With --deck: and after these actions.")
@click.option("--start-outcome", type=click.IntRange(0), help="With --deck: what chance decided before the deal.")
@click.option(
    "--within",
    cls=Special,
    type=Amount(0, 1),
    default=1e-3,
    help="In games that hide cards: the distance of the bounds, as a share of the range of returns.",
)
@threads_option
@cluster_option
@json_option
def solve(
    game: Game,
    agents: tuple[str, ...],
    best: Path | None,
    least: float,
    objective: str,
    recorded: Path | None,
    decisions: int | None,
    deck: str | None,
    moves: str | None,
    start_outcome: int | None,
    within: float,
    threads: int,
    cluster: str | None,
    path: Path | None,
) -> None:
    """Solve GAME exactly. Games that hide nothing but the order of the stub are solved from the beginning or, by --from
    or --deck, from a position; small games of two seats with opposite interests that hide cards, by bounds of their
    value in equilibrium."""
    if not agents and (best is not None or least):
        raise click.UsageError("--best and --least go with --agent.")
    if agents and objective != "reward":
        raise click.UsageError("--agent goes with the objective reward alone.")
    if recorded is not None and (deck is not None or click.get_current_context().params["given"]):
        raise click.UsageError("--from has deal and options already; leave --deck and --option out.")
    if decisions is not None and recorded is None:
        raise click.UsageError("--decisions goes with --from.")
    if deck is None and (moves is not None or start_outcome is not None):
        raise click.UsageError("--moves and --start-outcome go with --deck.")
    if cluster is not None and (recorded is not None or deck is not None):
        raise click.UsageError("--cluster is for whole games; a position is solved on this machine.")
    check_place(path)
    if recorded is not None or deck is not None:
        if agents:
            raise click.UsageError("--agent is for whole games; at a position every action has its value.")
        from backalley.benchmarks.exact.best_play import dealt_table, position_values, recorded_table

        if recorded is not None:
            env = recorded_table(game, recorded, decisions)
        else:
            env = dealt_table(game, deck or "", start_outcome, (moves or "").split())
        with progress_bar("first cards") as progress:
            position = position_values(env, objective=objective, deck=deck or "", progress=progress)
        finish(position, path)
        return
    if (objective, best, agents) == ("reward", None, ()) and _solved_by_bounds(game, within, path):
        return
    from backalley.benchmarks.exact.agent_values import agent_values, read_solution
    from backalley.benchmarks.exact.exact import solve as run

    players = agents_of(game, agents)
    if best is None:
        with progress_bar("openings") as progress:
            solution = run(
                game, objective=objective, num_threads=threads, progress=progress, keep=path, cluster=cluster
            )
    else:
        solution = read_solution(best, game)
    report: Solution | AgentValues = solution
    if players:
        with progress_bar("openings") as progress:
            report = agent_values(
                game, players, solution, least=least, num_threads=threads, progress=progress, cluster=cluster
            )
    finish(report, path)


def _solved_by_bounds(game: Game, within: float, path: Path | None) -> bool:
    """Solve a game that hides more than the order of the stub, or has too many deals for that; return whether that is
    the way to solve it."""
    from backalley.benchmarks.exact.equilibrium import find_equilibrium
    from backalley.benchmarks.exact.walk import TooLarge

    hidden = game.type.enumeration is None
    if game.num_seats != 2 or (not hidden and game.type.enumeration_split is not None):
        return False
    try:
        with progress_bar("information sets") as progress:
            found = find_equilibrium(game, within=within, progress=progress)
    except TooLarge:
        if hidden:
            raise
        return False
    finish(found, path, within=within)
    return True


@click.command()
@of_a_game
@agents_argument
@json_option
def exploit(game: Game, agents: tuple[str, ...], path: Path | None) -> None:
    """Compute what AGENTS lose to best responses. Exactly, in games of two seats that are small enough."""
    from backalley.benchmarks.exact.exploit import exploitability

    check_place(path)
    finish(exploitability(game, agents_of(game, agents)), path)


@click.command("score-rules")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--game", "games", multiple=True, help="Score this game alone; may be repeated.")
@click.option("--reference", is_flag=True, help="Score our own rules behind the interface, in place of a folder.")
@click.option("--task", metavar="GAME", help="Print what the author of a candidate is given, and score nothing.")
@click.option("--hidden", type=click.IntRange(0, 10**5), default=40, help="Hidden games of each game.")
@seed_option(None, "Decides the hidden games. By default it is drawn now, when the candidates are written.")
@click.option("--seconds", type=Amount(0.1, 3600), default=10.0, help="For each case and game.")
@click.option("--memory", type=click.IntRange(64), default=1024, help="MiB for a candidate.")
@json_option
def score_rules(
    folder: Path | None,
    games: tuple[str, ...],
    reference: bool,
    task: str | None,
    hidden: int,
    seed: int | None,
    seconds: float,
    memory: int,
    path: Path | None,
) -> None:
    """Score the programs in FOLDER that were written from the games' pages. FOLDER/pitch.py has a class Game; rule
    vectors and hidden games say which paragraphs it plays rightly."""
    from backalley.benchmarks.rules_to_code.programs import Limits
    from backalley.benchmarks.rules_to_code.score import score_rules as run
    from backalley.benchmarks.rules_to_code.task import task as task_of

    if (folder is not None) + reference + (task is not None) != 1:
        raise click.UsageError("Name a FOLDER of candidates, or give --reference, or --task GAME.")
    if task is not None:
        click.echo(task_of(game_of(task, {})))
        return
    seed = secrets.randbelow(2**31) if seed is None else seed
    chosen, limits = [game_of(name, {}) for name in games], Limits(seconds, memory)
    measure("scripts", path, partial(run, folder, chosen, hidden=hidden, seed=seed, limits=limits), seed=seed)
