"""Exact odds of baccarat: every coup of six cards, dealt to the game's own kernels and weighed by how often it comes.

    python -m backalley.envs.baccarat.odds decks=8
    python -m backalley.envs.baccarat.odds mode=chemin decks=inf banker_sees=total

Suits do not matter, so a coup is a sequence of six values; a million sequences, each with its weight, are all there
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from ..core.base import Game
from ..core.kernel import kernel
from . import rules
from .bets import bet_on, net
from .coup import two_cards
from .game import GAME
from .state import (
    BANK,
    DRAW,
    NATURAL,
    PLAYER,
    PLAYER_TURN,
    SHOWN,
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

FIVE = 5  # the two-card total on which the Player hand has a choice (§1.3)
PATTERNS = 3 * 2**5
"""Kinds of a coup: who won; a third card of the Player, of the Banker; a natural of the Player, of the Banker; the
Player had a five."""
HANDS, THIRDS = 100, 11
"""What the Banker of chemin de fer can see: two values, and the Player's third card or 10 where the Player stood."""
STANDING, DRAWING = 0, 1
"""The Banker's answers."""
OTHER, FIVE_STOOD, FIVE_DREW = 0, 1, 2
"""What the Player of chemin de fer did: nothing by choice, or which on a five."""


@kernel
def card_of(value: int, number: int) -> int:
    """The `number`-th card of a value, over the packs; values of nought have sixteen in each, the others four."""
    if value == 0:
        return number // 16 * 52 + number % 4 * 13 + 8 + number // 4 % 4
    return number // 4 * 52 + number % 4 * 13 + (value - 2) % 13


@kernel
def next_coup(values: Counts, deck: npt.NDArray[np.int64], counts: Counts, replaced: bool, number: int) -> int:
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
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, five: int, tally: Counts
) -> None:
    """Deal every coup to one bettor who backs PLAYER, and to a five plays `five`; add the weights to `tally`
    [PATTERNS]."""
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state = states[0]
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        if weight > 0:
            raw[0, :] = 0
            rules.start(options, state, 0)
            rules.deal(options, state, deck)
            rules.step(options, state, bet_on(0, PLAYER))
            if state.seat >= 0:
                rules.step(options, state, five)
            player, banker = two_cards(state, PLAYER), two_cards(state, BANK)
            pattern = (int(state.winner) - 1) * 2 + int(state.player_drew)
            pattern = pattern * 2 + int(state.banker_drew)
            pattern = (pattern * 2 + int(player >= NATURAL)) * 2 + int(banker >= NATURAL)
            tally[pattern * 2 + int(player == FIVE)] += weight


@kernel
def count_chemin(
    options: Options, states: npt.NDArray[Any], raw: npt.NDArray[np.uint8], counts: Counts, table: Counts
) -> int:
    """Deal every coup of chemin de fer and play it in every way that is left open.

    Adds the Player's gains to `table` [3, HANDS, THIRDS, 2]: what the Player did, what the Banker sees, whether the
    Banker draws. Gives the gains of coups that naturals decided.
    """
    values, deck = np.zeros(6, np.int64), np.zeros(6, np.int64)
    state, decided = states[0], 0
    for number in range(10**6):
        weight = next_coup(values, deck, counts, options.decks == 0, number)
        if weight == 0:
            continue
        for choice in range(FIVE_DREW + 1):
            for draws in range(2):
                raw[0, :] = 0
                rules.start(options, state, 0)
                rules.deal(options, state, deck)
                if state.phase == SHOWN:
                    decided += weight * int(state.reward[0]) * int(choice == OTHER and draws == 0)
                elif (state.phase == PLAYER_TURN) == (choice != OTHER):
                    if choice != OTHER:
                        rules.step(options, state, DRAW if choice == FIVE_DREW else STAND)
                    low, high = min(values[1], values[3]), max(values[1], values[3])
                    third = values[4] if state.player_drew else STOOD
                    state.reward[0] = 0.0
                    rules.step(options, state, DRAW if draws else STAND)
                    table[choice, 10 * low + high, third, draws] += weight * int(state.reward[0])
    return decided


def full_counts(game: Game) -> Counts:
    """How many cards of each value 0-9 the packs have; with `decks` inf, in a suit."""
    counts = np.full(10, 4 * game.options.decks or 1, np.int64)
    counts[0] *= 4
    return counts


def _table(game: Game) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    states = np.zeros(1, game.state_dtype)
    return states, states.view(np.uint8).reshape(1, -1)


class Odds(NamedTuple):
    """How many of the ordered sequences of six cards end in each way."""

    tally: npt.NDArray[np.int64]
    """By winner, Player drew, Banker drew, Player had a natural, Banker had a natural, Player had a five [3, 2, 2, 2,
    2, 2]."""

    @property
    def wins(self) -> tuple[int, int, int]:
        """Sequences that the Player hand wins, the Banker hand wins, and ties."""
        player, bank, tie = self.tally.reshape(3, -1).sum(1).tolist()
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
        raise ValueError('There are no bets in mode "chemin": ask for odds.chemin, or for a game in another mode.')
    one = game.bind(num_coups=1, num_bettors=1, banker=Bank.HOUSE, reshuffle=Reshuffle.EVERY_COUP)
    tally = np.zeros(PATTERNS, np.int64)
    given = full_counts(game) if counts is None else np.asarray(counts, np.int64)
    count_coups(one.options, *_table(one), given, five, tally)
    return Odds(tally.reshape(3, 2, 2, 2, 2, 2))


def bet_value(game: Game, found: Odds, side: int) -> Fraction:
    """What a unit on PLAYER, BANK or TIE gains on average (§1.4)."""
    unit = game.bind(stakes=1).options
    gains = [Fraction(net(unit, bet_on(0, side), winner)).limit_denominator(10**9) for winner in range(3)]
    return sum((found.share(winner) * gains[winner] for winner in range(3)), Fraction(0))


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
    options: Options = one.options
    table = np.zeros((3, HANDS, THIRDS, 2), np.int64)
    counts = full_counts(one)
    decided = count_chemin(options, *_table(one), counts, table)
    cards = int(counts.sum())
    total = cards**6 if options.decks == 0 else int(np.prod([cards - taken for taken in range(6)], dtype=object))
    gains: dict[tuple[int, int, int], npt.NDArray[np.int64]] = {}
    for hand in range(HANDS):
        low, high = divmod(hand, 10)
        if low <= high and (low + high) % 10 < NATURAL:
            for third in range(THIRDS):
                seen = ((low + high) % 10, -1, third) if options.banker_sees == BankerSees.TOTAL else (low, high, third)
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
    return "\n".join(lines)


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


@click.command()
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...")
def main(given: tuple[str, ...]) -> None:
    """Print the exact odds under the options given, of bets, or with mode=chemin of the two hands' choices."""
    try:
        game = GAME.bind(dict(item.partition("=")[::2] for item in given))
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(_chemin_text(game) if game.options.mode == Mode.CHEMIN else _betting_text(game))


if __name__ == "__main__":
    main()
