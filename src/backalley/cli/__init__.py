"""The command line: one program, thin verbs. Each calls one function of the folder that owns its work, and says how to
run it again."""

from __future__ import annotations

import click

import backalley

from . import about, figures, learn, matches, reports, tables
from .program import Program
from .shared import command_line

__all__ = ["command_line", "main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(backalley.__version__, prog_name="backalley")
def main() -> None:
    """Card games for reinforcement learning.

    Agents are named random, human, bot (a game's best), bot:NAME, policy (the one that comes with a game), policy:NAME,
    plans (a game's planner, untrained), search[:WORLDS[:MILLISECONDS]] (a search with so many redrawn worlds at most,
    and so much time, for each decision), search+AGENT[:WORLDS[:MILLISECONDS]] (the same, played on by policy, a bot or
    the folder of a policy), mc:WORLDS[:MILLISECONDS] (a plainer one), by the folder of a trained policy, or, for one's
    own, module:Class, file.py:Class or sb3:model.zip.
    """


for _verb in (
    about.games,
    about.rules,
    about.new_game,
    about.compile_,
    learn.train,
    matches.evaluate,
    matches.tournament,
    matches.play,
    figures.speed,
    figures.solve,
    figures.exploit,
    figures.replay,
    tables.record,
    tables.watch,
    tables.picture,
    reports.plot,
    reports.report,
):
    main.add_command(_verb)
