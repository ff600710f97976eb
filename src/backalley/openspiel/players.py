"""OpenSpiel's bots and policies as agents."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from backalley.agents.base.action_probabilities import Probabilities
from backalley.agents.base.agent import Agent, View
from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng

from .games import game_string, spiel_state


class SpielAgent(Agent):
    """A bot of OpenSpiel (an object with `step(state)`) or a policy (`action_probabilities(state)`) as an agent.

    It is shown an OpenSpiel state in which all that its seat cannot see is redrawn at random, with its seat's own
    history: its information state, and what it may do, are those of the table. The states before are not in
    `state.history()`. Of a player of a game that OpenSpiel has itself, `position(state)` gives that game's state for
    such a `GameState`. A policy's action is drawn by the view's key; a bot draws by itself, so a match with it need not
    come out the same twice.
    """

    reads_events = True

    def __init__(
        self,
        player: Any,
        game: Game,
        *,
        chance: str = "explicit",
        name: str = "",
        position: Callable[[GameState], Any] | None = None,
    ) -> None:
        """`player` is one for all seats, or a list with one for each seat: many bots play a seat of their own. `chance`
        is how the states that it is shown tell chance, "explicit" or "sampled". Raises TypeError for what is neither
        bot nor policy, ValueError for another number of them or another `chance`."""
        players = list(player) if isinstance(player, (list, tuple)) else [player] * game.num_seats
        if len(players) != game.num_seats:
            raise InvalidValue(f"{len(players)} players were given for {game.num_seats} seats; give one, or one each.")
        for one in players:
            if isinstance(one, type) or not (_is_bot(one) or callable(getattr(one, "action_probabilities", None))):
                raise InvalidType(
                    f"{one!r} is no player of OpenSpiel: a bot has step(state), a policy action_probabilities(state)."
                )
        self.players, self.game, self.name = players, game, name or type(players[0]).__name__
        spiel_game = pyspiel.load_game(game_string(game, chance))
        self._position = position or functools.partial(spiel_state, spiel_game)

    def _state(self, view: View, k: int) -> Any:
        if view.game != self.game:
            raise InvalidValue(f"{self.name} plays {self.game!r}, and was shown a table of {view.game!r}.")
        return self._position(view.game_state(k, int(view.key[k])))

    def action_probabilities(self, view: View) -> Probabilities:
        """Return those of a policy. Raises NoProbabilities, a ValueError, for a bot."""
        if any(_is_bot(self.players[seat]) for seat in view.seat):
            return super().action_probabilities(view)
        return np.array([self._chances(view, k) for k in range(len(view))]).reshape(view.action_mask.shape)

    def _chances(self, view: View, k: int) -> npt.NDArray[np.float64]:
        found = np.zeros(view.action_mask.shape[1])
        for action, probability in self.players[view.seat[k]].action_probabilities(self._state(view, k)).items():
            found[action] = probability
        return found

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the bots' actions, or actions drawn from the policies."""
        chosen = []
        for k in range(len(view)):
            player = self.players[view.seat[k]]
            if _is_bot(player):
                chosen.append(player.step(self._state(view, k)))
            else:
                chosen.append(_drawn(self._chances(view, k), view.key[k]))
        return np.array(chosen, np.int64)


def _is_bot(player: Any) -> bool:
    return callable(getattr(player, "step", None))


def _drawn(chances: npt.NDArray[np.float64], key: np.uint64) -> int:
    """The action that a key draws."""
    with np.errstate(over="ignore"):
        share = (int(rng.mix(key)) >> 11) / 2**53
    possible = np.flatnonzero(chances > 0)
    reached = np.cumsum(chances[possible])
    return int(possible[min(np.searchsorted(reached, share * reached[-1], side="right"), len(possible) - 1)])
