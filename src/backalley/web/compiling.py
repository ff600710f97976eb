"""Machine code for the tables of a server, made by another process: here a game is played in Python meanwhile."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import sys
from collections.abc import Callable

from backalley.agents.base.agent import answer
from backalley.agents.registry import agent
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from .table import Chair, Table

PATIENT = 10
"""How much less of the processor that process asks for."""


def compile_table(name: str, options: str) -> None:
    """Do once what a server does at a table of this game, with every kind of agent, and print a line after each."""
    if hasattr(os, "nice"):
        os.nice(PATIENT)
    game = game_of(name).bind(json.loads(options))
    table = Table("", game, {"seed": 0}, [Chair() for _ in range(game.num_seats)], "")
    seat = table.acting

    def decides(who: str) -> None:
        answer(agent(who, game, num_threads=1), table.question())

    works: list[Callable[[], object]] = [lambda: table.seen(0, seat)]
    works += [functools.partial(decides, who) for who in ("bot", "policy", "level:1", "search:1", "search+policy:1")]
    works.append(lambda: table.values(0, agent("search:1", game, num_threads=1)))
    for work in works:
        try:
            work()
        except ValueError as error:  # the game has no such agent under these options
            print(error, file=sys.stderr)
        print("done", flush=True)


async def compile_elsewhere(game: Game, more: Callable[[], object]) -> None:
    """Run `compile_table` in another process, and call `more()` whenever there is more machine code on disk."""
    code = f"import sys; from {__name__} import compile_table; compile_table(*sys.argv[1:])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, game.name, json.dumps(game.changed_options),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "BACKALLEY_COMPILE": "now"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        async for _ in process.stdout:
            more()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    more()
