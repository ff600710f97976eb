"""`level:N`: players of several strengths for people, from 1 up. Each plays as one agent of the game does, but for a
share of its decisions, where it plays any legal action.

Which shares give even steps, `backalley dev study levels` finds; a game keeps them in its `levels.json`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import random_legal
from backalley.envs.core.files.gate import ListOf, Number, OneOf, Text, pass_gate
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import specialise, template, unbound
from backalley.envs.core.rules import rng

from .action_probabilities import Probabilities
from .agent import Agent
from .rule_based import KernelAgent, RandomAgent, played_by

FILE = "levels.json"
LEVEL = "level"
MOST = 10
_SHAPE = {"kind": OneOf(["levels"]), "levels": ListOf({"agent": Text(200), "random": Number(0, 1)}, MOST)}
_RANGE = 1 << 24
_WHETHER, _WHICH = 0x6C76, 0x6C77
"""What forks a decision's key: whether to play any action, and which."""


class Mixed(NamedTuple):
    """The kernel's first argument."""

    by: Any
    """That of the agent's own kernel."""
    random: float


ACT = unbound
"""The agent's kernel in `act_mixed`."""


@template
def act_mixed(by: Mixed, shown: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the agent's action, or, with the probability `by.random`, any legal one."""
    if rng.below(rng.fork(key, _WHETHER), _RANGE)[1] < by.random * _RANGE:
        return int(random_legal(mask, rng.fork(key, _WHICH)))
    return int(ACT(by.by, shown, mask, key))


@functools.cache
def _kernel(act: Callable[..., int]) -> Callable[..., int]:
    return specialise([act_mixed], {"ACT": act})["act_mixed"]


class LevelAgent(KernelAgent):
    """Plays as a compiled agent does, but for a share of its decisions."""

    def __init__(self, game: Game, base: KernelAgent, random: float, name: str) -> None:
        """`random` is the probability of a decision by chance."""
        assert base.kernel is not None
        super().__init__(name, _kernel(base.kernel), game)
        self.base, self.random, self.reads = base, random, base.reads
        self.is_deterministic, self.identity, self.note = False, [base.name, base.identity, random], base.note

    def plays_by(self) -> Mixed:
        """Return what the agent plays by, and the share."""
        return Mixed(played_by(self.base, self.game), self.random)

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return the probability of each action [n, A]."""
        base = self.base.guarded if self.is_guarded else self.base
        found: Probabilities = (1 - self.random) * base.probabilities(observation, action_mask)
        return found + self.random * RandomAgent().probabilities(observation, action_mask)

    def __reduce__(self) -> tuple[Any, ...]:
        return LevelAgent, (self.game, self.base, self.random, self.name)


def levels_of(of: Game | GameType) -> list[dict[str, Any]]:
    """Return a game's levels, weakest first: an agent's name, and the share that it plays at `random`. None where the
    game has no file of them. Raises ValueError for one that is damaged."""
    path = (of.type if isinstance(of, Game) else of).folder / FILE
    if not path.is_file():
        return []
    found = read_json(path)
    try:
        pass_gate(found, _SHAPE)
    except ValueError as error:
        raise InvalidValue(f"{path} holds no levels: {error}.") from None
    levels: list[dict[str, Any]] = found["levels"]
    return levels


def names(game: Game) -> list[str]:
    """Return the names of a game's levels, weakest first."""
    return [f"{LEVEL}:{number}" for number in range(1, len(levels_of(game)) + 1)]


def plain(game: Game, name: str) -> str:
    """Return the name of the agent as which a level plays, where nothing is at random; else the name given."""
    level = dict(zip(names(game), levels_of(game), strict=True)).get(name)
    return level["agent"] if level and not level["random"] else name


def level_agent(game: Game, level: int, agent: Callable[[str], Agent]) -> Agent:
    """Return a level of the game, from the agent that `agent` makes of a name. Raises ValueError for a level that the
    game has not, and what `agent` raises."""
    levels = levels_of(game)
    if not levels:
        raise InvalidValue(f"{game.name} has no levels; name another agent, such as 'bot' or 'random'.")
    if not 1 <= level <= len(levels):
        raise InvalidValue(f"There is no level {level} of {game.name}; it has level:1 to level:{len(levels)}.")
    return mixed(game, **levels[level - 1], name=f"{LEVEL}:{level}", made=agent)


def mixed(game: Game, agent: str, random: float, name: str, made: Callable[[str], Agent]) -> Agent:
    """Return an agent under another name, which plays a share of its decisions at `random`; that takes a compiled one.
    Raises ValueError."""
    base = made(agent)
    if not random:
        base.name = name
        return base
    if not isinstance(base, KernelAgent):
        raise InvalidValue(f"{name} of {game.name} is {agent} with a share of random actions, which takes a bot or a "
                           "policy.")  # fmt: skip
    return LevelAgent(game, base, random, name)
