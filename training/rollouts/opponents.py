"""What a phase of rollouts refuses, the agents that it meets and that do not learn, and the policy that learning begins
from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.base.rule_based import BotAgent, seen_by
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import PolicyFileError, copy_policy, find_policy, read_metadata
from backalley.agents.policies.policy_kinds import NetworkPlayer, Residual
from backalley.agents.policies.pretrained import NoPolicy, policy_for
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bot

from ..config.config import BEST, SELF, Config, ConfigError, Learned, Rollouts
from ..config.phases import ANEW, FORMER, POLICY, STANDING
from ..shared.phase import Finished
from .target_kernels import Frozen


def reference_of(game: Game, settings: Rollouts) -> Bot | None:
    """Return the bot whose play is improved; None where it is the policy's own. Raises ConfigError where there is
    none."""
    if settings.base == SELF:
        if settings.learned != Learned.ADVANTAGES:
            raise ConfigError(
                f"rollouts.base is self and rollouts.learned is {settings.learned.name.lower()}, but without a bot "
                "nothing can be corrected; set rollouts.learned=advantages."
            )
        return None
    able = {bot.name: bot for bot in game.type.bots if bot.plays_rollouts}
    if settings.base != BEST:
        found = able.get(settings.base.source.removeprefix("bot:"))
        if found is None:
            raise ConfigError(
                f"rollouts.base is {settings.base.source}; it takes bot (the best one), self, or a bot of {game.name} "
                f"that is fast enough for rollouts: {', '.join(able) or 'none'}."
            )
        return found
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


# Agents ---------------------------------------------------------------------------------------------------------------


def standing(game: Game, history: Sequence[Finished]) -> Agent:
    """Return the policy that is current after these phases; before any, the one that comes with the game, or its best
    bot. Raises ConfigError where there is nobody."""
    try:
        return PolicyAgent(history[-1].current if history else policy_for(game).folder, game)
    except NoPolicy:
        if game.bots:
            return BotAgent(game)
        raise ConfigError(
            f"{game.name} has no policy and no bot that could be attacked; name agents by against=AGENT."
        ) from None


def opponents_of(game: Game, settings: Rollouts, history: Sequence[Finished]) -> list[Agent]:
    """Return the agents that `settings.against` names. Raises ConfigError for one that compiled rollouts cannot
    play."""
    names = settings.against.names
    if names not in ((STANDING,), (FORMER,)):
        return [_named(game, name) for name in names]
    last = standing(game, history)
    before = dict.fromkeys(one.current for one in history[:-1]) if names == (FORMER,) else {}
    return [*(PolicyAgent(one, game) for one in before if one != folder_of(last)), last]


def folder_of(agent: Agent) -> Path | None:
    """Return the folder of an agent's policy, if it has one."""
    return agent.folder if isinstance(agent, PolicyAgent) else None


def met(agent: Agent) -> Agent:
    """Return the agent. Raises ConfigError for one that compiled rollouts cannot play."""
    if agent.kernel is None:
        raise ConfigError(
            f"Rollouts cannot be played against {name_of(agent)}: they are compiled, and it has no compiled kernel. "
            "Name a bot, a policy or the folder of one."
        )
    return agent


def _named(game: Game, name: str) -> Agent:
    try:
        found = agent_of(name, game)
    except ValueError as error:
        raise ConfigError(f"There is nobody to play against: {error}") from None
    return met(found)


def frozen_of(agent: Agent) -> Frozen:
    """Return how compiled rollouts call an agent."""
    kernel = agent.rollout_kernel()
    assert kernel is not None  # others are refused by name
    return Frozen(kernel, seen_by(agent))


# The policy that learning begins from ---------------------------------------------------------------------------------


def start_of(
    game: Game,
    config: Config,
    settings: Rollouts,
    reference: Bot | None,
    history: Sequence[Finished],
    met: Sequence[Agent],
) -> PolicyAgent | None:
    """Return the policy that learning begins from; None for new weights.

    With `begins=policy` it is the first of these whose learning can go on: what an attack just before has learned, whom
    the phase meets, the latest first, and the current policy. Raises ConfigError for a folder whose policy is of
    another kind.
    """
    source = settings.begins.source
    if source == ANEW:
        return None
    if source != POLICY:
        try:
            found = PolicyAgent(source, game)
        except PolicyFileError as error:
            raise ConfigError(f"Nothing can begin from {source}: {error}") from None
        if not _goes_on(found, config, settings, reference):
            wanted = f"a residual of bot:{reference.name}" if reference else "a network of advantages, played greedily"
            raise ConfigError(
                f"Learning cannot begin from the policy in {source}: it has to be {wanted}, learned by rollouts."
            )
        return found
    attacker = [history[-1].learned] if history and history[-1].attacks else []
    others = [*reversed(met), *([standing(game, history)] if met else [])]
    agents = (PolicyAgent(folder, game) for folder in [*attacker, *map(folder_of, others)] if folder is not None)
    return next((agent for agent in agents if _goes_on(agent, config, settings, reference)), None)


def _goes_on(agent: PolicyAgent, config: Config, settings: Rollouts, reference: Bot | None) -> bool:
    """Whether a policy is of the kind that this phase learns."""
    player = agent.player
    if not isinstance(player, NetworkPlayer | Residual) or player.features != config.network.features:
        return False
    if settings.learned != Learned.RESIDUAL:
        return settings.learned == Learned.ADVANTAGES and agent.plays_gains
    corrects = isinstance(player, Residual) and reference is not None and player.bot == reference.name
    return corrects and margin_of(agent) is not None and agent.unit is not None


def margin_of(agent: PolicyAgent) -> float | None:
    """Return the margin that a policy plays by; 0 for a plain network."""
    return agent.player.margin if isinstance(agent.player, Residual) else 0.0


def copy_again(source: Path, folder: Path) -> None:
    """Write the policy in `source`, its folder or that of its run, to `folder` as it is. Raises OSError."""
    kept = read_metadata(find_policy(source))
    copy_policy(source, folder, name=kept["name"], serves=kept["serves"])
