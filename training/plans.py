"""The phase `plans`: what the classes of a game's plans are worth, by Monte Carlo, for games that take decisions in one
go (`GameType.plans`).

A step plays episodes in which the planner explores, against bots and its own past, and credits each class with what
its parts came to. What a class is worth is the mean of all its credits, late ones weighing more, drawn towards what the
game took it for before. Only these values are learned: how plans are made of them is the game's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent
from backalley.agents.planner import PlannerAgent, Values, classes_digest, plans_of
from backalley.agents.planner import planner as planner_of
from backalley.agents.players import PlansPlayer
from backalley.agents.policy_file import save_policy
from backalley.agents.rule_based import played_by, seen_by
from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.kernel import bind
from backalley.envs.core.workers import Workers, cores

from .checkpoint import Arrays
from .config import Config, ConfigError, Objective
from .league import bots_of
from .phase import Phase
from .plan_play import Notes, Sums, Tally, episodes_driver, fork_streams, notes_for

Streams = npt.NDArray[np.uint64]
Sum = npt.NDArray[Any]

CHUNKS = 16
"""Parts of a step that are summed up apart and in order, so that the sums are the same on any number of threads."""
_MEMORY = 0.05
"""How far an opponent's score moves towards that of the latest step."""


class Opponent(NamedTuple):
    """Whom the planner meets on a share of the episodes; its own past where there is no agent."""

    name: str
    agent: Agent | None
    share: float


class _Seat(NamedTuple):
    """What one thread works with."""

    engine: Engine
    notes: Notes


def field_of(game: Game, best_bot: float, past: float, other_bots: int) -> list[Opponent]:
    """The opponents of `PlansSettings`: their shares sum to 1."""
    bots = bots_of(game)[::-1][: 1 + other_bots]
    if not bots or game.num_seats == 1:
        return [Opponent("past", None, 1.0)]
    shares = [best_bot, *[(1 - best_bot - past) / max(len(bots) - 1, 1)] * (len(bots) - 1)]
    scale = 1 / (sum(shares) + past)
    found = [Opponent(bot.name, bot, share * scale) for bot, share in zip(bots, shares, strict=True)]
    return [*found, Opponent("past", None, past * scale)]


