"""Games as pictures one after the other: recorded ones, and those that agents play."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.drawing.pictures import pixels
from backalley.envs.core.drawing.pictures.letters import signed
from backalley.envs.core.drawing.render import table_svg
from backalley.envs.core.files import playthrough
from backalley.envs.core.game import arguments
from backalley.envs.core.game.game import Game

from ..base.agent import Agent
from .watching import action_words, turns

MOST = 400
"""Pictures of a replay, unless more are asked for."""


class Replay(NamedTuple):
    """The tables of a game, one after the other; notebooks show it with a slider."""

    title: str
    pictures: list[str]
    """As SVG."""
    words: list[str]
    """What led to each."""

    def gif(self, seconds: float = 1.0, zoom: float = 1.0) -> bytes:
        """Return it as a GIF that shows each table for so long. Raises ModuleNotFoundError without the extra
        `pictures`."""
        return pixels.gif(self.pictures, seconds, zoom)

    def html(self) -> str:
        """Return it as a page with a slider, which needs nothing else."""
        return pixels.page(self.pictures, self.words, self.title)

    def __repr__(self) -> str:
        return f"Replay({self.title!r}, {len(self.pictures)} tables)"

    def _repr_html_(self) -> str:
        return pixels.slider(self.pictures, self.words)


def replay(
    path: str | os.PathLike[str], seat: int | None = None, *, begin: int = 0, most: int = MOST, **look: Any
) -> Replay:
    """Return the tables of a game that `backalley record` has written, as `seat` saw them; by default from seat 0's
    chair with all hands face up. The first is that after `begin` decisions, and at most `most` follow each other.
    `look` is what `render.table_svg` takes: `theme="dark"`, `four_colours=True`, `width=400`.

    Raises ValueError for a file that is no playthrough or that the rules do not reproduce, and for a seat or a
    beginning that the game does not have.

    >>> import backalley
    >>> recorded = backalley.game_type("backhand").folder / "playthroughs" / "random_seed-2.json"
    >>> backalley.replay(recorded, seat=0)
    Replay('Backhand', 4 tables)
    """
    return _shown(playthrough.positions(Path(path)), seat, begin, most, look)


def played(
    game: Game, agent: Agent, seed: int, seat: int | None = None, *, begin: int = 0, most: int = MOST, **look: Any
) -> Replay:
    """Return the tables of a game that an agent plays in every seat; else as `replay`."""
    return _shown(_positions(game, agent, seed), seat, begin, most, look)


def _positions(game: Game, agent: Agent, seed: int) -> Iterator[tuple[AECEnv, int, int]]:
    env = AECEnv(game)
    env.reset(seed=seed)
    yield env, -1, -1
    for turn in turns(env, [agent], seed):
        yield env, turn.seat, turn.action


def _shown(
    positions: Iterable[tuple[AECEnv, int, int]], seat: int | None, begin: int, most: int, look: dict[str, Any]
) -> Replay:
    if begin < 0 or most < 1:
        raise InvalidValue(f"begin is {begin} and most is {most}; give 0 or more, and 1 or more.")
    title, pictures, words = "", list[str](), list[str]()
    for number, (env, who, action) in enumerate(itertools.islice(positions, begin + most)):
        if number == 0:
            title = env.game.title
            arguments.seat(seat or 0, env.game)
        if number >= begin:
            pictures.append(table_svg(env, 0, seat or 0, face_up=seat is None, **look))
            words.append(
                f"{number}. {signed(action_words(env.game, who, action, seat))}" if number else "The beginning"
            )
    if not pictures:
        raise InvalidValue(f"The game has {number:,} decisions, and the first table asked for is that after {begin:,}.")
    return Replay(title, pictures, words)
