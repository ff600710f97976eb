"""Exact odds of baccarat: of bets, of a five whose choice is made with both hands open, of chemin de fer's two choices.

    backalley dev odds baccarat decks=8
    backalley dev odds baccarat mode=chemin decks=inf banker_sees=total

Every coup of six cards is dealt to the game's own kernels and weighed by how often it comes. Suits do not matter, so a
coup is a sequence of six values; a million sequences, each with its weight, are all there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue

from ..core.compile.kernel import bind, kernel
from ..core.game.game import Game
from . import rules
from .answers import FIVE, gains_of
from .bets import bet_on
from .coup import hands_are_declared, two_cards
from .state import (
    BANK,
    BANKER_TURN,
    DRAW,
    NATURAL,
    PLAYER,
    PLAYER_TURN,
    STAND,
    STOOD,
    TIE,
    Bank,
    BankerPolicy,
    BankerSees,
    Mode,
    Options,
    Reshuffle,
)
from .text import SIDE_NAMES

Counts = npt.NDArray[np.int64]

HANDS, THIRDS = 100, 11
"""What the Banker of chemin de fer can see: two values, and the Player's third card or 10 where the Player stood."""
STANDING, DRAWING = 0, 1
"""The Banker's answers, or the Player's to a five."""
OTHER, FIVE_STOOD, FIVE_DREW = 0, 1, 2
"""What the Player did: nothing by choice, or which on a five."""
TOTALS = np.add.outer(np.arange(10), np.arange(10)).ravel() % 10
"""[HANDS] the total of two values."""


@kernel
def card_of(value: int, number: int) -> int:
    """The `number`-th card of a value, over the packs; values of nought have sixteen in each, the others four."""
    if value == 0:
        return number // 16 * 52 + number % 4 * 13 + 8 + number // 4 % 4
    return number // 4 * 52 + number % 4 * 13 + (value - 2) % 13


@kernel
def next_coup(values: Counts, deck: Counts, counts: Counts, replaced: bool, number: int) -> int:
    """Lay out the coup of that number, its decimal digits being the six values; gives how many orders of real cards it
    stands for."""
    weight = 1
    for place in range(6):
        value = number // 10 ** (5 - place) % 10
        values[place] = value
        before = 0
        for earlier in range(place):
            before += int(values[earlier] == value)
        weight *= counts[value] - (0 if replaced else before)
        if weight <= 0:
            return 0
        deck[place] = card_of(value, 0 if replaced else before)
    return weight


@kernel
def count_coups(
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, tally: Counts
) -> None:
    """Deal every coup, at a betting table to one bettor who backs PLAYER, and play it in every way that is left open.

    Adds the weights to `tally` [3, 10, HANDS, THIRDS, 2, 3]: what the Player did, the Player's two-card total, the
    Banker's two values with the lower first, the Player's third card, whether the Banker drew, who won.
    """
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state = states[0]
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        if weight == 0:
            continue
        for choice in range(FIVE_DREW + 1):
            for draws in range(2):
                raw[0, :] = 0
                rules.start(options, state, 0)
                rules.deal(options, state, deck)
                if options.mode != Mode.CHEMIN:
                    rules.step(options, state, bet_on(0, PLAYER))
                if (state.phase == PLAYER_TURN) != (choice != OTHER):
                    break
                if choice != OTHER:
                    rules.step(options, state, DRAW if choice == FIVE_DREW else STAND)
                if state.phase == BANKER_TURN:
                    rules.step(options, state, DRAW if draws else STAND)
                elif draws:
                    break
                hand = 10 * min(values[1], values[3]) + max(values[1], values[3])
                third = values[4] if state.player_drew else STOOD
                winner = int(state.winner) - 1
                tally[choice, two_cards(state, PLAYER), hand, third, int(state.banker_drew), winner] += weight


def full_counts(game: Game) -> Counts:
    """How many cards of each value 0-9 the packs have; with `decks` inf, in a suit."""
    counts = np.full(10, game.options.suits * game.options.decks or 1, np.int64)
    counts[0] *= 4
    return counts


def _counted(game: Game, counts: Counts) -> Counts:
    """The tally of `count_coups` for one coup of a game."""
    states, tally = np.zeros(1, game.state_dtype), np.zeros((3, 10, HANDS, THIRDS, 2, 3), np.int64)
    arguments = game.options, states, states.view(np.uint8).reshape(1, -1), counts, tally
    bind(count_coups, *arguments)(*arguments)
    return tally


