"""All checks of a game."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import COMPILED

from . import aec
from .copies import check_copies
from .files import check_playthroughs, check_vectors
from .histories import check_events
from .play import EPISODES, check_bots, check_cards, check_deal, check_leaks, check_masks, check_redraws, check_returns
from .report import Report, run
from .seeds import check_batch, check_compiled, check_seeds, check_state, check_threads
from .texts import check_texts
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

    def played(check: Callable[..., str], times: int = 1) -> Callable[[int], str]:
        return lambda seed: check(found, seed=seed, episodes=times * episodes)

    def seeded(check: Callable[..., str]) -> Callable[[int], str]:
        return lambda seed: check(found, seed=seed)

    table = partial(AECEnv, found)
    checks: dict[str, Callable[[int], str]] = {
        "vectors": lambda seed: check_vectors(found),
        "playthroughs": lambda seed: check_playthroughs(found),
        "masks": played(check_masks),
        "leaks": played(check_leaks),
        "events": played(check_events),
        "texts": played(check_texts),
        "twins": seeded(check_twins),
        "redraws": played(check_redraws),
        "cards": played(check_cards),
        "deal": seeded(check_deal),
        "returns": played(check_returns, 10),
        "bots": played(check_bots, 2),
        "seeds": seeded(check_seeds),
        "batch": seeded(check_batch),
        "state": seeded(check_state),
        "threads": seeded(check_threads),
        "copies": seeded(check_copies),
        "observations": lambda seed: aec.check_aec_observations(table, seed=seed),
        "ends": lambda seed: aec.check_aec_ends(table, seed=seed, steps=_LONG),
        "compiled": lambda seed: check_compiled(found, seed=seed),
    }
    return run(repr(found), checks, seed, seconds, ("vectors", "playthroughs"), progress)
