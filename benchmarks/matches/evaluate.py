"""Evaluate agents: they play the same decks in every seating, and the means have intervals over the deals.

A report depends only on the game, the agents, the seed and the number of deals, not on batches or threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backalley.agents.base.agent import Agent
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.game.arguments import count
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of

from ..figures import stats
from ..figures.result_kinds import of_game
from ..figures.stats import Floats
from .report import PILOT, Report, report
from .sample import LineUp, Sample, Series
from .seeding import Space, roots

if TYPE_CHECKING:
    from .until import Until

Progress = Callable[[int, int], None]
"""Called with the deals played and the deals planned."""

DEALS = 4096
MOST_DEALS = 10_000_000
MOST_UNTIL = 1_000_000
"""Deals after which an evaluation `until` something ends in any case, where nothing else is given."""


def evaluate(
    game: str | GameType | Game,
    agents: Sequence[Agent | str | Path | Any],
    *,
    deals: int | None = None,
    precision: float | None = None,
    until: Until | None = None,
    seed: int = 0,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
    space: Space = Space.EVALUATION,
    cluster: str | None = None,
) -> Report:
    """Play every deck in every seating (`seatings`) and report each agent's mean return and win share.

    A game is given by name or bound to its options, an agent as an object, by name (`bot`, `mc:20`) or by the folder of
    its policy. Give `deals` (4,096 by default), or `precision`, the half-width wanted for the widest interval of a mean
    return: a pilot of 256 deals, which count, then decides how many are played. Or give `until`: that half-width, or
    `decided`, an interval without 0 for every difference of mean returns. Play then ends once that is reached, after
    `deals` (1,000,000 by default) at the latest. The intervals of `until` hold whenever one stops
    (`anytime_interval`), and a half-width takes about three times the deals that it takes with `precision`.
    `num_threads=0` takes every core; the numbers do not depend on it. `cluster` is the address of a Ray cluster that
    plays instead, `auto` or that of its head: a task for each range of deals, on one core; the numbers are the same.
    Ctrl-C ends the play and returns the report of the finished deals (`complete` is False).
    With `keep`, the file of the report (`results.write`), unfinished work is saved beside it until it is
    written, and the next call for the same game, agents and seed continues from there. Each key `space` (`seeding.py`)
    has other decks for a seed. Raises ValueError for a line-up or numbers that cannot be played, and if unfinished work
    of another task is beside `keep`; ClusterError or NotInstalled where there is no cluster.

    >>> report = evaluate("missouri_city", ["bot", "random"], deals=1000)
    >>> report.agents[0].name, report.agents[0].mean_return.low > 0.3
    ('bot:planner', True)
    """
    game = game_of(game)
    most = _most(deals, precision, until)
    check_seed(seed)
    num_threads = threads_of(num_threads) if cluster is None else 1
    players = line_up(game, agents, num_threads)
    if until is not None:
        from .until import checked, ends_until

        until = checked(until, len(players))
    about = of_game(game, __file__)
    task = {"evaluation of": game.id, "options": game.option_values, "agents": identities(players), "seed": seed}
    task |= {} if space == Space.EVALUATION else {"space": space.name}
    unfinished = None
    if keep is not None:
        from backalley.envs.core.files.durable import Unfinished

        unfinished = Unfinished(keep, task, about["stamp"]["sources"])
    series = Series(
        [LineUp(game, players, roots(space, seed))],
        unfinished,
        num_threads=num_threads,
        progress=(lambda done, expected, words: progress(done, expected)) if progress else None,
        cluster=cluster,
    )
    (sample,), planned = series.samples, most

    def ends() -> Iterator[tuple[Sequence[int], int]]:
        nonlocal planned
        if until is not None:
            found = ends_until(until, game, sample, most)
        else:
            found = iter([(most, most)]) if precision is None else _ends_at(precision, sample, len(players))
        for planned, expected in found:
            yield [planned], expected
        if sample.deals > planned:  # unfinished work of a call that was to play more
            sample.clear()
            yield [planned], planned

    try:
        series.play(ends())
    except KeyboardInterrupt:
        if sample.deals < 2:
            raise
    finally:
        dismiss(players, agents)
    return report(game, players, sample, planned=planned, seed=seed, precision=precision, until=until, about=about)


def _most(deals: int | None, precision: float | None, until: object) -> int:
    """The deals after which an evaluation ends in any case."""
    if precision is None:
        if deals is None:
            deals = DEALS if until is None else MOST_UNTIL
        check_deals(deals)
        return deals
    if deals is not None:
        raise InvalidValue("Give deals or precision, not both: precision decides how many deals are played.")
    if until is not None:
        raise InvalidValue("Give precision or until, not both: each decides how many deals are played.")
    if not isinstance(precision, Real) or isinstance(precision, bool):
        raise InvalidType(f"precision is {precision!r}; it is a half-width of a mean return, greater than 0.")
    if not 0 < precision < math.inf:
        raise InvalidValue(f"precision is {precision:g}; it is a half-width of a mean return, greater than 0.")
    return MOST_DEALS


def _ends_at(precision: float, sample: Sample, num_agents: int) -> Iterator[tuple[int, int]]:
    """Yield the end of the pilot, and then of as many deals as it asks for, each also as the deals expected in all."""
    yield PILOT, PILOT
    planned = max(PILOT, sample.deals, *(stats.deals_for(precision, returns) for returns in _pilot(sample, num_agents)))
    if planned > MOST_DEALS:
        most = f"{MOST_DEALS:,} are the most, so give a larger one"
        raise InvalidValue(f"A half-width of {precision:g} would take {planned:,} deals; {most}.")
    yield planned, planned


def _pilot(sample: Sample, num_agents: int) -> list[Floats]:
    """Each agent's returns by deal in the first 256 deals, even if an earlier run has played more of them."""
    return [sample.of_agent(agent, sample.returns[:PILOT]).mean(1) for agent in range(num_agents)]


def check_deals(deals: int) -> None:
    """Raise ValueError for a number of deals that is too small for an interval, or too large to finish."""
    if isinstance(deals, bool) or not isinstance(deals, int) or not 2 <= deals <= MOST_DEALS:
        raise InvalidValue(f"deals is {deals!r}; an interval needs 2 or more, and {MOST_DEALS:,} are the most.")


def check_seed(seed: int) -> None:
    """Raise ValueError for an invalid seed."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidValue(f"The seed is {seed!r}; it must be a whole number of 0 or more.")


def line_up(game: Game, agents: Sequence[Any], num_threads: int) -> list[Agent]:
    """Return the agents of objects, names and folders, ready to play `game`."""
    if isinstance(agents, (str, Path)):
        raise InvalidValue(f"agents is {str(agents)!r}; give a list of agents, such as ['bot', 'random'].")
    if not isinstance(agents, Iterable):
        raise InvalidType(f"agents is {agents!r}; give a list of agents, such as ['bot', 'random'].")
    num_threads = count(num_threads, "num_threads", 0)
    return [agent_of(spec, game, num_threads=num_threads) for spec in agents]


def dismiss(players: Sequence[Agent], agents: Sequence[Any]) -> None:
    """Close the agents that `line_up` made; the caller's own stay open."""
    for player, given in zip(players, agents, strict=True):
        if isinstance(given, (str, Path)):
            player.close()


def identities(players: Sequence[Agent]) -> list[Any]:
    """Return the agents' identities, as JSON can hold them: their names, and what distinguishes agents of one name."""
    return [[player.name, player.identity] for player in players]
