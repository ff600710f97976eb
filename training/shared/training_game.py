"""The game of the training tables: the one to be played, under the options that the settings have for training."""

from __future__ import annotations

from backalley.agents.policies.policy_file import observation_layout
from backalley.envs.core.game.game import Game

from ..config.config import Config, ConfigError


def training_game(game: Game, config: Config) -> Game:
    """Return the game of the training tables. Raises OptionError, or ConfigError where its observation layout differs
    from that of the game itself."""
    training = game.type.bind({**config.options, **game.changed_options})
    if observation_layout(game) != observation_layout(training):
        raise ConfigError(
            f"With the training options {config.options} the observation of {game.id} has another layout than in the "
            "game itself; use options that leave it unchanged."
        )
    return training
