"""Training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from backalley.command import INTERRUPTED
from backalley.progress import progress_bar

from .shared import (
    game_of,
    option_option,
    pairs,
    seed_option,
)


class TrainCommand(click.Command):
    """`train`, whose help names every hyperparameter."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The settings, as `training/config.py` declares them."""
        from backalley.training.config import settings

        with formatter.section("Settings, for --set and, by sections, for --config"):
            formatter.write_dl(settings(), col_max=25)


def counts(ctx: click.Context, parameter: click.Parameter, given: str | None) -> list[int] | None:
    try:
        return None if given is None else [int(count) for count in given.split(",")]
    except ValueError:
        raise click.BadParameter(f"{given!r} is no whole number, nor several with commas.", ctx, parameter) from None


@click.command(cls=TrainCommand)
@click.argument("game", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="The folder of the run; by default a new one under runs/.")
@click.option("--seconds", type=float, help="Train for this long.")
@click.option(
    "--decisions", callback=counts, metavar="N[,N...]", help="Train for this many decisions, in all or in each phase."
)
@click.option("--processor-seconds", type=float, help="Train until all cores together have spent this long.")
@seed_option(None, "Decides packs, weights and exploration; 0 by default.")
@click.option("--seeds", metavar="A-B", help="Several runs, one for each of these seeds: 0-4, or 3,7,9.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A YAML file of settings, by sections.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", callback=pairs, help="A setting; may be repeated."
)
@option_option
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the run in this folder.")
@click.option("--restart", is_flag=True, help="With --resume: begin that run anew, in its place.")
@click.option("--device", default="auto", show_default=True, help="Where torch computes: auto, cpu, cuda, cuda:1, ...")
@click.option("--quiet", is_flag=True, help="No progress.")
def train(
    game: str | None,
    out: Path | None,
    seconds: float | None,
    decisions: list[int] | None,
    processor_seconds: float | None,
    seed: int | None,
    seeds: str | None,
    config: Path | None,
    overrides: dict[str, str],
    given: dict[str, str],
    resume: Path | None,
    restart: bool,
    device: str,
    quiet: bool,
) -> None:
    """Train a policy for GAME. It learns by self-play, in every seat.

    Ctrl-C stops and keeps everything; --resume goes on. At the end the policy plays every bot, and the line is printed
    that trains the same weights again. With --seeds it makes several runs, which --resume goes on with together, and
    at the end gives the mean over seeds.
    """
    from backalley.training.train import Stopped
    from backalley.training.train import train as run

    if given and game is None:
        raise click.UsageError("--option goes with a game.")
    if seeds is not None and seed is not None:
        raise click.UsageError("Give --seed or --seeds, not both.")
    more: dict[str, Any] = {"seed": seed}
    if seeds is not None or (resume is not None and (resume / "seeds.json").is_file() and seed is None):
        from backalley.training.seeds import train_seeds as run  # type: ignore[assignment]

        more = {"seeds": seeds}
    with progress_bar(game or (resume.name if resume else ""), quiet=quiet) as progress:
        try:
            result = run(
                game_of(game, given) if game is not None and given else game,
                out=out,
                seconds=seconds,
                decisions=decisions,
                processor_seconds=processor_seconds,
                **more,
                config=config,
                config_overrides=overrides,
                resume=resume,
                restart=restart,
                device=device,
                progress=progress,
                say=(lambda sentence: None) if quiet else progress.say,
            )
        except Stopped as stopped:
            click.echo(str(stopped), err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"\n{result.table()}")
