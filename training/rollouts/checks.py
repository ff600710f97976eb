"""What a phase of rollouts refuses: settings that do not go together, or not with the game."""

from __future__ import annotations

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bot

from ..config.config import Base, ConfigError, Learned, Rollouts


def reference_of(game: Game, settings: Rollouts) -> Bot | None:
    """Return the bot whose play is improved; None where it is the policy's own. Raises ConfigError where there is
    none."""
    if settings.base == Base.SELF:
        if settings.learned != Learned.ADVANTAGES:
            raise ConfigError(
                f"rollouts.base is self and rollouts.learned is {settings.learned.name.lower()}, but without a bot "
                "nothing can be corrected or imitated; set rollouts.learned=advantages."
            )
        return None
    reference = game.reference_bot
    if reference is None:
        raise ConfigError(
            f"{game.name} has no bot whose play a phase of rollouts could improve; train it by ppo: "
            "--set run.phases=ppo, or without a bot: --set rollouts.base=self."
        )
    return reference


def check_shares(settings: Rollouts) -> None:
    """Raise ConfigError for shares of tables or seats that sum to more than all, and where tables are missing that the
    margin needs."""
    if settings.held_out >= settings.tables:
        raise ConfigError(
            f"rollouts.held_out is {settings.held_out} and rollouts.tables {settings.tables}: nothing would be left to "
            "learn from; hold out fewer."
        )
    if settings.learned == Learned.RESIDUAL and not settings.held_out:
        raise ConfigError(
            "rollouts.held_out is 0 and rollouts.learned is residual, whose margin is chosen on validation tables; "
            "hold out at least one."
        )
    others = settings.second + settings.random + settings.self_play + settings.frozen
    if others > 1 + 1e-9:
        raise ConfigError(
            f"rollouts.second, random, self_play and frozen sum to {others:g}; they are shares of the other seats and "
            "must not sum to more than 1."
        )
    if settings.frozen and not settings.against.names:
        raise ConfigError(
            f"rollouts.frozen is {settings.frozen:g}, and rollouts.against names nobody who would play that share of "
            "the other seats; name agents, or set the share to 0."
        )


def check_temperatures(settings: Rollouts) -> None:
    """Raise ConfigError for a temperature of a policy that does not draw its actions."""
    for name in ("temperature", "plays_at"):
        value = getattr(settings, name)
        if value and settings.learned != Learned.ADVANTAGES:
            learned = settings.learned.name.lower()
            raise ConfigError(
                f"rollouts.{name} is {value:g} and rollouts.learned is {learned}: only advantages say how much "
                f"likelier one action is than another; set rollouts.learned=advantages, or leave rollouts.{name} at 0."
            )
