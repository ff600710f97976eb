"""`make`, `make_vec`, and the entries in PettingZoo's and Gymnasium's registries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gymnasium

from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import game, game_names, games_root
from backalley.envs.core.vector import Tables


def make(id: str, *, render_mode: str | None = None, render_seat: int | None = None, **options: Any) -> AECEnv:
    """A PettingZoo AEC environment: `make("poker_duel-v0", num_games=2, render_mode="ansi")`.

    `id` is a game's name with or without its version; every other keyword is an option of the game. Raises UnknownGame
    or OptionError.
    """
    found = game(id)
    return AECEnv(found, found.options(options), render_mode=render_mode, render_seat=render_seat)


def make_vec(
    id: str,
    num_envs: int = 1,
    *,
    seed: int | Sequence[int] | None = None,
    num_threads: int = 1,
    autoreset: bool = True,
    **options: Any,
) -> Tables:
    """`num_envs` tables of a game in one object: `make_vec("poker_duel-v0", num_envs=4096, seed=0, num_threads=2)`.

    `num_threads=0` takes one thread per core. The results do not depend on it. Raises UnknownGame, OptionError or
    ValueError.
    """
    found = game(id)
    return Tables(found, found.options(options), num_envs, seed=seed, num_threads=num_threads, autoreset=autoreset)


def register_pettingzoo() -> None:
    """Enter every game into PettingZoo's own registry (`pettingzoo.make("aec", "backalley/poker_duel-v0")`); older
    versions have none."""
    try:
        from pettingzoo.env_registry import register
        from pettingzoo.env_registry.registration import aec_registry
    except ImportError:
        return
    for name in game_names():
        id = f"backalley/{name}-v{_version(name)}"
        if id not in aec_registry:
            register("aec", id, entry_point="backalley.envs.registry:make", kwargs={"id": name})


def register_gymnasium() -> None:
    """Enter every game into Gymnasium's registry: one seat is yours, the others are agents."""
    for name in game_names():
        camel = "".join(word.capitalize() for word in name.split("_"))
        id = f"backalley/{camel}-v{_version(name)}"
        if id not in gymnasium.registry:
            gymnasium.register(
                id,
                entry_point="backalley.agents.single:make_single",
                vector_entry_point="backalley.agents.single:make_single_vec",
                kwargs={"game": name},
                disable_env_checker=True,
                order_enforce=False,
            )


def _version(name: str) -> int:
    """The version that a game's file declares, read without importing it: `import backalley` should not load nine
    games' kernels."""
    found = re.search(
        r"^GAME = Game\(.*?\bversion=(\d+)",
        (games_root() / name / "game.py").read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    if found is None:
        raise ImportError(f"The game {name!r} does not end in `GAME = Game(..., version=N, ...)`.")
    return int(found[1])
