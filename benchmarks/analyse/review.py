"""A coach for recorded games: what each decision of one seat has lost, by a search.

    print(backalley.review("game.json", seat=0))

The seat is judged by what it could know: determinizations and rollouts follow from what it was shown and from nothing
else. One set of determinizations names the better action, and a second, independent one measures it, so that the best
of many noisy values does not look better than it is. In each, all actions meet the same determinizations.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.analysis import view_at
from backalley.agents.base.agent import View, name_of
from backalley.agents.base.by_phase import phase_of
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files import playthrough
from backalley.envs.core.game import arguments
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.table import CARD

from ..figures.stats import NORMAL, mean_interval

REVIEWER = "mc:200"
"""The search that reviews, unless another is named."""
SHOWN = 3
"""How many of the decisions that cost most are shown."""
_OTHER_KEY = np.uint64(0x9E3779B97F4A7C15)
"""What parts the two sets of determinizations."""


class Decision(NamedTuple):
    """A decision with a choice, and what it has lost."""

    file: int
    """The number of its game among those reviewed."""
    number: int
    """The number of decisions before it in its game, of all seats."""
    kind: str
    """The phase of the game that the decision belongs to, where it declares phases; else the kind of action that was
    played: its name without cards and numbers."""
    action: int
    name: str
    better: int
    """The action that the first set of determinizations prefers; `action` itself where none leads."""
    better_name: str
    loss: float
    """The mean gain of `better` over `action` in the second set, in the game's rewards; by chance it can be below 0."""
    error: float
    """The standard error of that paired difference."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the loss."""
        return self.loss - NORMAL * self.error, self.loss + NORMAL * self.error


class Mean(NamedTuple):
    """A mean loss with its 95 % interval."""

    samples: int
    """Games, or decisions."""
    mean: float
    low: float
    high: float


class Review(NamedTuple):
    """What the decisions of a seat in some games of the same rules have lost."""

    game: Game
    seat: int
    by: str
    """The search that found it."""
    games: int
    decisions: list[Decision]
    """In order of play; forced ones are left out."""

    def costliest(self, count: int = SHOWN) -> list[Decision]:
        """Return the decisions that cost most, the worst first; only those where another action led."""
        wrong = [one for one in self.decisions if one.better != one.action and one.loss > 0]
        return sorted(wrong, key=lambda one: -one.loss)[:count]

    def by_kind(self) -> dict[str, Mean]:
        """Return the mean loss of a decision by phase or kind of action, the one that has cost most in all first."""
        kinds = {kind: [one for one in self.decisions if one.kind == kind] for kind in self._kinds()}
        means = {kind: _mean(sum(one.loss for one in some), some, len(some)) for kind, some in kinds.items()}
        return dict(sorted(means.items(), key=lambda one: -one[1].mean * one[1].samples))

    def ability(self) -> Mean:
        """Return the mean loss of a game: the less, the better the player. Over several games the interval holds how
        much they differ, too; of one game it holds the search's error only."""
        totals = np.zeros(self.games)
        for one in self.decisions:
            totals[one.file] += one.loss
        if self.games == 1:
            return _mean(float(totals[0]), self.decisions, 1)
        return Mean(self.games, *mean_interval(totals))

    def _kinds(self) -> list[str]:
        return sorted({one.kind for one in self.decisions})

    def payload(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "game": self.game.name,
            "options": self.game.changed_options,
            "seat": self.seat,
            "by": self.by,
            "games": self.games,
            "ability": self.ability()._asdict(),
            "kinds": {kind: one._asdict() for kind, one in self.by_kind().items()},
            "decisions": [{**one._asdict(), "interval": one.interval} for one in self.decisions],
        }

    def __str__(self) -> str:
        mean = self.ability()
        lines = [
            f"{self.game.title}, {self.game.seat_name(self.seat)}, {self.games} game{'s' * (self.games != 1)}, "
            f"{len(self.decisions)} decisions with a choice, by {self.by}.",
            f"Loss in a game: {mean.mean:.3f} (95 %: {mean.low:.3f} to {mean.high:.3f}).",
            *(
                f"  {kind}: {one.mean:.3f} a decision (95 %: {one.low:.3f} to {one.high:.3f}), {one.samples} of them"
                for kind, one in self.by_kind().items()
            ),
        ]
        return "\n".join(lines)


def _mean(total: float, some: Sequence[Decision], count: int) -> Mean:
    half = NORMAL * math.sqrt(sum(one.error**2 for one in some)) / count
    return Mean(count, total / count, total / count - half, total / count + half)


