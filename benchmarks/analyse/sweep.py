"""What every option does: a table of options by measures, on the same decks, exactly or with paired intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.base.agent import name_of
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of
from backalley.envs.core.rules.options import OptionError, declared

from ..exact.exact import Unsolvable, check_solvable, solve
from ..figures import stats
from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from ..figures.stats import Estimate, Floats
from ..matches.evaluate import check_deals, check_seed, dismiss, line_up
from ..matches.sample import LineUp, Series
from ..matches.seeding import Space, roots

DEALS = 1000


class Change(NamedTuple):
    """What one value of an option does to the return of seat 0."""

    option: str
    """NAME=VALUE"""
    value: float
    change: float
    """By how much that is more than without it."""
    low: float
    high: float
    """The ends of the change's 95 % interval over deals; equal where it is exact."""


def _sweeps(files: Files) -> Iterator[Line]:
    """What options do to the return of the first seat."""
    for found in files:
        for row in found["changes"]:
            one = Change(**row)
            yield {
                "game": title(found) if len(files) > 1 else "",
                "options": options(found),
                "with": one.option,
                "return of the first seat": f"{one.value:+.4f}",
                "change": _words(one, found["exact"]),
            }


def _words(one: Change, exact: bool) -> str:
    if exact:
        return f"{one.change:+.6f} exactly" if one.change else "none, exactly"
    if one.low <= 0 <= one.high:
        return f"no effect beyond ±{max(-one.low, one.high):.3g}"
    return f"{one.change:+.4f} ({one.low:+.4f} to {one.high:+.4f})"


@dataclass(frozen=True, kw_only=True)
class Sweep(OfGame, kind="sweep", heading="What every option does", tables={"sweep": _sweeps}):
    """The result of `sweep`: the greatest effect first."""

    changes: list[Change]
    base: float
    """The return of seat 0 without a change."""
    play: str
    exact: bool
    left_out: list[str]
    deals: int
    seed: int
    seconds: float

    @property
    def title(self) -> str:
        """By whose play, and what is changed."""
        how = "exactly" if self.exact else f"on the same {self.deals:,} deals"
        return f"{super().title}, by the play of {self.play}, {how}: the first seat returns {self.base:+.4f}"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """What was left out."""
        return list(dict.fromkeys(sentence for found in files for sentence in found["left_out"]))

    def records(self) -> list[dict[str, Any]]:
        """A row for each value of an option."""
        return [{"game": self.game, **one._asdict()} for one in self.changes]


def sweep(
    game: str | GameType | Game,
    values: Mapping[str, Sequence[Any]] | Sequence[str] = (),
    *,
    agent: Any = None,
    deals: int = DEALS,
    seed: int = 0,
    num_threads: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    keep: Path | None = None,
) -> Sweep:
    """Change one option at a time, and report what that does to the return of seat 0.

    `values` names options, or gives the values of each; an empty list of values, or a name alone, stands for all other
    values of a flag or choice, and for a number's least and greatest. By default all options are changed. Games of one
    seat that `exact.solve` takes are solved, unless an `agent` is given; else the agent, by default the game's best
    bot, plays all seats, on the same `deals` for every value. With `keep`, what is finished is saved beside that file,
    and the same call continues from it. `progress(done, all, words)` counts values. Raises OptionError for an unknown
    option, ValueError for numbers that cannot be played.
    """
    game, began = game_of(game), time.perf_counter()
    check_deals(deals)
    check_seed(seed)
    left_out: list[str] = []
    variants = dict(_variants(game, values, left_out))
    exact = agent is None and _solvable([game, *variants.values()])
    if agent is None:
        agent = "bot" if game.bots else "random"
    about, threads = of_game(game, __file__), threads_of(num_threads)
    task = {
        "sweep of": game.id,
        "options": game.option_values,
        "of": [*variants],
        "agent": str(agent),
        "deals": deals,
        "seed": seed,
    }
    unfinished = Unfinished(keep, task, about["stamp"]["sources"])
    found = dict(unfinished.load())
    for number, (words, one) in enumerate({"": game, **variants}.items()):
        if words not in found:
            found[words] = (
                np.array([solve(one, num_threads=threads).best_return])
                if exact
                else _gained(one, agent, deals, seed, threads)
            )
            unfinished.save(found)
        if progress is not None:
            progress(number + 1, len(variants) + 1, words)
    base = found.pop("")
    changes = [
        _change(words, base, found[words], None if exact else stats.lead_bounds(_range(game, one)))
        for words, one in variants.items()
    ]
    return Sweep(
        **about,
        changes=sorted(changes, key=lambda one: -abs(one.change)),
        base=float(base.mean()),
        play="best" if exact else str(agent),
        exact=exact,
        left_out=left_out,
        deals=deals,
        seed=seed,
        seconds=time.perf_counter() - began,
    )


def _range(game: Game, other: Game) -> tuple[float, float]:
    return min(game.reward_range[0], other.reward_range[0]), max(game.reward_range[1], other.reward_range[1])


def _change(words: str, base: Floats, there: Floats, bounds: tuple[float, float] | None) -> Change:
    leads = there - base
    found = Estimate(*[float(leads[0])] * 3) if bounds is None else stats.mean_interval(leads, bounds)
    return Change(words, float(there.mean()), *map(float, found))


def _gained(game: Game, agent: Any, deals: int, seed: int, num_threads: int) -> Floats:
    """What seat 0 gains in each deal [D], where the agent plays all seats."""
    players = line_up(game, [agent], num_threads)
    try:
        keys = roots(Space.EVALUATION, seed)
        (sample,) = Series(
            [LineUp(game, players * game.num_sides, keys, deals, name_of(players[0]))], None, num_threads=num_threads
        ).play()
    finally:
        dismiss(players, [agent])
    gained: Floats = sample.returns[:, :, 0].mean(1)
    return gained


def _solvable(games: Sequence[Game]) -> bool:
    try:
        for game in games:
            check_solvable(game, whole=True)
    except Unsolvable:
        return False
    return all(game.num_seats == 1 for game in games)


def _variants(
    game: Game, values: Mapping[str, Sequence[Any]] | Sequence[str], left_out: list[str]
) -> Iterator[tuple[str, Game]]:
    """The game with one option changed, by that option in words; what cannot be played is left out with its reason."""
    kind: Any = type(game.options)
    known, given = declared(kind), game.option_values
    named = values if values and isinstance(values, Mapping) else dict.fromkeys(values or known, ())
    for name, wanted in named.items():
        if name not in known:
            raise OptionError(f"{game.name} has no option {name!r}; it has {', '.join(known)}.")
        every = wanted or _values(*known[name])
        if not every:
            left_out.append(f"{name} was not changed: it has no short list of values; give some, as {name}=VALUE.")
        for value in every:
            try:
                changed = game.bind({**game.changed_options, name: value})
            except OptionError as error:
                left_out.append(f"{name}={value} was left out: {error}")
                continue
            if changed.option_values != given:
                yield f"{name}={value}".lower(), changed


def _values(kind: Any, note: Any) -> list[Any]:
    """All values of a flag or choice; a number's least and greatest, where both are declared."""
    if kind is bool:
        return [False, True]
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return [member.name.lower() for member in kind]
    if kind in (int, float) and None not in (note.low, note.high):
        return [kind(note.low), kind(note.high)]
    return []
