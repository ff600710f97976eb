"""The phase `fictitious_play`: mix best responses of plans until no response gains much, for games with a model of them
(`GameType.plan_model`).

A step plays episodes between the latest response and whom it is to answer, in compiled code, and counts what their
showdowns show; the game's model makes the next response of these counts. Against an agent that does not change this is
the attacker `model`: all counts of it are added up, and the policy is the latest response. Alone it is fictitious play
(Brown, 1951): each response joins the mixture of all so far with the number of its round as weight, and the next one
answers their mean. The mixture draws a table for each plan by a hash of the seat's own cards, and answers all else by
the response to the mean. Its first table is a policy that gains on a field, for a share of plans that one setting says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, Rows, name_of
from backalley.agents.base.rule_based import player
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.mixture import MixtureAgent, model_of
from backalley.agents.policies.planner import PlannerAgent, Values, classes_digest, plans_of
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import MixturePlayer, PlansPlayer
from backalley.agents.policies.pretrained import NoPolicy, policy_for
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.api.compiled_play import Batch, Deck, apply, begin, deal_out, report, show, table_names
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, Bound, call, laid, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..config.config import Config, ConfigError
from ..config.phases import STANDING
from ..shared.checkpoint import Arrays
from ..shared.phase import Phase
from .plans import Notes, Streams, fork_streams, notes_for

NAME = "fictitious_play"
_SEAT, _KEYS = 1, 3
_RESULTS = 64
"""Results of an episode for which there is room."""

OBSERVE = LOOK = RESULT = unbound
"""The game's `observe` and `look`, and its model's `result`, in `watch_episodes`."""


@template
def watch_episodes(
    acts: npt.NDArray[np.int64],
    by: npt.NDArray[np.int64],
    options: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    streams: Streams,
    notes: Notes,
    decisions: npt.NDArray[np.int64],
    results: npt.NDArray[np.int64],
) -> int:
    """Play an episode for each stream, the first player in one seat and the second in the others; write what that seat
    saw of its parts and the opponent's to `results` [n, width], of the first that find room. Return how many there
    are."""
    made, rows = 0, laid(Rows(batch.observation, batch.flat, batch.mask))
    for number in range(streams.shape[0]):
        _, me = rng.below(rng.fork(streams[number], _SEAT), len(notes.returns))
        keys = rng.fork(streams[number], _KEYS)
        batch.stream[0] = streams[number]
        begin(options, batch, start_outcomes, 0)
        deal_out(options, batch, deck, 0)
        show(options, batch, 0)
        notes.lengths[:] = 0
        ended = batch.seat[0] < 0
        while not ended:
            key = rng.fork(keys, int(batch.decisions[0]))
            other = int(batch.seat[0] != me)
            decisions[1] += 1 - other
            apply(options, batch, 0, call(acts[other], by[other], rows, 0, key))
            notes.flat[0, :] = 0
            OBSERVE(options, batch.state[0], me, notes.observation[0])
            LOOK(options, notes.observation[0], notes.classes, notes.outcomes)
            for part in range(len(notes.lengths)):
                if notes.lengths[part] == 0 and not np.isnan(notes.outcomes[part]) and made < len(results):
                    notes.lengths[part] = -1
                    RESULT(options, notes.observation[0], part, results[made])
                    made += 1
            if batch.state[0].seat == CHANCE:
                notes.lengths[:] = 0
            deal_out(options, batch, deck, 0)
            ended = report(batch, limit, 0)
            show(options, batch, 0)
        decisions[0] += batch.decisions[0]
    return made


@functools.cache
def _watched(game: GameType) -> Callable[..., int]:
    """Return `watch_episodes` for a game."""
    assert game.plans is not None
    assert game.plan_model is not None
    names = {**table_names(game), "LOOK": game.plans.look, "RESULT": game.plan_model.result}
    return specialise([watch_episodes], names)["watch_episodes"]


class FictitiousPlay(Phase):
    """The phase in memory."""

    long_steps = True

    def __init__(self, game: Game, config: Config, **loop: Any) -> None:
        """Like any `Phase`. Raises ConfigError where the game has no model of its plans."""
        super().__init__(game, config, **loop)
        self.check(game, config)
        self.model, self.settings, self.steps = model_of(game), config.fictitious_play, 0
        self.planned: npt.NDArray[np.int64] = self.model.classes(game.options)
        self.base: Values = np.asarray(plans_of(game).values(game.options), np.float32)
        self.mean: npt.NDArray[np.float64] = np.zeros(0)
        """The counts of whom the next response answers: of the agent all of them, of the mixture by weight."""
        self.tables: npt.NDArray[np.float32] = np.zeros((0, len(self.planned)), np.float32)
        """The values that decide plans: the field's policy, then every response [n, P]."""
        self.values: Values = self.base
        """The latest response."""
        self.met: list[str] = []
        """The bots that the field's policy met in training."""
        self._stream = np.uint64(self.seeds().generate_state(1, np.uint64)[0])
        self._given, self._notes = BatchEnv(game, 1).for_kernels(), notes_for(game, plans_of(game).parts)

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The game must have a model of its plans, and no gate may ask the mixture to beat what it is safer than."""
        try:
            model_of(game)
        except ValueError as error:
            raise ConfigError(f"The phase {NAME} learns nothing here: {error}") from None
        phases, settings = config.run.phases.names, config.fictitious_play
        if NAME in phases and len(phases) > 1:
            raise ConfigError(
                f"run.phases is {', '.join(phases)}; {NAME} is a run of its own, since its policy is safer than the "
                f"one before and need not beat it. Name that one by {NAME}.field."
            )
        if len(settings.field.names) != 1:
            raise ConfigError(f"{NAME}.field is {settings.field.written()!r}; it takes one policy, or standing.")

    def begin(self) -> None:
        """Begin with the policy that gains on a field; against an agent, with the game's own values. Raises
        ConfigError."""
        if self.against is None:
            self.base = self.values = self._field_values()
            self.tables = self.base[self.planned][None]

    def _field_values(self) -> Values:
        """The values of the policy that `field` names."""
        name = self.settings.field.names[0]
        try:
            found = (
                PolicyAgent(policy_for(self.game).folder, self.game) if name == STANDING else agent_of(name, self.game)
            )
        except NoPolicy:
            return self.base
        except ValueError as error:
            raise ConfigError(f"{NAME}.field names nobody: {error}") from None
        player = getattr(found, "player", None)
        if not isinstance(found, PolicyAgent) or not isinstance(player, PlansPlayer | MixturePlayer):
            raise ConfigError(
                f"{NAME}.field is {name}, which is no policy of plans; name one that the phase plans made."
            )
        made = found.metadata["made"]
        self.met = made.get("met") or [one.removeprefix("bot:") for one in made.get("field", ()) if one != "past"]
        values = found.arrays["values"].copy()
        if isinstance(player, MixturePlayer):
            values[self.planned] = found.arrays["tables"][0]
        return values

    def step(self) -> None:
        """Play a round, and reckon the response to all that was shown so far."""
        response = PlannerAgent(self.game, self.values)
        results = self._watch(response, self.against or self._mixture(0.0))
        own, other = self.model.counts(self.game.options, results)
        if self.against is not None:
            self.mean = other + (self.mean if self.steps else 0.0)
        elif self.steps == 0:
            self.mean = _share(own + other)
        else:
            self._join(own)
        self.steps += 1
        scale = 1.0 if self.against else 6.0 * self.settings.episodes
        self.values = self.model.values(self.game.options, self.mean * scale, self.base)

    def _join(self, own: npt.NDArray[np.float64]) -> None:
        """Let the latest response join the mixture, or take the place of its last one once there are enough."""
        if len(self.tables) > self.settings.rounds:
            return
        count = len(self.tables)
        weights = _weights(count + 1)
        self.mean += (weights[-1] / weights.sum()) * (_share(own) - self.mean)
        self.tables = np.concatenate([self.tables, self.values[self.planned][None]])

    def _mixture(self, field: float) -> Agent:
        """The mixture so far, with the field's policy at that share; 0 counts it as one of the responses."""
        if len(self.tables) < 2:
            return PlannerAgent(self.game, self.base)
        tables, shares = self.tables, _weights(len(self.tables))[1:]
        return MixtureAgent(self.game, {"values": self.values, "tables": tables, "shares": shares}, field)

    def _watch(self, response: Agent, other: Agent) -> npt.NDArray[np.int64]:
        """Play a round; return what was shown [n, width]."""
        with np.errstate(over="ignore"):
            step = np.uint64(rng.fork(self._stream, self.steps))
        streams, given = np.empty(self.settings.episodes, np.uint64), self._given
        fork_streams(step, streams)
        results = np.zeros((_RESULTS * len(streams), self.model.width), np.int64)
        decisions = np.zeros(2, np.int64)
        if response.kernel is None or other.kernel is None:
            raise ConfigError(f"The phase {NAME} plays in machine code, and {name_of(other)} has no kernel.")
        players = [player(agent, self.game) for agent in (response, other)]
        table = self.game.options, given.batch, given.deck, given.start_outcomes, given.limit
        watch = Bound(lambda: _watched(self.game.type), players)
        made = watch(*table, streams, self._notes, decisions, results)
        self.decisions += int(decisions[0])
        self.samples += int(decisions[1])
        return results[:made]

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the latest response to an agent, or the mixture. Raises OSError."""
        about = self.about("fictitious play by the game's model of its plans") | {"met": self.met, **made}
        digest, name = classes_digest(self.game), f"model-s{self.seed}-{self.decisions_in_short}"
        if self.against is not None or len(self.tables) < 2:
            plans = PlansPlayer(len(self.values), digest)
            save_policy(folder, {"values": self.values}, self.game, name=name, player=plans, made=about)
            return
        tables, planned = self.tables.shape
        player = MixturePlayer(len(self.values), tables, planned, self.settings.share, digest)
        arrays: Arrays = {"values": self.values, "tables": self.tables, "shares": _weights(tables)[1:]}
        save_policy(folder, arrays, self.game, name=name.replace("model", "mixture"), player=player, made=about)

    def summary(self) -> str:
        """Return decisions and rounds."""
        return f"{self.decisions:,} decisions, round {self.steps}, {len(self.tables)} tables"

    def log_values(self) -> dict[str, float]:
        """Return the number of tables, and how far the latest one is from the mean of all."""
        moved = np.abs(self.tables[-1] - self.tables.mean(0)).mean() if len(self.tables) else 0.0
        return {f"{NAME}/tables": float(len(self.tables)), f"{NAME}/distance": float(moved)}

    def arrays(self) -> Arrays:
        """Return counts and tables."""
        return {"mean": self.mean, "tables": self.tables, "values": self.values, "base": self.base}

    def facts(self) -> dict[str, Any]:
        """Counts."""
        return {"decisions": self.decisions, "samples": self.samples, "steps": self.steps, "met": self.met}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same game and config."""
        self.mean, self.tables = arrays["mean"].astype(np.float64), arrays["tables"].astype(np.float32)
        self.values, self.base = (arrays[name].astype(np.float32) for name in ("values", "base"))
        self.decisions, self.samples, self.steps = (int(facts[name]) for name in ("decisions", "samples", "steps"))
        self.met = list(facts["met"])


def _share(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Counts as shares of all."""
    shares: npt.NDArray[np.float64] = counts / counts.sum()
    return shares


def _weights(count: int) -> npt.NDArray[np.float64]:
    """The weights of so many tables: later ones are better."""
    return np.arange(1.0, count + 1)
