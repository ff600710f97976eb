"""Policy improvement by playouts: a phase in which a network learns by how much each action betters the best bot's, or
from nothing its own.

A step is one chunk: labels are made on every core (`labels.py`), scored on tables held out (`held_out.py`), learned
from a few times (`fitting.py`) and dropped, so that a checkpoint holds tables and weights, and no labels. The policy is
the bot with learned corrections: it begins level with the bot, and departs from it only where the network promises more
than the margin that held-out episodes chose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent
from backalley.agents.fingerprint import fingerprint
from backalley.agents.inference import net_of, own_room
from backalley.agents.network import weights_of
from backalley.agents.players import Corrections, Player, network_player, network_size
from backalley.agents.policy_file import observation_bound, save_policy
from backalley.agents.rule_based import BotAgent
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.kernel import bind
from backalley.envs.core.parts import Bot
from backalley.envs.core.workers import Workers, cores

from .checkpoint import Arrays
from .config import Base, Config, ConfigError, Learned
from .config import Playouts as PlayoutsSettings
from .fitting import Fitting, imitation, squared
from .held_out import MARGINS, HeldOut, choices
from .labels import Labels, Learner, Tables, fast_bots, field_of, label_driver, seat_players
from .mixing import by_temperature, check_temperature
from .phase import Phase
from .renaming import SuitNames

_MOST_PER_LABEL = 1000
"""Decisions for each label after which a table is left alone for this chunk: a game may offer few choices."""
_FEWEST_ROWS = 16


def advisor_of(game: Game, config: Config) -> Bot | None:
    """The bot whose play is bettered; None where it is the policy's own. Raises ConfigError where that cannot be."""
    settings = config.playouts
    if settings.base == Base.SELF:
        if settings.learned != Learned.GAINS:
            raise ConfigError(
                f"playouts.base is self and playouts.learned is {settings.learned.name.lower()}: there is nobody whose "
                "action could be corrected or imitated; set playouts.learned=gains."
            )
        return None
    advisor = game.advice_bot
    if advisor is None:
        raise ConfigError(
            f"{game.name} has no bot whose play a phase of playouts could better; train it by ppo: "
            "--set run.phases=ppo, or from nothing: --set playouts.base=self --set playouts.learned=gains."
        )
    return advisor


def check_shares(settings: PlayoutsSettings) -> None:
    """Raise ConfigError for tables or seats that are given away more than once."""
    if settings.held_out >= settings.tables:
        raise ConfigError(
            f"playouts.held_out is {settings.held_out} and playouts.tables {settings.tables}: nothing would be left to "
            "learn from; hold out fewer."
        )
    others = settings.second + settings.random + settings.self_play
    if others > 1:
        raise ConfigError(
            f"playouts.second, playouts.random and playouts.self_play make {others:g}; they are shares of the other "
            "seats, and make 1 at most."
        )


