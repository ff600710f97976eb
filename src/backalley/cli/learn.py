"""Training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backalley.console.command import whole_numbers
from backalley.console.progress import progress_bar

from .shared import (
    Neutral,
    check_place,
    cluster_option,
    finish,
    game_of,
    json_option,
    kept_when_stopped,
    of_a_game,
    option_option,
    seed_option,
    set_option,
)

if TYPE_CHECKING:
    from backalley.envs.core.game.game import Game


class TrainCommand(click.Command):
    """`train`, whose help names every hyperparameter."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The settings, as `training/config/config.py` declares them."""
        from backalley.training.config.config import settings

        with formatter.section("Settings, for --set and, by sections, for --config"):
            formatter.write_dl(settings(), col_max=25)


@click.command(cls=TrainCommand)
@click.argument("game", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="The folder of the run; by default a new one under runs/.")
@click.option("--seconds", type=float, help="Train for this long.")
@click.option(
    "--decisions",
    callback=whole_numbers,
    metavar="N[,N...]",
    help="Train for this many decisions, in all or in each phase.",
)
@click.option("--processor-seconds", type=float, help="Train for this much processor time of all cores together.")
@seed_option(None, "Decides packs, weights and exploration; 0 by default.")
@click.option("--seeds", metavar="A-B", help="Several runs, one for each of these seeds: 0-4, or 3,7,9.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A YAML file of settings, by sections.")
@set_option
@click.option(
    "--phase-module",
    "phase_modules",
    multiple=True,
    metavar="MODULE",
    help="A module that declares a kind of phase of your own (PHASE), by its import path; may be repeated.",
)
@option_option
@click.option(
    "--against",
    metavar="AGENT",
    help="Attack this agent: learn a best response to it at all other seats, and tell what that gains.",
)
@click.option(
    "--from",
    "begins",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Go on with the learning of the policy in this folder, or of that run, in the first phase.",
)
@click.option("--resume", type=click.Path(path_type=Path), help="Resume the run in this folder.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="With --resume: an agent of your own in that run's settings (cmd:PROGRAM, module:Class), which you trust.",
)
@click.option("--restart", is_flag=True, help="With --resume: begin that run again, in the same folder.")
@click.option("--device", default="auto", help="Torch's device: auto, cpu, cuda, cuda:1, ...")
@cluster_option
@click.option("--quiet", is_flag=True, help="No progress.")
def train(
    game: str | None,
    given: dict[str, str],
    seed: int | None,
    seeds: str | None,
    phase_modules: tuple[str, ...],
    resume: Path | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Train a policy for GAME. It learns by self-play, in every seat.

    Ctrl-C stops and keeps everything; --resume continues. At the end the policy plays every bot, and the command that
    trains the same weights again is printed. With --seeds it makes several runs, which --resume continues together, and
    prints the mean over seeds at the end.
    """
    from backalley.training.config.phases import register_phase
    from backalley.training.train import train as run

    if given and game is None:
        raise click.UsageError("--option goes with a game.")
    if seeds is not None and seed is not None:
        raise click.UsageError("Give --seed or --seeds, not both.")
    for module in phase_modules:
        register_phase(module)
    settings["seed"] = seed
    if seeds is not None or (resume is not None and (resume / "seeds.json").is_file() and seed is None):
        from backalley.training.seeds import train_seeds as run  # type: ignore[assignment]

        del settings["seed"]
        settings["seeds"] = seeds
    with progress_bar(game or (resume.name if resume else ""), quiet=quiet) as progress, kept_when_stopped():
        result = run(
            game_of(game, given) if game is not None and given else game,
            resume=resume,
            progress=progress,
            log=(lambda sentence: None) if quiet else progress.log,
            **settings,
        )
    click.echo(f"\n{result.table()}")


@click.command()
@of_a_game
@click.argument("agent")
@click.option(
    "--attackers",
    metavar="NAME[,NAME...]",
    help="Out of rollouts, plans, model, search, table and ppo, by default all that apply; search:96 has one size.",
)
@click.option("--seconds", type=float, help="The budget of all attackers together, by the clock.")
@click.option(
    "--processor-seconds", type=float, help="The same in processor time of all cores together; 600 by default."
)
@click.option("--decisions", type=click.IntRange(1), help="The same in decisions on the tables that they learn on.")
@click.option("--deals", type=int, default=4096, help="Deals that tell the gain.")
@seed_option(0, "Decides packs, weights and exploration.")
@click.option(
    "--out",
    cls=Neutral,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The attack's folder; where it holds a part of this attack, that goes on. By default one under runs/.",
)
@set_option
@json_option
def attack(game: Game, agent: str, path: Path | None, **settings: Any) -> None:
    """Look for the best response to AGENT in GAME. It plays all other sides and does not learn; what an attacker gains
    over equality is what AGENT gives, at least, to somebody who knows it.

    Ctrl-C stops and keeps everything; the same line goes on.
    """
    from backalley.training.attack.attack import attack as run

    check_place(path)
    with progress_bar("attack") as progress, kept_when_stopped():
        result = run(game, agent, **settings, progress=progress, log=progress.log)
    finish(result, path)
