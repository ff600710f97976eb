"""What `backalley.make`, `make_vec` and `game` take by a game's name, for type checkers and editors.

Written by `backalley dev types` from the game's Options and the functions of `registry`; not edited by hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

from . import baccarat_v0 as baccarat_v0
from . import backhand_v0 as backhand_v0
from . import bezique_v0 as bezique_v0
from . import buffalo_bayou_v0 as buffalo_bayou_v0
from . import killer_bridge_v0 as killer_bridge_v0
from . import missouri_city_v0 as missouri_city_v0
from . import pitch_v0 as pitch_v0
from . import poker_duel_v0 as poker_duel_v0
from . import twenty_one_v0 as twenty_one_v0
from .envs.baccarat.state import Options as _baccarat
from .envs.backhand.state import Options as _backhand
from .envs.bezique.state import Options as _bezique
from .envs.buffalo_bayou.state import Options as _buffalo_bayou
from .envs.core.api.aec import AECEnv
from .envs.core.api.vector import BatchEnv
from .envs.core.game.game import Game, GameType
from .envs.killer_bridge.state import Options as _killer_bridge
from .envs.missouri_city.state import Options as _missouri_city
from .envs.pitch.state import Options as _pitch
from .envs.poker_duel.state import Options as _poker_duel
from .envs.twenty_one.state import Options as _twenty_one

__all__ = [
    "baccarat_v0",
    "backhand_v0",
    "bezique_v0",
    "buffalo_bayou_v0",
    "game",
    "killer_bridge_v0",
    "make",
    "make_vec",
    "missouri_city_v0",
    "pitch_v0",
    "poker_duel_v0",
    "twenty_one_v0",
]

_OptionsT = TypeVar("_OptionsT")

class NoSuchOptionOrValue:
    """What no value is: a game of that name has no such option, or the option does not take that value.

    Of a game that only `register_game` knows by its name a checker knows no options: pass what `register_game` gives in
    place of the name, or the options as `**options` from a `dict[str, Any]`.
    """

@overload
def make(
    id: Literal["baccarat", "baccarat-v0", "backalley/baccarat-v0", "backalley/Baccarat-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[baccarat_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["backhand", "backhand-v0", "backalley/backhand-v0", "backalley/Backhand-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[backhand_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["bezique", "bezique-v0", "backalley/bezique-v0", "backalley/Bezique-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[bezique_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["buffalo_bayou", "buffalo_bayou-v0", "backalley/buffalo_bayou-v0", "backalley/BuffaloBayou-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[buffalo_bayou_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["killer_bridge", "killer_bridge-v0", "backalley/killer_bridge-v0", "backalley/KillerBridge-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[killer_bridge_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["missouri_city", "missouri_city-v0", "backalley/missouri_city-v0", "backalley/MissouriCity-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[missouri_city_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["pitch", "pitch-v0", "backalley/pitch-v0", "backalley/Pitch-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[pitch_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["poker_duel", "poker_duel-v0", "backalley/poker_duel-v0", "backalley/PokerDuel-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[poker_duel_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: Literal["twenty_one", "twenty_one-v0", "backalley/twenty_one-v0", "backalley/TwentyOne-v0"],
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Unpack[twenty_one_v0.GivenOptions],
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: GameType | Game,
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: Any,
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make(
    id: str,
    *,
    render_mode: str | None = None,
    render_seat: int | None = None,
    on_illegal: str = "raise",
    observation: str = "dict",
    events: bool = False,
    **options: NoSuchOptionOrValue,
) -> AECEnv:
    """Return a PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`."""

@overload
def make_vec(
    id: Literal["baccarat", "baccarat-v0", "backalley/baccarat-v0", "backalley/Baccarat-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[baccarat_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["backhand", "backhand-v0", "backalley/backhand-v0", "backalley/Backhand-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[backhand_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["bezique", "bezique-v0", "backalley/bezique-v0", "backalley/Bezique-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[bezique_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["buffalo_bayou", "buffalo_bayou-v0", "backalley/buffalo_bayou-v0", "backalley/BuffaloBayou-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[buffalo_bayou_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["killer_bridge", "killer_bridge-v0", "backalley/killer_bridge-v0", "backalley/KillerBridge-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[killer_bridge_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["missouri_city", "missouri_city-v0", "backalley/missouri_city-v0", "backalley/MissouriCity-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[missouri_city_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["pitch", "pitch-v0", "backalley/pitch-v0", "backalley/Pitch-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[pitch_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["poker_duel", "poker_duel-v0", "backalley/poker_duel-v0", "backalley/PokerDuel-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[poker_duel_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: Literal["twenty_one", "twenty_one-v0", "backalley/twenty_one-v0", "backalley/TwentyOne-v0"],
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: Unpack[twenty_one_v0.GivenOptions],
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def make_vec(
    id: GameType | Game,
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
    num_threads=2)`."""

@overload
def make_vec(
    id: str,
    num_envs: int = 1,
    *,
    seed: int | Sequence[int | None] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    delayed_rewards: bool = False,
    events: bool = False,
    buffers: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **options: NoSuchOptionOrValue,
) -> BatchEnv:
    """Return `num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0,
    num_threads=2)`."""

@overload
def game(
    name: Literal["baccarat", "baccarat-v0", "backalley/baccarat-v0", "backalley/Baccarat-v0"],
    /,
    **options: Unpack[baccarat_v0.GivenOptions],
) -> Game[_baccarat]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["backhand", "backhand-v0", "backalley/backhand-v0", "backalley/Backhand-v0"],
    /,
    **options: Unpack[backhand_v0.GivenOptions],
) -> Game[_backhand]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["bezique", "bezique-v0", "backalley/bezique-v0", "backalley/Bezique-v0"],
    /,
    **options: Unpack[bezique_v0.GivenOptions],
) -> Game[_bezique]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["buffalo_bayou", "buffalo_bayou-v0", "backalley/buffalo_bayou-v0", "backalley/BuffaloBayou-v0"],
    /,
    **options: Unpack[buffalo_bayou_v0.GivenOptions],
) -> Game[_buffalo_bayou]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["killer_bridge", "killer_bridge-v0", "backalley/killer_bridge-v0", "backalley/KillerBridge-v0"],
    /,
    **options: Unpack[killer_bridge_v0.GivenOptions],
) -> Game[_killer_bridge]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["missouri_city", "missouri_city-v0", "backalley/missouri_city-v0", "backalley/MissouriCity-v0"],
    /,
    **options: Unpack[missouri_city_v0.GivenOptions],
) -> Game[_missouri_city]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["pitch", "pitch-v0", "backalley/pitch-v0", "backalley/Pitch-v0"],
    /,
    **options: Unpack[pitch_v0.GivenOptions],
) -> Game[_pitch]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["poker_duel", "poker_duel-v0", "backalley/poker_duel-v0", "backalley/PokerDuel-v0"],
    /,
    **options: Unpack[poker_duel_v0.GivenOptions],
) -> Game[_poker_duel]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: Literal["twenty_one", "twenty_one-v0", "backalley/twenty_one-v0", "backalley/TwentyOne-v0"],
    /,
    **options: Unpack[twenty_one_v0.GivenOptions],
) -> Game[_twenty_one]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: GameType[_OptionsT] | Game[_OptionsT],
    /,
    **options: Any,
) -> Game[_OptionsT]:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""

@overload
def game(
    name: str,
    /,
    **options: NoSuchOptionOrValue,
) -> Game:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""
