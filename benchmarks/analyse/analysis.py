"""One report about a game: what its seats gain, what a house keeps, how much is skill, and how a game goes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent, name_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of

from ..figures.charts import EVEN, Dots, dots
from ..figures.formatting import Line, options, title, with_options
from ..figures.result_kinds import Files, OfGame, of_game
from ..figures.stats import Estimate
from ..matches.evaluate import check_deals, check_seed, dismiss, identities, line_up
from ..matches.sample import LineUp, Sample, Series
from ..matches.seeding import Space, roots
from . import course, house, matches
from .bounds import NOT_EXACT, value_of
from .figure import Figure, shown

Progress = Callable[[int, int, str], None]
DEALS = 1000


_CHARTS = (
    ("fairness", "Where all play alike, by whose play", ("return of", "advantage of")),
    ("the house", "What it gains a game, by whose play", ("gain of the house",)),
    ("skill", "What each agent gains on the one before it", ("lead over",)),
)
"""A chart's name, what it is about, and how its measures begin."""


def _figures(files: Files) -> Iterator[Line]:
    """Fairness, house, skill and course of games."""
    for found in files:
        for one in found["figures"]:
            about = {"game": title(found) if len(files) > 1 else "", "options": options(found)}
            yield {**about, "measured": one["measure"], "play": one["play"], "value": shown(Figure(**one))}


@dataclass(frozen=True, kw_only=True)
class Analysis(OfGame, kind="analysis", heading="What a game is worth", tables={"analysis": _figures}):
    """The result of `analyse_game`. Returns are in the game's rewards."""

    figures_found: list[Figure]
    left_out: list[str]
    """What does not apply, and why, in sentences."""
    agents: list[str]
    """By whose play: weakest first."""
    deals: int
    seed: int
    seconds: float

    @property
    def title(self) -> str:
        """What was analysed, and on how many deals."""
        return f"{super().title}: {self.deals:,} deals by each agent; intervals of 95 % over deals"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """What was left out."""
        return list(dict.fromkeys(sentence for found in files for sentence in found["left_out"]))

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """What seats and roles gain, what a house keeps, and what each agent gains on the one before it."""
        for found in files:
            figures = [Figure(**one) for one in found["figures"]]
            for name, words, begins in _CHARTS:
                rows = [
                    (f"{one.measure} ({one.play})", Estimate(one.value, one.low, one.high))
                    for one in figures
                    if one.measure.startswith(begins)
                ]
                if rows:
                    about = f"{words}; 95 % intervals over {found['deals']:,} deals, or exact."
                    yield dots(f"{with_options(found)}: {name}", about, "in the game's rewards", rows, EVEN)

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        found = super().measured()
        return {"figures": found.pop("figures_found"), **found}

    def records(self) -> list[dict[str, Any]]:
        """A row for each figure."""
        return [{"game": self.game, **one._asdict()} for one in self.figures_found]

    def value(self, measure: str, play: str | None = None) -> Figure:
        """Return the first figure of that measure, by that agent's play if it is given. Raises ValueError."""
        for one in self.figures_found:
            if one.measure == measure and play in (None, one.play):
                return one
        raise InvalidValue(
            f"There is no figure {measure!r}; there are {sorted({one.measure for one in self.figures_found})}."
        )


def analyse_game(
    game: str | GameType | Game,
    agents: Sequence[Agent | str | Path] | None = None,
    *,
    deals: int = DEALS,
    seed: int = 0,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Analysis:
    """Report what a game is worth to its seats and to a house, how much of it is skill, and how a game goes.

    `agents` are those by whose play it is measured, from the weakest to the strongest: by default `random` and the
    game's bots. Each plays `deals` against itself and against the one before it, all on the same decks. A game of one
    seat that `exact.solve` takes is solved, and its fair pay computed; a small game of two seats gets the bounds of its
    equilibrium; other figures have intervals over deals.
    `progress(done, all, words)` counts deals. With `keep`, the file of the report, unfinished matches are saved beside
    it, and the same call continues from them. Raises ValueError for agents or numbers that cannot be played.
    """
    game, began = game_of(game), time.perf_counter()
    check_deals(deals)
    check_seed(seed)
    if deals < 2:
        raise InvalidValue(f"deals is {deals}; an interval needs 2 or more.")
    threads = threads_of(num_threads)
    names = ["random", *(f"bot:{name}" for name in game.bots)] if agents is None else agents
    players = line_up(game, names, threads)
    if not players:
        raise InvalidValue("agents is empty; give one agent or more, such as ['random', 'bot'].")
    about = of_game(game, __file__)
    task = {
        "analysis of": game.id,
        "options": game.option_values,
        "agents": identities(players),
        "seed": seed,
        "deals": deals,
    }
    unfinished = Unfinished(keep, task, about["stamp"]["sources"])
    try:
        alone, pairs = _played(game, players, deals, seed, threads, unfinished, progress)
        words = [name_of(player) for player in players]
        left_out: list[str] = []
        held = matches.roles(game, roots(Space.EVALUATION, seed), deals) if game.num_seats > 1 else {}
        found = [
            *matches.fairness(game, words, alone),
            *matches.advantages(game, words, alone, held, left_out),
            *_equilibrium(game, held, left_out),
            *house.figures(game, words, alone, left_out, threads),
            *matches.skill(game, words, alone, pairs, left_out),
            *course.figures(game, players, min(deals, course.MOST_TABLES), seed, left_out),
        ]
    finally:
        dismiss(players, names)
    seconds = time.perf_counter() - began
    return Analysis(
        **about, figures_found=found, left_out=left_out, agents=words, deals=deals, seed=seed, seconds=seconds
    )


def _equilibrium(game: Game, held: Mapping[str, matches.Seats], left_out: list[str]) -> Iterator[Figure]:
    """What each of two seats gains in equilibrium, and so each role that always has the same seat."""
    if game.num_seats == 1:
        return
    try:
        low, high = value_of(game)
    except NOT_EXACT as error:
        left_out.append(f"Equilibrium: {error}")
        return
    by_seat = ((low, high), (-high, -low))
    for seat, ends in enumerate(by_seat):
        words = f"return of {game.seat_name(seat)}, by its bounds"
        yield Figure("fairness", words, "equilibrium", sum(ends) / 2, *ends)
    for role, seats in held.items():
        if not np.ptp(seats):
            ends = by_seat[seats[0]]
            yield Figure("fairness", f"advantage of the {role}, by its bounds", "equilibrium", sum(ends) / 2, *ends)


def _played(
    game: Game,
    players: list[Agent],
    deals: int,
    seed: int,
    threads: int,
    unfinished: Unfinished,
    progress: Progress | None,
) -> tuple[list[Sample], list[Sample]]:
    """Each agent against itself, and, where there are several seats, against the one before it."""
    keys, several = roots(Space.EVALUATION, seed), game.num_sides > 1
    against = [[player] * game.num_sides for player in players]
    against += [[better, worse] for worse, better in itertools.pairwise(players)] if several else []
    series = Series(
        [LineUp(game, one, keys, deals, name_of(one[0])) for one in against],
        unfinished,
        num_threads=threads,
        progress=progress,
    )
    samples = series.play()
    return samples[: len(players)], samples[len(players) :]
