"""The phase `rollouts`: policy improvement, in which a network learns how much each action gains over the best bot's
action, or over the policy's own.

A step is one chunk of targets: they are scored on validation tables (`validation.py`), and learned from a few times
(`fitting.py`), together with earlier ones if there is a window (`window.py`). Meanwhile the next chunk is made
(`targets.py`), by the policy as it was before: so threads always have work, and whatever there are of them, the same
targets meet the same weights. The policy is the bot with a learned residual: it begins as the bot, and departs from it
only where the network promises more than the margin that the validation episodes chose.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent, RandomAgent, played_by
from backalley.agents.policies.behaviour_digest import behaviour_digest
from backalley.agents.policies.inference import FeatureRows, net_of
from backalley.agents.policies.learned import inputs_bound
from backalley.agents.policies.network import weights_of
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import Player, Residual, network_player, network_size
from backalley.cluster.work import LOCAL
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game

from ..config.config import Config, Continues, Learned
from ..config.config import Rollouts as RolloutsSettings
from ..config.phases import ANEW, Against, Begins
from ..shared.checkpoint import Arrays
from ..shared.learner import Task, ThreadPool
from ..shared.phase import Phase, training_game
from ..shared.suit_augmentation import SuitNames
from .fitting import Fitting, Rows, by_temperature, centred, squared
from .opponents import (
    check_shares,
    check_temperatures,
    copy_again,
    frozen_of,
    margin_of,
    met,
    opponents_of,
    reference_of,
    start_of,
)
from .remote_targets import make_remotely
from .target_kernels import Maker, Play, bots_at_tables, make_targets, seat_sides
from .targets import Tables, field_of, no_targets, seat_players
from .validation import MARGINS, HeldOut, choices
from .window import Window

_COUNTS = ("decisions", "samples", "rollouts", "chunks")
_TABLES_AT_ONCE = 2
"""Tables whose targets a thread makes before it looks for something more urgent."""


class Rollouts(Phase):
    """The phase."""

    section: ClassVar[str] = "rollouts"
    """Its section of settings."""
    long_steps = True
    hands_out = reads_features = True

    def __init__(self, game: Game, config: Config, *, num_threads: int = 0, **loop: Any) -> None:
        """Like any `Phase`; the result does not depend on `num_threads`, by default one for each core. It begins from
        new weights, whatever the previous policy, unless its settings say otherwise.

        Raises ConfigError for a game without a bot to begin from, or for agents it cannot meet.
        """
        super().__init__(game, config, **loop)
        self.pool = ThreadPool(num_threads)
        self.settings: RolloutsSettings = getattr(config, self.section)
        settings = self.settings
        self.reference = reference_of(game, settings)
        self.training_game = training_game(game, config) if self.reference is None else game
        """The game of the tables; a bot's rollouts end where its leaf value begins, whatever the options for
        training."""
        self.opponents = opponents_of(game, settings, self.history) if self.against is None else [met(self.against)]
        self.frozen: Agent = RandomAgent()
        """The one of them that plays in the chunk that is being made."""
        self.start = start_of(game, config, settings, self.reference, self.history, self.opponents)
        """The policy that learning begins from, if it does not begin again."""
        self.advised = settings.learned == Learned.RESIDUAL
        weights, shuffles, streams = self.seeds().spawn(3)
        self.features = self.action_features(game, config)
        """What the network reads of each action; None where it reads the observation."""
        self._feature_rows = FeatureRows(game, self.features) if self.features else None
        self._bound = inputs_bound(game, self.features, self.advised)
        self.fitting = Fitting(
            self._bound,
            1 if self.features else game.num_actions,
            start=self.start.arrays if self.start else None,
            width=config.network.width,
            layers=config.network.layers,
            precision=self.precision,
            learning_rate=settings.learning_rate,
            averaging=settings.averaging,
            seed=int(weights.generate_state(1)[0]),
            device=self.device,
            pool=self.pool,
        )
        self.generator = np.random.default_rng(shuffles)
        self.names = SuitNames(game, 1, permuted=settings.symmetry and not self.features)
        self.window = Window(game, settings.window, settings.tables * settings.targets)
        self.held_out = HeldOut(settings.held_out)
        self.margin, self.gain, self.error = margin_of(self.start) or 0.0 if self.start else MARGINS[-2], 0.0, 0.0
        self.unit = float(self.start.metadata["made"]["unit"]) if self.start else 0.0
        """The targets' standard deviation, in the game's rewards; measured on the first chunk, unless it begins from a
        policy."""
        self.chunks = self.rollouts = 0
        self.loss = 0.0
        self._own = np.zeros(2, np.int64)
        """The policy's decisions with a choice in the latest chunk, and how many departed from the bot."""
        self._make_tables(streams)
        self._scratch = [BatchEnv(self.training_game, 1) for _ in range(self.pool.num_threads)]

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The game must have a bot to begin from, unless the policy improves itself, and something to learn from."""
        settings: RolloutsSettings = getattr(config, cls.section)
        check_shares(settings)
        check_temperatures(settings)
        cls.action_features(game, config)
        reference = reference_of(game, settings)
        if reference is None:
            training_game(game, config)
        if settings.against.by_name:
            opponents_of(game, settings, ())
        if settings.begins.is_folder:
            start_of(game, config, settings, reference, (), ())

    def _make_tables(self, streams: np.random.SeedSequence) -> None:
        count, settings, game = self.settings.tables, self.settings, self.training_game
        self.batch = BatchEnv(game, count, autoreset=False)
        drawn = streams.generate_state(2 * count, np.uint64)
        self.batch.arrays.stream[:] = drawn[:count]
        self.tables = Tables(
            key=drawn[count:].astype(np.uint64),
            who=np.zeros((count, game.num_seats), np.int8),
            own=np.zeros(count, np.bool_),
            held=np.arange(count) < settings.held_out,
            episode=np.full(count, -1, np.int32),
            counts=np.zeros((count, 4), np.int64),
            returns=np.zeros((count, game.num_seats)),
        )
        self.targets, self.upcoming = (no_targets(game, count, settings.targets) for _ in range(2))
        """The chunk that is learned from, and the one made meanwhile."""
        self._ahead = False
        """Whether the next chunk has been made."""
        self.field = field_of(settings)

    # The phase --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin to play the tables, with new episodes."""
        rows = np.arange(self.settings.tables)
        self.batch.restart(rows)
        sit, sides = seat_sides if self.seated else seat_players, np.array(self.game.sides)
        for row in rows:
            sit(self.tables, self.field, sides, int(row))

    @property
    def seated(self) -> bool:
        """Whether whoever sits there plays the rollouts."""
        return self.settings.continues == Continues.SEATED

    def policy_before(self) -> Agent | None:
        """Return the policy that learning began from, or the bot that is corrected: this phase has to be better than
        it."""
        if self.start:
            return self.start
        return BotAgent(self.game, self.reference.name) if self.reference and self.advised else None

    def step(self) -> None:
        """Score and learn from one chunk of targets, and make the next."""
        if not self._ahead:
            self._make_next()
            self._finish_next()
        self.targets, self.upcoming = self.upcoming, self.targets
        taken = self.targets.taken
        if not self.unit:
            gains = self.targets.gain[taken]
            gains = gains[np.isfinite(gains) & (gains != 0)]
            self.unit = float(gains.std()) if len(gains) else 1.0
        self._score(taken)
        self._make_next()
        self._learn(taken & ~self.tables.held[:, None])
        self._finish_next()
        self.chunks += 1

    def _make_next(self) -> None:
        """Give the threads the next chunk to make, by the present policy, whenever they are not learning."""
        self.tables.counts[:] = 0
        weights = self._weights(self.settings.temperature)
        self.frozen = self._opponent(self.chunks + int(self._ahead))
        if self.executor is not LOCAL:
            self.pool.prepare([lambda thread: make_remotely(self, weights)])
            return
        maker = self._maker(weights)
        make_targets(maker, self.batch, self.tables, self.upcoming, self._scratch[0], np.arange(0))  # binds

        def task(low: int) -> Task:
            rows = np.arange(low, min(low + _TABLES_AT_ONCE, self.settings.tables))
            return lambda thread: make_targets(
                maker, self.batch, self.tables, self.upcoming, self._scratch[thread], rows
            )

        self.pool.prepare([task(low) for low in range(0, self.settings.tables, _TABLES_AT_ONCE)])

    def make_targets(self, weights: Arrays, rows: npt.NDArray[np.int64]) -> None:
        """Let the policy of these weights play the tables `rows`, and write their targets."""
        make_targets(self._maker(weights), self.batch, self.tables, self.upcoming, self._scratch[0], rows)

    @property
    def config_elsewhere(self) -> Config:
        """Its settings without the names of policies, whose folders other machines need not have."""
        bare = self.settings._replace(against=Against(()), begins=Begins(ANEW))
        return self.config._replace(kinds={**self.config.kinds, self.section: bare})

    def _opponent(self, chunk: int) -> Agent:
        """The agent that does not learn in a chunk, by its number: drawn evenly, and the same in a resumed run."""
        if not self.opponents:
            return self.frozen
        source = self.seeds().spawn(4)[3]
        drawn = np.random.SeedSequence(source.entropy, spawn_key=(*source.spawn_key, chunk))
        return self.opponents[np.random.default_rng(drawn).integers(len(self.opponents))]

    def _maker(self, weights: Arrays) -> Maker:
        rates = self.game.num_actions if self.features else 0
        net = net_of(weights, self._bound, greedy=not self.settings.temperature, rates=rates)
        frozen, objective = frozen_of(self.frozen), self.config.run.objective
        play = Play(self.training_game, self.reference, objective, self.seated, frozen, self.features)
        by = functools.partial(played_by, self.frozen, self.training_game)
        return Maker(play, self.field, net, self.advised, self.margin, by)

    def _finish_next(self) -> None:
        self.pool.finish()
        made = self.tables.counts.sum(0)
        self.decisions, self.rollouts = self.decisions + int(made[0]), self.rollouts + int(made[1])
        self._own, self._ahead = made[2:], True

    def _weights(self, temperature: float) -> dict[str, npt.NDArray[Any]]:
        """The current policy, as it plays at a temperature; before the first chunk all actions are equally likely."""
        known = self.unit or not temperature
        return by_temperature(weights_of(self.fitting.average), temperature if known else np.inf)

    def _score(self, taken: npt.NDArray[np.bool_]) -> None:
        """Measure the current policy's gain on the validation tables, and choose the margin that it plays by."""
        held = np.argwhere(taken & self.tables.held[:, None])
        if not len(held) or not self.advised:
            return
        rows, places = held.T
        gain, advice = self.targets.gain[rows, places] / self.unit, self.targets.advice[rows, places]
        advantages = self._leads(self.targets.flat[rows, places], ~np.isnan(gain), advice)
        chosen = choices(advantages, advice, gain)
        # Only a share of an episode's decisions has a target; the gain of the whole episode is larger by that factor.
        gains = np.take_along_axis(gain, chosen, 1) / self.settings.target_share
        self.held_out.add(rows, self.targets.episode[rows, places], gains, self.chunks)
        only = self.margin if self.start else None  # the margin of the policy that it goes on from
        self.margin, self.gain, self.error = self.held_out.best(self.chunks, only)

    def _leads(
        self, shown: npt.NDArray[Any], legal: npt.NDArray[np.bool_], advice: npt.NDArray[Any]
    ) -> npt.NDArray[np.float32]:
        """What the averaged network promises of each legal action over the bot's [n, A]."""
        if self._feature_rows is None:
            return self.fitting.outputs(self._inputs(shown, advice))
        leads = np.zeros(legal.shape, np.float32)
        leads[legal] = self.fitting.outputs(self._feature_rows(shown, legal))[:, 0]
        leads -= leads[np.arange(len(leads)), advice][:, None]
        return leads

    def _inputs(self, shown: npt.NDArray[Any], advice: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Observations [n, O], with the bot's action beside them [n, O + A] where the network reads it."""
        if not self.advised:
            return shown
        hot = np.zeros((len(shown), self.game.num_actions), shown.dtype)
        hot[np.arange(len(shown)), advice] = 1
        return np.concatenate([shown, hot], 1)

    def _learn(self, taken: npt.NDArray[np.bool_]) -> None:
        """Learn from the chunk's targets where `taken` [B, S], and from the others in the window, each time under a new
        suit permutation."""
        gain, clip = self.targets.gain[taken] / np.float32(self.unit), self.settings.clip
        self.window.add(self.targets.flat[taken], np.clip(gain, -clip, clip), self.targets.advice[taken])
        total, steps = 0.0, 0
        for numbers in self.window.minibatches(self.generator, self.settings.batch_size, self.settings.reuse):
            total += self._minibatch(numbers)
            steps += 1
            self.samples += len(numbers)
        self.loss = total / max(steps, 1)

    def _minibatch(self, numbers: npt.NDArray[np.int64]) -> float:
        names = self.generator.integers(self.names.count, size=len(numbers))
        loss = centred if self.features else squared
        return self.fitting.learn(len(numbers), lambda low, high: self._rows(numbers[low:high], names[low:high]), loss)

    def _rows(self, numbers: npt.NDArray[np.int64], names: npt.NDArray[np.int64]) -> Rows:
        """Targets of the window by their numbers [n], each under a suit permutation."""
        flat, gain, advice = self.window.targets(numbers)
        if self._feature_rows is not None:
            legal = ~np.isnan(gain)
            inputs, count = self._feature_rows(flat, legal), legal.sum(1)
            sizes = np.zeros((len(inputs), 1), np.float32)
            sizes[np.cumsum(count) - count, 0] = count
            return inputs, gain[legal][:, None], sizes
        shown, seen = np.empty_like(flat), np.empty_like(gain)
        self.names.observations(flat, names, shown)
        self.names.masks(gain, names, seen)
        reference = self.names.seen(advice, names)
        weights = (~np.isnan(seen)).astype(np.float32)
        hot = np.zeros_like(weights)
        hot[np.arange(len(numbers)), reference] = 1
        targets, weights = np.nan_to_num(seen), weights - hot if self.advised else weights
        return self._inputs(shown, reference), targets, weights

    # Log --------------------------------------------------------------------------------------------------------------

    @property
    def departs(self) -> float:
        """The share of the policy's decisions with a choice, in the latest chunk, that were not the bot's."""
        return float(self._own[1] / max(self._own[0], 1))

    def log_values(self) -> dict[str, float]:
        """Return numbers for the log, by name."""
        return {
            "rollouts/played": float(self.rollouts),
            "rollouts/loss": self.loss,
            "rollouts/margin": self.margin,
            "rollouts/departs": self.departs,
            "rollouts/held_out_gain": self.gain * self.unit,
            "rollouts/held_out_error": self.error * self.unit,
        }

    def summary(self) -> str:
        """Return progress in a few words."""
        pace = f"{self.samples / self.settings.reuse / max(self.seconds, 1e-9):,.0f} targets/s"
        checked = []
        if self.reference and self.advised:
            gain, error = self.gain * self.unit, self.error * self.unit
            checked = [f"gains {gain:+.4f} ± {error:.4f} on bot:{self.reference.name}, departs {self.departs:.1%}"]
        return ", ".join([f"{self.decisions:,} decisions", pace, *checked])

    def counts(self) -> dict[str, int]:
        """Return what was done so far; targets are those that were learned from."""
        return super().counts() | {"targets": self.samples // self.settings.reuse, "rollouts": self.rollouts}

    def closing_words(self) -> list[str]:
        """Return sentences for the table at the end."""
        if self.reference is None or not self.advised:
            return []
        return [
            f"It is bot:{self.reference.name} with a learned residual (margin {self.margin:g}): "
            f"{100 * self.departs:.1f} % of its decisions with a choice are not the bot's."
        ]

    # On disk ----------------------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the current policy. Raises OSError."""
        self._write(folder, made, None if self.margin == np.inf else self.margin)

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy that learning began from, or the bot, with a residual that is never used. Raises OSError."""
        if self.start:
            copy_again(self.start.folder, folder)
        else:
            self._write(folder, made, None)

    def _write(self, folder: Path, made: Mapping[str, Any], margin: float | None) -> None:
        arrays = self._weights(self.settings.plays_at)
        rates = self.features is not None
        player: Player = network_player(arrays, greedy=not self.settings.plays_at, features=rates)
        name = f"{self.settings.learned.name.lower()}-s{self.seed}"
        if self.reference and self.advised:
            name = f"{self.reference.name}+"
            bot = self.reference.name
            player = Residual(*network_size(arrays), bot, behaviour_digest(self.game, bot), margin, rates)
        facts = {"rollouts": self.rollouts, "unit": self.unit, "met": self._met()}
        if self.opponents:
            facts["against"] = [one.name for one in self.opponents]
        about = self.about("policy improvement by rollouts") | facts
        save_policy(folder, arrays, self.game, name=name, player=player, made={**about, **made})

    def _met(self) -> list[str]:
        """The bots that played at its tables, by all their names."""
        best, second = bots_at_tables(self.game, self.reference)
        sat = [best if self.reference else None, second if self.settings.second else None]
        sat += [one.bot.in_rollouts for one in self.opponents if isinstance(one, BotAgent)]
        return [bot.name for bot in self.game.type.bots if any(one and one.act is bot.in_rollouts.act for one in sat)]

    def arrays(self) -> Arrays:
        """Return all arrays that the next step depends on."""
        kept = self.table_arrays()
        kept |= {f"held.{name}": array for name, array in self.held_out.arrays().items()}
        kept |= {f"next.{name}": array for name, array in self.upcoming.arrays().items()}
        kept |= {f"window.{name}": array for name, array in self.window.arrays().items()}
        return kept | {f"fit.{name}": array for name, array in self.fitting.arrays().items()}

    def table_arrays(self) -> Arrays:
        """Return the arrays that say where every table is, by name; row i of each belongs to table i."""
        batch = self.batch.arrays
        kept = {f"batch.{name}": getattr(batch, name) for name in ("raw", "stream", "decisions", "own_decisions")}
        return kept | {
            f"tables.{name}": getattr(self.tables, name) for name in ("key", "who", "own", "episode", "returns")
        }

    def facts(self) -> dict[str, Any]:
        """Return the rest, as JSON can hold it."""
        return {name: getattr(self, name) for name in _COUNTS} | {
            "ahead": self._ahead,
            "updates": self.fitting.averaged,
            "made": self.window.made,
            "unit": self.unit,
            "margin": None if self.margin == np.inf else self.margin,
            "gain": [self.gain, self.error],
            "own": self._own.tolist(),
            "shuffles": self.generator.bit_generator.state,
            "against": self._identities(),
        }

    def _identities(self) -> list[Any]:
        """What tells the opponents apart from others."""
        return [one.identity or one.name for one in self.opponents]

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from what `arrays()` and `facts()` returned."""
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = array
        for name, array in parts["batch"].items():
            np.copyto(getattr(self.batch.arrays, name), array, casting="no")
        for name, array in parts["tables"].items():
            np.copyto(getattr(self.tables, name), array, casting="no")
        self.batch.refresh()
        self.held_out.restore(parts["held"])
        self.upcoming.restore(parts["next"])
        self.window.restore(parts.get("window", {}), int(facts["made"]))
        self._ahead = bool(facts["ahead"])
        self.fitting.restore(parts["fit"], int(facts["updates"]))
        if facts.get("against", []) != self._identities():
            raise InvalidValue("the agents that it played against are others now")
        for name in _COUNTS:
            setattr(self, name, int(facts[name]))
        self.unit = float(facts["unit"])
        self.margin = np.inf if facts["margin"] is None else float(facts["margin"])
        self.gain, self.error = map(float, facts["gain"])
        self._own = np.array(facts["own"])
        self.generator.bit_generator.state = facts["shuffles"]

    def close(self) -> None:
        """End the threads."""
        self.pool.close()