def words(one: Decision) -> str:
    """Return a costly decision in words."""
    low, high = one.interval
    return (
        f"After {one.number} decisions: {one.name} was played; {one.better_name} gains {one.loss:.3f} more "
        f"(95 %: {low:.3f} to {high:.3f})."
    )


def kind_of(name: str) -> str:
    """Return the kind of an action of that name: `bid 3` is a `bid`, and the name of a card alone a `card`.

    >>> kind_of("bid 3"), kind_of("AS")
    ('bid', 'card')
    """
    left = re.findall(r"[^\W\d_]+", CARD.sub(" ", name))
    return str(left[0]).lower() if left else "card"


def _kind(view: View, name: str) -> str:
    phases = list(view.game.type.phases)
    return phases[phase_of(view.action_mask, view.game)[0]] if phases else kind_of(name)


def review(
    *paths: str | os.PathLike[str],
    seat: int = 0,
    agent: Any = REVIEWER,
    progress: Callable[[int, int], None] | None = None,
) -> Review:
    """Return what the decisions of `seat` have lost in games that `backalley record --out` has written, all of the same
    game and options. `agent` is a search that compares actions in the same determinizations (`mc:N`), by name or as an
    object. `progress` is called with the decisions done and all.

    Raises ValueError for a file that is no playthrough or that the rules do not reproduce, for games of several rules,
    a seat that the game does not have, and an agent that compares no actions.

    >>> import backalley
    >>> recorded = backalley.game_type("backhand").folder / "playthroughs" / "random_seed-2.json"
    >>> backalley.review(recorded, agent="mc:24").games
    1
    """
    if not paths:
        raise InvalidValue("No game was given; name at least one file of `backalley record --out`.")
    kept = [playthrough.load(Path(path)) for path in paths]
    found = [playthrough.actions_of(str(path), one) for path, one in zip(paths, kept, strict=True)]
    game = _same_game(paths, [one for one, _ in found])
    arguments.seat(seat, game)
    player = reviewer(agent, game)
    done, every, decisions = 0, sum(len(actions) for _, actions in found), list[Decision]()
    try:
        for number, (one, (_, actions)) in enumerate(zip(kept, found, strict=True)):
            for judged in reviewed(game, playthrough.opening_of(one), actions, seat, player, number):
                decisions += [] if judged is None else [judged]
                done += 1
                if progress is not None:
                    progress(done, every)
    finally:
        if player is not agent:
            player.close()
    return Review(game, seat, name_of(player), len(paths), decisions)


def _same_game(paths: Sequence[Any], games: Sequence[Game]) -> Game:
    for path, game in zip(paths, games, strict=True):
        if (game.name, game.changed_options) != (games[0].name, games[0].changed_options):
            raise InvalidValue(f"{path} is of another game, or of other options, than {paths[0]}; review them apart.")
    return games[0]


def reviewer(agent: Any, game: Game) -> Any:
    """Return the search that reviews a game. Raises ValueError for an agent that compares no actions."""
    player: Any = agent_of(agent, game)
    if not hasattr(player, "leads"):
        raise InvalidValue(
            f"{name_of(player)} does not compare actions in the same determinizations; use {REVIEWER!r}, or mc: and "
            "another number of determinizations."
        )
    return player


def reviewed(
    game: Game, opening: dict[str, Any], actions: Sequence[int], seat: int, player: Any, number: int = 0
) -> Iterator[Decision | None]:
    """Play a game again and yield for each of its actions the Decision; None for other seats' and where there was no
    choice."""
    env = AECEnv(game)
    env.reset(seed=0, options=opening)
    for made, action in enumerate(actions):
        mine = int(env.arrays.seat[0]) == seat and env.arrays.mask[0].sum() > 1
        yield judged(view_at(env), action, player, made, number) if mine else None
        env.step(action)


def judged(view: View, action: int, player: Any, made: int = 0, number: int = 0) -> Decision:
    """Return what an action has lost at a view of one table, of which the seat has a choice."""
    row, base, name = np.zeros(1, np.int64), np.array([action]), view.game.action_str
    lead, _ = player.leads(view, row, base)
    better = int(np.where(view.action_mask[0] == 1, lead[0], -np.inf).argmax())
    if lead[0, better] <= 0:
        better = action
    view.key = view.key ^ _OTHER_KEY
    gain, error = player.leads(view, row, base)
    loss = float(gain[0, better]), float(error[0, better])
    return Decision(number, made, _kind(view, name(action)), action, name(action), better, name(better), *loss)