class PlanLearner(Phase):
    """The phase in memory."""

    def __init__(self, game: Game, config: Config, *, num_threads: int = 0, **course: Any) -> None:
        """As any `Phase`; it practises the game itself, whose score plans are made for, under no other options. What is
        learned does not depend on `num_threads`, by default one for each core.

        Raises ConfigError where the game plans nothing, or where shares exceed 1.
        """
        super().__init__(game, config, **course)
        if config.run.objective == Objective.GAMES:
            raise ConfigError(
                "run.objective is games, and the phase plans learns what the parts of a plan come to, which are no "
                "games; leave run.objective at points."
            )
        try:
            self.plans = plans_of(game)
        except ValueError as error:
            raise ConfigError(f"The phase plans learns nothing here: {error}") from None
        settings = config.plans
        if settings.best_bot + settings.past > 1:
            raise ConfigError(
                f"plans.best_bot is {settings.best_bot:g} and plans.past {settings.past:g}; they are shares of the "
                "episodes, and make 1 at most."
            )
        self.field = field_of(game, settings.best_bot, settings.past, settings.other_bots)
        self.first: Values = np.asarray(self.plans.values(game.options), np.float32)
        self.sums = Sums(np.zeros(len(self.first)), np.zeros(len(self.first)))
        self.past: list[Values] = []
        self.steps = 0
        self.scores = {opponent.name: 0.5 for opponent in self.field}
        self._stream = np.uint64(self.seeds().generate_state(1, np.uint64)[0])
        self._workers = Workers(num_threads or cores(), 1)
        threads = range(self._workers.num_threads)
        self._seats = [_Seat(Engine(game, 1), notes_for(game, self.plans.parts)) for _ in threads]
        self._entries: dict[str, Callable[..., None]] = {}

    @property
    def values(self) -> Values:
        """What each class is taken for now, float32 [classes]."""
        weight, (outcomes, counts) = self.config.plans.prior, self.sums
        found: Values = ((weight * self.first + outcomes) / np.maximum(weight + counts, 1e-9)).astype(np.float32)
        return np.where(weight + counts > 0, found, self.first)

    def begin(self) -> None:
        """Nothing has to be made: a phase begins with the game's own values."""

    def step(self) -> None:
        """Episodes against the whole field, and new sums of their credits."""
        settings, values = self.config.plans, self.values
        size = max(1, settings.episodes // CHUNKS)
        numbers = np.empty(CHUNKS * size, np.uint64)
        with np.errstate(over="ignore"):
            step = np.uint64(rng.fork(self._stream, self.steps))
            _, drawn = rng.below(step, max(len(self.past), 1))
        fork_streams(step, numbers)
        streams = numbers.reshape(CHUNKS, size)
        edges = np.rint(np.cumsum([0.0] + [opponent.share for opponent in self.field]) * size).astype(int)
        learned = np.zeros((CHUNKS, 2, len(values)))
        for opponent, low, high in zip(self.field, edges, edges[1:], strict=False):
            agent = opponent.agent or PlannerAgent(self.game, self.past[drawn] if self.past else values)
            if low < high:
                self._play(opponent.name, agent, values, streams[:, low:high], learned)
        kept = (self.steps / (self.steps + 1)) ** settings.averaging
        for total, new in zip(self.sums, learned.sum(0), strict=True):
            total *= kept
            total += new
        self.steps += 1
        if self.steps % settings.snapshot_every == 0:
            self.past = [*self.past, self.values][-settings.keep :]

    def _play(self, name: str, agent: Agent, values: Values, streams: Streams, learned: Sum) -> None:
        """Episodes against one opponent, a row of streams for each chunk; adds to `learned` [CHUNKS, 2, classes]."""
        decisions, points = np.zeros((CHUNKS, 2), np.int64), np.zeros((CHUNKS, 1))

        def work(thread: int, streams: Streams, learned: Sum, decisions: Sum, points: Sum) -> None:
            (engine, notes), others = self._seats[thread], played_by(agent, self.game)
            mine, trace = planner_of(self.game, values), self.config.plans.trace
            fixed = (mine, trace, others, engine.batch, engine.fresh_deck(), engine.start_outcomes, engine.limit)
            if name not in self._entries:
                empty = (streams[0, :0], notes, Sums(*learned[0]), Tally(decisions[0], points[0]))
                self._entries[name] = bind(self._driver(agent), *fixed, *empty)
            for chunk in range(len(streams)):
                tally = Tally(decisions[chunk], points[chunk])
                self._entries[name](*fixed, streams[chunk], notes, Sums(*learned[chunk]), tally)

        whole = np.ascontiguousarray(streams)
        if name not in self._entries:
            work(0, whole[:, :0], learned, decisions, points)  # compiles, and plays nothing
        self._workers.spread(work, whole, learned, decisions, points)
        self.decisions += int(decisions[:, 0].sum())
        self.samples += int(decisions[:, 1].sum())
        self.scores[name] += _MEMORY * (float(points.sum()) / streams.size - self.scores[name])

    def _driver(self, agent: Agent) -> Callable[..., None]:
        assert agent.kernel is not None  # bots and planners have one
        return episodes_driver(self.game.type, agent.kernel, seen_by(agent))

    def stands_before(self) -> Agent:
        """The planner with the values that it has before it learns."""
        return PlannerAgent(self.game)

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write those values. Raises OSError."""
        self._save(folder, self.first, f"plans-s{self.seed}-untrained", made)

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the values so far. Raises OSError."""
        about = self.about("values of the game's classes by Monte Carlo, for its own plans")
        about["field"] = {opponent.name: round(opponent.share, 4) for opponent in self.field}
        about["met"] = [one.name.removeprefix("bot:") for one in self.field if one.agent is not None and one.share]
        self._save(folder, self.values, f"plans-s{self.seed}-{self.decisions_in_short}", {**about, **made})

    def _save(self, folder: Path, values: Values, name: str, made: Mapping[str, Any]) -> None:
        player = PlansPlayer(len(values), classes_digest(self.game))
        save_policy(folder, {"values": values}, self.game, name=name, player=player, made=made)

    def summary(self) -> str:
        """Decisions, pace, and the scores of the exploring planner."""
        pace = f"{self.samples / max(self.seconds, 1e-9):,.0f} samples/s"
        scores = [f"{name} {100 * score:.0f} %" for name, score in self.scores.items() if self.steps]
        return ", ".join([f"{self.decisions:,} decisions", pace, *scores])

    def log_values(self) -> dict[str, float]:
        """The scores of the exploring planner, and how many classes it has met."""
        met = float((self.sums.counts > 0).sum())
        return {"plans/classes_met": met, **{f"plans/{name}": score for name, score in self.scores.items()}}

    def arrays(self) -> Arrays:
        """Sums and past values."""
        past = np.array(self.past, np.float32).reshape(len(self.past), len(self.first))
        return {"outcomes": self.sums.outcomes, "counts": self.sums.counts, "past": past}

    def facts(self) -> dict[str, Any]:
        """Counts and scores."""
        counted = {"decisions": self.decisions, "samples": self.samples, "steps": self.steps}
        return {**counted, "scores": self.scores, "classes": classes_digest(self.game)}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same game and config."""
        if facts["classes"] != classes_digest(self.game):
            raise ValueError("its plans had other classes")
        for total, name in zip(self.sums, ("outcomes", "counts"), strict=True):
            total[:] = arrays[name]
        self.past = list(arrays["past"].astype(np.float32))
        self.decisions, self.samples, self.steps = (int(facts[name]) for name in ("decisions", "samples", "steps"))
        self.scores = {name: float(facts["scores"][name]) for name in self.scores}

    def close(self) -> None:
        """End the threads."""
        self._workers.close()
