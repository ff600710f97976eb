"""Our games as OpenSpiel's Python games.

Options are parameters of the game string, and so are `preset`, `chance`, `rng_seed` and, as in OpenSpiel's own games,
`players`. The state is a `GameState` with
explicit chance: where chance is `sampled`, a chance node has the one outcome 0, which draws all that chance decides up
to the next decision. That takes fewer calls, but OpenSpiel cannot pickle or serialize such a state of a Python game
("GetRNGState unimplemented"), so it has to be asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pyspiel

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.api.histories import information_state_size
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import compile_from_now_on
from backalley.envs.core.rules import options as option_rules

PREFIX = "backalley_"
"""What the name of each game begins with in OpenSpiel."""
CHANCE = ("explicit", "sampled")
"""What the parameter `chance` takes: every outcome with its probability, or one outcome that draws all."""
_NO_LIMIT = 1_000_000
"""`max_game_length` of a game that declares no bound of its decisions."""
_OWN: dict[str, Any] = {"preset": "", "chance": "explicit", "rng_seed": -1, "players": 0}
"""Parameters that are no options; 0 players are those of the other options."""
_types: dict[str, GameType] = {}
"""The games that are registered, by their names in OpenSpiel."""


def register(game: str | GameType) -> str:
    """Register a game with OpenSpiel, by its name, its import path or its declaration, and return its name there:
    `backalley_kuhn` for `backalley.examples.kuhn`. The nine games of the package are registered on import. Raises
    ValueError for an unknown game and for a name that another game has."""
    found = game if isinstance(game, GameType) else game_of(game).type
    name = f"{PREFIX}{found.name}"
    if _types.setdefault(name, found) is not found:
        raise InvalidValue(f"OpenSpiel has another game {name!r} already, that of {_types[name].module}.")
    if name not in pyspiel.registered_names():
        defaults = _parameters(found.bind())
        # A class, since OpenSpiel gives up what it holds when Python has ended, and only a class outlives that.
        made = type(f"{found.title.title().replace(' ', '')}Game", (SpielGame,), {"declaration": found})
        pyspiel.register_game(_game_type(found.bind(), True, defaults), made)
    return name


def game_string(game: Game, chance: str = "explicit") -> str:
    """Return the string with which OpenSpiel loads a game under its options: `pyspiel.load_game(game_string(game))`.
    The game is registered if it is not. Raises ValueError for an unknown `chance`."""
    given = {**_spelt(game.changed_options), **({} if _checked(chance) == "explicit" else {"chance": chance})}
    inside = ",".join(f"{name}={value}" for name, value in given.items())
    return f"{register(game.type)}({inside})" if given else register(game.type)


def _spelt(options: Mapping[str, Any]) -> dict[str, Any]:
    """Option values as OpenSpiel's parameters: numbers, truth values and texts. Several numbers are divided by strokes,
    `1/2/5`, since commas divide parameters."""
    return {
        name: value if isinstance(value, (bool, int, float)) else option_rules.typed(value).replace(",", "/")
        for name, value in options.items()
    }


def _read(value: Any) -> Any:
    return value.replace("/", ",") if isinstance(value, str) else value


def _parameters(game: Game) -> dict[str, Any]:
    """All parameters with their defaults."""
    return {**_spelt(game.type.bind().option_values), **_OWN}


def _checked(chance: Any) -> str:
    if chance not in CHANCE:
        raise InvalidValue(f"chance is {chance!r}; it takes {' | '.join(CHANCE)}.")
    return str(chance)


def _game_type(game: Game, explicit: bool, parameters: Mapping[str, Any]) -> Any:
    kinds, has_events = pyspiel.GameType, game.type.events is not None
    return kinds(
        short_name=f"{PREFIX}{game.name}",
        long_name=game.title,
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC if explicit else kinds.ChanceMode.SAMPLED_STOCHASTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if game.zero_sum else kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.REWARDS,
        max_num_players=game.num_seats,
        min_num_players=game.num_seats,
        provides_information_state_string=has_events,
        provides_information_state_tensor=has_events,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=False,
        parameter_specification=dict(parameters),
    )


def _bound(value: float, outwards: float) -> float:
    """A bound of returns, which are sums of 32-bit numbers."""
    return value if float(np.float32(value)) == value else value + 1e-6 * outwards


def _longest(game: Game) -> int:
    """A bound of the decisions of an episode: every action is shown to all seats."""
    bounds = [game.max_decisions, game.type.events and game.type.events.length(game.options)]
    return min((bound for bound in bounds if bound is not None), default=_NO_LIMIT)


class SpielGame(pyspiel.Game):  # type: ignore[misc]
    """One of our games under options, as OpenSpiel loads it."""

    declaration: ClassVar[GameType]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        """Raises OptionError (a ValueError) for options that the game cannot take, ValueError for another `chance`."""
        game_type, defaults = self.declaration, _parameters(self.declaration.bind())
        given = {**defaults, **(params or {})}
        # OpenSpiel fills in the defaults before we see them, so a value that is the default was perhaps not given.
        options = {name: _read(value) for name, value in given.items() if name not in _OWN and value != defaults[name]}
        if given["preset"]:
            options["preset"] = given["preset"]
        if given["players"] and "num_players" in defaults:
            options.setdefault("num_players", given["players"])
        self.game = game_type.bind(options)
        if given["players"] not in (0, self.game.num_seats):
            raise InvalidValue(f"{self.game!r} has {self.game.num_seats} seats; players={given['players']} was given.")
        compile_from_now_on()  # whoever loads a game here walks through its tree
        self.explicit = _checked(given["chance"]) == "explicit"
        self.random = np.random.default_rng(given["rng_seed"] if given["rng_seed"] >= 0 else None)
        self.beginning = self.game.new_state(explicit_chance=True, events=self.game.type.events is not None)
        low, high = self.game.reward_range
        super().__init__(
            _game_type(self.game, self.explicit, defaults),
            pyspiel.GameInfo(
                num_distinct_actions=self.game.num_actions,
                max_chance_outcomes=max(self.game.deck_size, self.game.num_start_outcomes) if self.explicit else 1,
                num_players=self.game.num_seats,
                min_utility=_bound(low, -1),
                max_utility=_bound(high, 1),
                utility_sum=0.0 if self.game.zero_sum else None,
                max_game_length=_longest(self.game),
            ),
            given,
        )

    def new_initial_state(self) -> SpielState:
        """Return the state before the start outcome and the deal."""
        return SpielState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> SpielObserver | None:
        """Return what writes observations; where recall is perfect, information states, or the public state where
        private information is left out; None for any other kind."""
        if params:
            raise InvalidValue(f"Observers of {self.game.name} take no parameters; {params} was given.")
        if iig_obs_type is None:
            return SpielObserver(self.game, False)
        kinds, private = pyspiel.PrivateInfoType, iig_obs_type.private_info
        recall, public = iig_obs_type.perfect_recall, private == kinds.NONE
        known = self.game.type.events is not None if recall else not public
        if not (known and iig_obs_type.public_info and private in (kinds.SINGLE_PLAYER, kinds.NONE)):
            return None
        return SpielObserver(self.game, recall, public)


class SpielIllegalAction(IllegalAction, pyspiel.SpielError):  # type: ignore[misc]
    """An action or an outcome that is not legal."""


class SpielState(pyspiel.State):  # type: ignore[misc]
    """A position; `state` is the GameState, with explicit chance."""

    state: GameState

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.state = game.beginning

    def current_player(self) -> int:
        """The seat to act, or OpenSpiel's numbers for chance and the end."""
        if self.state.is_over:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if self.state.is_chance else self.state.seat

    def is_terminal(self) -> bool:
        """Whether the episode has ended."""
        return self.state.is_over

    def _legal_actions(self, player: int) -> list[int]:
        return self.state.legal_actions()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """All outcomes with their probabilities; with sampled chance outcome 0 alone."""
        return self.state.chance_outcomes() if self.get_game().explicit else [(0, 1.0)]

    def _apply_action(self, action: int) -> None:
        if self.state is self.get_game().beginning:
            self.state = self.state.clone()
        if self.state.is_chance and not self.get_game().explicit:
            self.state.draw_chance(int(self.get_game().random.integers(2**63)))
            return
        try:
            self.state.apply(action)
        except ValueError as error:  # what OpenSpiel's own games raise, and RLlib's wrapper expects
            raise SpielIllegalAction(str(error)) from None

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return self.state.game.action_str(action)
        return self.state.outcome_str(action) if self.get_game().explicit else "drawn"

    def returns(self) -> list[float]:
        """What each seat has gained since the beginning."""
        return _balanced(self.state.game, self.state.returns())

    def rewards(self) -> list[float]:
        """What each seat has gained by the latest action."""
        return _balanced(self.state.game, self.state.rewards())

    def resample_from_infostate(self, player_id: int, probability_sampler: Callable[[], float]) -> SpielState:
        """Return a state with all redrawn that the player cannot see, and other chance to come. What was gained before
        does not count in it, and its `history()` is still that of this state."""
        made: SpielState = self.clone()
        key = int(probability_sampler() * 2**32) << 32 | int(probability_sampler() * 2**32)
        made.state = self.state.determinize(player_id, key)
        return made

    def __str__(self) -> str:
        """The whole table as text."""
        return self.state.table_str() or "chance"


