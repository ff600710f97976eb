"""`Game`: what a game gives, and all that the shells, agents and trainers know of it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.envs.core import cards, record
from backalley.envs.core import options as option_rules

CHANCE = -1
"""`state.seat` while the engine has to shuffle a pack and call `deal`."""
OVER = -2
"""`state.seat` after the last action of an episode."""


class Kernels(NamedTuple):
    """A game's rules as compiled functions, in the form that drivers take.

    The engine clears what a kernel fills: `mask`, `out` and, before `step` and `deal`, nothing but `state.reward`
    before each action.
    """

    start: Callable[..., None]
    """`start(options, state, lot)`: begin an episode in a zeroed state; `lot` is uniform in
    `range(num_lots(options))`."""
    deal: Callable[..., None]
    """`deal(options, state, deck)`: chance has shuffled; `deck[0]` is the first card dealt."""
    legal: Callable[..., None]
    """`legal(options, state, mask)`: write 1 for each legal action of `state.seat`."""
    step: Callable[..., None]
    """`step(options, state, action)`: play a legal action; add what each seat gains to `state.reward`."""
    observe: Callable[..., None]
    """`observe(options, state, seat, out)`: what `seat` may know, seats turned so that 0 is that seat."""
    determinize: Callable[..., None]
    """`determinize(options, state, seat, key)`: redraw all that `seat` cannot see, from its knowledge and the key
    alone."""


class Bot(NamedTuple):
    """A rule-based player: a kernel `act(options, observation, mask, key) -> action` that sees an Observation record,
    never a State."""

    name: str
    act: Callable[..., int]
    doc: str
    fast: bool = True
    """Whether it decides fast enough (a few microseconds) for a search to play games out with it by the thousand."""


class FaceUp(NamedTuple):
    """What an exact solver has to know of a game where all is public but the order of the cards not yet dealt. All four
    are kernels."""

    deck: Callable[..., Any]
    """`deck(state)`: the pack in the order of dealing, as an array that may be written to."""
    next_card: Callable[..., int]
    """`next_card(state)`: how many of its cards have been dealt. Rules take cards from there, one after another."""
    kind: Callable[..., int]
    """`kind(card)`: a number below 63, the same for cards that the rules never tell apart."""
    key: Callable[..., int]
    """`key(options, state)`: a non-negative number, the same for two positions only where play goes on alike in
    both."""


def _one_lot(options: Any) -> int:
    return 1


def _never(options: Any) -> bool:
    return False


def _no_check(options: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Game:
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
    table_str: Callable[[Any, Any, int | None], str]
    """`table_str(options, state, seat)`: the table in text as `seat` may see it; None shows everything."""
    piles: Callable[[Any, Any], Mapping[str, Sequence[int]]]
    """`piles(options, state)`: where every card of the pack lies, by place; together they are the pack, each card once.
    With `with_replacement` they are the cards drawn, `cards_needed` of them."""
    deck_size: Callable[[Any], int]
    """How many cards the pack has; they are numbered from 0."""
    reward_range: Callable[[Any], tuple[float, float]]
    zero_sum: Callable[[Any], bool]
    num_lots: Callable[[Any], int] = _one_lot
    cards_needed: Callable[[Any], int] | None = None
    """How many cards of the pack, from the top, a deal can use; the engine shuffles no more than these. None: all of
    them."""
    with_replacement: Callable[[Any], bool] = _never
    """Whether each of those cards is drawn from a whole pack of its own: the deck dealt is then that long, and can
    repeat a card."""
    info: Callable[[Any, Any, int], dict[str, Any]] | None = None
    """`info(options, state, seat)`: what the environments' `info` tells a seat beside the mask when its episode has
    ended."""
    check: Callable[[Any], None] = _no_check
    """Raises OptionError where options contradict each other."""
    card_name: Callable[[int], str] = cards.card_name
    card_number: Callable[[str], int] = cards.card_number
    seat_names: tuple[str, ...] = ()
    face_up: FaceUp | None = None
    """For exact solution, where everything but the order of the stub is public."""
    face_up_split: int = 0
    """How many leading cards of the deal the exact solver fixes, to solve what follows as one problem with a memory of
    its own."""
    max_decisions: Callable[[Any], int] | None = None
    """Decisions after which an episode is truncated; None where the rules end it."""
    sides: Callable[[Any], Sequence[int]] | None = None
    """`sides(options)`: the number of each seat's side; partners have the same. None: every seat is a side of its
    own."""
    outlook: Callable[..., float] | None = None
    """A kernel `outlook(options, state, seat)`, for episodes of several deals: where a new pack is wanted, an estimate
    of the reward that `seat` has yet to get, judged by the points that stand; NaN where the shuffle comes in the middle
    of a hand. A search stops there instead of playing the episode out. None: it plays to the end."""
    speed_floor: int = 3_000_000
    """Decisions a second that one core reaches with 4,096 tables of random play; `benchmarks/speed.py` marks what is
    below."""

    @property
    def id(self) -> str:
        """`name-vN`."""
        return f"{self.name}-v{self.version}"

    @property
    def gymnasium_id(self) -> str:
        """`backalley/CamelCase-vN`."""
        return f"backalley/{''.join(word.capitalize() for word in self.name.split('_'))}-v{self.version}"

    @property
    def folder(self) -> Path:
        """Where the game lives: `game.py`, `bot.py`, `vectors.toml`, `playthroughs/`, `README.md`."""
        return Path(importlib.import_module(self.Options.__module__).__file__ or "").parent

    def options(self, given: Mapping[str, Any] | None = None) -> Any:
        """Options from names and values (strings too); raises OptionError in a sentence."""
        chosen = option_rules.parse(self.name, self.Options, given or {})
        self.check(chosen)
        return option_rules.plain(chosen)

    def state_dtype(self, options: Any) -> np.dtype[Any]:
        """The record type of a state."""
        return _dtype(self.State, options)

    def observation_dtype(self, options: Any) -> np.dtype[Any]:
        """The record type of an observation; all its fields are of one type."""
        return _dtype(self.Observation, options)

    def observation_base(self, options: Any) -> np.dtype[Any]:
        """The type of every number of an observation."""
        kinds = {item.code for item in record.fields(self.Observation)}
        if len(kinds) != 1:
            raise TypeError(
                f"{self.name}: every field of Observation must be of one type, but there are {sorted(kinds)}."
            )
        return np.dtype(kinds.pop())

    def observation_size(self, options: Any) -> int:
        """How many numbers the flat observation has."""
        return self.observation_dtype(options).itemsize // self.observation_base(options).itemsize

    def observation_bounds(self, options: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The least and the greatest value of each number of the flat observation."""
        low, high = record.bounds(self.Observation, options)
        base = self.observation_base(options)
        return low.astype(base), high.astype(base)

    def cards_drawn(self, options: Any) -> int:
        """How many cards chance draws for one deal."""
        return self.deck_size(options) if self.cards_needed is None else self.cards_needed(options)

    def num_seats(self, options: Any) -> int:
        """Seats at the table: the length of `State.reward`, where it is declared."""
        return int(self.state_dtype(options)["reward"].shape[0])

    def sides_of(self, options: Any) -> tuple[int, ...]:
        """The number of each seat's side [N]."""
        return tuple(range(self.num_seats(options))) if self.sides is None else tuple(self.sides(options))

    def seat_name(self, seat: int) -> str:
        """The rules' own name of a seat, or `seat 2`."""
        return self.seat_names[seat] if seat < len(self.seat_names) else f"seat {seat}"

    def action_number(self, options: Any, name: str) -> int:
        """The action of that name. Raises ValueError in a sentence."""
        names = _action_numbers(self, options)
        try:
            return names[name.strip().lower()]
        except KeyError:
            shown = ", ".join(list(names)[:12]) + (" ..." if len(names) > 12 else "")
            raise ValueError(f"{self.name} has no action {name!r}; it has: {shown}.") from None

    @property
    def bots(self) -> dict[str, Bot]:
        """The rule-based players of the game's `bot.py`, weakest first; the last is `bot` without a name."""
        module = importlib.import_module(self.Options.__module__.rpartition(".")[0] + ".bot")
        return {bot.name: bot for bot in module.BOTS}

    @property
    def playout_bot(self) -> Bot:
        """The strongest bot that is fast enough to play games out in a search."""
        return [bot for bot in self.bots.values() if bot.fast][-1]

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        return game, (self.name,)


