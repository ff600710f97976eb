"""What keeping events costs. Two batches of a game with the same seeds take turns in one process, at the same
decisions, and their processor time is compared: other load on the machine meets both alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from backalley.envs.core.game.game import Game

from ...figures.formatting import Found, changed, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ...speed.random_play import RandomPlay, episode_length
from ...speed.speed import FLOOR_TABLES
from ..runner import GAMES, Progress, count, quiet, study
from .against import ratio_interval

STEPS, WARM_UP = 50, 4
"""Steps of all tables in each turn, and turns before the first pair (and as many as two episodes
take), in which machine code is found and histories grow to their usual length."""
_COLUMNS: Columns = {
    "game": title,
    "options": lambda game: changed(game["options"]),
    "speed with events, times that without": "{ratio[mean]:.2f}",
    "interval": "{ratio[low]:.2f} to {ratio[high]:.2f}",
}


class EventsCost(
    Kept, kind="events_cost", heading="Speed with events", tables={"events_cost": lines(_COLUMNS, "games")}
):
    """What keeping events costs, game by game."""

    in_title = frozenset({"options"})
    says = f"Tables that keep events against tables that do not, {FLOOR_TABLES:,} of each, by processor time"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what the intervals are."""
        return [f"Means of {files[0]['pairs']} pairs of turns with their 95 % intervals."]


@study("events", EventsCost, GAMES, count("--pairs", 11, "Pairs of turns of each game.", 2))
def events_cost(games: Sequence[Game], *, pairs: int, progress: Progress = quiet) -> Found:
    """Measure what it costs to keep the events of tables of GAMES, by default all: with them against without, in
    pairs."""
    found = []
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        found.append(_of_game(game, pairs))
    return {"pairs": pairs, "games": found}


def _of_game(game: Game, pairs: int) -> dict[str, Any]:
    length = round(episode_length(game))
    plain, kept = (RandomPlay(game, FLOOR_TABLES, 1, events=events) for events in (False, True))
    ratios = []
    for play in (plain, kept):
        play.stagger(length)
        for _ in range(WARM_UP + 2 * length // STEPS):
            _turn(play)
    for number in range(pairs):
        spent = {}
        for play in (plain, kept) if number % 2 else (kept, plain):
            spent[play] = _turn(play)
        ratios.append(spent[plain] / spent[kept])
    return {"game": game.id, "options": game.changed_options, "ratio": ratio_interval(ratios), "pairs": ratios}


def _turn(play: RandomPlay) -> float:
    """The processor seconds of some steps; drawing actions is not counted."""
    spent = 0.0
    for _ in range(STEPS):
        play.draw()
        began = time.process_time()
        play.play_drawn()
        spent += time.process_time() - began
    return spent
