"""The phase `plans`: learn the values of the classes (features) of a game's plans by Monte Carlo, for games with
macro-actions (`GameType.plans`).

In a step the planner explores in episodes against bots and its own past, in compiled code: one seat plays by the
planner, and one opponent all others. Each class that one of the seat's parts was in is credited with the outcome of the
part. The value of a class is the mean of all its credits, with more weight on later ones, shrunk towards the
game's initial value. Only these values are learned: the game itself makes plans from them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.base.rule_based import bots_of, played_by, seen_by
from backalley.agents.policies.planner import PlannerAgent, Values, classes_digest, plans_of
from backalley.agents.policies.planner import planner as planner_of
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import PlansPlayer
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import Batch, Deck, apply, begin, deal_out, report, show, table_names
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, Bound, Planner, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..config.config import Config, ConfigError, Objective, PlansSettings
from ..shared.checkpoint import Arrays
from ..shared.learner import ThreadPool
from ..shared.phase import Phase

Streams = npt.NDArray[np.uint64]

CHUNKS = 16
"""Parts of a step that are summed separately and in order, so that the sums are equal on any number of threads."""
MOST_CLASSES = 256
"""The greatest number of classes of one part in a deal."""
_MEMORY = 0.05
"""How far an opponent's score moves towards that of the latest step."""
_SEAT, _LUCK, _KEYS = 1, 2, 3
"""Numbers by which an episode's randomness is forked off its stream."""


class Sums(NamedTuple):
    """Sums of credits for each class [classes]."""

    outcomes: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


class Tally(NamedTuple):
    """What was played."""

    decisions: npt.NDArray[np.int64]
    """Decisions of all seats, and of the one that learns [2]."""
    points: npt.NDArray[np.float64]
    """One for each episode that the learner won, one half for a shared win [1]."""


class Notes(NamedTuple):
    """What has been seen of the parts of one deal; each thread has its own."""

    classes: npt.NDArray[np.int64]
    """[parts]"""
    outcomes: npt.NDArray[np.float64]
    """[parts]"""
    trail: npt.NDArray[np.int64]
    """The classes that each part was in, in order [parts, MOST_CLASSES]."""
    lengths: npt.NDArray[np.int64]
    """How many there are [parts]; -1 once the outcome is known."""
    returns: npt.NDArray[np.float64]
    """The return of each seat in this episode [N]."""
    observation: npt.NDArray[Any]
    """What the learner sees [1]."""
    flat: npt.NDArray[Any]
    """The same memory as a vector [1, O]."""


def notes_for(game: Game, parts: int) -> Notes:
    """Return the arrays for one thread."""
    flat = np.zeros((1, game.observation_size), game.observation_base)
    return Notes(
        np.zeros(parts, np.int64),
        np.zeros(parts),
        np.zeros((parts, MOST_CLASSES), np.int64),
        np.zeros(parts, np.int64),
        np.zeros(game.num_seats),
        game.records(flat),
        flat,
    )


@kernel
def fork_streams(stream: np.uint64, out: Streams) -> None:
    """Fork a stream for each episode."""
    for number in range(len(out)):
        out[number] = rng.fork(stream, number)


@kernel
def credit(
    classes: npt.NDArray[np.int64],
    found: npt.NDArray[np.float64],
    trail: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    values: npt.NDArray[np.float32],
    trace: float,
    outcomes: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
) -> None:
    """Follow each part to its present class; when its outcome is known, credit all classes that it was in.

    The last class is credited with the outcome; an earlier one with the value of the next class, or with `trace` 1 with
    the outcome, too (temporal differences; Sutton and Barto, Reinforcement Learning, chapter 12).
    """
    for part in range(len(classes)):
        count = lengths[part]
        if count < 0:
            continue
        new = classes[part] >= 0 and (count == 0 or trail[part, count - 1] != classes[part])
        if new and count < trail.shape[1]:
            trail[part, count] = classes[part]
            count += 1
        lengths[part] = count
        worth = found[part]
        if not np.isnan(worth):
            for number in range(count - 1, -1, -1):
                place = trail[part, number]
                outcomes[place] += worth
                counts[place] += 1.0
                worth = trace * worth + (1.0 - trace) * float(values[place])
            lengths[part] = -1