def _by_total(tally: Counts) -> Counts:
    """A tally with the Banker's hands [..., HANDS, n] taken together by their totals [..., 10, n]."""
    found = np.zeros((*tally.shape[:-2], 10, tally.shape[-1]), np.int64)
    for hand, total in enumerate(TOTALS):
        found[..., total, :] += tally[..., hand, :]
    return found


class Odds(NamedTuple):
    """How many of the ordered sequences of six cards end in each way."""

    tally: Counts
    """By the Player's two-card total, the Banker's, whether the Player drew, whether the Banker drew, and who won
    [10, 10, 2, 2, 3]."""

    @property
    def wins(self) -> tuple[int, int, int]:
        """Sequences that the Player hand wins, the Banker hand wins, and ties."""
        player, bank, tie = self.tally.sum((0, 1, 2, 3)).tolist()
        return player, bank, tie

    @property
    def total(self) -> int:
        """All sequences."""
        return sum(self.wins)

    def share(self, side: int) -> Fraction:
        """The probability that PLAYER, BANK or TIE comes."""
        return Fraction(self.wins[side], self.total)


def odds(game: Game, five: int = DRAW, counts: Sequence[int] | None = None) -> Odds:
    """The exact odds of one coup at a betting table, the participant drawing to or standing on a five (DRAW, STAND).

    `counts` are the cards of each value 0-9 left in the shoe; by default the packs are whole. Raises ValueError for
    chemin de fer, which has no bets.
    """
    if game.options.mode == Mode.CHEMIN:
        raise InvalidValue('There are no bets in mode "chemin": ask for odds.chemin, or for a game in another mode.')
    given = full_counts(game) if counts is None else np.asarray(counts, np.int64)
    tally = _counted(_alone(game), given)
    found = tally[OTHER] + tally[FIVE_DREW if five == DRAW else FIVE_STOOD]
    drew = np.stack([found[:, :, STOOD], found[:, :, :STOOD].sum(2)], axis=2)  # [10, HANDS, 2, 2, 3]
    return Odds(_by_total(drew.reshape(10, HANDS, -1)).reshape(10, 10, 2, 2, 3))


def _alone(game: Game) -> Game:
    """One coup of the same game with one bettor, whom the house pays whatever the bet."""
    return game.bind(num_coups=1, num_bettors=1, banker=Bank.HOUSE, purses=0, reshuffle=Reshuffle.EVERY_COUP)


def unit_gains(game: Game, side: int) -> list[Fraction]:
    """What a unit on a side gains where PLAYER, BANK, TIE comes (§1.4)."""
    return [Fraction(gain).limit_denominator(10**9) for gain in gains_of(game.options, side)]


def bet_value(game: Game, found: Odds, side: int) -> Fraction:
    """What a unit on PLAYER, BANK or TIE gains on average (§1.4)."""
    gains = unit_gains(game, side)
    return sum((found.share(winner) * gains[winner] for winner in range(3)), Fraction(0))


class Edge(NamedTuple):
    """What the house keeps of a unit on one side, a five being drawn to."""

    bet: str
    whole: Fraction
    gone: dict[str, tuple[int, Fraction]]
    """Where the packs end: how many such cards there are, and how much more it is with one of them gone."""


def edges(game: Game) -> Iterator[Edge]:
    """The exact edge of each side's bet. Raises ValueError for chemin de fer."""

    def kept(gone: int | None) -> list[Fraction]:
        counts = full_counts(game)
        if gone is not None:
            counts[gone] -= 1
        found = odds(game, counts=counts.tolist())
        return [-bet_value(game, found, side) for side in (PLAYER, BANK, TIE)]

    whole = kept(None)
    less = [kept(gone) for gone in range(10)] if game.options.decks else []
    for side in (PLAYER, BANK, TIE):
        gone = {
            f"a card of value {value}": (int(cards), edges[side] - whole[side])
            for value, (cards, edges) in enumerate(zip(full_counts(game), less, strict=False))
        }
        yield Edge(SIDE_NAMES[side], whole[side], gone)