@functools.lru_cache(maxsize=512)
def _dtype(declared: type, options: Any) -> np.dtype[Any]:
    return record.dtype(declared, options)


@functools.lru_cache(maxsize=64)
def _action_numbers(of: Game, options: Any) -> dict[str, int]:
    return {of.action_str(options, action).lower(): action for action in range(of.num_actions)}


class UnknownGame(ValueError):
    """A name that no game's folder has."""


def games_root() -> Path:
    """The folder that holds the games' folders."""
    return Path(__file__).resolve().parents[1]


def game_names() -> list[str]:
    """The names of all games, found by their folders."""
    return sorted(path.parent.name for path in games_root().glob("*/game.py"))


@functools.cache
def game(name: str) -> Game:
    """The game of that name or id (`poker_duel`, `poker_duel-v0`). Raises UnknownGame in a sentence."""
    plain_name, dash, version = name.removeprefix("backalley/").partition("-v")
    if plain_name not in game_names():
        raise UnknownGame(f"There is no game {name!r}; there are: {', '.join(game_names())}.")
    found: Game = importlib.import_module(f"backalley.envs.{plain_name}.game").GAME
    if dash and version != str(found.version):
        raise UnknownGame(f"{plain_name} is here in version {found.version} ({found.id}), not {version!r}.")
    return found


def games() -> Iterator[Game]:
    """All games, in the order of their names."""
    return (game(name) for name in game_names())