@kernel
def points_of(returns: npt.NDArray[np.float64], seat: int) -> float:
    """Return one for the best return of all, shared where several have it."""
    best, sharers = True, 0
    for value in returns:
        best = best and value <= returns[seat]
        sharers += int(value == returns[seat])
    return 1.0 / sharers if best else 0.0


PLAN = LOOK = OTHERS = OBSERVE = OTHERS_VIEW = unbound
"""The game's planner, its `look` and `observe`, and the opponent with its view, in `learn_episodes`."""


@template
def learn_episodes(
    mine: Planner,
    trace: float,
    others: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    streams: npt.NDArray[np.uint64],
    notes: Notes,
    sums: Sums,
    tally: Tally,
) -> None:
    """Play an episode for each stream, on the one table of `batch`."""
    options = mine.options
    for number in range(streams.shape[0]):
        stream = streams[number]
        _, me = rng.below(rng.fork(stream, _SEAT), len(notes.returns))
        planner = Planner(options, mine.values, mine.memory, rng.fork(stream, _LUCK) | np.uint64(1))
        keys = rng.fork(stream, _KEYS)
        batch.stream[0] = stream
        begin(options, batch, start_outcomes, 0)
        deal_out(options, batch, deck, 0)
        show(options, batch, 0)
        notes.lengths[:] = 0
        notes.returns[:] = 0.0
        ended = batch.seat[0] < 0
        while not ended:
            key = rng.fork(keys, int(batch.decisions[0]))
            if batch.seat[0] == me:
                tally.decisions[1] += 1
                action = PLAN(planner, batch.observation[0], batch.mask[0], key)
            else:
                action = OTHERS(others, OTHERS_VIEW(batch, 0), batch.mask[0], key)
            apply(options, batch, 0, action)
            notes.flat[0, :] = 0
            OBSERVE(options, batch.state[0], me, notes.observation[0])
            LOOK(options, notes.observation[0], notes.classes, notes.outcomes)
            credit(
                notes.classes,
                notes.outcomes,
                notes.trail,
                notes.lengths,
                mine.values,
                trace,
                sums.outcomes,
                sums.counts,
            )
            if batch.state[0].seat == CHANCE:
                notes.lengths[:] = 0
            deal_out(options, batch, deck, 0)
            ended = report(batch, limit, 0)
            show(options, batch, 0)
            for seat in range(len(notes.returns)):
                notes.returns[seat] += batch.reward[0, seat]
        tally.decisions[0] += batch.decisions[0]
        tally.points[0] += points_of(notes.returns, me)


@functools.cache
def episodes_kernel(game: GameType, opponent: Callable[..., int], view: Callable[..., Any]) -> Callable[..., None]:
    """Return `learn_episodes` for a game that declares plans, against an opponent's kernel."""
    assert game.plans is not None
    own = {"PLAN": game.plans.act, "LOOK": game.plans.look, "OTHERS": opponent, "OTHERS_VIEW": view}
    return specialise([learn_episodes], {**table_names(game), **own})["learn_episodes"]


# The phase ------------------------------------------------------------------------------------------------------------


class Opponent(NamedTuple):
    """An opponent for a share of the episodes; without an agent, the planner's own past."""

    name: str
    agent: Agent | None
    share: float


def field_of(game: Game, best_bot: float, past: float, other_bots: int) -> list[Opponent]:
    """Return the opponents of `PlansSettings`; their shares sum to 1."""
    bots = bots_of(game)[::-1][: 1 + other_bots]
    if not bots or game.num_seats == 1:
        return [Opponent("past", None, 1.0)]
    shares = [best_bot, *[(1 - best_bot - past) / max(len(bots) - 1, 1)] * (len(bots) - 1)]
    scale = 1 / (sum(shares) + past)
    found = [Opponent(bot.name, bot, share * scale) for bot, share in zip(bots, shares, strict=True)]
    return [*found, Opponent("past", None, past * scale)]


