"""What a table tells people besides its picture: the finished trick and who took it, what was scored, how the game
ended, and seats by where they sit ("you", "left").

All of it is read from tables as one seat may see them, so it tells that seat nothing more.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.table import CARD, Pile, Place, Table

Named = TypeVar("Named")

_SEATS = re.compile(r"\b([Ss])eats? (\d+(?:(?:, | and )\d+)*)\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_POINTS = re.compile(r"(?:score|won so far) .*|-?\d+ points")
_SCORE = re.compile(r"(?:score|purse|points|won so far) ([-+]?\d+(?:\.\d+)?)|(-?\d+) points")
_TWO_SCORES = re.compile(r"\bpoints (\d+) to (\d+)\b")
_VERDICT = re.compile(r"(.+): (?:win|loss|tie)")
_COUNTS = dict(zip("A23456789TJQK", (*range(1, 10), 0, 0, 0, 0), strict=True))
"""What cards count by their ranks, but for tens."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def seats_called(game: Game, viewer: int | None) -> list[str]:
    """Return what the person in seat `viewer` calls each seat; for somebody who sits nowhere, their names."""
    return [_called(game, seat, viewer) for seat in range(game.num_seats)]


def _called(game: Game, seat: int, viewer: int | None) -> str:
    step = 0 if viewer is None else (seat - viewer) % game.num_seats
    if seat == viewer:
        return "you"
    if viewer is None or seat < len(game.type.seat_names):
        return game.seat_name(seat)
    if game.num_seats == 2:
        return "opponent"
    if game.sides[seat] == game.sides[viewer]:
        return "partner" if game.num_seats == 4 else game.seat_name(seat)
    beside = {1: "left", game.num_seats - 1: "right"} | ({2: "across"} if game.num_seats == 4 else {})
    return beside.get(step, game.seat_name(seat))


def by_place(found: Named, names: Sequence[str]) -> Named:
    """Return a text, or tuples of texts, with `seat 2` and `seats 0 and 2` as the names of these seats."""

    def named(match: re.Match[str]) -> str:
        if max(map(int, _NUMBER.findall(match[2]))) >= len(names):
            return match[0]
        words = _NUMBER.sub(lambda number: names[int(number[0])], match[2])
        return words.capitalize() if match[1] == "S" else words

    made: Any = found
    if isinstance(found, str):
        made = _SEATS.sub(named, found)
    elif isinstance(found, tuple):
        parts = [by_place(part, names) for part in found]
        made = type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return made  # type: ignore[no-any-return]


# Cards ----------------------------------------------------------------------------------------------------------------


def with_cards(lines: Sequence[str], kinds: Sequence[str], table: Table, game: Game, viewer: int) -> list[str]:
    """Return new lines of the log in which cards of such kinds of events are shown by their values, with the cards that
    `table`, after them, shows in their place: each pile ends in the latest."""
    seats = {game.seat_name(seat): seat for seat in range(game.num_seats)} | {"you": viewer}
    made, left = list[str](), dict[Pile, list[str]]()
    for line in lines[::-1]:
        who, _, said = line.partition(": ")
        kind, values = _values(kinds, said)
        for pile in _piles_of(table, kind, seats.get(who)) if kind else ():
            cards = left[pile] if pile in left else list(pile.cards)
            if [_COUNTS.get(card[0]) for card in cards[-len(values) :]] == values:
                line = f"{who}: {kind} {' '.join(cards[-len(values) :])}"
                left[pile] = cards[: -len(values)]
                break
        made.append(line)
    return made[::-1]


def _values(kinds: Sequence[str], said: str) -> tuple[str, list[int]]:
    """Which of these kinds of events a line tells of, and the values of its cards; empty for another line."""
    for kind in kinds:
        numbers = said.removeprefix(f"{kind} ").split()
        if said.startswith(f"{kind} ") and numbers and all(number.isdigit() for number in numbers):
            return kind, [int(number) % 10 for number in numbers]
    return "", []


