"""What a house keeps of a game that one seat plays against it, and what a win must pay for a given edge."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import ModuleType

import numpy as np

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game, GameType

from ..exact.exact import Unsolvable, solve
from ..figures import stats
from ..matches.sample import Sample
from .bounds import check_quick, value_of
from .figure import Figure, derived, estimated, exactly

EDGES = (0.0, 0.01, 0.02, 0.05)
"""The house's edges of the table of fair pay."""
RUIN = 0.01
GAMES = 1000
"""The games of the longest losing run."""
_NEAR = 1e-6
"""A change of pay that leaves best play as it is."""
_SAME = 1e-9


def figures(
    game: Game, names: Sequence[str], alone: Sequence[Sample], left_out: list[str], num_threads: int
) -> Iterator[Figure]:
    """The house's edge and what goes with it, by each agent's play and by best play; games of several seats have no
    house."""
    if game.num_seats > 1:
        left_out.append("The house: the seats play against one another, so there is no edge of a house to measure.")
        return
    for name, sample in zip(names, alone, strict=True):
        yield from _sampled(name, sample, game)
    yield from _bets(game, left_out)
    try:
        check_quick(game)
        yield from _exact(game, num_threads)
        yield from _removals(game, num_threads)
    except Unsolvable as error:
        left_out.append(f"Exact values and fair pay: {error}")


def odds_module(game: GameType) -> ModuleType | None:
    """Return the odds.py beside a game's game.py, if there is one."""
    name = f"{game.module.rpartition('.')[0]}.odds"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def _bets(game: Game, left_out: list[str]) -> Iterator[Figure]:
    """Exact edges of single bets, where the game's odds.py has `edges`."""
    edges = getattr(odds_module(game.type), "edges", lambda _: ())
    try:
        for bet, whole, gone in edges(game):
            yield exactly("house", f"edge of a unit on {bet}", "any", float(whole))
            for card, (_, more) in gone.items():
                yield exactly("house", f"change of that on {bet}, {card} gone", "any", float(more))
            if gone:
                found = counting(float(-whole), [(cards, float(-more)) for cards, more in gone.values()])
                yield derived("house", f"what counting gains on {bet}, about", "any", found)
    except InvalidValue as error:
        left_out.append(f"Edges of bets: {error}")


def deviation(changes: Sequence[tuple[int, float]]) -> float:
    """Return about the standard deviation of a gain over what is left of the pack, half of it gone. `changes` are, for
    each kind of card, how many there are and what one of them gone adds to the gain.

    Changes are taken to add up (Griffin, The Theory of Blackjack): with n of N cards gone the deviation is
    s * sqrt(n (N - 1) / (N - n)), where s is that of a card's change."""
    cards, change = np.array(changes, float).T
    pack = int(cards.sum())
    variance = np.average((change - np.average(change, weights=cards)) ** 2, weights=cards)
    return math.sqrt(variance * (pack // 2) * (pack - 1) / (pack - pack // 2))


def counting(gain: float, changes: Sequence[tuple[int, float]]) -> float:
    """Return about how much more a unit gains that is bet only where the cards left favour it, by a normal law."""
    spread = deviation(changes)
    if spread == 0:
        return 0.0
    height = gain / spread
    density, below = math.exp(-(height**2) / 2) / math.sqrt(2 * math.pi), math.erfc(-height / math.sqrt(2)) / 2
    return gain * below + spread * density - max(0.0, gain)


def _removals(game: Game, num_threads: int) -> Iterator[Figure]:
    """What one card of each kind out of the pack does, if the player knows it and plays at best."""
    assert game.type.enumeration is not None
    whole, alike = value_of(game, num_threads).low, dict[int, list[int]]()
    for card in range(game.deck_size):
        alike.setdefault(int(game.type.enumeration.kind(card)), []).append(card)
    changes = list[tuple[int, float]]()
    for card, *more in sorted(alike.values()):
        less = solve(game, without=card, num_threads=num_threads).best_return
        changes.append((1 + len(more), less - whole))
        yield exactly("house", f"change of the gain, {game.card_name(card)} gone", "best", whole - less)
    yield derived("house", "what counting gains, about", "best", counting(whole, changes))


def _sampled(name: str, sample: Sample, game: Game) -> Iterator[Figure]:
    gained = sample.returns[:, 0, 0]
    least, most = game.reward_range
    edge, lost = stats.mean_interval(-gained, (-most, -least)), (gained < -stats.TIED).astype(float)
    yield estimated("house", "gain of the house", name, edge)
    for words, those in (("won", gained > stats.TIED), ("tied", np.abs(gained) <= stats.TIED), ("lost", lost > 0)):
        yield estimated("house", f"share of games {words}", name, stats.share_interval(those.astype(float)))
    yield derived("house", "standard deviation of a game", name, gained.std(ddof=1))
    yield from _runs(name, float(lost.mean()))


def _runs(name: str, lost: float) -> Iterator[Figure]:
    if 0 < lost < 1:
        longest = math.log(GAMES * (1 - lost)) / -math.log(lost)
        yield derived("house", f"longest losing run in {GAMES:,} games, about", name, longest)


def _exact(game: Game, num_threads: int) -> Iterator[Figure]:
    pay = FairPay(partial(_value, game, num_threads))
    gain, won = pay.line(1.0)
    yield exactly("house", "gain of the house", "best", -gain)
    if tuple(game.reward_range) == (-1.0, 1.0):
        lost = won - gain
        deviation = math.sqrt(max(0.0, won + lost - gain**2))
        for words, share in (("won", won), ("tied", max(0.0, round(1 - won - lost, 9))), ("lost", lost)):
            yield derived("house", f"share of games {words}", "best", share)
        yield derived("house", "standard deviation of a game", "best", deviation)
        yield from _runs("best", lost)
        if gain:
            units = -(deviation**2) * math.log(RUIN) / (2 * abs(gain))
            who = "player" if gain > 0 else "house"
            yield derived("house", f"stakes that the {who} needs for a risk of ruin of {RUIN:.0%}", "best", units)
    for edge in EDGES:
        yield exactly("house", f"a win pays, for an edge of {edge:.0%}", "best", pay.of_edge(edge))


def _value(game: Game, num_threads: int, win_pays: float) -> float:
    return solve(game, win_pays=win_pays, num_threads=num_threads).best_return


class FairPay:
    """What a win must pay for an edge of the house, with the player's best answer to each pay.

    `value(pay)` is what best play gains. It is the greatest of straight lines, one for each way of playing, since a pay
    multiplies what that way wins. So the pay is found exactly, in few steps: by the greatest of the lines known so far,
    until the value there lies on one of them."""

    def __init__(self, value: Callable[[float], float]) -> None:
        self._value = value
        self._lines: list[tuple[float, float]] = []
        """Of each: what is gained where a win pays nothing, and what a pay of 1 adds."""

    def line(self, pay: float) -> tuple[float, float]:
        """Return what best play gains at that pay, and what it wins: the change of the gain with the pay."""
        gain = self._value(pay)
        won = (self._value(pay + _NEAR) - gain) / _NEAR
        self._lines.append((gain - pay * won, won))
        return gain, won

    def of_edge(self, edge: float) -> float:
        """Return the pay at which best play loses `edge` of its stake a game."""
        if not self._lines:
            self.line(1.0)
        while True:
            pay = min((-edge - base) / won for base, won in self._lines)
            if self._value(pay) <= -edge + _SAME or len(self._lines) > 50:
                return pay
            self.line(pay)
