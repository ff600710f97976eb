"""How large a game is: deals, histories and information sets, counted by walking through all of them (`walk.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from .walk import CHOICES, DEALS, ENDS, HISTORIES, MOST_SETS, SETS, Walk


def _counts(files: Files) -> Iterator[Line]:
    for found in files:
        counted = {name.replace("_", " "): f"{found[name]:,}" for name in InformationSets.COUNTED}
        yield {"game": title(found), "options": options(found), **counted}


@dataclass(frozen=True, kw_only=True)
class InformationSets(
    OfGame, kind="information_sets", heading="Information sets", tables={"information_sets": _counts}
):
    """The result of `count_information_sets`."""

    COUNTED = ("deals", "histories", "ends", "information_sets", "choices")

    deals: int
    """Deals that lead to different positions (`deals.py`), those after different histories counted apart."""
    histories: int
    """Positions in which a seat has to act, each with the way that led there."""
    ends: int
    """Ways to the end of an episode."""
    information_sets: int
    """What a seat may know when it has to act."""
    choices: int
    """Those of them in which it has more than one legal action."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what is counted."""
        return ["Histories are those in which a seat has to act; choices are information sets with several actions."]


def count_information_sets(
    game: str | GameType | Game, *, most: int = MOST_SETS, progress: Callable[[int, int], None] | None = None
) -> InformationSets:
    """Count a game's information sets by walking through all its start outcomes, deals and actions.

    `progress(found, most)` is called from time to time with the information sets found so far. Raises TooLarge for more
    than `most` of them, and for too many deals; RuntimeError for a game that declares no events.
    """
    game = game_of(game)
    found = Walk(game, keep=False, most=most, progress=progress).space.found.tolist()
    return InformationSets(
        **of_game(game, __file__),
        deals=found[DEALS],
        histories=found[HISTORIES],
        ends=found[ENDS],
        information_sets=found[SETS],
        choices=found[CHOICES],
    )