class Fives(NamedTuple):
    """What comes of a five that draws or stands, by the Banker's two-card total, declared (§1.5)."""

    tally: npt.NDArray[np.int64]
    """Ordered sequences of six cards, by the Banker's total 0-7, whether the Player stands or draws, and who wins
    [8, 2, 3]."""
    total: int
    """All sequences, those without a choice too."""

    def gains(self, game: Game, side: int) -> list[tuple[Fraction, Fraction]]:
        """What a unit on a side gains where the Player hand stands, where it draws, for each of the Banker's totals."""
        unit = np.array(unit_gains(game, side))
        weighed = (self.tally.astype(object) * unit).sum(2)
        cells = self.tally[:, STANDING].sum(1).tolist()
        return [
            (Fraction(stands, cell), Fraction(draws, cell))
            for (stands, draws), cell in zip(weighed, cells, strict=True)
        ]

    def answers(self, game: Game, side: int) -> list[int | None]:
        """The best answer of a participant who backs a side, STAND or DRAW, for each of the Banker's totals; None where
        they are level."""
        return [
            None if stands == draws else STAND if stands > draws else DRAW for stands, draws in self.gains(game, side)
        ]

    def worth(self, game: Game, side: int) -> Fraction:
        """What these answers add to a unit on the side, over always drawing, a coup."""
        cells = self.tally[:, STANDING].sum(1).tolist()
        return sum(
            (
                Fraction(cell, self.total) * max(Fraction(0), stands - draws)
                for cell, (stands, draws) in zip(cells, self.gains(game, side), strict=True)
            ),
            Fraction(0),
        )


def fives(game: Game) -> Fives:
    """Both answers to a five against each of the Banker's totals, at a betting table. Raises ValueError for chemin de
    fer."""
    if game.options.mode != Mode.TABLE:
        raise InvalidValue('A five is answered with both hands open in mode "table": ask for a game in that mode.')
    tally = _counted(_alone(game), full_counts(game))
    answered = _by_total(tally[FIVE_STOOD:, FIVE].sum((2, 3)))[:, :NATURAL]
    return Fives(answered.swapaxes(0, 1), int(tally[: FIVE_STOOD + 1].sum()))


class Chemin(NamedTuple):
    """Chemin de fer with its two choices left open: weighted gains of the Player."""

    gains: npt.NDArray[np.int64]
    """By what the Player did, what the Banker sees and whether the Banker draws [3, K, 2]."""
    seen: tuple[tuple[int, int, int], ...]
    """What the Banker sees, for each of the K: two values (a total and -1 where no more is shown) and the third card,
    10 for stood."""
    decided: int
    """Gains of coups that naturals decided."""
    total: int
    """Weight of all coups."""

    def lines(self) -> npt.NDArray[Any]:
        """The Player's gain for each thing seen and each answer, as `a + b p` where p is the Player's probability of
        drawing to a five [K, 2, 2]."""
        constant = self.gains[OTHER] + self.gains[FIVE_STOOD]
        slope = self.gains[FIVE_DREW] - self.gains[FIVE_STOOD]
        return np.stack([constant, slope], axis=-1).astype(object)

    def value(self, draws: Fraction) -> Fraction:
        """What the Player gains a coup by drawing to a five with this probability, where the Banker answers as well as
        can be."""
        lines = self.lines()
        answers = lines[..., 0] + lines[..., 1] * draws
        return Fraction(self.decided + sum(min(pair) for pair in answers)) / self.total

    def equilibrium(self) -> Equilibrium:
        """The Player's best probability; the value is concave and bends only where two answers are equally good."""
        lines = self.lines()
        difference = lines[:, DRAWING] - lines[:, STANDING]
        bends = {Fraction(0), Fraction(1)}
        bends |= {Fraction(-a, b) for a, b in difference if b and 0 < Fraction(-a, b) < 1}
        draws = max(bends, key=self.value)
        gaps = [a + b * draws for a, b in difference]
        level = [index for index, gap in enumerate(gaps) if gap == 0 and difference[index][1]]
        # Elsewhere the Banker takes the answer that is worse for the Player; at the level cell the Banker mixes until a
        # five is indifferent.
        slope = sum(
            lines[index, DRAWING if gap < 0 else STANDING, 1] for index, gap in enumerate(gaps) if index not in level
        )
        mixed = None
        if len(level) == 1:
            mixed = Fraction(-(slope + lines[level[0], STANDING, 1]), difference[level[0]][1])
        answers = {self.seen[index]: gap < 0 for index, gap in enumerate(gaps)}
        return Equilibrium(draws, self.value(draws), self.seen[level[0]] if level else None, mixed, answers)


