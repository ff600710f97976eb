"""What every option does: a table of options by measures, on the same decks, exactly or with paired intervals."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.base.agent import name_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of
from backalley.envs.core.rules.options import OptionError, declared

from ..figures import stats
from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from ..figures.stats import Estimate, Floats
from ..matches.evaluate import check_deals, check_seed, dismiss, line_up
from ..matches.sample import LineUp, Series
from ..matches.seeding import Space, roots
from .bounds import NOT_EXACT, value_of

DEALS = 1000
MOST = 1000
"""Combinations of options that are tried."""


class Change(NamedTuple):
    """What one value of an option, or a combination, does to the return of seat 0."""

    option: str
    """NAME=VALUE, and so on"""
    value: float
    change: float
    """By how much that is more than without it."""
    low: float
    high: float
    """The ends of the change's 95 % interval over deals; where it is exact, the bounds, or equal."""


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
    if exact and one.low == one.high:
        return f"{one.change:+.6f} exactly" if one.change else "none, exactly"
    if one.low <= 0 <= one.high:
        return f"no effect beyond ±{max(-one.low, one.high):.3g}"
    return f"{one.change:+.4f} ({one.low:+.4f} to {one.high:+.4f}{', bounds' if exact else ''})"


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
    together: bool = False,
    agent: Any = None,
    deals: int = DEALS,
    seed: int = 0,
    num_threads: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
    keep: Path | None = None,
) -> Sweep:
    """Change one option at a time, or `together` in all combinations, and report what that does to seat 0's return.

    `values` names options, or gives the values of each; an empty list of values, or a name alone, stands for all other
    values of a flag or choice, and for a number's least and greatest. By default all options are changed. Without an
    `agent`, a game of one seat that `exact.solve` takes is solved, and a small one of two seats gets the bounds of its
    equilibrium. Else the agent, by default the game's best bot, plays all seats, on the same `deals` for every value.
    With `keep`, what is finished is saved beside that file, and the same call continues from it. `progress(done, all,
    words)` counts values. Raises OptionError for an unknown option, ValueError for numbers that cannot be played or
    more than 1,000 combinations.
    """
    game, began = game_of(game), time.perf_counter()
    check_deals(deals)
    check_seed(seed)
    left_out: list[str] = []
    variants = dict(_variants(game, values, together, left_out))
    threads = threads_of(num_threads)
    exact = agent is None and _is_exact(game, threads)
    if exact:
        agent = "best" if game.num_seats == 1 else "equilibrium"
    elif agent is None:
        agent = "bot" if game.bots else "random"
    about = of_game(game, __file__)
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
            try:
                found[words] = np.array(value_of(one, threads)) if exact else _gained(one, agent, deals, seed, threads)
            except NOT_EXACT as error:
                left_out.append(f"{words} was left out: {error}")
                continue
            unfinished.save(found)
        if progress is not None:
            progress(number + 1, len(variants) + 1, words)
    base = found.pop("")
    changes = [
        _change(words, base, found[words], None if exact else stats.lead_bounds(_range(game, one)))
        for words, one in variants.items()
        if words in found
    ]
    return Sweep(
        **about,
        changes=sorted(changes, key=lambda one: -abs(one.change)),
        base=float(base.mean()),
        play=str(agent),
        exact=exact,
        left_out=left_out,
        deals=deals,
        seed=seed,
        seconds=time.perf_counter() - began,
    )


def _range(game: Game, other: Game) -> tuple[float, float]:
    return min(game.reward_range[0], other.reward_range[0]), max(game.reward_range[1], other.reward_range[1])


def _change(words: str, base: Floats, there: Floats, bounds: tuple[float, float] | None) -> Change:
    if bounds is None:
        found = Estimate(float((there - base).mean()), float(there[0] - base[1]), float(there[1] - base[0]))
    else:
        found = stats.mean_interval(there - base, bounds)
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


def _is_exact(game: Game, num_threads: int) -> bool:
    try:
        value_of(game, num_threads)
    except NOT_EXACT:
        return False
    return True


def _variants(
    game: Game, values: Mapping[str, Sequence[Any]] | Sequence[str], together: bool, left_out: list[str]
) -> Iterator[tuple[str, Game]]:
    """The game with options changed, by these in words; what cannot be played is left out with its reason."""
    pairs, seen = _pairs(game, values, left_out), [game.option_values]
    if (number := math.prod(len(every) + 1 for every in pairs) - 1) > MOST and together:
        raise InvalidValue(f"These options have {number:,} combinations; at most {MOST:,} are tried, so name fewer.")
    for several in range(1, len(pairs) + 1 if together else min(len(pairs), 1) + 1):
        for chosen in itertools.combinations(pairs, several):
            for changes in itertools.product(*chosen):
                words = ", ".join(f"{name}={value}" for name, value in changes).lower()
                try:
                    changed = game.bind({**game.changed_options, **dict(changes)})
                except OptionError as error:
                    left_out.append(f"{words} was left out: {error}")
                    continue
                if changed.option_values not in seen:
                    seen.append(changed.option_values)
                    yield words, changed


def _pairs(
    game: Game, values: Mapping[str, Sequence[Any]] | Sequence[str], left_out: list[str]
) -> list[list[tuple[str, Any]]]:
    """For each option to change, its name with each value."""
    kind: Any = type(game.options)
    known = declared(kind)
    named = values if values and isinstance(values, Mapping) else dict.fromkeys(values or known, ())
    if unknown := [name for name in named if name not in known]:
        raise OptionError(f"{game.name} has no option {unknown[0]!r}; it has {', '.join(known)}.")
    pairs = [[(name, value) for value in wanted or _values(*known[name])] for name, wanted in named.items()]
    for name, every in zip(named, pairs, strict=True):
        if not every:
            left_out.append(f"{name} was not changed: it has no short list of values; give some, as {name}=VALUE.")
    return [every for every in pairs if every]


def _values(kind: Any, note: Any) -> list[Any]:
    """All values of a flag or choice; a number's least and greatest, where both are declared."""
    if kind is bool:
        return [False, True]
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return [member.name.lower() for member in kind]
    if kind in (int, float) and None not in (note.low, note.high):
        return [kind(note.low), kind(note.high)]
    return []
