"""Cards, the same in every game that uses a 52-card pack: numbers, names, sets.

A card is `suit * 13 + rank`; suits C, D, H, S are 0..3, ranks 2..A are 0..12; 52 and 53 are the little and the big
joker. A set of cards is the set bits of one int64: bit `card`.
"""

from __future__ import annotations

from backalley.console.errors import InvalidValue

from ..compile.kernel import kernel

RANKS = "23456789TJQKA"
SUITS = "CDHS"
LITTLE_JOKER, BIG_JOKER = 52, 53
NAMES: tuple[str, ...] = (*(rank + suit for suit in SUITS for rank in RANKS), "LJ", "BJ")
NUMBERS: dict[str, int] = {name: number for number, name in enumerate(NAMES)}


def card_name(card: int) -> str:
    """`QS`, `TD`, `BJ`."""
    return NAMES[card]


def card_number(name: str) -> int:
    """Return the number of a card by its name, in upper or lower case. Raises ValueError when there is no such card."""
    try:
        return NUMBERS[name.strip().upper()]
    except KeyError:
        raise InvalidValue(
            f"There is no card {name!r}; a card is a rank of {RANKS} and a suit of {SUITS}, such as QS or TD."
        ) from None


def list_set(cards: int) -> list[int]:
    """The cards of a set, in ascending order."""
    return [card for card in range(cards.bit_length()) if cards >> card & 1]


@kernel
def count_bits(cards: int) -> int:
    """How many cards a set holds."""
    count = 0
    while cards != 0:
        cards &= cards - 1
        count += 1
    return count
