"""Rounds of attack and generation: the phases that make a policy harder to exploit.

`attack` learns an approximate best response to the current policy, from that policy's own weights; what it gains is
a lower bound of what the policy can lose. `generation` lets the attacker learn on against itself, all former policies
and the bot, and replaces the policy if its gate says so. Then the next attack shows whether the hole is closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.envs.core.game.game import Game

from ..config.config import Config, ConfigError
from ..config.phases import STANDING
from .opponents import copy_again, folder_of, standing
from .rollouts import Rollouts


class Generation(Rollouts):
    """The phase `generation`."""

    section = "generation"
    meets_strangers = True

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The game needs somebody to meet."""
        super().check(game, config)
        if game.num_sides == 1:
            raise ConfigError(f"{game.name} is played alone under these options: there is nobody to attack or to meet.")

    def policy_before(self) -> Agent | None:
        """Return the current policy, or the bot."""
        return standing(self.game, self.history)

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write that policy. Raises OSError."""
        source = folder_of(standing(self.game, self.history))
        if source is None:
            super().save_before(folder, made)
        else:
            copy_again(source, folder)


class Attack(Generation):
    """The phase `attack`."""

    section = "attack"
    meets_strangers = False

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """It attacks one agent."""
        super().check(game, config)
        if len(config.attack.against.names) != 1:
            raise ConfigError(
                f"attack.against is {config.attack.against.written()!r}; an attack is on one agent: name it, or "
                "standing for the current policy."
            )

    @property
    def replaces(self) -> bool:  # type: ignore[override]
        """What attacks an agent by name is the run's result."""
        return self.settings.against.names != (STANDING,)

    def attacked(self) -> Agent:
        """Return the agent at all other seats."""
        return self.opponents[-1]
