"""Twenty faults, each a small change to one rule of one game, planted in the reference of `score-rules`.

`main` is the reference as a program that plants a fault for each script, by its number in place of a game's name;
`tests/programs/test_rules_to_code.py` looks whether the scorer finds each by its paragraph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

Rule = Callable[..., Any]


class Fault(NamedTuple):
    """A rule that is played wrongly."""

    game: str
    paragraph: str
    says: str
    rule: str
    """The module and name of its kernel in `backalley.envs`."""
    wrong: Callable[[Rule], Rule]
    """Makes the faulty kernel of the right one."""


def _dealer_forgets_ties(rule: Rule) -> Rule:
    def against_dealer(options: Any, state: Any, seat: int) -> None:
        rule(options, state, seat)
        if state.verdict[seat] == 2:
            state.verdict[seat] = 1

    return against_dealer


def _equal_totals_win(rule: Rule) -> Rule:
    def banker_total(options: Any, state: Any) -> int:
        total: int = rule(options, state)
        return total - 1 if 0 < total <= 21 else total

    return banker_total


def _chantal_is_a_seven(rule: Rule) -> Rule:
    def counted(options: Any, hand: Any, count: int) -> tuple[int, bool]:
        low, has_chantal = rule(options, hand, count)
        return low + 6 * has_chantal, False

    return counted


def _bids_bring_less(rule: Rule) -> Rule:
    def hand_points(*given: Any) -> int:
        points: int = rule(*given)
        return points - 5 if points > 0 else points

    return hand_points


FAULTS = [
    Fault("baccarat", "§1.1", "A ten counts one", "baccarat.coup.value",
          lambda rule: lambda card: 1 if card % 13 == 8 else rule(card)),
    Fault("baccarat", "§1.3", "The Banker stands on four", "baccarat.coup.banker_draws",
          lambda rule: lambda how, points, third, total: points != 4 and rule(how, points, third, total)),
    Fault("baccarat", "§1.4", "A tie loses what was bet on the Player", "baccarat.bets.unit_net",
          lambda rule: lambda options, side, winner: -1.0 if (side, winner) == (0, 2) else rule(options, side, winner)),
    Fault("backhand", "§1.2", "An ace is never replaced", "backhand_series.rules.replaced",
          lambda rule: lambda options, state, seat, card: card),
    Fault("backhand", "§1.3", "A push hand begins at 18", "backhand_series.rules.hand_type",
          lambda rule: lambda initial: 1 if initial == 17 else rule(initial)),
    Fault("buffalo_bayou", "§2.3", "Two aces of the dealer make 22", "backhand_series.stub.dealer_total",
          lambda rule: lambda shown, drawn, cap: rule(shown, drawn, False)),
    Fault("buffalo_bayou", "§2.4", "A tie with the dealer is won", "backhand_series.stub.against_dealer",
          _dealer_forgets_ties),
    Fault("missouri_city", "§3.4", "A five card hand loses to a backhand", "missouri_city.rules.comparison",
          lambda rule: lambda one, its, total, other, *rest: -rule(one, its, total, other, *rest)
          if one != other and 2 in (one, other) else rule(one, its, total, other, *rest)),
    Fault("missouri_city", "§3.6", "A stalemate is never replayed", "missouri_city.match.is_replayed",
          lambda rule: lambda options, stalemates: False),
    Fault("pitch", "§1.2", "The dealer has to bid higher, too", "pitch.points.may_bid",
          lambda rule: lambda options, highest, value, deals: value > highest and rule(options, highest, value, deals)),
    Fault("pitch", "§1.4", "A king counts four for Game", "pitch.points.pips",
          lambda rule: lambda cards: rule(cards) + sum(cards >> (13 * suit + 11) & 1 for suit in range(4))),
    Fault("pitch", "§1.5", "A side set back loses what it lacked of its bid", "pitch.points.change_of",
          lambda rule: lambda bid, won: won if won >= bid else won - bid),
    Fault("killer_bridge", "§1.3", "A trick under the big joker takes any trump", "killer_bridge.rules.playable",
          lambda rule: lambda hand, lead, trump: rule(hand, lead - 1 if lead == 53 else lead, trump)),
    Fault("killer_bridge", "§1.4", "A bid made brings five points less", "killer_bridge.scoring.hand_points",
          _bids_bring_less),
    Fault("bezique", "§1.4", "In the last tricks it is enough to follow suit", "bezique.pack.replies",
          lambda rule: lambda how, trump, led, held: held & 0xFF << (8 * (led >> 3)) or rule(how, trump, led, held)),
    Fault("bezique", "§1.5", "A marriage in trumps scores 20", "bezique.groups.points",
          lambda rule: lambda options, trump, action: 20 if rule(options, trump, action) == 40 and action < 70
          else rule(options, trump, action)),
    Fault("bezique", "§1.6", "A card of a sequence may score in a marriage", "bezique.declarations.eligible",
          lambda rule: lambda reuse, scored, kind: (kind == 2 and scored == 4) or rule(reuse, scored, kind)),
    Fault("poker_duel", "§1.7", "The lower hand wins", "poker_duel.rules.compare_slots",
          lambda rule: lambda options, state, slot: -rule(options, state, slot)),
    Fault("twenty_one", "§1.2", "Chantal counts seven", "twenty_one.valuation.counted",
          _chantal_is_a_seven),
    Fault("twenty_one", "§1.6", "At equal totals the punter wins", "twenty_one.bank.banker_total", _equal_totals_win),
]  # fmt: skip


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Put the faulty kernel in place of the right one wherever it is named, for a while."""
    path, _, name = fault.rule.rpartition(".")
    right = getattr(import_module(f"backalley.envs.{path}"), name)
    import_module(f"backalley.envs.{fault.game}.game")
    wrong = fault.wrong(right)
    modules = [module for known, module in sys.modules.items() if known.startswith("backalley.envs.")]
    places = [(module, named) for module in modules for named, value in list(vars(module).items()) if value is right]
    for module, named in places:
        setattr(module, named, wrong)
    try:
        yield
    finally:
        for module, named in places:
            setattr(module, named, right)


def main() -> None:
    """Answer scripts with a fault planted."""
    from backalley.benchmarks.rules_to_code import reference, worker

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        fault = FAULTS[int(request["game"])]
        with planted(fault):
            return worker.play(reference.reference_of(fault.game), request["script"])

    worker.answer_lines(answer)
