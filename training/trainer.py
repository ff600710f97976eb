"""The phase `ppo`: self-play, from nothing or from the network that stands. Tables, league and algorithm; a step is one
rollout and one update."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import Logger

from backalley.agents.base import Agent
from backalley.agents.network import network_of, weights_of
from backalley.agents.network_agent import NetworkAgent
from backalley.agents.players import NetworkPlayer, network_player
from backalley.agents.policy_file import (
    WEIGHTS_FILE,
    observation_bound,
    observation_layout,
    player_of,
    read_policy,
    save_policy,
)
from backalley.envs.core.base import Game

from .checkpoint import Arrays
from .config import Config, ConfigError, Objective
from .league import League, bots_of
from .phase import Phase
from .ppo import SelfPlayMaskablePPO
from .vec_env import SeatsVecEnv, Tally
from .weights import learner_arrays, restore_learner

LEAGUE_FOLDER = "league"


class Trainer(Phase):
    """PPO in memory."""

    def __init__(self, game: Game, config: Config, **course: Any) -> None:
        """As any `Phase`. Practice may differ from the game that is to be played where the config says so (options
        that the game itself changes stay as they are). Past selves are kept in the phase's folder.

        Raises OptionError, or ConfigError where practice would have another observation layout.
        """
        super().__init__(game, config, **course)
        self.practice = practice_of(game, config)
        seed = int(self.seeds().generate_state(1)[0])
        self.league = League(bots_of(self.practice), keep=config.league.keep, per_rollout=config.league.per_rollout)
        ppo = config.ppo
        self.env = SeatsVecEnv(
            self.practice,
            ppo.tables,
            seed=seed,
            league=self.league,
            league_share=config.league.share,
            symmetry=ppo.symmetry,
            win_shares=config.run.objective == Objective.GAMES,
        )
        self.model = SelfPlayMaskablePPO(
            self.env,
            seed=seed,
            device=self.device,
            n_steps=ppo.steps,
            batch_size=ppo.batch_size,
            n_epochs=ppo.epochs,
            learning_rate=ppo.learning_rate,
            ent_coef=ppo.entropy,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip,
            vf_coef=ppo.value_weight,
            max_grad_norm=ppo.max_grad_norm,
            averaging=ppo.averaging,
            reward_scale=ppo.reward_scale or None,
            policy_kwargs={"width": config.network.width, "layers": config.network.layers, "precision": self.precision},
        )
        self.model.set_logger(Logger(None, []))
        self._past: dict[str, str] = {}
        """Past selves by name, each with the digest of its weights."""

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """Practice has to show what the game shows."""
        practice_of(game, config)

    @property
    def has_league(self) -> bool:
        """Whether any table seats others than the learner."""
        return self.env.num_seats > 1 and round(self.config.ppo.tables * self.config.league.share) > 0

    def begin(self) -> None:
        """Take the tables into use, from new episodes. Where the policy that stands is a network of the size that is
        learned here, go on from its weights."""
        if self.before is not None:
            weights, metadata = read_policy(self.before, self.game)
            player, size = player_of(metadata), self.config.network
            if isinstance(player, NetworkPlayer) and (player.width, player.layers) == (size.width, size.layers):
                known = network_of(weights, metadata, observation_bound(self.game)).state_dict()
                for network in (self.model.policy.network, self.model.average):
                    network.load_state_dict(known)
        self.model.start()

    def step(self) -> None:
        """One rollout and one update; the learner joins its own past when it is time. Raises OSError where that cannot
        be written."""
        every = self.config.league.snapshot_every
        before = self.decisions // every
        self.model.iterate()
        self.decisions = int(self.model.num_timesteps)
        self.samples += len(self.model.rollout_buffer.kept)
        if self.has_league and self.decisions // every > before:
            self._join_past()

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy so far. Raises OSError."""
        scale = self.config.ppo.reward_scale
        about = self.about("MaskablePPO, every seat learning, averaged weights") | {"met": self._met()}
        about["value_unit"] = 1 / scale if scale else self.env.return_spread()
        self._write(folder, f"ppo-s{self.seed}-{self.decisions_in_short}", self.config.run.greedy, {**about, **made})

    def _met(self) -> list[str]:
        """The bots that sat at its tables."""
        members = self.league.members if self.has_league else []
        return [member.agent.name.removeprefix("bot:") for member in members if not member.past]

    def _write(self, folder: Path, name: str, greedy: bool, made: Mapping[str, Any]) -> None:
        weights = weights_of(self.model.average)
        save_policy(folder, weights, self.game, name=name, player=network_player(weights, greedy=greedy), made=made)

    def _join_past(self) -> None:
        name = f"{self.decisions:012d}"
        place = self.folder / LEAGUE_FOLDER / name
        self._write(place, name, False, {"decisions": self.decisions})
        self._past[name] = _weights_digest(place)
        self.league.add_past(self._past_agent(name))

    def _past_agent(self, name: str) -> Agent:
        network = network_of(*read_policy(self.folder / LEAGUE_FOLDER / name, self.game), observation_bound(self.game))
        network.precision = self.precision
        return NetworkAgent(network.to(self.model.device).freeze(), name, block=0)

    # Log --------------------------------------------------------------------------------------------------------------

    def log_values(self) -> dict[str, float]:
        """Episodes, returns, league scores, and what SB3 says of the latest update."""
        logger, tally = self.model.logger, self.env.tally
        values = {
            "rollout/episodes": float(tally.episodes),
            "rollout/episode_length": tally.decisions / max(tally.episodes, 1),
            "rollout/return_spread": self.env.return_spread(),
        }
        count, total = tally.returns.get("", (0, 0.0))
        values["rollout/mean_return"] = total / max(count, 1)
        if self.has_league:
            past = [member.score for member in self.league.members if member.past and not member.retired]
            values["league/past"] = float(np.mean(past)) if past else 0.5
            values |= {f"league/{member.agent.name}": member.score for member in self.league.members if not member.past}
        values |= logger.name_to_value
        logger.dump()
        self.env.tally = Tally()
        return values

    def summary(self) -> str:
        """How it goes, in a few words: decisions, pace, and the latest scores against the league's bots or the mean
        return."""
        words = [f"{self.decisions:,} decisions", f"{self.samples / max(self.seconds, 1e-9):,.0f} samples/s"]
        count, total = self.env.tally.returns.get("", (0, 0.0))
        if self.has_league:
            bots = [member for member in self.league.members if not member.past and member.games]
            words += [f"{member.agent.name} {100 * member.score:.0f} %" for member in bots]
        elif count:
            words.append(f"mean return {total / count:+.3f}")
        return ", ".join(words)

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def arrays(self) -> Arrays:
        """Weights, their averages, Adam's moments, tables."""
        model = self.model
        kept = learner_arrays(model.policy.network, model.average, model.policy.optimizer)
        kept |= {f"tables.{name}": array for name, array in self.env.arrays().items()}
        return kept

    def facts(self) -> dict[str, Any]:
        """Counts, generators, the league."""
        model = self.model
        return {
            "decisions": self.decisions,
            "samples": self.samples,
            "updates": model._n_updates,
            "updates_averaged": model.updates_averaged,
            "actions": int(model.policy.stream),
            "shuffles": model.rollout_buffer.generator.bit_generator.state,
            "tables": self.env.facts(),
            "past": self._past,
        }

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same game and config."""
        model = self.model
        restore_learner(arrays, model.policy.network, model.average, model.policy.optimizer)
        self._past = dict(facts["past"])
        for name, digest in self._past.items():
            if _weights_digest(self.folder / LEAGUE_FOLDER / name) != digest:
                raise ValueError(f"the past self {name} in {LEAGUE_FOLDER}/ is not the one it met")
        past = {name: self._past_agent(name) for name in self._past}
        tables = {name.removeprefix("tables."): array for name, array in arrays.items() if name.startswith("tables.")}
        observation = self.env.restore(tables, facts["tables"], past)
        self.decisions, self.samples = int(facts["decisions"]), int(facts["samples"])
        model.num_timesteps = self.decisions
        model._n_updates, model.updates_averaged = int(facts["updates"]), int(facts["updates_averaged"])
        model.policy.stream = np.uint64(facts["actions"])
        model.rollout_buffer.generator.bit_generator.state = facts["shuffles"]
        model.start(observation)


def practice_of(game: Game, config: Config) -> Game:
    """The game of the practice tables. Raises OptionError, or ConfigError where it has another observation layout than
    the game that is to be played."""
    practice = game.type.bind({**config.options, **game.changed_options})
    if observation_layout(game) != observation_layout(practice):
        raise ConfigError(
            f"With the practice options {config.options} the observation of {game.id} has another layout than in the "
            "game to be played; practise with options that leave it as it is."
        )
    return practice


def _weights_digest(place: Path) -> str:
    return hashlib.sha256((place / WEIGHTS_FILE).read_bytes()).hexdigest()
