"""What agents cost: processor time of a decision, all cores together, and the worlds of a search; and how many worlds
cost what another agent costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent, View
from backalley.agents.match import Match
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.base import Game

from .keys import Space, roots
from .sample import Sample, play
from .seating import seatings
from .stats import Floats

SECONDS = 2.0
"""Processor time of the first agent of a comparison, by which its deals are chosen."""
_CLOSE = 0.05
"""How near two costs come that count as equal, as a share."""
_TRIES = 5
MOST_WORLDS = 4096
"""Of a search whose worlds are found by timing."""


class Timed(Agent):
    """Another agent. `spent` [3] counts the processor seconds that it took, its decisions with a choice, and the worlds
    that it drew for them; not at the first call, which finds machine code, unless it is the only one."""

    def __init__(self, player: Agent, spent: Floats | None = None) -> None:
        self.player, self.name, self.identity, self.note = player, player.name, player.identity, player.note
        self.spent = np.zeros(3) if spent is None else spent
        self._first: Floats | None = None

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """What that agent answers."""
        before, worlds = time.process_time(), self._worlds()
        found = self.player.act(view)
        seconds, choices = time.process_time() - before, int((view.action_mask.sum(1) > 1).sum())
        # A race knows how many it drew; other searches draw as many for every decision.
        drawn = self._worlds()
        of_all = choices * getattr(self.player, "worlds", 0) if drawn is None else drawn - (worlds or 0)
        counted = np.array([seconds, choices, of_all])
        self.spent += counted if self._first is None else counted - self._first
        self._first = counted if self._first is None else np.zeros(3)
        return found

    def begin(self) -> None:
        """Count from here on: it has been called before."""
        self.spent[:], self._first = 0.0, np.zeros(3)

    def _worlds(self) -> int | None:
        return getattr(self.player, "worlds_drawn", None)

    def close(self) -> None:
        """End what that agent holds open."""
        self.player.close()


def cost(spent: Floats) -> dict[str, float]:
    """What `Timed` counted, for a decision: `milliseconds` of processor time, and `worlds` where there were any."""
    seconds, decisions, worlds = (float(number) for number in spent)
    if not decisions:
        return {}
    found = {"milliseconds": round(1000 * seconds / decisions, 4)}
    return found | ({"worlds": round(worlds / decisions, 2)} if worlds else {})


class Stopwatch:
    """Times agents at one game, each alone against `against`, on the same decks: as many as keep the first one busy for
    SECONDS. These are not the decks of what is published."""

    def __init__(self, game: Game, against: str, seed: int, num_threads: int, told: Callable[[str], None]) -> None:
        self.game, self.against, self.num_threads = game, against, num_threads
        self._keys, self._told = roots(Space.EVALUATION, seed), told
        self.deals = 0

    def time(self, spec: str) -> tuple[Floats, float]:
        """What `Timed` counts of an agent, and all processor seconds of a deal."""
        self._told(f"timing {spec}")
        players = [Timed(agent_of(spec, self.game, num_threads=self.num_threads))]
        if self.game.num_sides > 1:
            players.append(agent_of(self.against, self.game))  # type: ignore[arg-type]  # agents both
        match = Match(self.game, players, seatings(self.game, len(players)), num_threads=self.num_threads)
        try:
            self._play(match, 1)  # compiles
            deals = self.deals or 1
            while True:
                players[0].begin()
                seconds = self._play(match, deals)
                if self.deals or players[0].spent[0] >= SECONDS:
                    break
                short = SECONDS / max(players[0].spent[0], SECONDS / 8)
                deals = math.ceil(deals * max(1.2, short * 1.1))
            self.deals = deals
            return players[0].spent.copy(), seconds / deals
        finally:
            match.close()
            players[0].close()

    def _play(self, match: Match, deals: int) -> float:
        before = time.process_time()
        play(match, Sample(match.seatings), deals, self._keys, lambda: None)
        return time.process_time() - before

    def worlds_for(self, milliseconds: float, form: str, guess: int) -> int:
        """The worlds at which a search costs so much a decision; `form` makes its name: "search:{}"."""
        tried: dict[int, float] = {}
        worlds = guess
        for _ in range(_TRIES):
            tried[worlds] = cost(self.time(form.format(worlds))[0]).get("milliseconds", 0.0)
            if abs(tried[worlds] - milliseconds) <= _CLOSE * milliseconds:
                break
            worlds = int(np.clip(round(_between(tried, milliseconds)), 1, MOST_WORLDS))
            if worlds in tried:
                break
        return min(tried, key=lambda number: abs(math.log(max(tried[number], 1e-9) / milliseconds)))


def _between(tried: dict[int, float], wanted: float) -> float:
    """Where the wanted cost is to be expected: on the power law through the two costs nearest to it, one alone being
    taken for proportional."""
    near = sorted(tried, key=lambda worlds: abs(math.log(max(tried[worlds], 1e-9) / wanted)))[:2]
    first, slope = near[0], 1.0
    if len(near) == 2 and tried[near[0]] != tried[near[1]]:
        slope = math.log(near[0] / near[1]) / math.log(tried[near[0]] / tried[near[1]])
    slope = float(
        np.clip(slope, 0.5, 4.0)
    )  # dearer with every world, and what does not cost more has to come to an end
    return float(first * (wanted / max(tried[first], 1e-9)) ** slope)
