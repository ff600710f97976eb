"""Read `reset(options=...)` of every environment: how an episode is to begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue, did_you_mean

from .arguments import whole
from .game import Game

KEYS = ("decks", "start_outcome")


class ResetOptions(NamedTuple):
    """What chance decides first; afterwards the table's own random stream continues."""

    decks: tuple[npt.NDArray[np.int64], ...] = ()
    """Whole packs, dealt one after another."""
    start_outcome: int | None = None
    """The start outcome; None draws it."""


def read_reset_options(
    game: Game, options: Mapping[str, Any] | None, also: tuple[str, ...] = ()
) -> ResetOptions | None:
    """Read the `options` of a reset: `decks`, packs to be dealt first (each a list of card names or numbers from the
    top; the other cards follow in ascending order), and `start_outcome`. Return None if both are missing.

    Keys of `also` are ignored. Raises TypeError or ValueError.
    """
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise InvalidType(f"options is {options!r}; reset takes a dictionary with the keys {', '.join(KEYS)}.")
    for key in options:
        if key not in KEYS and key not in also:
            raise InvalidValue(f"reset has no option {key!r}; it has: {', '.join(KEYS)}.{did_you_mean(key, KEYS)}")
    decks, start_outcome = options.get("decks"), options.get("start_outcome")
    if decks is None and start_outcome is None:
        return None
    return ResetOptions(_decks(game, decks), _start_outcome(game, start_outcome))


def _start_outcome(game: Game, given: Any) -> int | None:
    number = whole(given)
    if given is not None and (number is None or not 0 <= number < game.num_start_outcomes):
        last = game.num_start_outcomes - 1
        raise InvalidValue(f"start_outcome is {given!r}; under these options it takes 0..{last}, or None to draw it.")
    return number


def _decks(game: Game, given: Any) -> tuple[npt.NDArray[np.int64], ...]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidValue(f"decks is {given!r}; it takes a list of decks, each a list of card names or numbers.")
    return tuple(stacked_deck(game, deck) for deck in given)


def stacked_deck(game: Game, cards: Iterable[str | int]) -> npt.NDArray[np.int64]:
    """Return a whole pack that begins with `cards` (names or numbers), followed by the others in ascending order.

    For a game that draws with replacement, return as many cards as a deal can use. Raises ValueError for a card that
    the pack does not have, for more cards than there are and, without replacement, for a card given twice.
    """
    size, repeated = game.deck_size, game.with_replacement
    if isinstance(cards, (str, bytes, Mapping)) or not isinstance(cards, Iterable):
        raise InvalidValue(f"A deck is {cards!r}; it takes a list of card names or numbers, the first from the top.")
    numbers = [_card(game, card) for card in cards]
    most = game.cards_drawn if repeated else size
    if len(numbers) > most:
        raise InvalidValue(f"A deck of {len(numbers)} cards was given; {game.name} deals from {most} at most.")
    for place, number in enumerate(numbers):
        if not repeated and number in numbers[:place]:
            name = game.card_name(game.pack[number])
            raise InvalidValue(f"The card {name} is twice in the deck given; a pack has each card once.")
    given = set(numbers)
    rest = [number for number in range(size) if number not in given]
    if repeated:
        rest = [number % size for number in range(most - len(numbers))]
    return np.array(numbers + rest, np.int64)


def _card(game: Game, card: Any) -> int:
    if isinstance(card, str):
        named = game.card_number(card)
        if named not in game.pack:
            raise InvalidValue(f"The pack of {game.name} has no card {card!r} under these options.")
        return game.pack.index(named)
    number = whole(card)
    if number is None or not 0 <= number < game.deck_size:
        raise InvalidValue(f"There is no card {card!r} in {game.name}; the pack has 0..{game.deck_size - 1}, or names.")
    return number
