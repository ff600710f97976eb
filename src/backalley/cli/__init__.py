"""The command line: one program with short commands. Each calls one function of another room, and says how to run it
again."""

from __future__ import annotations

import click

import backalley
from backalley.console.command import Program

from . import about, dev, exporting, figures, learn, matches, records, reports, tables, worth
from .shared import command_line

__all__ = ["command_line", "main"]


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(backalley.__version__, prog_name="backalley")
def main() -> None:
    """Card games for reinforcement learning.

    Agents are named random, human, bot (a game's best), bot:NAME, level:N (from 1, the weakest, to 10 at most), policy
    (the pretrained one of the game), policy:NAME, plans (a game's planner, untrained),
    search[:DETERMINIZATIONS[:MILLISECONDS]] (a search with at most that many determinizations and that much time for
    each decision), search+AGENT[:DETERMINIZATIONS[:MILLISECONDS]] (the same, with rollouts by policy, a bot or the
    folder of a policy), mc:DETERMINIZATIONS[:MILLISECONDS] (a simpler search), by the folder of a trained policy, or,
    for your own, module:Class, file.py:Class (also with numbers for it, file.py:Class:96), cmd:PROGRAM (in any
    language; cmd:30s:PROGRAM with a limit for each decision), llm:URL#MODEL (a language model), card:FILE (a strategy
    card) or sb3:model.zip. PHASE=AGENT,PHASE=AGENT plays each phase of a game as another of these
    (bid=bot,play=random).
    """


for _verb in (
    about.games,
    about.rules,
    about.new_game,
    about.check,
    about.compile_,
    exporting.export,
    exporting.site,
    learn.train,
    learn.attack,
    matches.evaluate,
    matches.tournament,
    matches.play,
    tables.serve,
    matches.mcp,
    figures.speed,
    figures.solve,
    worth.analyse,
    figures.exploit,
    worth.card,
    records.replay,
    records.review,
    figures.score_rules,
    worth.variants,
    records.record,
    tables.watch,
    tables.picture,
    reports.plot,
    reports.report,
    dev.dev,
):
    main.add_command(_verb)