class Equilibrium(NamedTuple):
    """How chemin de fer is played by two who cannot be outplayed."""

    draws: Fraction
    """With what probability the Player draws to a five."""
    value: Fraction
    """What the Player gains a coup."""
    mixed: tuple[int, int, int] | None
    """The one thing seen (see `Chemin.seen`) at which the Banker mixes."""
    mixed_draws: Fraction | None
    """With what probability the Banker draws there."""
    answers: dict[tuple[int, int, int], bool]
    """Whether the Banker draws, at everything else that can be seen."""


def chemin(game: Game) -> Chemin:
    """The gains of chemin de fer for the Banker that `banker_sees` names. The Player chooses on a five only. Raises
    OptionError for a betting table's options that chemin de fer cannot have."""
    one = game.bind(
        mode=Mode.CHEMIN,
        num_coups=1,
        reshuffle=Reshuffle.EVERY_COUP,
        chemin_player_free=False,
        banker_policy=BankerPolicy.FREE,
    )
    tally = _counted(one, full_counts(one))
    gained = tally[..., PLAYER] - tally[..., BANK]
    table = gained[:, :NATURAL].sum(1)
    decided = int(gained[OTHER].sum() - table[OTHER, TOTALS < NATURAL].sum())
    total = int(tally[: FIVE_STOOD + 1, ..., 0, :].sum())  # each coup once: the Banker stands
    by_total = one.options.banker_sees == BankerSees.TOTAL
    gains: dict[tuple[int, int, int], npt.NDArray[np.int64]] = {}
    for hand in range(HANDS):
        low, high = divmod(hand, 10)
        if low <= high and (low + high) % 10 < NATURAL:
            for third in range(THIRDS):
                seen = ((low + high) % 10, -1, third) if by_total else (low, high, third)
                gains[seen] = gains.get(seen, np.zeros((3, 2), np.int64)) + table[:, hand, third]
    return Chemin(np.stack(list(gains.values()), axis=1), tuple(gains), decided, total)


def _betting_text(game: Game) -> str:
    lines = []
    for five, name in ((DRAW, "drawing to a five"), (STAND, "standing on a five")):
        if five == STAND and game.options.mode == Mode.PUNTO_BANCO:
            continue
        found = odds(game, five)
        lines += [
            f"{name}: {found.total:,} orders of six cards",
            "bet     comes in                 probability   gain of a unit",
        ]
        for side in (PLAYER, BANK, TIE):
            value = float(bet_value(game, found, side))
            lines.append(
                f"{SIDE_NAMES[side].upper():<8}{found.wins[side]:>23,}  {float(found.share(side)):.6f}    {value:+.6f}"
            )
    if hands_are_declared(game.options) and game.options.mode == Mode.TABLE:
        lines += _declared_lines(game)
    return "\n".join(lines)


def _declared_lines(game: Game) -> list[str]:
    known, drawn = fives(game), odds(game)
    sides = (PLAYER, BANK, TIE)
    lines = [
        "a five with the Banker's total declared: what a unit gains where the Player hand stands, where it draws",
        "total " + "".join(f"{SIDE_NAMES[side].upper():^24}" for side in sides).rstrip(),
    ]
    for points, row in enumerate(zip(*(known.gains(game, side) for side in sides), strict=True)):
        cells = [f"  {float(stands):+.6f}  {float(draws):+.6f}  " for stands, draws in row]
        lines.append((f"{points:<6}" + "".join(cells)).rstrip())
    best = [float(bet_value(game, drawn, side) + known.worth(game, side)) for side in sides]
    lines.append("all   " + "".join(f"{value:^+24.6f}" for value in best).rstrip())
    lines.append("(the last line: of a coup, with the best answer to every five)")
    return lines


def _chemin_text(game: Game) -> str:
    found = chemin(game)
    best = found.equilibrium()
    lines = [f"always drawing to a five: {float(found.value(Fraction(1))):+.10f} a coup to the Player"]
    lines += [f"always standing on a five: {float(found.value(Fraction(0))):+.10f}"]
    lines += [
        (
            f"equilibrium: {best.value} = {float(best.value):+.10f}, drawing "
            f"with probability {best.draws} = {float(best.draws):.6f}"
        )
    ]
    if best.mixed is not None and best.mixed_draws is not None:
        lines.append(
            f"the Banker who sees {best.mixed} draws with probability "
            f"{best.mixed_draws} = {float(best.mixed_draws):.6f}"
        )
    return "\n".join(lines)


def text(game: Game) -> str:
    """The exact odds under a game's options: of bets, or with mode=chemin of the two hands' choices."""
    return _chemin_text(game) if game.options.mode == Mode.CHEMIN else _betting_text(game)