def _piles_of(table: Table, kind: str, seat: int | None) -> list[Pile]:
    """The piles to which an event may have brought cards: those whose title speaks of it, then the seat's."""
    piles = [(place.seat, pile) for place in table.places for pile in place.piles]
    named = [one for _, one in piles if one.title and (one.title.startswith(kind) or kind.startswith(one.title))]
    return named + [one for owner, one in piles if owner == seat is not None]


# Tricks ---------------------------------------------------------------------------------------------------------------


def trick_of(table: Table) -> Place | None:
    """The trick that is being played; None in games without tricks."""
    return next((place for place in table.places if place.trick), None)


def finished(before: Table, after: Table, seat: int, action: str) -> tuple[Pile, ...]:
    """Return the cards of the trick that an action of `seat` has finished; empty where it has not."""
    lying, left, card = trick_of(before), trick_of(after), CARD.search(action)
    if lying is None or not lying.piles or (left is not None and left.piles) or card is None:
        return ()
    if seat in {pile.seat for pile in lying.piles}:
        return ()
    return (*lying.piles, Pile((card[0],), f"seat {seat}", seat=seat))


def with_trick(table: Table, piles: tuple[Pile, ...], taker: int | None) -> Table:
    """Return a table on which a finished trick still lies, until the next lead."""
    words = () if taker is None else (f"taken by seat {taker}",)
    cards = [pile.cards for pile in piles]
    places = [
        place._replace(piles=piles, words=(*place.words, *words)) if place.trick else place
        for place in table.places
        if place.trick or not place.piles or [pile.cards for pile in place.piles] != cards  # drawn by the game itself
    ]
    return table._replace(places=tuple(places))


# Scores ---------------------------------------------------------------------------------------------------------------


def changes(before: Table, after: Table, whole: bool) -> list[str]:
    """Return what the notes of a table count now that they did not before, a line for each place; with the state of the
    game in words if `whole`."""
    old = dict(_notes(before))
    said = {_NUMBER.sub("#", word) for word in before.words}
    lines = [word for word in after.words if whole and _NUMBER.sub("#", word) not in said]
    for title, words in _notes(after):
        kinds = {_NUMBER.sub("#", word) for word in old.get(title, ())}
        changed = [word for word in words if word not in old.get(title, ()) and _NUMBER.sub("#", word) in kinds]
        lines += [f"{title}: {', '.join(changed)}".replace(": = ", ": total ")] if changed else []
    return lines


def verdicts(before: Table, after: Table) -> list[str]:
    """Return what is said of each hand that has ended now: `seat 0: total 29, bust: loss`."""
    had, has = ([(place.seat, pile.words) for place in one.places for pile in place.piles] for one in (before, after))
    old = {f"{seat}: {word}" for seat, words in had for word in words}
    ended = [(seat, words) for seat, words in has if any(_VERDICT.fullmatch(word) for word in words)]
    return [
        f"seat {seat}: {', '.join(words)}" for seat, words in ended if any(f"{seat}: {w}" not in old for w in words)
    ]


def points(before: Table, after: Table) -> list[str]:
    """Return the points that seats have now, where the table's notes count more or fewer than before."""
    had, has = (_TWO_SCORES.search(" ".join(table.words)) for table in (before, after))
    if had and has and had[0] != has[0]:
        return [f"points: seat 0 {has[1]}, seat 1 {has[2]}"]
    old, new = (
        [f"seat {place.seat}: {word}" for place in one.places for word in place.words if _POINTS.fullmatch(word)]
        for one in (before, after)
    )
    return [word for word in new if word not in old]


def folded(lines: Sequence[str]) -> list[str]:
    """Return the lines with those that say the same one after the other as one."""
    runs = [(line, len(list(same))) for line, same in itertools.groupby(lines)]
    return [line if count == 1 else f"{line} ({count} times)" for line, count in runs]


