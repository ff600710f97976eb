"""How an episode is to begin: what `reset(options=...)` of every environment may hold, read at one place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .base import Game
from .doors import whole

KEYS = ("decks", "start_outcome")


class Opening(NamedTuple):
    """What chance is to decide first; afterwards the table's own random stream goes on."""

    decks: tuple[npt.NDArray[np.int64], ...] = ()
    """Whole packs, dealt one after another."""
    start_outcome: int | None = None
    """What is decided before the first deal; None draws it."""


def read_opening(game: Game, options: Mapping[str, Any] | None, also: tuple[str, ...] = ()) -> Opening | None:
    """The `options` of a reset: `decks`, packs to be dealt first (each a list of card names or numbers from the top;
    cards left out follow in ascending order), and `start_outcome`. None where nothing is asked for.

    Keys of `also` are let pass. Raises TypeError or ValueError in a sentence.
    """
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise TypeError(f"options is {options!r}; reset takes a dictionary with the keys {', '.join(KEYS)}.")
    for key in options:
        if key not in KEYS and key not in also:
            near = difflib.get_close_matches(str(key), KEYS, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"reset has no option {key!r}; it has: {', '.join(KEYS)}.{meant}")
    decks, start_outcome = options.get("decks"), options.get("start_outcome")
    if decks is None and start_outcome is None:
        return None
    return Opening(_decks(game, decks), _start_outcome(game, start_outcome))


def _start_outcome(game: Game, given: Any) -> int | None:
    number = whole(given)
    if given is not None and (number is None or not 0 <= number < game.num_start_outcomes):
        last = game.num_start_outcomes - 1
        raise ValueError(f"start_outcome is {given!r}; under these options it takes 0..{last}, or None to draw it.")
    return number


def _decks(game: Game, given: Any) -> tuple[npt.NDArray[np.int64], ...]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ValueError(f"decks is {given!r}; it takes a list of decks, each a list of card names or numbers.")
    return tuple(stacked_deck(game, deck) for deck in given)


def stacked_deck(game: Game, cards: Iterable[str | int]) -> npt.NDArray[np.int64]:
    """A whole pack that begins with `cards` (names or numbers) and goes on with the others in ascending order.

    Of a game that draws with replacement, as many cards as a deal can use. Raises ValueError for a card that the pack
    does not have, for more cards than there are and, without replacement, for a card that stands twice in `cards`.
    """
    size, repeated = game.deck_size, game.with_replacement
    if isinstance(cards, (str, bytes, Mapping)) or not isinstance(cards, Iterable):
        raise ValueError(f"A deck is {cards!r}; it takes a list of card names or numbers, the first from the top.")
    numbers = [_card(game, card) for card in cards]
    most = game.cards_drawn if repeated else size
    if len(numbers) > most:
        raise ValueError(f"A deck of {len(numbers)} cards was given; {game.name} deals from {most} at most.")
    for place, number in enumerate(numbers):
        if not repeated and number in numbers[:place]:
            raise ValueError(
                f"The card {game.card_name(number)} stands twice in the deck given; a pack has each card once."
            )
    given = set(numbers)
    rest = [number for number in range(size) if number not in given]
    if repeated:
        rest = [number % size for number in range(most - len(numbers))]
    return np.array(numbers + rest, np.int64)


def _card(game: Game, card: Any) -> int:
    if isinstance(card, str):
        return game.card_number(card)
    number = whole(card)
    if number is None or not 0 <= number < game.deck_size:
        raise ValueError(f"There is no card {card!r} in {game.name}; the pack has 0..{game.deck_size - 1}, or names.")
    return number
