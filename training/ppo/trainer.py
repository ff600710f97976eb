"""The phase `ppo`: self-play from random weights, or from the policy of the phase before. A step is one rollout and one
update."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent
from backalley.agents.policies.network import network_of, weights_of
from backalley.agents.policies.network_agent import NetworkAgent
from backalley.agents.policies.policy_file import (
    WEIGHTS_FILE,
    observation_bound,
    player_of,
    read_policy,
    save_policy,
)
from backalley.agents.policies.policy_kinds import NetworkPlayer, network_player
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ..config.config import Config, Objective
from ..shared.checkpoint import Arrays
from ..shared.league import League, bots_of
from ..shared.phase import Phase, training_game
from .ppo import PPO
from .seats import SeatTables, Tally

LEAGUE_FOLDER = "league"


class Trainer(Phase):
    """PPO in memory."""

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
            device=self.device, num_threads=num_threads,
        )  # fmt: skip
        self._past: dict[str, str] = {}
        """Past selves by name, each with the digest of its weights."""

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The training tables must have the game's observation layout."""
        training_game(game, config)

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
            if isinstance(player, NetworkPlayer) and (player.width, player.layers) == (size.width, size.layers):
                known = network_of(weights, metadata, observation_bound(self.game)).state_dict()
                for network in (self.model.network, self.model.average):
                    network.load_state_dict(known)
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
        return NetworkAgent(network.to(self.device).freeze(), name, block=0)

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
        tables = {name.removeprefix("tables."): array for name, array in arrays.items() if name.startswith("tables.")}
        observation = self.tables.restore(tables, facts["tables"], past)
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
