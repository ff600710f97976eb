"""The agents that rollouts meet and that do not learn, and the weights that learning begins from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.base.rule_based import BotAgent, seen_by
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import PolicyFileError, copy_policy, find_policy, read_metadata
from backalley.agents.policies.policy_kinds import NetworkPlayer, Residual
from backalley.agents.policies.pretrained import NoPolicy, policy_for
from backalley.agents.policies.residual import corrected
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bot

from ..config.config import ConfigError, Learned, Rollouts
from ..config.named_policies import ANEW, FORMER, POLICY, STANDING
from ..shared.checkpoint import Arrays
from ..shared.phase import Finished
from .target_kernels import Frozen


class Start(NamedTuple):
    """A policy that learning begins from."""

    agent: PolicyAgent
    folder: Path
    unit: float
    """The unit of its outputs, in the game's rewards."""

    @property
    def margin(self) -> float:
        """The margin that it plays by; 0 for a plain network."""
        player = self.agent.player
        return float(player.margin or 0) if isinstance(player, Residual) else 0.0

    @property
    def weights(self) -> Arrays:
        """Its arrays."""
        return dict(self.agent.arrays)


class Named(NamedTuple):
    """An agent, and the folder of its policy if it has one."""

    agent: Agent
    folder: Path | None = None


def standing(game: Game, history: Sequence[Finished]) -> Named:
    """Return the policy that stands after these phases; before any, the one that comes with the game, or its best bot.
    Raises ConfigError where there is nobody."""
    if history:
        return Named(PolicyAgent(history[-1].stands, game), history[-1].stands)
    try:
        folder = policy_for(game).folder
    except NoPolicy:
        if not game.bots:
            raise ConfigError(
                f"{game.name} has no policy and no bot that could be attacked; name agents by against=AGENT."
            ) from None
        return Named(BotAgent(game))
    return Named(PolicyAgent(folder, game), folder)


def opponents_of(game: Game, settings: Rollouts, history: Sequence[Finished]) -> list[Named]:
    """Return the agents that `settings.against` names. Raises ConfigError for one that compiled rollouts cannot
    play."""
    names = settings.against.names
    if names in ((STANDING,), (FORMER,)):
        stood = dict.fromkeys(one.stands for one in history[:-1]) if names == (FORMER,) else {}
        last = standing(game, history)
        return [*(Named(PolicyAgent(one, game), one) for one in stood if one != last.folder), last]
    return [_named(game, name) for name in names]


def met(agent: Agent) -> Named:
    """Return an agent with the folder of its policy. Raises ConfigError for one that compiled rollouts cannot play."""
    if agent.kernel is None:
        raise ConfigError(
            f"Rollouts cannot be played against {name_of(agent)}: they are compiled, and it has no compiled kernel. "
            "Name a bot, a policy or the folder of one."
        )
    return Named(agent, agent.folder if isinstance(agent, PolicyAgent) else None)


def _named(game: Game, name: str) -> Named:
    try:
        found = agent_of(name, game)
    except ValueError as error:
        raise ConfigError(f"There is nobody to play against: {error}") from None
    return met(found)


def frozen_of(agent: Agent, game: Game) -> Frozen:
    """Return how compiled rollouts call an agent. A bot that solves the end of the game is played there by its fast
    substitute, alone or under a residual, as everywhere in rollouts."""
    slow, fast = game.reference_bot, game.rollout_bot
    kernel = agent.kernel
    assert kernel is not None  # others are refused by name
    if slow is not None and fast is not None and slow is not fast:
        if isinstance(agent, BotAgent) and agent.bot is slow:
            kernel = fast.act
        if isinstance(agent, PolicyAgent) and isinstance(agent.player, Residual) and agent.player.bot == slow.name:
            kernel = corrected(fast._replace(solves=slow.solves))
    return Frozen(kernel, seen_by(agent))


def start_of(
    game: Game, settings: Rollouts, reference: Bot | None, history: Sequence[Finished], met: Sequence[Named]
) -> Start | None:
    """Return the policy that learning begins from; None for new weights.

    With `begins=policy` it is the first of these whose learning can go on: what an attack just before has learned, whom
    the phase meets, the latest first, and the policy that stands. Raises ConfigError for a folder whose policy is of
    another kind.
    """
    source = settings.begins.source
    if source == ANEW:
        return None
    if source != POLICY:
        try:
            found = _start(PolicyAgent(source, game), Path(source), settings, reference)
        except PolicyFileError as error:
            raise ConfigError(f"Nothing can begin from {source}: {error}") from None
        if found is None:
            wanted = f"a residual of bot:{reference.name}" if reference else "a network of advantages, played greedily"
            raise ConfigError(
                f"Learning cannot begin from the policy in {source}: it has to be {wanted}, learned by rollouts."
            )
        return found
    attacker = [history[-1].learned] if history and history[-1].attacks else []
    folders = [*attacker, *(one.folder for one in reversed(met)), *([standing(game, history).folder] if met else [])]
    for folder in folders:
        found = _start(PolicyAgent(folder, game), folder, settings, reference) if folder is not None else None
        if found is not None:
            return found
    return None


def _start(agent: PolicyAgent, folder: Path, settings: Rollouts, reference: Bot | None) -> Start | None:
    """A policy as a beginning, or None where this phase learns another kind. A network that draws has outputs scaled by
    a temperature, which are no gains any more."""
    player, unit = agent.player, agent.metadata["made"].get("unit")
    if not isinstance(unit, float) or not 0 < unit < math.inf:
        return None
    if settings.learned == Learned.RESIDUAL:
        fits = isinstance(player, Residual) and reference is not None and player.bot == reference.name
        fits = fits and player.margin is not None  # type: ignore[union-attr]
    else:
        fits = settings.learned == Learned.ADVANTAGES and isinstance(player, NetworkPlayer) and player.greedy
    return Start(agent, folder, unit) if fits else None


def copy_again(source: Path, folder: Path) -> None:
    """Write the policy in `source`, its folder or that of its run, to `folder` as it is. Raises OSError."""
    kept = read_metadata(find_policy(source))
    copy_policy(source, folder, name=kept["name"], serves=kept["serves"])
