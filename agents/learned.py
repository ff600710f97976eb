"""Policies from disk, played by compiled code (`inference.py`): nothing here needs what trained them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from .inference import Net, act, logits_rows, net_of, own_room
from .policy_file import PolicyFileError, game_of_policy, observation_bound, read_policy
from .rule_based import KernelAgent


class PolicyAgent(KernelAgent):
    """A policy from disk, in the form of a bot: matches run it in machine code.

    `metadata` is its JSON: what it plays and how it was made; `note` says where it was trained under other options than
    it is to play under.
    """

    def __init__(
        self, folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
    ) -> None:
        """`folder` is a policy's folder or that of a whole training run; the game is the one it was trained for, under
        its options, and whether to be greedy is as the policy says, unless given.

        Raises PolicyFileError, UnknownGame or OptionError in a sentence.
        """
        if not isinstance(folder, (str, Path)):
            raise PolicyFileError(f"A policy is the path of a folder, and {folder!r} was given.")
        self.game = game_of_policy(Path(folder)) if game is None else game_of(game)
        weights, self.metadata = read_policy(Path(folder), self.game)
        greedy = self.metadata["greedy"] if greedy is None else greedy
        self.net: Net = net_of(weights, observation_bound(self.game), greedy=greedy)
        super().__init__(self.metadata["name"], act, self.game)
        self.identity = self.metadata["weights"]["sha256"]
        self.note = _note(self.metadata["options"], self.game.option_values)

    @property
    def greedy(self) -> bool:
        """Whether it plays its likeliest action, or draws."""
        return self.net.greedy

    reads_vector = True

    def plays_by(self) -> Net:
        """The network, with room for one thread."""
        return own_room(self.net)

    def logits(self, observation: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """The logits of every action, legal or not, for observations [n, O]: float32 [n, A]."""
        out = np.empty((len(observation), self.game.num_actions), np.float32)
        logits_rows(self.plays_by(), np.ascontiguousarray(observation), out)
        return out


def load_policy(
    folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
) -> PolicyAgent:
    """The policy in a folder, ready to play: `policy.act(observation, action_mask)` in a loop of one's own, or as an
    agent wherever one is asked for.

    `folder` is a policy's folder or that of a whole training run. Game and options are those it was trained for unless
    given, and so is whether it takes its likeliest action or draws (`greedy`). Raises PolicyFileError, UnknownGame or
    OptionError in a sentence.
    """
    return PolicyAgent(folder, game, greedy=greedy)


def _note(trained: Mapping[str, Any], played: Mapping[str, Any]) -> str:
    """A sentence where a policy plays under other options than it was trained under; else nothing."""
    others = [option for option in played if trained.get(option) != played[option]]
    if not others:
        return ""
    then, now = (", ".join(f"{option}={options.get(option)}" for option in others) for options in (trained, played))
    return f"It was trained under {then}, and plays under {now} here."