class Playouts(Phase):
    """The phase."""

    long_steps = True

    def __init__(self, game: Game, config: Config, *, num_threads: int = 0, **course: Any) -> None:
        """As any `Phase`; what is learned does not depend on `num_threads`, by default one for each core. Whatever
        policy stands, it learns anew.

        Raises ConfigError for a game without a bot to begin from.
        """
        super().__init__(game, config, **course)
        self.advisor, self.settings = advisor_of(game, config), config.playouts
        settings = self.settings
        self.advised = settings.learned == Learned.CORRECTIONS
        weights, shuffles, streams = self.seeds().spawn(3)
        bound = observation_bound(game)
        self._bound = np.concatenate([bound, np.ones(game.num_actions)]) if self.advised else bound
        self.fitting = Fitting(
            self._bound,
            game.num_actions,
            width=config.network.width,
            layers=config.network.layers,
            precision=self.precision,
            learning_rate=settings.learning_rate,
            averaging=settings.averaging,
            seed=int(weights.generate_state(1)[0]),
            device=self.device,
        )
        self.generator = np.random.default_rng(shuffles)
        self.names = SuitNames(game, 1, renamed=settings.symmetry)
        self.held_out = HeldOut(settings.held_out)
        self.margin, self.gain, self.error = MARGINS[-2], 0.0, 0.0
        self.unit = 0.0
        """The labels' standard deviation, in the game's rewards; measured on the first chunk."""
        self.chunks = self.playouts = 0
        self.loss = 0.0
        self._own = np.zeros(2, np.int64)
        """The policy's decisions with a choice in the latest chunk, and how many departed from the bot."""
        self._make_tables(streams)
        self._workers = Workers(num_threads or cores(), _FEWEST_ROWS)
        self._scratch = [Engine(game, 1) for _ in range(self._workers.num_threads)]
        self._decks = [engine.fresh_deck() for engine in self._scratch]
        self._entry: Callable[..., None] | None = None

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """There has to be a bot to begin from, unless the policy betters itself, and something to learn from."""
        check_shares(config.playouts)
        check_temperature(config.playouts)
        advisor_of(game, config)

    def _make_tables(self, streams: np.random.SeedSequence) -> None:
        count, settings, game = self.settings.tables, self.settings, self.game
        self.engine = Engine(game, count)
        drawn = streams.generate_state(2 * count, np.uint64)
        self.engine.batch.stream[:] = drawn[:count]
        self.tables = Tables(
            key=drawn[count:].astype(np.uint64),
            who=np.zeros((count, game.num_seats), np.int8),
            own=np.zeros(count, np.bool_),
            held=np.arange(count) < settings.held_out,
            episode=np.full(count, -1, np.int32),
            counts=np.zeros((count, 4), np.int64),
            returns=np.zeros((count, game.num_seats)),
        )
        room = (count, settings.labels)
        self.labels = Labels(
            flat=np.zeros((*room, game.observation_size), game.observation_base),
            gain=np.zeros((*room, game.num_actions), np.float32),
            advice=np.zeros(room, np.int16),
            episode=np.zeros(room, np.int32),
            made=np.zeros(count, np.int32),
        )
        self.field = field_of(settings)

    # Course -----------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Take the tables into use, from new episodes."""
        rows = np.arange(self.settings.tables)
        self.engine.open_rows(rows, self.engine.fresh_deck())
        for row in rows:
            seat_players(self.tables, self.field, int(row))

    def stands_before(self) -> Agent | None:
        """The bot that is corrected: what this phase has to be better than."""
        return BotAgent(self.game, self.advisor.name) if self.advisor and self.advised else None

    def step(self) -> None:
        """One chunk of labels, scored and learned from."""
        self._label()
        taken = self.labels.made[:, None] > np.arange(self.settings.labels)
        if not self.unit:
            gains = self.labels.gain[taken]
            gains = gains[np.isfinite(gains) & (gains != 0)]
            self.unit = float(gains.std()) if len(gains) else 1.0
        self._score(taken)
        self._learn(np.argwhere(taken & ~self.tables.held[:, None]))
        self.chunks += 1

    def _label(self) -> None:
        self.tables.counts[:] = 0
        net = net_of(self._weights(), self._bound, greedy=not self.settings.temperature)
        batch, most = self.engine.batch, self.settings.labels * _MOST_PER_LABEL

        def work(thread: int, rows: npt.NDArray[np.int64]) -> None:
            scratch = self._scratch[thread]
            base = own_room(net) if self.advisor is None else self.game.options
            room = np.zeros(self.game.num_actions), np.zeros(self.game.num_seats), np.array(self.game.sides)
            learner = Learner(base, own_room(net), self.advised, self.margin, *room)
            args = (self.game.options, learner, self.field, batch, scratch.batch, self._decks[thread])
            rest = (self.engine.start_outcomes, self.engine.limit, self.tables, self.labels, most, rows)
            if self._entry is None:
                self._entry = bind(label_driver(self.game, self.advisor, self.config.run.objective), *args, *rest)
            self._entry(*args, *rest)

        self._workers.spread(work, np.arange(self.settings.tables))
        made = self.tables.counts.sum(0)
        self.decisions, self.playouts = self.decisions + int(made[0]), self.playouts + int(made[1])
        self._own = made[2:]

    def _weights(self) -> dict[str, npt.NDArray[Any]]:
        """The policy so far, as it plays."""
        return by_temperature(weights_of(self.fitting.average), self.unit, self.settings.temperature)

    def _score(self, taken: npt.NDArray[np.bool_]) -> None:
        """What the policy as it stands gains on the tables held out, and the margin that it should play by."""
        held = np.argwhere(taken & self.tables.held[:, None])
        if not len(held) or not self.advised:
            return
        rows, places = held.T
        gain, advice = self.labels.gain[rows, places] / self.unit, self.labels.advice[rows, places]
        advantages = self.fitting.outputs(self._inputs(self.labels.flat[rows, places], advice))
        chosen = choices(advantages, advice, gain)
        # Only a share of an episode's decisions is labelled; as many times as much is gained in all of it.
        gains = np.take_along_axis(gain, chosen, 1) / self.settings.label_share
        self.held_out.add(rows, self.labels.episode[rows, places], gains, self.chunks)
        self.margin, self.gain, self.error = self.held_out.best(self.chunks)

    def _inputs(self, shown: npt.NDArray[Any], advice: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Observations [n, O] with the bot's action beside them [n, O + A], where the network reads it."""
        if not self.advised:
            return shown
        hot = np.zeros((len(shown), self.game.num_actions), shown.dtype)
        hot[np.arange(len(shown)), advice] = 1
        return np.concatenate([shown, hot], 1)

    def _learn(self, places: npt.NDArray[np.int64]) -> None:
        """Learn from the labels at `places` [n, 2], each used `reuse` times, under names of suits drawn each time."""
        size, total, steps = self.settings.batch_size, 0.0, 0
        for _ in range(self.settings.reuse if len(places) else 0):
            order = places[self.generator.permutation(len(places))]
            for part in np.array_split(order, max(1, round(len(order) / size))):
                total += self._minibatch(part)
                steps += 1
                self.samples += len(part)
        self.loss = total / max(steps, 1)

    def _minibatch(self, places: npt.NDArray[np.int64]) -> float:
        rows, slots = places.T
        names = self.generator.integers(self.names.count, size=len(rows))
        flat, gain = self.labels.flat[rows, slots], self.labels.gain[rows, slots]
        shown, seen = np.empty_like(flat), np.empty_like(gain)
        self.names.observations(flat, names, shown)
        self.names.masks(gain, names, seen)
        advice = self.names.seen(self.labels.advice[rows, slots], names)
        weights = (~np.isnan(seen)).astype(np.float32)
        hot = np.zeros_like(weights)
        hot[np.arange(len(rows)), advice] = 1
        if self.settings.learned == Learned.IMITATION:
            return self.fitting.learn(shown, hot, weights, imitation)
        clip = self.settings.clip
        targets = np.clip(np.nan_to_num(seen / np.float32(self.unit)), -clip, clip)
        if self.advised:
            weights -= hot
        return self.fitting.learn(self._inputs(shown, advice), targets, weights, squared)

    # What is told -----------------------------------------------------------------------------------------------------

    @property
    def departs(self) -> float:
        """Share of the policy's decisions with a choice, in the latest chunk, that were not the bot's."""
        return float(self._own[1] / max(self._own[0], 1))

    def log_values(self) -> dict[str, float]:
        """Numbers for the log, by name."""
        return {
            "playouts/played": float(self.playouts),
            "playouts/loss": self.loss,
            "playouts/margin": self.margin,
            "playouts/departs": self.departs,
            "playouts/held_out_gain": self.gain * self.unit,
            "playouts/held_out_error": self.error * self.unit,
        }

    def summary(self) -> str:
        """How it goes, in a few words."""
        pace = f"{self.samples / self.settings.reuse / max(self.seconds, 1e-9):,.0f} labels/s"
        told = []
        if self.advisor and self.advised:
            gain, error = self.gain * self.unit, self.error * self.unit
            told = [f"gains {gain:+.4f} ± {error:.4f} on bot:{self.advisor.name}, departs {self.departs:.1%}"]
        return ", ".join([f"{self.decisions:,} decisions", pace, *told])

    def counts(self) -> dict[str, int]:
        """What was done so far; labels are those that were learned from."""
        return super().counts() | {"labels": self.samples // self.settings.reuse, "playouts": self.playouts}

    def closing_words(self) -> list[str]:
        """Sentences for the table at the end."""
        if self.advisor is None or not self.advised:
            return []
        return [
            f"It is bot:{self.advisor.name} with learned corrections (margin {self.margin:g}): "
            f"{100 * self.departs:.1f} % of its decisions with a choice are not the bot's."
        ]

    # On disk ----------------------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy so far. Raises OSError."""
        self._write(folder, made, None if self.margin == np.inf else self.margin)

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the bot, with corrections that never come into play. Raises OSError."""
        self._write(folder, made, None)

    def _write(self, folder: Path, made: Mapping[str, Any], margin: float | None) -> None:
        arrays = self._weights()
        player: Player = network_player(arrays, greedy=not self.settings.temperature)
        name = f"{self.settings.learned.name.lower()}-s{self.seed}"
        if self.advisor and self.advised:
            name = f"{self.advisor.name}+"
            bot = self.advisor.name
            player = Corrections(*network_size(arrays), bot, fingerprint(self.game, bot), margin)
        facts = {"playouts": self.playouts, "unit": self.unit, "met": self._met()}
        about = self.about("policy improvement by playouts") | facts
        save_policy(folder, arrays, self.game, name=name, player=player, made={**about, **made})

    def _met(self) -> list[str]:
        """The bots that sat at its tables."""
        best, second = fast_bots(self.game)
        sat = [best if self.advisor else None, second if self.settings.second else None]
        return [bot.name for bot in sat if bot is not None]

    def arrays(self) -> Arrays:
        """Everything in arrays that the next step depends on."""
        batch = self.engine.batch
        kept = {f"batch.{name}": getattr(batch, name) for name in ("raw", "stream", "decisions")}
        kept |= {f"tables.{name}": getattr(self.tables, name) for name in ("key", "who", "own", "episode", "returns")}
        kept |= {f"held.{name}": array for name, array in self.held_out.arrays().items()}
        return kept | {f"fit.{name}": array for name, array in self.fitting.arrays().items()}

    def facts(self) -> dict[str, Any]:
        """The rest, as JSON can hold it."""
        return {
            "decisions": self.decisions,
            "samples": self.samples,
            "playouts": self.playouts,
            "chunks": self.chunks,
            "updates": self.fitting.updates,
            "unit": self.unit,
            "margin": None if self.margin == np.inf else self.margin,
            "gain": [self.gain, self.error],
            "own": self._own.tolist(),
            "shuffles": self.generator.bit_generator.state,
        }

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Go on from what `arrays()` and `facts()` gave."""
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for name, array in arrays.items():
            part, _, rest = name.partition(".")
            parts.setdefault(part, {})[rest] = array
        for name, array in parts["batch"].items():
            np.copyto(getattr(self.engine.batch, name), array, casting="no")
        for name, array in parts["tables"].items():
            np.copyto(getattr(self.tables, name), array, casting="no")
        for row in range(self.settings.tables):
            self.engine.show_one(row)
        self.held_out.restore(parts["held"])
        self.fitting.restore(parts["fit"], int(facts["updates"]))
        self.decisions, self.samples = int(facts["decisions"]), int(facts["samples"])
        self.playouts, self.chunks = int(facts["playouts"]), int(facts["chunks"])
        self.unit = float(facts["unit"])
        self.margin = np.inf if facts["margin"] is None else float(facts["margin"])
        self.gain, self.error = map(float, facts["gain"])
        self._own = np.array(facts["own"])
        self.generator.bit_generator.state = facts["shuffles"]

    def close(self) -> None:
        """End the threads."""
        self._workers.close()
        self.fitting.close()