def _balanced(game: Game, gained: list[float]) -> list[float]:
    """What the seats gained; where that is nothing in sum, exactly nothing: rewards are 32-bit numbers."""
    if not game.zero_sum or len(gained) == 1:
        return gained
    excess = sum(gained) / len(gained)
    return [one - excess for one in gained]


class SpielObserver:
    """Writes what a seat may know to `tensor` (float32), in the pieces of `dict`: the fields of the observation, and
    for an information state the number of events and the events; for the public state these alone, of public events."""

    def __init__(self, game: Game, recall: bool, public: bool = False) -> None:
        self.recall, self.public = recall, public
        size = 0 if public else game.observation_size
        more = information_state_size(game) - game.observation_size if recall else 0
        self.tensor = np.zeros(size + more, np.float32)
        self.dict = {
            name: self.tensor[place.start : place.stop].reshape(place.shape or 1)
            for name, place in ({} if public else game.observation_fields).items()
        }
        if recall:
            self.dict["events_count"] = self.tensor[size : size + 1]
            self.dict["events"] = self.tensor[size + 1 :].reshape(-1, 3)

    def set_from(self, state: SpielState, player: int) -> None:
        """Write what a seat knows; where chance decides, an observation is all zero."""
        game_state = state.state
        if self.public:
            known = game_state.public_events()
            self.tensor[:] = 0
            self.tensor[: 1 + known.size] = [len(known), *known.ravel()]
            return
        self.tensor[:] = game_state.information_state_tensor(player) if self.recall else game_state.observation(player)

    def string_from(self, state: SpielState, player: int) -> str:
        """Return it in words. Two observations have the same words if and only if they are the same."""
        if self.public:
            return state.state.public_state_string()
        if self.recall:
            return state.state.information_state_string(player)
        shown = hashlib.sha256(state.state.observation(player).tobytes()).hexdigest()[:16]
        return "\n".join([state.state.game.seat_name(player), state.state.table_str(player), f"sees {shown}"])


def spiel_state(game: SpielGame, state: GameState) -> SpielState:
    """Return a GameState with explicit chance as a state of a game that OpenSpiel has loaded."""
    made = game.new_initial_state()
    made.state = state
    return made
