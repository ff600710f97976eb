"""How long a table in a browser makes one wait on a machine that has compiled nothing: deal, first turn, hints.

The server's processor time is counted, and not that of the process that compiles for it at a lower priority: so a
machine that does something else meanwhile gives the same.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from backalley.envs.core.game.game import Game

from ...figures.formatting import Found, changed, title
from ...figures.result_kinds import Columns, Kept, lines
from ..runner import GAMES, Progress, count, quiet, study
from .flood import dealt, my_turn, serving, sign_in

_COLUMNS: Columns = {
    "game": title,
    "options": lambda game: changed(game["options"]),
    **{name: f"{{{name.replace(' ', '_')}:.2f}}" for name in ("deal", "first turn", "first hint", "slowest hint")},
}


class FirstTables(
    Kept, kind="first_tables", heading="The first table in a browser", tables={"first_tables": lines(_COLUMNS, "games")}
):
    """What the server spends on the first table of each game."""

    in_title = frozenset({"options"})
    says = "Seconds of processor time of `backalley serve`, with nothing compiled"


@study("first-tables", FirstTables, GAMES, count("--hints", 8, "Turns at which a hint is asked for.", 1))
def first_tables(games: Sequence[Game], *, hints: int, progress: Progress = quiet) -> Found:
    """Measure what a server spends on deal, first turn and hints of the first table of GAMES, by default all, with an
    empty cache of machine code."""
    found = []
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        found.append({"game": game.id, "options": game.changed_options, **_of_game(game, hints)})
    return {"hints": hints, "games": found}


def _of_game(game: Game, hints: int) -> dict[str, float]:
    """The seconds of one game, in a server of its own, against the opponents that the page offers first."""
    import httpx

    found = {"deal": 0.0, "first_turn": 0.0, "first_hint": 0.0, "slowest_hint": 0.0}
    with tempfile.TemporaryDirectory() as cache, serving(BACKALLEY_CACHE=cache, BACKALLEY_COMPILE="") as (pid, *place):
        clock = ~pid << 3 | 2  # Linux: the processor time of that process

        def timed(name: str, work: Callable[[], Any]) -> Any:
            began, done = time.clock_gettime(clock), work()
            found[name] = max(found[name], time.clock_gettime(clock) - began)
            return done

        with httpx.Client(base_url="http://{}:{}".format(*place), timeout=120) as player:
            sign_in(player)
            about = player.get("/api/setup", params={"game": game.name, **game.changed_options}).json()
            known = [agent["name"] for agent in about["agents"]]
            seats = ["me", *[next(one for one in ("policy", "bot", "random") if one in known)] * (game.num_seats - 1)]
            table = timed("deal", lambda: dealt(player, game, seats))
            now = timed("first_turn", lambda: my_turn(player, table))
            for name in ("first_hint", *["slowest_hint"] * (hints - 1)):
                if now["over"]:
                    break
                timed(name, lambda: player.get(f"{table}/values").raise_for_status())
                player.post(f"{table}/act", json={"action": now["actions"][0][0], "at": now["last"]}).raise_for_status()
                now = my_turn(player, table)
    return found | {"slowest_hint": max(found["first_hint"], found["slowest_hint"])}
