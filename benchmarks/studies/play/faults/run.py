"""Play with faults: each at tables of its own, many side by side, with a limit of time for every answer."""

from __future__ import annotations

import concurrent.futures
import contextlib
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from backalley.agents.base.agent import view_of
from backalley.agents.programs.program_agent import ProgramAgent, language_model
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game import arguments
from backalley.examples import kuhn

from .server import FaultyServer
from .table import FAULTS, SILENT, Fault

GRACE = 5.0
"""Seconds after the limit within which every fault is answered."""
PROGRAM = Path(__file__).with_name("program.py")


class Outcome(NamedTuple):
    """What became of one fault."""

    fault: Fault
    at: int
    """The decision at which it came, 0 for the hello."""
    tables: int
    seconds: float
    """The longest that anybody waited: for the start, for the decisions of all tables, for the end."""
    said: tuple[str, ...]
    """What was said of it."""
    trouble: str
    """What should not have been, empty where all is well."""


def drawn(seed: int, count: int) -> list[tuple[Fault, int, int]]:
    """Return `count` faults by a seed, all of them before any comes again, each with a decision and a number of tables.
    Raises ValueError for a seed or a count below 0."""
    random = np.random.default_rng(arguments.count(seed, "seed", 0))
    rounds = -(-arguments.count(count, "count", 0) // len(FAULTS))
    order = [int(k) for _ in range(rounds) for k in random.permutation(len(FAULTS))]
    return [(FAULTS[k], int(random.integers(3)), int(random.integers(1, 5))) for k in order[:count]]


def run_faults(seed: int, count: int = len(FAULTS), *, limit: float = 1.0, side_by_side: int = 8) -> list[Outcome]:
    """Return what becomes of the faults that `drawn` gives. `limit` is that of a decision, in seconds; `side_by_side`
    is how many are played at a time. Raises ValueError for a seed or a count below 0."""
    with concurrent.futures.ThreadPoolExecutor(side_by_side) as threads:
        return list(
            threads.map(lambda one: try_fault(one[0], at=one[1], tables=one[2], limit=limit), drawn(seed, count))
        )


def try_fault(fault: Fault, *, at: int = 1, tables: int = 1, limit: float = 0.5) -> Outcome:
    """Return what becomes of one fault at a decision (0: before play, where it can come there), where the player has
    all seats of some tables, whose decisions are asked for at once."""
    may_greet = fault.when == "hello" or (fault.side == "llm" and fault.when in ("play", "harmless"))
    number = 0 if fault.when == "hello" else at if may_greet else max(1, at)
    number = min(number, tables) if number else 0
    waited: list[float] = []
    said: tuple[str, ...]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(FaultyServer(fault.name, number)) if fault.side == "llm" else None
        try:
            with _timed(waited):
                player = _seated(fault, server, number, tables, limit)
        except InvalidValue as error:
            said, trouble = (str(error),), "" if number == 0 and fault.when != "harmless" else "it was refused"
        else:
            said, trouble = _played(player, fault, tables, waited)
            if number == 0 and fault.when != "harmless":
                trouble = "it was not refused before play"
    if server is not None and server.elsewhere:
        trouble = "a redirect was followed"
    if max(waited) > limit + GRACE:
        trouble = f"somebody waited {max(waited):.1f} s with a limit of {limit:g} s"
    expected = f"{fault.said}|{SILENT}"  # a slow machine may take the time before the fault is seen
    if not trouble and not re.search(expected, " ".join(said)):
        trouble = f"nothing was said of {fault.said!r}"
    if not all(sentence.isprintable() for sentence in said):
        trouble = "what was said steers a terminal"
    return Outcome(fault, number, tables, max(waited), said, trouble)


@contextlib.contextmanager
def _timed(waited: list[float]) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        waited.append(time.monotonic() - began)


def _seated(fault: Fault, server: FaultyServer | None, number: int, tables: int, limit: float) -> ProgramAgent:
    """The player. Raises InvalidValue where it is refused before play."""
    game = kuhn.GAME.bind()
    if server is not None:
        return language_model(game, f"{limit}s:{server.url}#faulty")
    words = [sys.executable, "-I", "-S", str(PROGRAM), fault.name, str(number), str(tables)]
    return ProgramAgent(words, game, seconds=limit, name=f"cmd:{fault.name}")


def _played(player: ProgramAgent, fault: Fault, tables: int, waited: list[float]) -> tuple[tuple[str, ...], str]:
    """What is said of a player who has all seats of some tables, and what is wrong with it."""
    batch, trouble = BatchEnv(player.game, tables, seed=1, events=True), ""
    batch.reset()
    rows = np.arange(tables)
    while len(rows) and not trouble:
        with _timed(waited):
            actions = player.act(view_of(batch, rows, np.arange(tables, dtype=np.uint64)))
        if not batch.time_step.action_mask[rows, actions].all():
            trouble = "an action that is not legal was played"
        else:
            step = batch.step(actions, rows)
            rows = rows[~step.terminated[rows]]
    with _timed(waited):
        player.close()
    if (player.forfeits > 0) != (fault.when != "harmless"):
        trouble = f"{player.forfeits} of {tables} games were forfeited"
    return tuple(player.said), trouble
