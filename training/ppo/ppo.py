"""PPO (Schulman et al. 2017) with illegal actions masked and every seat learning: play a rollout, find the advantages
along each seat's own decisions, learn from minibatches, average the weights.

Nothing else decides what is learned: the same seed gives the same weights on any number of threads. `Trainer` makes
the phase `ppo` of it, with a league, checkpoints and a gate: from random weights, or from the policy of the phase
before. A step is one rollout and one update.

A buffer for one agent takes a table's next row as the next state of the player that acted, so it would bootstrap a
player with the opponent's value. Here a seat's next state is that seat's own next decision, and the reward of a
decision is all that the seat gains until then, whoever is to act.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import bots_of
from backalley.agents.policies.inference import FeatureRows
from backalley.agents.policies.learned import PolicyAgent, inputs_bound
from backalley.agents.policies.network import FLOAT32, weights_of
from backalley.agents.policies.policy_file import WEIGHTS_FILE, observation_bound, player_of, read_policy, save_policy
from backalley.agents.policies.policy_kinds import NetworkPlayer, network_player
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import ActionFeatures
from backalley.envs.core.rules import rng

from ..config.config import PPO as Settings
from ..config.config import Config, Objective
from ..shared.checkpoint import Arrays
from ..shared.learner import Learner, Outputs, Part, ThreadPool, under
from ..shared.phase import Phase, training_game
from .kernels import LOGGED, Playing, next_keys, ppo_loss, seat_advantages
from .seats import CutOff, League, SeatTables, Tally


class Rollout:
    """T steps of B tables. Observations keep their own type (mostly bytes), masks take one byte for each action, and
    shuffling copies nothing."""

    def __init__(self, tables: SeatTables, settings: Settings, generator: np.random.Generator) -> None:
        """`generator` shuffles the samples. A `reward_scale` of 0 divides rewards by the spread of returns, so that the
        critic learns numbers near 1."""
        self.tables, self.settings, self.generator = tables, settings, generator
        shape, game = (settings.steps, tables.num_envs), tables.game
        self.observations = np.zeros((*shape, game.observation_size), game.observation_base)
        self.action_masks = np.zeros((*shape, game.num_actions), np.bool_)
        self.actions = np.zeros(shape, np.int64)
        self.log_probs, self.all_values, self.all_advantages = (np.zeros(shape, np.float32) for _ in range(3))
        self.seat = np.zeros(shape, np.int8)
        self.learned, self.ended = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self.seat_reward = np.zeros((*shape, tables.num_seats), np.float32)
        self.clear()

    def clear(self) -> None:
        """Drop the rollout; the arrays are used again."""
        self.pos = 0
        self._cut_off: list[tuple[int, CutOff]] = []

    def play(self, policy: Playing, keys: npt.NDArray[np.uint64], shown: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Keep what every table shows, and let the policy act where the learner is to act, and the league where it
        is; return the learner's actions [B]."""
        step, tables = self.pos, self.tables
        self.observations[step], self.action_masks[step] = shown, tables.action_masks()
        self.learned[step] = tables.learner_acts()
        policy.act(
            self.observations[step],
            self.action_masks[step],
            self.learned[step],
            keys,
            self.actions[step],
            self.log_probs[step],
            self.all_values[step],
            first=[lambda thread: tables.members_act()],
        )
        actions: npt.NDArray[np.int64] = self.actions[step]
        return actions

    def add_played(self) -> None:
        """Add what the tables have just played: who acted and what every seat gained."""
        step, tables = self.pos, self.tables
        self.seat[step], self.ended[step], self.seat_reward[step] = tables.acted, tables.ended, tables.reward
        if tables.cut_off is not None:
            self._cut_off.append((step, tables.cut_off))
        self.pos += 1

    def find_advantages(self, critic: Playing) -> None:
        """Compute advantages and returns of the learner's decisions, in units of `reward_scale`."""
        scale, gamma = self.settings.reward_scale or 1 / self.tables.return_spread(), self.settings.gamma
        reward = self.seat_reward * np.float32(scale)
        for step, cut in self._cut_off:
            expected = critic.values(cut.observation.reshape(-1, cut.observation.shape[2]))
            reward[step, cut.rows] += gamma * expected.reshape(len(cut.rows), -1)
        args = (
            self.seat,
            self.learned,
            self.ended,
            reward,
            self.all_values,
            self.last_values(critic),
            float(gamma),
            float(self.settings.gae_lambda),
        )
        seat_advantages(*args, self.all_advantages)
        self.kept = np.flatnonzero(self.learned)
        self.values = self.all_values.reshape(-1)[self.kept]
        self.advantages = self.all_advantages.reshape(-1)[self.kept]
        self.returns = self.values + self.advantages

    def last_values(self, critic: Playing) -> npt.NDArray[np.float32]:
        """Return each seat's value after the last step [B, N], by what that seat knows then."""
        count, seats = self.tables.num_envs, self.tables.num_seats
        rows, who = np.divmod(np.arange(count * seats), seats)
        return critic.values(self.tables.observe(who, rows)).reshape(count, -1)

    def minibatches(self, size: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the numbers of the learner's decisions in random order, in minibatches of nearly equal size near
        `size`, with no small last one."""
        assert self.pos == self.settings.steps, "The rollout is not complete."
        order = self.generator.permutation(len(self.kept))
        yield from np.array_split(order, max(1, round(len(order) / size)))

    def part(
        self,
        numbers: npt.NDArray[np.int64],
        advantages: npt.NDArray[np.float32],
        weights: tuple[float, float, float],
        rated: FeatureRows | None,
    ) -> Part:
        """Return the observations of some of the learner's decisions, or the features of their legal actions if these
        are `rated`, and their loss with these advantages; `weights` are clip range, entropy's and value's."""
        rows = self.kept[numbers]
        legal, returns = self.action_masks.reshape(-1, self.action_masks.shape[2])[rows], self.returns[numbers]
        samples = legal, self.actions.reshape(-1)[rows], self.log_probs.reshape(-1)[rows], advantages, returns

        def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
            sums = np.zeros(1 + len(LOGGED))
            if rated is None:
                ppo_loss(outputs, *samples, *weights, sums)
            else:
                table = np.zeros((len(rows), legal.shape[1] + 1), np.float32)
                table[:, :-1][legal], table[:, -1] = outputs[:, 0], returns  # the value is the critic's
                ppo_loss(table, *samples, *weights, sums)
                outputs[:, 0], outputs[:, 1] = table[:, :-1][legal], 0
            return sums

        shown = self.shown(numbers)
        return torch.from_numpy(shown if rated is None else rated(shown, legal)), loss

    def shown(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the observations of some of the learner's decisions."""
        return self.observations.reshape(-1, self.observations.shape[2]).take(self.kept[numbers], 0)


class PPO(Learner):
    """One network that decides at every seat and learns from every decision of its own.

    `decisions` counts those made on the tables. Between two calls of `iterate`, weights, optimizer, tables, `stream`
    and the rollout's generator are all that the next one depends on.
    """

    def __init__(
        self,
        tables: SeatTables,
        settings: Settings,
        *,
        seed: int = 0,
        width: int = 256,
        layers: int = 2,
        precision: str = FLOAT32,
        device: str | torch.device = "cpu",
        num_threads: int = 1,
        features: ActionFeatures | None = None,
    ) -> None:
        """`settings.tables` and `settings.symmetry` are those of `tables`, and not read. `seed` draws the first
        weights, the actions and the minibatches. `num_threads` (0: every core) changes nothing that is learned. With
        `features` the network rates one action by these, and a critic of its own reads the observation."""
        first, samples = (int(word) for word in np.random.SeedSequence(seed).generate_state(2))
        self.pool = ThreadPool(num_threads)
        super().__init__(
            inputs_bound(tables.game, features, False),
            1 if features else tables.game.num_actions,
            width=width,
            layers=layers,
            seed=first,
            learning_rate=settings.learning_rate,
            averaging=settings.averaging,
            pool=self.pool,
            precision=precision,
            device=device,
            eps=1e-5,
            critic=observation_bound(tables.game) if features else None,
        )
        self.features, self.rated = features, FeatureRows(tables.game, features) if features else None
        self.tables, self.settings = tables, settings
        self.stream = rng.stream_of(first)
        """Draws the actions."""
        self.rollout = Rollout(tables, settings, np.random.default_rng(samples))
        self.decisions = self.updates = 0
        self.logged: dict[str, float] = {}
        """What the latest update came to, by name."""
        self._shown: npt.NDArray[Any] | None = None

    def start(self, observation: npt.NDArray[Any] | None = None) -> None:
        """Begin to play the tables: with new episodes, or from the observations [B, O] of restored ones."""
        self._shown = self.tables.reset() if observation is None else observation

    def learn(self, decisions: int) -> None:
        """Play and learn until at least so many decisions have been made, in all."""
        while self.decisions < decisions:
            self.iterate()

    def iterate(self) -> None:
        """Play one rollout by the present weights, and make one update."""
        if self._shown is None:
            self.start()
        self._play()
        self._update()

    def _play(self) -> None:
        rollout, tables, critic = self.rollout, self.tables, self.critic or self
        weights = weights_of(self.network), weights_of(critic.network)
        playing = Playing(tables.game, self.features, *weights, self.pool)
        tables.begin_rollout()
        rollout.clear()
        for _ in range(self.settings.steps):
            keys = np.empty(tables.num_envs, np.uint64)
            self.stream = np.uint64(next_keys(self.stream, keys))  # compiled code returns a Python int
            assert self._shown is not None
            self._shown = tables.play(rollout.play(playing, keys, self._shown))
            rollout.add_played()
            self.decisions += tables.num_envs
        rollout.find_advantages(playing)

    def _update(self) -> None:
        """Learn from the rollout, minibatch after minibatch; then update the average of the weights."""
        settings, rollout = self.settings, self.rollout
        weights, found = (settings.clip, settings.entropy, settings.value_weight), []
        for _ in range(settings.epochs):
            for numbers in rollout.minibatches(settings.batch_size):
                advantages = rollout.advantages[numbers]
                advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + np.float32(1e-8))

                def part(low: int, high: int, numbers: Any = numbers, advantages: Any = advantages) -> Part:
                    return rollout.part(numbers[low:high], advantages[low:high], weights, self.rated)

                sums = self.descend(len(numbers), part, settings.max_grad_norm)
                if self.critic:
                    sums[2] = self._teach(self.critic, numbers)
                found.append(sums[1:] / sums[0])
            self.updates += 1
        self.follow()
        means = dict(zip(LOGGED, np.mean(found, 0).tolist(), strict=True))
        loss = means["policy_gradient_loss"] + settings.entropy * means["entropy_loss"]
        spread, missed = np.var(rollout.returns), np.var(rollout.returns - rollout.values)
        about = {
            "learning_rate": settings.learning_rate,
            "loss": loss + settings.value_weight * means["value_loss"],
            "explained_variance": float(1 - missed / spread) if spread else float("nan"),
            "n_updates": float(self.updates),
        }
        self.logged = {f"train/{name}": value for name, value in {**means, **about}.items()}

    def _teach(self, critic: Learner, numbers: npt.NDArray[np.int64]) -> float:
        """Let the critic learn from a minibatch; return its squared error."""

        def part(low: int, high: int) -> Part:
            def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
                missed = outputs[:, 0] - self.rollout.returns[numbers[low:high]]
                outputs[:, 0] = 2 * missed
                return np.array([len(missed), np.square(missed, dtype=np.float64).sum()])

            return torch.from_numpy(self.rollout.shown(numbers[low:high])), loss

        return float(critic.descend(len(numbers), part, self.settings.max_grad_norm)[1])

    def close(self) -> None:
        """End the threads."""
        self.pool.close()
        self.tables.close()


