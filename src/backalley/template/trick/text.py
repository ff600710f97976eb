"""Template in words."""

from typing import Any

from backalley.envs.core.rules import cards
from backalley.envs.core.rules.cards import list_set
from backalley.envs.core.rules.table import Place, Table, laid_out, pile, place, trick

from .state import PACK_SIZE, Options


def action_str(options: Options, action: int) -> str:
    """`play QS`."""
    return f"play {cards.card_name(action)}"


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card of the pack lies; a card of the trick is among those that its seat has played."""
    found = {f"hand {seat}": list_set(int(state.hand[seat])) for seat in range(options.num_players)}
    found |= {f"played {seat}": list_set(int(state.played[seat])) for seat in range(options.num_players)}
    found["turned up"] = [int(state.turned)]
    lying = {card for cards_there in found.values() for card in cards_there}
    return found | {"stock": [card for card in range(PACK_SIZE) if card not in lying]}


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything. Text and pictures are drawn from it."""
    seats = range(options.num_players)
    played = [
        ((int(state.leader) + number) % options.num_players, cards.card_name(int(state.trick[number])))
        for number in range(int(state.in_trick))
    ]
    turned = pile([cards.card_name(int(state.turned))])
    places = [place("turned up", [turned], ["trump"]), trick(played)]
    return laid_out((), [*(_seat(state, seat, who) for who in seats), *places])


def _seat(state: Any, seat: int | None, who: int) -> Place:
    hand = pile(map(cards.card_name, list_set(int(state.hand[who]))), shown=seat in (None, who), heap=True)
    return place(f"seat {who}", [hand], [f"won {int(state.won[who])}"], who)
