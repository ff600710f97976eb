"""`GameType`: what a game's folder declares. `Game`: a type with its options, which is all that the other rooms use.

pitch = backalley.game("pitch", joker="low_trump")
pitch.num_seats, pitch.observation_shape
env, batch = pitch.make(), pitch.make_vec(4096)
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from backalley.console.errors import InvalidType, InvalidValue

from ..compile.interfaces import Bot, Kernels
from ..rules import options as option_rules
from ..rules import record
from ..rules.table import Table, text_of
from .declaration import Declaration, OptionsT
from .entries import gymnasium_id

if TYPE_CHECKING:
    from ..api.aec import AECEnv
    from ..api.game_state import GameState
    from ..api.vector import BatchEnv
    from ..rules.symmetry import Symmetry

_GAMES = __name__.rpartition(".core")[0]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GameType(Declaration[OptionsT]):
    """A game, as its folder's `game.py` declares it (see `Declaration` for the fields)."""

    @property
    def id(self) -> str:
        """`name-vN`."""
        return f"{self.name}-v{self.version}"

    @property
    def spec(self) -> str:
        """The name that finds it in any process: its name, or the import path of a game from outside this package."""
        if self.module.startswith(f"{_GAMES}."):
            return self.name
        name = self._declared_as()
        return self.name if name is None else self.module if name == "GAME" else f"{self.module}:{name}"

    def _declared_as(self) -> str | None:
        """Its name in its module; None for a copy that has no name there."""
        module = vars(importlib.import_module(self.module))
        return next((name for name, value in module.items() if value is self), None)

    @property
    def gymnasium_id(self) -> str:
        """`backalley/CamelCase-vN`."""
        return gymnasium_id(self.name, self.version)

    @property
    def folder(self) -> Path:
        """The game's folder, with the module that declares it."""
        return Path(importlib.import_module(self.module).__file__ or "").parent

    def reworded(self, text: str) -> str:
        """Return a text about the game in the words that this type uses; a variant has others than its page."""
        return text

    def reworded_case(self, case: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a rule vector in these words."""
        return case

    def bind(self, given: Mapping[str, Any] | None = None, /, **options: Any) -> Game[OptionsT]:
        """Return the game under options, by names and values (strings too), the rest at their defaults.

        Raises OptionError, which is a ValueError and a TypeError.
        """
        chosen = option_rules.parse(self.name, self.Options, self.without_preset({**(given or {}), **options}))
        self.check(chosen)
        return Game(self, option_rules.plain(chosen))

    def without_preset(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with those of their `preset` in place of it. Raises OptionError for an unknown preset."""
        rest = {name: value for name, value in given.items() if name != "preset" or not self.presets}
        if len(rest) == len(given):
            return rest
        chosen = given["preset"]
        if not isinstance(chosen, str) or chosen not in self.presets:
            named = " | ".join(f'"{name}"' for name in self.presets)
            raise option_rules.OptionError(f"{self.name} option preset is {chosen!r}; it takes {named}.")
        return {**self.presets[chosen].options, **rest}

    def __repr__(self) -> str:
        return f"<GameType {self.id} of {self.module}>"

    def __reduce__(self) -> tuple[Any, ...]:
        name = self._declared_as()
        if name is None:
            raise InvalidType(
                f"{self!r} cannot be pickled: its module has no name for it. A game is pickled by the import path of "
                "its declaration, GAME in game.py."
            )
        return declared_game, (self.module, name)


def declared_game(module: str, name: str = "GAME") -> GameType:
    """Return the declaration of that name in a module. Raises TypeError if it is not a game."""
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, GameType):
        raise InvalidType(f"{module} declares no game: it has no GameType named {name}.")
    return found