# The phase ------------------------------------------------------------------------------------------------------------

LEAGUE_FOLDER = "league"


class Trainer(Phase):
    """PPO in memory."""

    reads_features = True

    def __init__(self, game: Game, config: Config, *, num_threads: int = 0, **loop: Any) -> None:
        """Like any `Phase`; the result does not depend on `num_threads`, by default one for each core. The training
        tables may have other options than the game where the config says so (options that the user changed stay as they
        are). Past selves are kept in the phase's folder.

        Raises OptionError, or ConfigError where the training tables would have another observation layout.
        """
        super().__init__(game, config, **loop)
        self.training_game = training_game(game, config)
        seed = int(self.seeds().generate_state(1)[0])
        members = bots_of(self.training_game) if self.against is None else [self.against]
        self.league = League(members, keep=config.league.keep, per_rollout=config.league.per_rollout)
        ppo = config.ppo
        self.tables = SeatTables(
            self.training_game,
            ppo.tables,
            seed=seed,
            league=self.league,
            league_share=config.league.share if self.against is None else 1.0,
            one_side=self.against is not None,
            num_threads=num_threads,
            symmetry=ppo.symmetry,
            win_shares=config.run.objective == Objective.GAMES,
        )
        size = config.network
        self.model = PPO(
            self.tables, ppo, seed=seed, width=size.width, layers=size.layers, precision=self.precision,
            device=self.device, num_threads=num_threads, features=self.action_features(game, config),
        )  # fmt: skip
        self._past: dict[str, str] = {}
        """Past selves by name, each with the digest of its weights."""

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The training tables must have the game's observation layout."""
        training_game(game, config)
        cls.action_features(game, config)

    @property
    def has_league(self) -> bool:
        """Whether other agents than the learner play at any table."""
        return self.tables.num_seats > 1 and self.tables.league_tables > 0

    def begin(self) -> None:
        """Begin to play the tables, with new episodes. If the previous policy is a network of the same size, continue
        from its weights."""
        if self.before is not None:
            weights, metadata = read_policy(self.before, self.game)
            player, size = player_of(metadata), self.config.network
            wanted = size.width, size.layers, size.features
            if isinstance(player, NetworkPlayer) and (player.width, player.layers, player.features) == wanted:
                self.model.begin_from(weights)
        self.model.start()

    def step(self) -> None:
        """Play one rollout and make one update; take a snapshot of the learner when it is due. Raises OSError where it
        cannot be written."""
        every = self.config.league.snapshot_every
        before = self.decisions // every
        self.model.iterate()
        self.decisions = self.model.decisions
        self.samples += len(self.model.rollout.kept)
        if self.has_league and self.against is None and self.decisions // every > before:
            self._join_past()

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the current policy. Raises OSError."""
        scale = self.config.ppo.reward_scale
        about = self.about("PPO, every seat learning, averaged weights") | {"met": self._met()}
        about["value_unit"] = 1 / scale if scale else self.tables.return_spread()
        self._write(folder, f"ppo-s{self.seed}-{self.decisions_in_short}", self.config.run.greedy, {**about, **made})

    def _met(self) -> list[str]:
        """The bots that played at its tables."""
        members = self.league.members if self.has_league else []
        return [member.agent.name.removeprefix("bot:") for member in members if not member.past]

    def _write(self, folder: Path, name: str, greedy: bool, made: Mapping[str, Any]) -> None:
        weights, rates = weights_of(self.model.average), self.model.features is not None
        player = network_player(weights, greedy=greedy, features=rates)
        save_policy(folder, weights, self.game, name=name, player=player, made=made)

    def _join_past(self) -> None:
        name = f"{self.decisions:012d}"
        place = self.folder / LEAGUE_FOLDER / name
        self._write(place, name, False, {"decisions": self.decisions})
        self._past[name] = _weights_digest(place)
        self.league.add_past(self._past_agent(name))

    def _past_agent(self, name: str) -> Agent:
        agent = PolicyAgent(self.folder / LEAGUE_FOLDER / name, self.game)
        agent.name = name
        return agent

    # Log --------------------------------------------------------------------------------------------------------------

    def log_values(self) -> dict[str, float]:
        """Return episodes, returns, league scores, and what the latest update came to."""
        tally = self.tables.tally
        values = {
            "rollout/episodes": float(tally.episodes),
            "rollout/episode_length": tally.decisions / max(tally.episodes, 1),
            "rollout/return_spread": self.tables.return_spread(),
        }
        count, total = tally.returns.get("", (0, 0.0))
        values["rollout/mean_return"] = total / max(count, 1)
        if self.has_league:
            past = [member.score for member in self.league.members if member.past and not member.retired]
            values["league/past"] = float(np.mean(past)) if past else 0.5
            values |= {f"league/{member.agent.name}": member.score for member in self.league.members if not member.past}
        values |= self.model.logged
        self.model.logged = {}
        self.tables.tally = Tally()
        return values

    def summary(self) -> str:
        """Return progress in a few words: decisions, speed, and the latest scores against the league's bots or the mean
        return."""
        words = [f"{self.decisions:,} decisions", f"{self.samples / max(self.seconds, 1e-9):,.0f} samples/s"]
        count, total = self.tables.tally.returns.get("", (0, 0.0))
        if self.has_league:
            bots = [member for member in self.league.members if not member.past and member.games]
            words += [f"{member.agent.name} {100 * member.score:.0f} %" for member in bots]
        elif count:
            words.append(f"mean return {total / count:+.3f}")
        return ", ".join(words)

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def arrays(self) -> Arrays:
        """Return weights, their averages, Adam's moments and the tables."""
        kept = self.model.arrays()
        kept |= {f"tables.{name}": array for name, array in self.tables.arrays().items()}
        return kept

    def facts(self) -> dict[str, Any]:
        """Return counts, generators and the league."""
        model = self.model
        return {
            "decisions": self.decisions,
            "samples": self.samples,
            "updates": model.updates,
            "updates_averaged": model.averaged,
            "actions": int(model.stream),
            "shuffles": model.rollout.generator.bit_generator.state,
            "tables": self.tables.facts(),
            "past": self._past,
        }

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same game and config."""
        model = self.model
        model.restore(arrays, int(facts["updates_averaged"]))
        self._past = dict(facts["past"])
        for name, digest in self._past.items():
            if _weights_digest(self.folder / LEAGUE_FOLDER / name) != digest:
                raise InvalidValue(f"the past self {name} in {LEAGUE_FOLDER}/ is not the one it met")
        past = {name: self._past_agent(name) for name in self._past}
        observation = self.tables.restore(under("tables.", arrays), facts["tables"], past)
        self.decisions, self.samples = int(facts["decisions"]), int(facts["samples"])
        model.decisions, model.updates = self.decisions, int(facts["updates"])
        model.stream = np.uint64(facts["actions"])
        model.rollout.generator.bit_generator.state = facts["shuffles"]
        model.start(observation)

    def close(self) -> None:
        """End the threads."""
        self.model.close()


def _weights_digest(place: Path) -> str:
    return hashlib.sha256((place / WEIGHTS_FILE).read_bytes()).hexdigest()