def _notes(table: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is noted of each seat, and in the middle of the table of each pile."""
    for place in table.places:
        yield place.title, place.words
        if not place.trick and place.seat is None:
            yield from ((pile.title, pile.words) for pile in place.piles if pile.title and pile.words)


def scores(table: Table, game: Game) -> dict[int, str]:
    """Return the score of each side, as the table shows it; empty where it shows none, or not everybody's."""
    found = dict[int, str]()
    for word in table.words:
        if (both := _TWO_SCORES.search(word)) and game.num_seats == 2:
            return {game.sides[0]: both[1], game.sides[1]: both[2]}
    for title, words in _notes(table):
        score = next((match for word in words if (match := _SCORE.fullmatch(word))), None)
        seats = [seat for seat in range(game.num_seats) if title == game.seat_name(seat)]
        seats = seats or [int(number) for number in re.findall(r"\d+", title) if title.startswith("seat")]
        if score is not None and seats and seats[0] < game.num_seats:
            found[game.sides[seats[0]]] = score[1] or score[2]
    return found if len(found) == len(set(game.sides)) else {}


def turn(table: Table, acting: int | None, words: str, viewer: int | None) -> str:
    """Return whose turn it is: `words`, but for who is to act what is asked."""
    if viewer is None or acting != viewer:
        return words
    return f"Your turn: {table.headline}." if table.headline else "It is your turn."


def dealt(table: Table, viewer: int | None) -> str:
    """Return how a deal has ended: `The deal is over: bust, total 29.`"""
    return f"The deal is over{'' if viewer is None else _why(table, viewer)}.{_sentence(table.headline)}"


def _sentence(words: str) -> str:
    """Words as one more sentence; nothing for none."""
    return f" {words[:1].upper()}{words[1:]}." if words else ""


def ending(game: Game, returns: Sequence[float], viewer: int | None, table: Table) -> str:
    """Return how a game has ended, for who sat in seat `viewer` or for an onlooker: `You won, 21 to 12. You and partner
    bid 2 and made 3.`"""
    names = seats_called(game, viewer)
    return f"{_result(game, returns, viewer, table)}{_sentence(by_place(table.headline, names))}"


def _result(game: Game, returns: Sequence[float], viewer: int | None, table: Table) -> str:
    names = seats_called(game, viewer)
    sides = {side: returns[seat] for seat, side in enumerate(game.sides)}
    counts, best = Counter(round(value, 6) for value in sides.values()), max(sides.values())
    shown = scores(table, game)
    if len(sides) == 1:
        result = "won" if best > 0 else "lost" if best < 0 else "came out even"
        score = f" {abs(float(shown[game.sides[0]])):g}" if shown and best else ""
        return f"{'You' if viewer == 0 else names[0].capitalize()} {result}{score}{_why(table, 0)}."
    mine = None if viewer is None else game.sides[viewer]
    order = sorted(sides, key=lambda side: (-sides[side], side != mine))
    if mine is not None and len(sides) == 2:
        order.sort(key=lambda side: side != mine)
    winners = [names[seat] for seat, side in enumerate(game.sides) if round(sides[side], 6) == round(best, 6)]
    said = {side: " and ".join(names[seat] for seat, one in enumerate(game.sides) if one == side) for side in order}
    if len(counts) == 1:
        result = "It is a draw"
    elif mine is None:
        result = f"{' and '.join(winners).capitalize()} won"
    elif round(sides[mine], 6) == round(best, 6):
        result = "You won" if counts[round(best, 6)] == 1 else "You share the win"
    elif len(sides) == 2:
        result = "You lost"
    else:
        place = sum(round(value, 6) > round(sides[mine], 6) for value in sides.values())
        result = f"You came {_ORDINALS[place] if place < len(_ORDINALS) else f'number {place + 1}'} of {len(sides)}"
    if not shown or (len(set(shown.values())) == 1 and len(counts) > 1):  # something else has decided it
        return f"{result}{'' if viewer is None else _why(table, viewer)}."
    if len(sides) == 2 and mine is not None:
        return f"{result}, {' to '.join(shown[side] for side in order)}."
    return f"{result}: {', '.join(f'{said[side]} {shown[side]}' for side in order)}."


def _why(table: Table, seat: int) -> str:
    """What decided the game for a seat, where the table says it of the seat's cards: `: bust, total 29`."""
    for words in [pile.words for place in table.places if place.seat == seat for pile in place.piles]:
        verdict = next((match for word in words if (match := _VERDICT.fullmatch(word))), None)
        if verdict is not None:
            total = "".join(f", {word}" for word in words if word.startswith("total "))
            return f": {verdict[1]}{total}"
    return ""