@dataclass(frozen=True, repr=False)
class Game(Generic[OptionsT]):
    """A game type with its options: the result of `backalley.game(name, **options)`, and the argument of everything
    else.

    Two are equal, with equal hashes, when type and options are, however the options were written. `options` is the
    game's Options tuple in the form for kernels: choices are plain ints, equal to the members of their enums. Compiled
    code belongs to the type: options are an argument to it.
    """

    type: GameType[OptionsT]
    options: OptionsT

    # What the type says whatever the options -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """`poker_duel`."""
        return self.type.name

    @property
    def version(self) -> int:
        """Increases when a change of rules alters what is played."""
        return self.type.version

    @property
    def title(self) -> str:
        """`Poker Duel`."""
        return self.type.title

    @property
    def id(self) -> str:
        """`poker_duel-v0`."""
        return self.type.id

    @property
    def spec(self) -> str:
        """The name that finds its type in any process: its name, or the import path of a game from outside this
        package."""
        return self.type.spec

    @property
    def kernels(self) -> Kernels:
        """The rules."""
        return self.type.kernels

    @property
    def num_actions(self) -> int:
        """The number of actions, the same under all options."""
        return self.type.num_actions

    @property
    def bots(self) -> dict[str, Bot]:
        """The rule-based players by name, weakest first; the last is `bot` without a name."""
        return {bot.name: bot for bot in self.type.bots}

    @property
    def rollout_bot(self) -> Bot | None:
        """The strongest bot that is fast enough for rollouts; None where the game has no bots."""
        return next((bot for bot in reversed(self.type.bots) if bot.fast), None)

    @property
    def reference_bot(self) -> Bot | None:
        """The strongest bot that can play rollouts, whose play learning improves. None where the game has none."""
        return next((bot for bot in reversed(self.type.bots) if bot.plays_rollouts), None)

    def seat_name(self, seat: int) -> str:
        """Return the rules' own name of a seat, or `seat 2`."""
        names = self.type.seat_names
        return names[seat] if seat < len(names) else f"seat {seat}"

    def card_name(self, card: int) -> str:
        """Return a card's name, such as `QS`."""
        return self.type.card_name(card)

    def card_number(self, name: str) -> int:
        """Return the number of a card by its name. Raises ValueError."""
        return self.type.card_number(name)

    # What follows from the options ---------------------------------------------------------------------------------

    def bind(self, given: Mapping[str, Any] | None = None, /, **options: Any) -> Game[OptionsT]:
        """Return the same game with some options changed."""
        return self.type.bind({**self.changed_options, **self.type.without_preset({**(given or {}), **options})})

    @functools.cached_property
    def option_values(self) -> dict[str, Any]:
        """All options by name, choices by their lower-case names, as JSON can hold them."""
        return option_rules.as_dict(self.options)

    @functools.cached_property
    def changed_options(self) -> dict[str, Any]:
        """Those of `option_values` that differ from their defaults."""
        return option_rules.changed(self.options)

    @property
    def option_words(self) -> list[str]:
        """The same as the command line takes them: `--option`, `joker=low_trump`, and so on."""
        changed = self.changed_options.items()
        return [word for name, value in changed for word in ("--option", f"{name}={option_rules.typed(value)}")]

    @functools.cached_property
    def state_dtype(self) -> np.dtype[Any]:
        """The record type of a state."""
        return record.dtype(self.type.State, self.options)

    @functools.cached_property
    def observation_dtype(self) -> np.dtype[Any]:
        """The record type of an observation; all its fields are of one type."""
        return record.dtype(self.type.Observation, self.options)

    def records(self, observation: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return observations as vectors [n, O], or one [O], as records with named fields [n], in the same memory.
        Raises ValueError where a vector's numbers are not contiguous."""
        return observation.view(self.observation_dtype).reshape(-1)

    @functools.cached_property
    def observation_base(self) -> np.dtype[Any]:
        """The type of every number of an observation. Raises TypeError where a game declares several."""
        kinds = {item.code for item in record.fields(self.type.Observation)}
        if len(kinds) != 1:
            raise InvalidType(
                f"{self.name}: every field of Observation must be of one type, but there are {sorted(kinds)}."
            )
        return np.dtype(kinds.pop())

    @property
    def observation_size(self) -> int:
        """How many numbers the flat observation has."""
        return self.observation_dtype.itemsize // self.observation_base.itemsize

    @property
    def observation_shape(self) -> tuple[int]:
        """The shape of a flat observation."""
        return (self.observation_size,)

    @functools.cached_property
    def most_events(self) -> int:
        """The most events that one action and the deals up to the next decision write (`Events.most`); 0 where none are
        declared."""
        return 0 if self.type.events is None else int(self.type.events.most(self.options))

    @functools.cached_property
    def observation_fields(self) -> dict[str, record.Place]:
        """The named parts of a flat observation, in order: place, shape, bounds and meaning."""
        return record.places(self.type.Observation, self.options)

    @functools.cached_property
    def observation_bounds(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The least and the greatest value of each number of the flat observation [O]."""
        low, high = (
            bound.astype(self.observation_base) for bound in record.bounds(self.type.Observation, self.options)
        )
        low.flags.writeable = high.flags.writeable = False
        return low, high

    @functools.cached_property
    def num_seats(self) -> int:
        """Seats at the table: the length of `State.reward`, where it is declared."""
        return int(self.state_dtype["reward"].shape[0])

    @functools.cached_property
    def sides(self) -> tuple[int, ...]:
        """The number of each seat's side [N]: partners have the same."""
        declared = self.type.sides
        return tuple(range(self.num_seats)) if declared is None else tuple(declared(self.options))

    @property
    def num_sides(self) -> int:
        """How many sides play: seats, or partnerships."""
        return len(set(self.sides))

    @functools.cached_property
    def num_start_outcomes(self) -> int:
        """The number of equally likely start outcomes before the first deal."""
        return self.type.num_start_outcomes(self.options)

    @functools.cached_property
    def deck_size(self) -> int:
        """How many cards the pack has."""
        return self.type.deck_size(self.options)

    @functools.cached_property
    def pack(self) -> Sequence[int]:
        """The cards of the pack in order. A deck, as `deal` takes it, holds their places in it."""
        return range(self.deck_size) if self.type.pack is None else tuple(self.type.pack(self.options))

    @functools.cached_property
    def card_kinds(self) -> list[int] | None:
        """The kind of each card of `pack`; None where every card is its own."""
        kind = self.type.card_kind
        return None if kind is None else [int(kind(card)) for card in self.pack]

    @functools.cached_property
    def cards_drawn(self) -> int:
        """How many cards chance draws for one deal."""
        return self.deck_size if self.type.cards_needed is None else self.type.cards_needed(self.options)

    @functools.cached_property
    def with_replacement(self) -> bool:
        """Whether each of these is drawn from a whole pack of its own."""
        return self.type.with_replacement(self.options)

    @functools.cached_property
    def reward_range(self) -> tuple[float, float]:
        """Bounds of a seat's return."""
        return self.type.reward_range(self.options)

    @functools.cached_property
    def zero_sum(self) -> bool:
        """Whether the seats' returns sum to 0."""
        return self.type.zero_sum(self.options)

    @functools.cached_property
    def max_decisions(self) -> int | None:
        """Decisions after which an episode is truncated; None where the rules end it."""
        return None if self.type.max_decisions is None else self.type.max_decisions(self.options)

    @property
    def decision_limit(self) -> int:
        """The same as kernels take it: a number that no episode reaches where there is none."""
        return 2**31 - 1 if self.max_decisions is None else self.max_decisions

    @functools.cached_property
    def symmetries(self) -> list[Symmetry]:
        """The suit permutations that the rules do not notice, the identity first."""
        from ..rules.symmetry import NUM_SUITS, suit_permutations

        suits = self.type.suits
        named = range(NUM_SUITS) if suits is None else suits.named(self.options)
        return [self.symmetry_of(new) for new in suit_permutations(named)]

    def symmetry_of(self, new: Sequence[int]) -> Symmetry:
        """Return the permutation of every suit s to `new[s]`, whether or not the rules notice it."""
        from ..rules.symmetry import symmetry_of

        runs = () if self.type.suits is None else self.type.suits.actions
        places = self.observation_fields.values()
        return symmetry_of(new, self.deck_size, places, self.num_actions, runs)

    # Words ---------------------------------------------------------------------------------------------------------

    def action_str(self, action: int) -> str:
        """An action's name."""
        return self.type.action_str(self.options, action)

    def action_number(self, name: str) -> int:
        """Return the action of that name. Raises ValueError."""
        try:
            return self._action_numbers[name.strip().lower()]
        except KeyError:
            names = list(self._action_numbers)
            shown = ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
            raise InvalidValue(f"{self.name} has no action {name!r}; it has: {shown}.") from None

    @functools.cached_property
    def _action_numbers(self) -> dict[str, int]:
        return {self.action_str(action).lower(): action for action in range(self.num_actions)}

    def action_told(self, action: int) -> str:
        """Return the words that other seats see for an action."""
        words = self.type.action_told
        return self.action_str(action) if words is None else words(self.options, action)

    def table(self, state: Any, seat: int | None) -> Table:
        """Return the table as `seat` may see it; None shows everything."""
        return self.type.table(self.options, state, seat)

    def table_str(self, state: Any, seat: int | None) -> str:
        """That in text."""
        return text_of(self.table(state, seat))

    def piles(self, state: Any) -> Mapping[str, Sequence[int]]:
        """Return the place of every card of the pack."""
        return self.type.piles(self.options, state)

    def info(self, state: Any, seat: int) -> dict[str, Any]:
        """Return the additional entries of a seat's `info` when its episode has ended."""
        return {} if self.type.info is None else self.type.info(self.options, state, seat)

    def open_info(self, state: Any) -> dict[str, Any]:
        """Return the additional entries of everybody's `info`."""
        return {} if self.type.open_info is None else self.type.open_info(self.options, state)

    # Environments --------------------------------------------------------------------------------------------------

    def make(self, **settings: Any) -> AECEnv:
        """Return a PettingZoo AEC environment; `settings` are those of `AECEnv`."""
        from ..api.aec import AECEnv

        return AECEnv(self, **settings)

    def make_vec(self, num_envs: int, *, device: str = "cpu", **settings: Any) -> BatchEnv:
        """Return `num_envs` tables in one object; `settings` are those of `BatchEnv`. With `device="cuda"` it is a
        `CudaBatch` on a GPU, which has fewer methods and was never run on a device. Raises ValueError, and what these
        two do."""
        if device == "cuda":
            from ..cuda.device_batch import CudaBatch

            return CudaBatch(self, num_envs, **settings)  # type: ignore[return-value]
        if device != "cpu":
            raise InvalidValue(f"device is {device!r}; it takes 'cpu' or 'cuda'.")
        from ..api.vector import BatchEnv

        return BatchEnv(self, num_envs, **settings)

    def new_state(self, seed: int | None = None, explicit_chance: bool = False, *, events: bool = False) -> GameState:
        """Return the beginning of an episode as one position, for tree walks. With a seed it is the AEC environment's
        after `reset(seed)`; None draws one. With `explicit_chance` the state stops where chance decides, the first deal
        included, and takes no seed. With `events` it keeps the history of the episode. Raises TypeError or ValueError,
        and RuntimeError for the history of a game that declares no events."""
        from ..api.game_state import new_state

        return new_state(self, seed, explicit_chance, events)

    def __repr__(self) -> str:
        given = "".join(f", {option}={value!r}" for option, value in self.changed_options.items())
        return f"backalley.game({self.spec!r}{given})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Game, (self.type, self.options)