class PlanLearner(Phase):
    """The phase in memory."""

    def __init__(self, game: Game, config: Config, *, num_threads: int = 0, **loop: Any) -> None:
        """Like any `Phase`; it trains on the game's own options, since plans are made for that game's score. The result
        does not depend on `num_threads`, by default one for each core.

        Raises ConfigError where the game has no plans, or where shares exceed 1.
        """
        super().__init__(game, config, **loop)
        self.check(game, config)
        self.plans, settings = plans_of(game), config.plans
        self.field = self._field(settings)
        self.first: Values = np.asarray(self.plans.values(game.options), np.float32)
        self.sums = Sums(np.zeros(len(self.first)), np.zeros(len(self.first)))
        self.past: list[Values] = []
        self.steps = 0
        self.scores = {opponent.name: 0.5 for opponent in self.field}
        self._stream = np.uint64(self.seeds().generate_state(1, np.uint64)[0])
        self.pool = ThreadPool(num_threads)
        threads = range(self.pool.num_threads)
        self._seats = [(BatchEnv(game, 1).for_kernels(), notes_for(game, self.plans.parts)) for _ in threads]
        """The table and the notes of each thread."""
        self._entries: dict[str, Bound[None]] = {}

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The game must have plans, whose points are learned, and the shares of the opponents must fit."""
        if config.run.objective == Objective.GAMES:
            raise ConfigError(
                "run.objective is games, but the phase plans learns the points of a plan's parts; leave run.objective "
                "at points."
            )
        try:
            plans_of(game)
        except ValueError as error:
            raise ConfigError(f"The phase plans learns nothing here: {error}") from None
        settings = config.plans
        if settings.best_bot + settings.past > 1:
            raise ConfigError(
                f"plans.best_bot is {settings.best_bot:g} and plans.past {settings.past:g}; they are shares of the "
                "episodes and must not sum to more than 1."
            )

    def _field(self, settings: PlansSettings) -> list[Opponent]:
        """The opponents of these settings, or the one agent to learn against."""
        if self.against is None:
            return field_of(self.game, settings.best_bot, settings.past, settings.other_bots)
        if self.against.kernel is None:
            raise ConfigError(
                f"The phase plans plays in machine code, and {name_of(self.against)} has no kernel; learn against a "
                "bot or a policy, or by ppo: --set run.phases=ppo."
            )
        return [Opponent(name_of(self.against), self.against, 1.0)]

    @property
    def values(self) -> Values:
        """The current value of each class, float32 [classes]."""
        weight, (outcomes, counts) = self.config.plans.prior, self.sums
        found: Values = ((weight * self.first + outcomes) / np.maximum(weight + counts, 1e-9)).astype(np.float32)
        return np.where(weight + counts > 0, found, self.first)

    def begin(self) -> None:
        """Nothing to do: a phase begins with the game's own values."""

    def step(self) -> None:
        """Play episodes against all opponents, and update the sums of credits."""
        settings, values = self.config.plans, self.values
        size = max(1, settings.episodes // CHUNKS)
        numbers = np.empty(CHUNKS * size, np.uint64)
        with np.errstate(over="ignore"):
            step = np.uint64(rng.fork(self._stream, self.steps))
            _, drawn = rng.below(step, max(len(self.past), 1))
        fork_streams(step, numbers)
        streams = numbers.reshape(CHUNKS, size)
        edges = np.rint(np.cumsum([0.0] + [opponent.share for opponent in self.field]) * size).astype(int)
        past = PlannerAgent(self.game, self.past[drawn] if self.past else values)
        met = [
            (opponent.name, opponent.agent or past, streams[:, low:high])
            for opponent, low, high in zip(self.field, edges, edges[1:], strict=False)
            if low < high
        ]
        learned = self._play(met, values)
        kept = (self.steps / (self.steps + 1)) ** settings.averaging
        for total, new in zip(self.sums, learned, strict=True):
            total *= kept
            total += new
        self.steps += 1
        if self.steps % settings.snapshot_every == 0:
            self.past = [*self.past, self.values][-settings.keep :]

    def _play(self, met: Sequence[tuple[str, Agent, Streams]], values: Values) -> npt.NDArray[Any]:
        """Play episodes against each opponent, whose streams have a row for each chunk [CHUNKS, n]; return the sums of
        credits [2, classes]. A thread takes a chunk at a time, against all opponents one after the other."""
        learned = np.zeros((CHUNKS, 2, len(values)))
        decisions, points = np.zeros((len(met), CHUNKS, 2), np.int64), np.zeros((len(met), CHUNKS, 1))

        def play(thread: int, number: int, chunk: int, streams: Streams) -> None:
            name, agent, _ = met[number]
            (given, notes), others = self._seats[thread], played_by(agent, self.game)
            mine, trace = planner_of(self.game, values), self.config.plans.trace
            fixed = (mine, trace, others, given.batch, given.deck, given.start_outcomes, given.limit)
            tally = Tally(decisions[number, chunk], points[number, chunk])
            self._entries[name](*fixed, streams, notes, Sums(*learned[chunk]), tally)

        def work(chunk: int, thread: int) -> None:
            for number, (_, _, streams) in enumerate(met):
                play(thread, number, chunk, np.ascontiguousarray(streams[chunk]))

        for number, (name, agent, streams) in enumerate(met):
            if name not in self._entries:
                assert agent.kernel is not None  # bots and planners have one
                find = functools.partial(episodes_kernel, self.game.type, agent.kernel, seen_by(agent))
                self._entries[name] = Bound(find)
                play(0, number, 0, streams[0, :0])  # compiles, and plays nothing
        self.pool.share([functools.partial(work, chunk) for chunk in range(CHUNKS)])
        self.decisions += int(decisions[..., 0].sum())
        self.samples += int(decisions[..., 1].sum())
        for (name, _, streams), won in zip(met, points, strict=True):
            self.scores[name] += _MEMORY * (float(won.sum()) / streams.size - self.scores[name])
        total: npt.NDArray[Any] = learned.sum(0)
        return total

    def policy_before(self) -> Agent:
        """Return the planner with its values before it learns."""
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
        """Return decisions, speed, and the scores of the exploring planner."""
        pace = f"{self.samples / max(self.seconds, 1e-9):,.0f} samples/s"
        scores = [f"{name} {100 * score:.0f} %" for name, score in self.scores.items() if self.steps]
        return ", ".join([f"{self.decisions:,} decisions", pace, *scores])

    def log_values(self) -> dict[str, float]:
        """Return the scores of the exploring planner, and how many classes it has met."""
        met = float((self.sums.counts > 0).sum())
        return {"plans/classes_met": met, **{f"plans/{name}": score for name, score in self.scores.items()}}

    def arrays(self) -> Arrays:
        """Return sums and past values."""
        past = np.array(self.past, np.float32).reshape(len(self.past), len(self.first))
        return {"outcomes": self.sums.outcomes, "counts": self.sums.counts, "past": past}

    def facts(self) -> dict[str, Any]:
        """Counts and scores."""
        counted = {"decisions": self.decisions, "samples": self.samples, "steps": self.steps}
        return {**counted, "scores": self.scores, "classes": classes_digest(self.game)}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same game and config."""
        if facts["classes"] != classes_digest(self.game):
            raise InvalidValue("its plans had other classes")
        for total, name in zip(self.sums, ("outcomes", "counts"), strict=True):
            total[:] = arrays[name]
        self.past = list(arrays["past"].astype(np.float32))
        self.decisions, self.samples, self.steps = (int(facts[name]) for name in ("decisions", "samples", "steps"))
        self.scores = {name: float(facts["scores"][name]) for name in self.scores}

    def close(self) -> None:
        """End the threads."""
        self.pool.close()
