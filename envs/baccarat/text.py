"""Baccarat in words: cards, actions, the table as a seat may see it, and where every card lies."""

from __future__ import annotations

from backalley.console.errors import InvalidValue

from ..core.rules import cards
from ..core.rules.table import FACE_DOWN, Pile, Place, Table, laid_out, pile, place
from .bets import has_purses, level_of, money, side_of
from .coup import two_cards, value
from .observation import bet_shows, hand_of, seen_places
from .state import BANK, BETTING, COUP, NO_BET, PLAYER, SHOWN, STAND, Mode, Options, Reshuffle, State, pack_size

SIDE_NAMES = ("player", "bank", "tie")
HANDS = ("Player", "Banker")


def card_name(card: int) -> str:
    """`9C` in the first pack, `9C.2` in the second."""
    pack, face = divmod(card, 52)
    return cards.card_name(face) + (f".{pack + 1}" if pack else "")


def card_number(name: str) -> int:
    """The number of a card's name. Raises ValueError in a sentence."""
    face, dot, pack = name.strip().partition(".")
    if dot and not (pack.isdigit() and int(pack) > 0):
        raise InvalidValue(f"There is no card {name!r}; after the dot stands the number of its pack, such as 9C.2.")
    return cards.card_number(face) + 52 * (int(pack) - 1 if dot else 0)


def action_str(options: Options, action: int) -> str:
    """`no bet`, `player 5`, `bank 1`, `stand`, `draw`; a stake level that the table does not have is `player level
    4`."""
    if action == NO_BET:
        return "no bet"
    if action >= STAND:
        return "stand" if action == STAND else "draw"
    level, side = level_of(action), side_of(action)
    stake = options.stakes[level]
    return f"{SIDE_NAMES[side]} {stake}" if stake else f"{SIDE_NAMES[side]} level {level + 1}"


def action_told(options: Options, action: int) -> str:
    """What the others are shown: where bets are not public, not what is bet."""
    return action_str(options, action) if action >= STAND or options.bets_public else "decides on a bet"


def hand_places(state: State, hand: int) -> list[int]:
    """Where in the shoe a hand's cards lie."""
    first, drew = int(state.first), (int(state.player_drew), int(state.banker_drew))
    places = [first + hand, first + hand + 2]
    return places + ([first + 4 + hand * drew[0]] if drew[hand] else [])


def piles(options: Options, state: State) -> dict[str, list[int]]:
    """Where every card lies. `rest` are cards that this coup could not come to; with `decks` inf there are none."""
    shoe, first = state.shoe.tolist(), int(state.first)
    places = [hand_places(state, hand) if state.phase != BETTING else [] for hand in (PLAYER, BANK)]
    found = {"player": [shoe[place] for place in places[PLAYER]], "banker": [shoe[place] for place in places[BANK]]}
    found["turned up"] = shoe[:first]
    found["shoe"] = [
        card for place, card in enumerate(shoe) if place >= first and place not in places[PLAYER] + places[BANK]
    ]
    if options.decks > 0 and len(shoe) < pack_size(options):
        found["rest"] = sorted(set(range(pack_size(options))) - set(shoe))
    return found


def table(options: Options, state: State, seat: int | None) -> Table:
    """The bets, the hands as far as they show, and the coup before. Which pack a card is from is not shown."""
    lines = [_head(options, state)]
    places = [_bettor(options, state, seat, who) for who in range(len(state.units))]
    if state.phase != BETTING:
        hands = [_hand(options, state, seat, hand) for hand in (PLAYER, BANK)]
        places.append(place("coup", hands, [_won(state)] if state.phase == SHOWN else []))
    if state.winner and state.phase != SHOWN:
        drew = state.last_drew.tolist()
        lying = [0, 2, 4][: 2 + drew[0]], [1, 3, 4 + drew[0]][: 2 + drew[1]]
        last = [_lying(name, [int(state.last[at]) for at in hand]) for name, hand in zip(HANDS, lying, strict=True)]
        places.append(place("last coup", last, [_won(state)]))
    if seat is None:
        rest = piles(options, state)["shoe"][:COUP]
        places.append(place("next cards", [pile(cards.card_name(card % 52) for card in rest)]))
    asked = "place a bet" + ", or none" * options.allow_no_bet if state.phase == BETTING else "draw a card, or stand"
    totals = state.totals.tolist()
    result = f"{_won(state)}, {max(totals)} to {min(totals)}" if state.winner else ""
    return laid_out(lines, places, headline=asked if state.seat >= 0 else result)


def _head(options: Options, state: State) -> str:
    packs = f"{options.decks} packs" if options.decks > 1 else "one pack" if options.decks else "packs without end"
    number = max(int(state.coup) + (state.seat >= 0), 1)  # a coup that is over counts as played
    of = "the shoe" if options.num_coups == 0 else str(options.num_coups)
    left = f", {len(state.shoe) - int(state.first)} cards in the shoe" if options.reshuffle == Reshuffle.SHOE else ""
    return f"{packs}, coup {number} of {of}{left}"


def _won(state: State) -> str:
    return ("the Player hand wins", "the Banker hand wins", "a tie")[int(state.winner) - 1]


def _bettor(options: Options, state: State, seat: int | None, who: int) -> Place:
    words = [] if options.mode == Mode.CHEMIN else [*_notes(options, state, who), _bet(options, state, seat, who)]
    return place(f"seat {who}", [], [*words, f"won so far {state.units[who]:+.2f}"], who)


def _notes(options: Options, state: State, who: int) -> list[str]:
    notes = ["has the bank"] * int(who == state.banker) + ["handles the Player hand"] * int(who == state.participant)
    if has_purses(options):
        notes.append(f"has {money(options, state, who):.2f}")
    return notes


def _bet(options: Options, state: State, seat: int | None, who: int) -> str:
    if state.phase == BETTING and who >= state.seat:
        return "has not bet"
    if seat is not None and not bet_shows(options, state, seat, who):
        return "has bet"
    return action_str(options, int(state.bets[who]))


def _lying(name: str, faces: list[int]) -> Pile:
    return pile(map(cards.card_name, faces), name, f"= {sum(value(face) for face in faces) % 10}")


def _hand(options: Options, state: State, seat: int | None, hand: int) -> Pile:
    seen = 0b111111 if seat is None else seen_places(options, state, seat)
    places = hand_places(state, hand)
    shown = [(seen >> (place - int(state.first))) & 1 for place in places]
    faces = [int(state.shoe[place]) % 52 for place in places]
    if all(shown):
        return _lying(HANDS[hand], faces)
    names = [cards.card_name(face) if show else FACE_DOWN for face, show in zip(faces, shown, strict=True)]
    mine = seat is not None and hand_of(options, state, seat) == hand
    return pile(names, HANDS[hand], f"= {two_cards(state, hand)}" * mine)
