"""All checks of a game."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import COMPILED

from . import aec
from .files import check_playthroughs, check_vectors
from .histories import check_events
from .play import (
    EPISODES,
    check_bots,
    check_cards,
    check_deal,
    check_leaks,
    check_masks,
    check_redraws,
    check_returns,
    check_texts,
)
from .reach import check_reach
from .report import Report, run
from .seeds import check_batch, check_compiled, check_copies, check_seeds, check_state, check_threads
from .twins import check_twins

_LONG = 3000 if COMPILED else 300
"""Steps within which an episode of any game should end."""


def check_game(
    game: str | Game | GameType,
    *,
    seed: int = 0,
    episodes: int = EPISODES,
    seconds: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Check whatever `backalley.game` takes, and report. Each check of random play plays `episodes` episodes, with
    `seed` and the seeds after it. With `seconds` the checks are repeated with other seeds for so long. `progress(done,
    total, name)` is called before each check."""
    found = game_of(game)

    table = partial(AECEnv, found)
    checks: dict[str, Callable[..., str]] = {
        "vectors": lambda seed: check_vectors(found),
        "playthroughs": lambda seed: check_playthroughs(found),
        "masks": partial(check_masks, found, episodes=episodes),
        "leaks": partial(check_leaks, found, episodes=episodes),
        "events": partial(check_events, found, episodes=episodes),
        "texts": partial(check_texts, found, episodes=episodes),
        "twins": partial(check_twins, found),
        "redraws": partial(check_redraws, found, episodes=episodes),
        "cards": partial(check_cards, found, episodes=episodes),
        "deal": partial(check_deal, found),
        "returns": partial(check_returns, found, episodes=10 * episodes),
        "bots": partial(check_bots, found, episodes=2 * episodes),
        "seeds": partial(check_seeds, found),
        "batch": partial(check_batch, found),
        "state": partial(check_state, found),
        "threads": partial(check_threads, found),
        "copies": partial(check_copies, found),
        "observations": partial(aec.check_aec_observations, table),
        "ends": partial(aec.check_aec_ends, table, steps=_LONG),
        "compiled": partial(check_compiled, found),
        "reached": partial(check_reach, found),
    }
    return run(repr(found), checks, seed, seconds, ("vectors", "playthroughs", "reached"), progress)
