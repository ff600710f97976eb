"""Policies by networks of a user's own, which `register_policy` makes known: torch computes them, and their files hold
settings and weights as those of every policy do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue
from backalley.envs.core.api.histories import information_state_size, information_tensors
from backalley.envs.core.game.game import Game

from ..base.action_probabilities import Probabilities
from ..base.agent import View
from .network import NetworkAgent
from .policy_file import PolicyFileError
from .policy_kinds import Arrays, OwnPlayer


class _Logits(nn.Module):
    """A user's network in the form that NetworkAgent plays: logits, and no value."""

    def __init__(self, module: nn.Module, player: OwnPlayer, game: Game) -> None:
        super().__init__()
        self.module, self.kind, self.num_actions = module, player.name, game.num_actions

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the logits [n, A] of what it reads [n, O] or [n, I]. Raises ValueError for anything else."""
        found = self.module(observation.float())
        logits = found[0] if isinstance(found, tuple) else found
        expected = (len(observation), self.num_actions)
        if not isinstance(logits, torch.Tensor) or tuple(logits.shape) != expected:
            given = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise InvalidValue(f"The network {self.kind} returned {given} for logits; they are a tensor {expected}.")
        return logits.float(), None


class OwnPolicyAgent(NetworkAgent):
    """A policy from disk, played by a network of a user's own kind. It has what a PolicyAgent has: `folder`, `game`,
    `metadata`, `player`, `arrays`, `note`, `identity` and `logits`."""

    player: OwnPlayer

    def __init__(
        self, folder: Path, game: Game, arrays: Arrays, metadata: dict[str, Any], player: OwnPlayer, note: str
    ) -> None:
        """Raises PolicyFileError where the network does not take the arrays of the file."""
        module = player.network(game)
        try:
            module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        except RuntimeError as error:
            raise PolicyFileError(f"The policy in {folder} does not fit its network {player.name}: {error}") from None
        self.reads_events = player.kind.reads_events
        network = _Logits(module.eval(), player, game)
        super().__init__(network, metadata["name"], greedy=player.greedy)
        self.folder, self.game, self.arrays, self.metadata, self.player = folder, game, arrays, metadata, player
        self.is_deterministic, self.identity, self.note = player.greedy, metadata["weights"]["sha256"], note

    def act(self, view: Any, action_mask: npt.ArrayLike | None = None, *, key: npt.ArrayLike | None = None) -> Any:
        """Act as a DirectAgent does; one that reads events takes a View alone, and raises InvalidCall, a RuntimeError,
        for anything else."""
        if self.reads_events:
            return self.choose(self._known(view), view.action_mask, view.key)
        return super().act(view, action_mask, key=key)

    def action_probabilities(self, view: Any, action_mask: npt.ArrayLike | None = None) -> Probabilities:
        """Return the probability of each action; what it takes is said at `act`."""
        if self.reads_events:
            return self.probabilities(self._known(view), view.action_mask)
        return super().action_probabilities(view, action_mask)

    def _known(self, view: Any) -> npt.NDArray[np.float32]:
        """The information states of a view's tables [n, I]."""
        events = view.events() if isinstance(view, View) else None
        if events is None:
            raise InvalidCall(f"{self.name} reads events, so it is asked with a View of tables that keep them.")
        return information_tensors(view.game, view.observation, events)

    def logits(self, observation: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the logits of every action, legal or not, for observations [n, O]: float32 [n, A]; for information
        states [n, I] where it reads events. Raises TypeError or ValueError for others than the game's."""
        shown, game = np.asarray(observation), cast(Game, self.game)
        size = information_state_size(game) if self.reads_events else game.observation_size
        if shown.ndim != 2 or shown.shape[1] != size:
            takes = "[n, I]" if self.reads_events else "[n, O]"
            raise InvalidValue(f"{self.name} was given observations of shape {shown.shape}; logits take {takes}.")
        if shown.dtype.kind not in "iuf":
            raise InvalidType(f"{self.name} was given observations of {shown.dtype}; they are numbers.")
        with torch.no_grad():
            found: npt.NDArray[np.float32] = self.network(torch.from_numpy(shown))[0].numpy()
        return found
