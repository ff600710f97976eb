"""Planted blunders: how many of them `backalley review` finds, and how often it accuses the best action.

Each comes from a deal of its own, at a decision drawn from random play. A reference with twenty times the
determinizations says what each action loses there; planted is one that loses two to three times the review's noise,
which is half the width of its 95 % interval. It is found where that interval leaves zero out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backalley.agents.analysis import view_at
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from ...analyse.review import REVIEWER, judged, reviewer
from ...figures.formatting import Found, changed, percent, title
from ...figures.result_kinds import Columns, Kept, lines
from ...figures.stats import NORMAL, share_interval
from ..runner import SEED, Progress, count, quiet, study

GAMES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pitch", {"preset": "small"}),
    ("missouri_city", {}),
    ("twenty_one", {}),
    ("killer_bridge", {"preset": "small"}),
    ("poker_duel", {}),
)
_TIMES = 20
"""The reference's determinizations, as a multiple of the review's."""
_NOISES = (2, 3)
"""What a planted action loses, as multiples of the noise: not more, since those are easier to find."""


def _share(name: str) -> Callable[[Found], str]:
    return lambda game: f"{100 * game[name]['mean']:.1f} % ({percent(game[name])})"


_COLUMNS: Columns = {
    "game": title,
    "options": lambda game: changed(game["options"]),
    "planted": "{planted}",
    "found": _share("found"),
    "best actions accused": _share("accused"),
}


class Blunders(Kept, kind="blunders", heading="Planted blunders", tables={"blunders": lines(_COLUMNS, "games")}):
    """How many planted blunders a review finds."""

    in_title = frozenset({"options"})
    says = "What a review finds of actions that lose two to three times its noise, and of the best actions there"


@study(
    "blunders", Blunders, count("--number", 200, "Blunders that are planted in each game.", 2), SEED,
    of=[name for name, _ in GAMES],
)  # fmt: skip
def blunders(number: int, *, seed: int = 0, progress: Progress = quiet) -> Found:
    """Plant blunders in the default review of some games, and count those that it finds."""
    found = []
    for place, (name, options) in enumerate(GAMES):
        progress(place, len(GAMES), name)
        game = game_of(name, **options)
        found.append({"game": game.id, "options": game.changed_options, **planted(game, number, seed)})
    return {"seed": seed, "reviewer": REVIEWER, "games": found}


def planted(game: Game, number: int, seed: int) -> dict[str, Any]:
    """The shares of `number` planted blunders, and of the best actions of their positions, in which a review finds a
    loss."""
    player, truth = reviewer(REVIEWER, game), reviewer(f"mc:{_TIMES * int(REVIEWER.partition(':')[2])}", game)
    random, found, deals = np.random.default_rng(seed), list[tuple[bool, bool]](), 0
    while len(found) < number:
        env = _decision(game, int(random.integers(2**31)), random)
        deals += 1
        best, blunder = _best_and_blunder(env, deals, truth)
        if blunder is not None:
            accused, hit = (judged(view_at(env), action, player).interval[0] > 0 for action in (best, blunder))
            found.append((hit, accused))
    shares = np.array(found, float)
    return {
        "deals": deals,
        "planted": number,
        "found": share_interval(shares[:, 0])._asdict(),
        "accused": share_interval(shares[:, 1])._asdict(),
    }


def _decision(game: Game, seed: int, random: np.random.Generator) -> AECEnv:
    """A table at a decision with a choice, drawn from those of a deal played at random."""
    env, actions, choices = AECEnv(game), list[int](), list[int]()
    env.reset(seed=seed)
    while (legal := np.flatnonzero(env.arrays.mask[0])).size:
        choices += [len(actions)] * (len(legal) > 1)
        actions.append(int(random.choice(legal)))
        env.step(actions[-1])
    env.reset(seed=seed)
    for action in actions[: int(random.choice(choices))]:
        env.step(action)
    return env


def _best_and_blunder(env: AECEnv, key: int, truth: Any) -> tuple[int, int | None]:
    """The best action, and the one that loses least of those that may be planted; None where there is none."""
    view, row, legal = view_at(env, key=key), np.zeros(1, np.int64), np.flatnonzero(env.arrays.mask[0])
    best = int(legal[truth.leads(view, row, legal[:1])[0][0, legal].argmax()])
    lead, error = truth.leads(view, row, np.array([best]))
    lost, noise = -lead[0, legal], NORMAL * error[0, legal] * np.sqrt(_TIMES)
    may = (lost >= _NOISES[0] * noise) & (lost <= _NOISES[1] * noise) & (noise > 0)
    return best, int(legal[may][lost[may].argmin()]) if may.any() else None
