"""`make`, `make_vec`, and the entries in PettingZoo's and Gymnasium's registries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ..game import catalogue
from ..game.catalogue import game
from ..game.entries import Entry, enter_gymnasium, enter_pettingzoo, own_entries
from ..game.game import Game, GameType
from ..rules.options import as_keywords
from .vector import BatchEnv

if TYPE_CHECKING:
    from .aec import AECEnv

_Makes = TypeVar("_Makes", bound="Callable[..., AECEnv]")


class EnvSettings(TypedDict, total=False):
    """What `make` takes beside a game's options, for the typed modules of games. What they do: see `AECEnv`."""

    render_mode: str | None
    render_seat: int | None
    on_illegal: str
    observation: str
    events: bool


def make(
    id: str | Game | GameType,
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Any,
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`.

    `id` is a game's name with or without its version, or the game itself; every other keyword is an option of the game.
    For `render_mode`, `render_seat`, `on_illegal`, `observation` and `events` see `AECEnv`. Raises UnknownGame,
    OptionError or ValueError.

    >>> env = make("missouri_city", stalemate="draw", render_mode="ansi")
    >>> env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.last()
    >>> observation["observation"].shape, observation["action_mask"].tolist()
    ((72,), [1, 1, 0, 0])
    """
    from .aec import AECEnv  # with PettingZoo and all that draws a table

    with as_keywords():
        found = game(id, **options)
    shown: dict[str, Any] = {"render_mode": render_mode, "render_seat": render_seat, "observation": observation}
    return AECEnv(found, on_illegal=on_illegal, events=events, **shown)


def make_vec(
    id: str | Game | GameType,
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Any,
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`.

    `num_threads=0` takes one thread per core; the maximum is 1,024. The results do not depend on it. For
    `autoreset`, `delayed_rewards`, `events` and `buffers` see `BatchEnv`, for `device` see `Game.make_vec`. Raises
    UnknownGame, OptionError, TypeError or ValueError.

    >>> batch = make_vec("missouri_city", num_envs=4096, seed=0)
    >>> step = batch.reset()
    >>> step = batch.step(step.action_mask.argmax(axis=1))
    >>> step.observation.shape, step.reward.shape
    ((4096, 72), (4096, 2))
    """
    found = game(id, **options)
    settings: dict[str, Any] = {"autoreset": autoreset, "delayed_rewards": delayed_rewards, "events": events}
    return found.make_vec(num_envs, device=device, seed=seed, num_threads=num_threads, buffers=buffers, **settings)


def with_options_of(declared: GameType) -> Callable[[_Makes], _Makes]:
    """Decorates a function that takes what `make` does for one game: its signature then names all of it with the
    defaults, for `help` and for notebooks, which complete what the signature names."""

    preset = {"preset": None} if declared.presets else {}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in {**preset, **declared.bind().option_values}.items()
    ]

    def named(function: _Makes) -> _Makes:
        settings = [each for name, each in inspect.signature(make).parameters.items() if name not in ("id", "options")]
        both = inspect.signature(function).replace(parameters=[*settings, *options])
        function.__signature__ = both  # type: ignore[attr-defined]
        return function

    return named


def register_game(declared: GameType | str) -> GameType:
    """Register a game from outside this package by its name, in PettingZoo's and Gymnasium's registries too; return its
    type.

    `declared` is its GameType or the import path of the module with its GAME (`my_games.war.game`). Its environments
    can also be made without this, by its GameType. A module that was edited and imported again replaces its earlier
    declaration. Raises ValueError for a name that another game has, TypeError or UnknownGame for what is not a game.
    """
    found = catalogue.register_game(declared)
    register_pettingzoo(packages=False)
    register_gymnasium(packages=False)
    return found


def _known(packages: bool) -> Iterator[Entry]:
    """The entry of every game; this package's own are not loaded for it."""
    yield from own_entries()
    yield from ((found.name, found.version, found.spec) for found in catalogue.registered_games(packages))


def register_pettingzoo(packages: bool = True) -> None:
    """Enter every game into PettingZoo's own registry (`pettingzoo.make("aec", "backalley/poker_duel-v0")`); older
    versions have none. With `packages` those of other installed packages, too, which it loads: that is left to
    callers."""
    enter_pettingzoo(_known(packages))


def register_gymnasium(packages: bool = True) -> None:
    """Enter every game into Gymnasium's registry: one seat is yours, the others are agents. `packages`: see
    `register_pettingzoo`."""
    enter_gymnasium(_known(packages))
