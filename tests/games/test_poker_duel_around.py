"""Poker Duel's bots off their own path: cards that somebody else has placed are planned around."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.core.rules.pokerhands import set_strength
from backalley.envs.poker_duel.bots import splitter
from backalley.envs.poker_duel.bots.grading import grade, misere_grade
from backalley.envs.poker_duel.state import ASSIGN, HAND, SLOT, SLOTS
from backalley.envs.poker_duel.tables import CHANCES, MISERE_CHANCES

GAME = game_type("poker_duel").bind()
Hands = tuple[int, int, int]
Worth = Callable[[Any, Hands], Any]


def card_set(cards: Any) -> int:
    return sum(1 << int(card) for card in np.ravel(cards))


def members(cards: int) -> list[int]:
    return [1 << card for card in range(52) if (cards >> card) & 1]


def offered(dice: np.random.Generator) -> list[int]:
    return sorted(dice.permutation(52)[:HAND].tolist(), key=lambda card: (card % 13, card // 13))


def shown_to(cards: list[int], slots: list[int]) -> Any:
    """What a player sees who has put the first of fifteen cards into these slots."""
    shown = np.zeros(1, GAME.observation_dtype)
    shown["phase"][0, 0] = 1
    for card, slot in zip(cards, slots, strict=False):
        shown["slots"][0, slot, card] = 1
    shown["unassigned"][0, cards[len(slots) :]] = 1
    shown["next_card"][0, cards[len(slots)]] = 1
    return shown[0]


def finished(options: Any, act: Any, cards: list[int], slots: list[int], dice: np.random.Generator) -> Hands:
    """The split that a bot makes of fifteen cards whose first lie in `slots`; its key is another each time."""
    slots = slots.copy()
    while len(slots) < HAND:
        mask = np.zeros(GAME.num_actions, np.int8)
        for slot in range(SLOTS):
            mask[ASSIGN + slot] = slots.count(slot) < SLOT
        action = int(act(options, shown_to(cards, slots), mask, np.uint64(dice.integers(2**63))))
        assert mask[action] == 1
        slots.append(action - ASSIGN)
    return tuple(
        card_set([card for card, slot in zip(cards, slots, strict=True) if slot == which]) for which in range(3)
    )  # type: ignore[return-value]


def at_random(count: int, dice: np.random.Generator) -> list[int]:
    """Slots for so many cards, none holding more than five."""
    slots: list[int] = []
    while len(slots) < count:
        slots.append(int(dice.choice([slot for slot in range(SLOTS) if slots.count(slot) < SLOT])))
    return slots


def by_table(misere: bool) -> Worth:
    """How strong and misere value a whole split."""
    table = (MISERE_CHANCES if misere else CHANCES)[2]

    def worth(options: Any, hands: Hands) -> float:
        weights = splitter.round_weights(options, splitter.SPREAD, hands[0] | hands[1] | hands[2])
        grades = [(misere_grade if misere else grade)(hand, options.ace_low_straight) for hand in hands]
        return sum(weights[slot] * table[slot, grades[slot]] for slot in range(SLOTS))

    return worth


def by_strength(misere: bool) -> Worth:
    """How greedy values a whole split: the hand of slot 3, then that of slot 2."""
    sign = -1 if misere else 1
    return lambda options, hands: tuple(sign * set_strength(hands[slot], options.ace_low_straight) for slot in (2, 1))


OFF_PATH = pytest.mark.parametrize(
    ("name", "given", "worth"),
    [
        ("strong", {}, by_table(False)),
        ("strong", {"round_points": (3, 1, 1), "ace_low_straight": False}, by_table(False)),
        ("strong", {"misere": True}, by_table(True)),
        ("misere", {}, by_table(True)),
        ("greedy", {}, by_strength(False)),
        ("greedy", {"misere": True}, by_strength(True)),
    ],
)


@OFF_PATH
def test_no_swap_of_two_cards_betters_a_split_that_chance_began(name: str, given: dict[str, Any], worth: Worth) -> None:
    options, act, dice = GAME.bind(given).options, GAME.bots[name].act, np.random.default_rng(1)
    checked = 0
    for number in range(80 if COMPILED else 2):
        cards = offered(dice)
        own = finished(options, act, cards, [], dice)
        slots = at_random(2 + number % 12 if COMPILED else 10, dice)
        placed: Hands = tuple(card_set([c for c, s in zip(cards, slots, strict=False) if s == w]) for w in range(3))  # type: ignore[assignment]
        made = finished(options, act, cards, slots, dice)
        if splitter.agrees(own, placed):
            assert made == own
            continue
        assert splitter.agrees(made, placed)
        best = worth(options, made)
        free = [(slot, card) for slot in range(SLOTS) for card in members(made[slot] & ~placed[slot])]
        for (first, mine), (second, theirs) in itertools.combinations(free, 2):
            if first != second:
                hands = list(made)
                hands[first] ^= mine | theirs
                hands[second] ^= mine | theirs
                assert worth(options, (hands[0], hands[1], hands[2])) <= best
                checked += 1
    assert checked > (1_000 if COMPILED else 0)


@pytest.mark.parametrize("misere", [False, True])
def test_a_split_around_cards_is_the_best_of_all_completions(misere: bool) -> None:
    options, dice, worth = GAME.bind(misere=misere).options, np.random.default_rng(2), by_table(misere)
    table = (MISERE_CHANCES if misere else CHANCES)[2]
    for _ in range(20 if COMPILED else 2):
        cards, slots = offered(dice), at_random(8 if COMPILED else 11, dice)
        placed = [card_set([c for c, s in zip(cards, slots, strict=False) if s == which]) for which in range(3)]
        rest = card_set(cards[len(slots) :])
        best = -1.0
        for first in itertools.combinations(members(rest), SLOT - slots.count(0)):
            left = rest & ~sum(first)
            for second in itertools.combinations(members(left), SLOT - slots.count(1)):
                hands = placed[0] | sum(first), placed[1] | sum(second), placed[2] | (left & ~sum(second))
                best = max(best, worth(options, hands))
        search = splitter.search_by(options, table, splitter.SPREAD, card_set(cards), misere)
        found = splitter.split_around(search, (placed[0], placed[1], placed[2]), rest)
        assert worth(options, found) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", list(GAME.bots))
@pytest.mark.parametrize("misere", [False, True])
def test_on_and_off_its_path_a_bot_carries_out_one_split(name: str, misere: bool) -> None:
    """The split that it has in mind at the first card after those of chance is the one that it makes."""
    options, act, dice = GAME.bind(misere=misere).options, GAME.bots[name].act, np.random.default_rng(3)
    for number in range(100 if COMPILED else 2):
        cards = offered(dice)
        slots = at_random(number % 10 if COMPILED else 10, dice)
        made = finished(options, act, cards, slots, dice)
        # Whatever follows of the made split, in whichever length, leads to the same.
        held = [next(slot for slot in range(SLOTS) if (made[slot] >> card) & 1) for card in cards]
        for length in range(len(slots), HAND, 3):
            assert finished(options, act, cards, held[:length], dice) == made
