"""Back Alley: card games for reinforcement learning.

>>> import backalley
>>> env = backalley.make("poker_duel-v0")                          # PettingZoo AEC
>>> batch = backalley.make_vec("poker_duel-v0", num_envs=4096)     # thousands of tables in one call
>>> report = backalley.evaluate("missouri_city", ["bot", "random"])
>>> result = backalley.train("pitch", seconds=300)  # doctest: +SKIP
>>> pitch = backalley.game("pitch", joker="low_trump")             # a game under options; the calls above take it, too
"""

from __future__ import annotations

import backalley.console.start as _start  # noqa: F401  # before all that takes long, or much memory

# isort: split
import importlib as _importlib
import warnings as _warnings
from pathlib import Path as _Path
from typing import TYPE_CHECKING
from typing import Any as _Any

__version__ = "1.0.0"

if not (_Path(__file__).parent / "envs").is_dir():
    # A checkout on a system without symbolic links: the four folders lie at the repository's root.
    __path__.append(str(_Path(__file__).resolve().parents[2]))

from backalley.console.importing import when_imported as _when_imported
from backalley.envs.core.game.entries import enter_gymnasium as _enter_gymnasium
from backalley.envs.core.game.entries import enter_pettingzoo as _enter_pettingzoo
from backalley.envs.core.game.entries import own_entries as _own_entries

if TYPE_CHECKING:
    from backalley._by_name import *  # noqa: F403  # the modules of the games: poker_duel_v0
    from backalley._by_name import game, make, make_vec
    from backalley.agents.analysis import analyse
    from backalley.agents.base.recall import Recall
    from backalley.agents.people.replays import replay
    from backalley.agents.policies.learned import load_policy
    from backalley.agents.policies.policy_kinds import register_policy
    from backalley.agents.registry import agent, register_agent
    from backalley.benchmarks.analyse.analysis import analyse_game
    from backalley.benchmarks.analyse.review import review
    from backalley.benchmarks.analyse.sweep import sweep
    from backalley.benchmarks.exact.tree import Tree, tree
    from backalley.benchmarks.matches.evaluate import evaluate
    from backalley.benchmarks.matches.tournament import tournament
    from backalley.benchmarks.variants.variants import held_out, variants
    from backalley.console.errors import BackAlleyError
    from backalley.envs.core.api.game_state import GameState
    from backalley.envs.core.api.histories import ShownEvents, event_str, events_str, state_fields
    from backalley.envs.core.api.registry import register_game, register_gymnasium, register_pettingzoo
    from backalley.envs.core.api.row_copies import Saved
    from backalley.envs.core.api.states import States
    from backalley.envs.core.api.tables import IllegalAction, Played, TimeStep
    from backalley.envs.core.api.vector import BatchEnv
    from backalley.envs.core.api.walker import Nodes, Path, Walker, walker
    from backalley.envs.core.files.serialized import deserialize_state, serialize_state
    from backalley.envs.core.game.catalogue import UnknownGame, game_names, game_type, games
    from backalley.envs.core.game.game import Game, GameType
    from backalley.envs.core.rules.options import OptionError
    from backalley.exports.writing import export
    from backalley.records.reading import read_record
    from backalley.records.writing import record_games
    from backalley.training.attack.attack import attack
    from backalley.training.config.phases import register_phase
    from backalley.training.train import train

__all__ = [
    "BackAlleyError", "BatchEnv", "Game", "GameState", "GameType", "IllegalAction", "Nodes", "OptionError", "Path",
    "Played", "Recall", "Saved", "ShownEvents", "States", "TimeStep", "Tree", "UnknownGame", "Walker",
    "__version__", "agent", "analyse", "analyse_game", "attack", "deserialize_state", "evaluate", "event_str",
    "events_str", "export", "game", "game_names", "game_type", "games", "held_out", "load_policy", "make", "make_vec",
    "read_record", "record_games", "register_agent", "register_game", "register_gymnasium", "register_pettingzoo",
    "register_phase", "register_policy", "replay", "review", "serialize_state", "state_fields", "sweep", "tournament",
    "train", "tree", "variants", "walker",
]  # fmt: skip

_PLACES = {
    "agents.analysis": "analyse",
    "agents.base.recall": "Recall",
    "agents.people.replays": "replay",
    "agents.policies.learned": "load_policy",
    "agents.policies.policy_kinds": "register_policy",
    "agents.registry": "agent register_agent",
    "benchmarks.analyse.review": "review",
    "benchmarks.analyse.analysis": "analyse_game",
    "benchmarks.analyse.sweep": "sweep",
    "benchmarks.exact.tree": "Tree tree",
    "benchmarks.matches.evaluate": "evaluate",
    "benchmarks.matches.tournament": "tournament",
    "benchmarks.variants.variants": "held_out variants",
    "console.errors": "BackAlleyError",
    "envs.core.api.game_state": "GameState",
    "envs.core.api.histories": "ShownEvents event_str events_str state_fields",
    "envs.core.api.registry": "make make_vec register_game register_gymnasium register_pettingzoo",
    "envs.core.api.row_copies": "Saved",
    "envs.core.api.states": "States",
    "envs.core.api.tables": "IllegalAction Played TimeStep",
    "envs.core.api.vector": "BatchEnv",
    "envs.core.api.walker": "Nodes Path Walker walker",
    "envs.core.files.serialized": "deserialize_state serialize_state",
    "envs.core.game.catalogue": "UnknownGame game game_names game_type games",
    "envs.core.game.game": "Game GameType",
    "envs.core.rules.options": "OptionError",
    "exports.writing": "export",
    "records.reading": "read_record",
    "records.writing": "record_games",
    "training.attack.attack": "attack",
    "training.config.phases": "register_phase",
    "training.train": "train",
}
"""Where each name is, which is imported on first use: all of them take long, or need an extra."""
_ON_FIRST_USE = {name: place for place, names in _PLACES.items() for name in names.split()}


def _modules() -> list[str]:
    """The modules of the games, as PettingZoo names its environments; `backalley dev types` writes them."""
    return [file.stem for file in _Path(__file__).parent.glob("*_v[0-9]*.py")]


if not TYPE_CHECKING:  # a checker knows all names, and refuses others

    def __getattr__(name: str) -> _Any:
        if name == "Told":  # its name in 1.0.0
            _warnings.warn("backalley.Told is backalley.ShownEvents now.", DeprecationWarning, stacklevel=2)
            name = "ShownEvents"
        if name in _ON_FIRST_USE:
            found = getattr(_importlib.import_module(f"{__name__}.{_ON_FIRST_USE[name]}"), name)
        elif name in _modules():
            found = _importlib.import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_modules()})


_when_imported("gymnasium.envs.registration", lambda: _enter_gymnasium(_own_entries()))
_when_imported("pettingzoo.env_registry.registration", lambda: _enter_pettingzoo(_own_entries()))
