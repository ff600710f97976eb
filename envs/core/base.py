"""`GameType`: what a game's folder declares. `Game`: a type with its options, all that the others know.

pitch = backalley.game("pitch", joker="low_trump")
pitch.num_seats, pitch.observation_shape
env, batch = pitch.make(), pitch.make_vec(4096)
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import cards, record
from . import options as option_rules
from .parts import Bot, Enumeration, Kernels, Plans
from .symmetry import NUM_SUITS, Suits, Symmetry, renamings, symmetry_of
from .table import Table, text_of

if TYPE_CHECKING:
    from .aec import AECEnv
    from .vector import BatchEnv


_GAMES = __name__.rpartition(".core")[0]


def _one_start_outcome(options: Any) -> int:
    return 1


def _never(options: Any) -> bool:
    return False


def _no_check(options: Any) -> None:
    return None


class Preset(NamedTuple):
    """Options that go together under a name."""

    options: Mapping[str, Any]
    doc: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GameType:
    """A game, as its folder's `game.py` declares it. Functions of `options` take the game's Options tuple.

    `reward_range` bounds a seat's *return* (the sum of its rewards over one episode).
    """

    name: str
    version: int
    title: str
    kernels: Kernels
    Options: type
    State: type
    Observation: type
    num_actions: int
    action_str: Callable[[Any, int], str]
    """`action_str(options, action)`: the action's name; no two actions share one."""
    table: Callable[[Any, Any, int | None], Table]
    """`table(options, state, seat)`: what lies on the table as `seat` may see it; None shows everything. Text and
    pictures are drawn from it."""
    piles: Callable[[Any, Any], Mapping[str, Sequence[int]]]
    """`piles(options, state)`: where every card of the pack lies, by place; together they are the pack, each card once.
    With `with_replacement` they are the cards drawn, `cards_needed` of them."""
    deck_size: Callable[[Any], int]
    """How many cards the pack has; they are numbered from 0."""
    reward_range: Callable[[Any], tuple[float, float]]
    zero_sum: Callable[[Any], bool]
    bots: Sequence[Bot] = ()
    """The rule-based players, weakest first; the last is `bot` without a name."""
    num_start_outcomes: Callable[[Any], int] = _one_start_outcome
    """How many equally likely things chance can decide before the first deal."""
    cards_needed: Callable[[Any], int] | None = None
    """How many cards of the pack, from the top, a deal can use; the engine shuffles no more than these. None: all."""
    with_replacement: Callable[[Any], bool] = _never
    """Whether each of those cards is drawn from a whole pack of its own: the deck dealt is then that long, and can
    repeat a card."""
    info: Callable[[Any, Any, int], dict[str, Any]] | None = None
    """`info(options, state, seat)`: what the environments' `info` tells a seat beside the mask when its episode has
    ended."""
    open_info: Callable[[Any, Any], dict[str, Any]] | None = None
    """`open_info(options, state)`: what the environments' `info` tells everybody at any time. The AEC environment asks
    when an episode begins, after each deal and at the end, so nothing in it may change between two deals; batches do
    not ask before the end."""
    action_told: Callable[[Any, int], str] | None = None
    """`action_told(options, action)`: what other seats are told of an action whose name says more than they may know.
    None: they are told its name."""
    presets: Mapping[str, Preset] = field(default_factory=dict)
    """Named sets of options, given as `preset="name"` wherever options are given; options beside it go before it."""
    check: Callable[[Any], None] = _no_check
    """Raises OptionError where options contradict each other."""
    card_name: Callable[[int], str] = cards.card_name
    card_number: Callable[[str], int] = cards.card_number
    card_kind: Callable[[int], int] | None = None
    """A kernel `card_kind(card)`: a number, the same for cards that neither rules nor observations ever tell apart;
    what is worked out exactly then deals each kind once. None: every card is one of its own."""
    seat_names: tuple[str, ...] = ()
    enumeration: Enumeration | None = None
    """For exact solution, where everything but the order of the stub is public."""
    enumeration_split: int | None = 0
    """How many leading cards of the deal the exact solver fixes, to solve what follows as one problem with a memory of
    its own. None: all deals are too many, and it solves from a position alone."""
    max_decisions: Callable[[Any], int] | None = None
    """Decisions after which an episode is truncated; None where the rules end it."""
    sides: Callable[[Any], Sequence[int]] | None = None
    """`sides(options)`: the number of each seat's side; partners have the same. None: every seat is a side of its
    own."""
    leaf_value: Callable[..., float] | None = None
    """A kernel `leaf_value(options, state, seat)`, for episodes of several deals: where a new pack is wanted, an
    estimate of the reward that `seat` has yet to get, judged by the points that stand; NaN where the shuffle comes in
    the middle of a hand. A search stops there instead of playing the episode out. None: it plays to the end."""
    imagine: Callable[..., None] | None = None
    """A kernel `imagine(options, state, seat, key)`, for searches, after `determinize`: where others have moved cards
    about that `seat` cannot see, do so anew as a sensible player would. It may use nothing that the seat does not know:
    what it is given is redrawn already. None: uniform worlds are likely enough."""
    recall: Callable[..., None] | None = None
    """A kernel `recall(options, past, now, world, seat)`, for searches, where cards may be hidden but not what is done
    with them: make `past`, an earlier state since the last deal, agree with `world`, which is `now` with all that
    `seat` cannot see redrawn. What lay open, and what `seat` knew, stays as it was. Of `past` and `now` it may use only
    where things lie: nothing in the outcome may follow from a card that `seat` cannot see. None: searches draw no
    conclusions from what others have done."""
    shows: Callable[..., bool] | None = None
    """A kernel `shows(options, state, action)` beside `recall`: whether everybody sees that the seat to act has decided
    so; no conclusions are drawn from what they could take for something that happens by itself. None: always."""
    infers: bool = False
    """Whether searches draw them if nothing else is said: where that pays at equal processor time."""
    caution: float = 1.0
    """Standard errors by which an action must lead the best bot's own for a search to prefer it; whole plans have
    `Plans.caution`."""
    plans: Plans | None = None
    """How decisions that belong together are taken in one go, by values that can be learned; None: one by one."""
    suits: Suits | None = None
    """Which suits the rules treat alike, and which actions are cards or suits; None: no renaming of suits is known to
    leave the game as it is."""
    speed_floor: int = 3_000_000
    """Decisions a second that one core reaches with 4,096 tables of random play; `benchmarks/speed.py` marks what is
    below."""
    module: str = ""
    """The module that declares it, found by itself; a game is pickled by this import path."""

    def __post_init__(self) -> None:
        if not self.module:  # __post_init__ < __init__ < the module
            object.__setattr__(self, "module", sys._getframe(2).f_globals["__name__"])

    @property
    def id(self) -> str:
        """`name-vN`."""
        return f"{self.name}-v{self.version}"

    @property
    def spec(self) -> str:
        """What finds it in any process: its name, or the import path of a game from outside this package."""
        if self.module.startswith(f"{_GAMES}."):
            return self.name
        name = self._declared_as()
        return self.name if name is None else self.module if name == "GAME" else f"{self.module}:{name}"

    def _declared_as(self) -> str | None:
        """What its module calls it; None where it is a copy that has no name there."""
        module = vars(importlib.import_module(self.module))
        return next((name for name, value in module.items() if value is self), None)

    @property
    def gymnasium_id(self) -> str:
        """`backalley/CamelCase-vN`."""
        return gymnasium_id(self.name, self.version)

    @property
    def folder(self) -> Path:
        """Where the game lives: the folder of the module that declares it."""
        return Path(importlib.import_module(self.module).__file__ or "").parent

    def bind(self, given: Mapping[str, Any] | None = None, /, **options: Any) -> Game:
        """The game under options, by names and values (strings too), the rest at their defaults.

        Raises OptionError, which is a ValueError and a TypeError, in a sentence.
        """
        chosen = option_rules.parse(self.name, self.Options, self.without_preset({**(given or {}), **options}))
        self.check(chosen)
        return Game(self, option_rules.plain(chosen))

    def without_preset(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those of the `preset` they name in its place. Raises OptionError where there is no such
        preset."""
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
            raise TypeError(
                f"{self!r} cannot be pickled: its module has no name for it. A game is pickled by the import path of "
                "its declaration, GAME in game.py."
            )
        return declared_game, (self.module, name)


def declared_game(module: str, name: str = "GAME") -> GameType:
    """The declaration of that name in a module. Raises TypeError where it is none."""
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, GameType):
        raise TypeError(f"{module} declares no game: it has no GameType named {name}.")
    return found


def gymnasium_id(name: str, version: int) -> str:
    """`backalley/CamelCase-vN` of a game's name."""
    return f"backalley/{''.join(word.capitalize() for word in name.split('_'))}-v{version}"


@dataclass(frozen=True, repr=False)
class Game:
    """A game type with its options: what `backalley.game(name, **options)` gives, and everything else takes.

    Two are equal, and hash alike, when type and options are, however the options were spelt. `options` is the game's
    Options tuple as kernels receive it. Compiled code belongs to the type: options are an argument to it.
    """

    type: GameType
    options: Any

    # What the type says whatever the options -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """`poker_duel`."""
        return self.type.name

    @property
    def version(self) -> int:
        """Goes up when a change of rules alters what is played."""
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
        """What finds its type in any process: its name, or the import path of a game from outside this package."""
        return self.type.spec

    @property
    def kernels(self) -> Kernels:
        """The rules."""
        return self.type.kernels

    @property
    def num_actions(self) -> int:
        """Actions, the same number under all options."""
        return self.type.num_actions

    @property
    def bots(self) -> dict[str, Bot]:
        """The rule-based players by name, weakest first; the last is `bot` without a name."""
        return {bot.name: bot for bot in self.type.bots}

    @property
    def playout_bot(self) -> Bot | None:
        """The strongest bot that is fast enough to play games out in a search; None where the game brings none."""
        return next((bot for bot in reversed(self.type.bots) if bot.fast), None)

    @property
    def advice_bot(self) -> Bot | None:
        """The strongest bot that learning can correct: a fast one, or one that plays as that one does but where it
        solves the game. None where the game brings none."""
        return next((bot for bot in reversed(self.type.bots) if bot.fast or bot.solves), None)

    def seat_name(self, seat: int) -> str:
        """The rules' own name of a seat, or `seat 2`."""
        names = self.type.seat_names
        return names[seat] if seat < len(names) else f"seat {seat}"

    def card_name(self, card: int) -> str:
        """A card's name, such as `QS`."""
        return self.type.card_name(card)

    def card_number(self, name: str) -> int:
        """The number of a card's name. Raises ValueError in a sentence."""
        return self.type.card_number(name)

    # What follows from the options ---------------------------------------------------------------------------------

    def bind(self, given: Mapping[str, Any] | None = None, /, **options: Any) -> Game:
        """The same game with some options changed."""
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
        """Observations as vectors [n, O], or one [O], as records with named fields [n], in the same memory. Raises
        ValueError where numbers of a vector do not lie side by side."""
        return observation.view(self.observation_dtype).reshape(-1)

    @functools.cached_property
    def observation_base(self) -> np.dtype[Any]:
        """The type of every number of an observation. Raises TypeError where a game declares several."""
        kinds = {item.code for item in record.fields(self.type.Observation)}
        if len(kinds) != 1:
            raise TypeError(
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
    def observation_fields(self) -> dict[str, record.Place]:
        """The named parts of a flat observation, in order: where each lies, its shape, bounds and meaning."""
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
        """How many equally likely things chance can decide before the first deal."""
        return self.type.num_start_outcomes(self.options)

    @functools.cached_property
    def deck_size(self) -> int:
        """How many cards the pack has."""
        return self.type.deck_size(self.options)

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

    @functools.cached_property
    def symmetries(self) -> list[Symmetry]:
        """The renamings of suits that the rules do not notice, the one that changes nothing first."""
        suits = self.type.suits
        named = range(NUM_SUITS) if suits is None else suits.named(self.options)
        return [symmetry_of(new, self) for new in renamings(named)]

    # Words ---------------------------------------------------------------------------------------------------------

    def action_str(self, action: int) -> str:
        """An action's name."""
        return self.type.action_str(self.options, action)

    def action_number(self, name: str) -> int:
        """The action of that name. Raises ValueError in a sentence."""
        try:
            return self._action_numbers[name.strip().lower()]
        except KeyError:
            names = list(self._action_numbers)
            shown = ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
            raise ValueError(f"{self.name} has no action {name!r}; it has: {shown}.") from None

    @functools.cached_property
    def _action_numbers(self) -> dict[str, int]:
        return {self.action_str(action).lower(): action for action in range(self.num_actions)}

    def action_told(self, action: int) -> str:
        """What other seats are told of an action."""
        told = self.type.action_told
        return self.action_str(action) if told is None else told(self.options, action)

    def table(self, state: Any, seat: int | None) -> Table:
        """What lies on the table as `seat` may see it; None shows everything."""
        return self.type.table(self.options, state, seat)

    def table_str(self, state: Any, seat: int | None) -> str:
        """That in text."""
        return text_of(self.table(state, seat))

    def piles(self, state: Any) -> Mapping[str, Sequence[int]]:
        """Where every card of the pack lies, by place."""
        return self.type.piles(self.options, state)

    def info(self, state: Any, seat: int) -> dict[str, Any]:
        """What a seat is told beside the mask when its episode has ended."""
        return {} if self.type.info is None else self.type.info(self.options, state, seat)

    def open_info(self, state: Any) -> dict[str, Any]:
        """What everybody is told beside the mask at any time."""
        return {} if self.type.open_info is None else self.type.open_info(self.options, state)

    # Environments --------------------------------------------------------------------------------------------------

    def make(self, **settings: Any) -> AECEnv:
        """A PettingZoo AEC environment; `settings` are those of `AECEnv`."""
        from .aec import AECEnv

        return AECEnv(self, **settings)

    def make_vec(self, num_envs: int, **settings: Any) -> BatchEnv:
        """`num_envs` tables in one object; `settings` are those of `BatchEnv`."""
        from .vector import BatchEnv

        return BatchEnv(self, num_envs, **settings)

    def __repr__(self) -> str:
        given = "".join(f", {option}={value!r}" for option, value in self.changed_options.items())
        return f"backalley.game({self.spec!r}{given})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Game, (self.type, self.options)
