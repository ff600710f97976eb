"""Poker Duel's splits: around cards that somebody else has placed, and drawn up as wholes by what they are worth."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.policies.planner import planner as planner_of
from backalley.agents.registry import agent
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.core.rules.pokerhands import set_strength
from backalley.envs.poker_duel.bots import grading, planning, splitter
from backalley.envs.poker_duel.bots.grading import grade, kind_of, misere_grade
from backalley.envs.poker_duel.match import match_value
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


OWN = planning.bot_values(GAME.options)
DEALS = 40 if COMPILED else 2


def searching(shown: Any, values: npt.NDArray[np.float32] = OWN, game: Any = GAME) -> splitter.Search:
    return planning.search_for(planner_of(game, values), shown)


def worth(search: splitter.Search, split: Hands) -> float:
    chances = [float(search.values[slot][kind_of(split[slot], search.grading.left, True)]) for slot in range(SLOTS)]
    return float(splitter.worth_of(search.worth, *chances))


def random_hands(dice: np.random.Generator, count: int) -> list[int]:
    return [card_set(dice.choice(52, SLOT, replace=False)) for _ in range(count)]


# Classes --------------------------------------------------------------------------------------------------------------


def test_kinds_rank_hands_as_showdowns_do() -> None:
    dice = np.random.default_rng(1)
    hands = random_hands(dice, 3000 if COMPILED else 200)
    found = sorted((int(kind_of(hand, 0, True)), int(set_strength(hand, True))) for hand in hands)
    assert 0 <= found[0][0] < found[-1][0] < grading.KINDS
    for (kind, strength), (later, stronger) in itertools.pairwise(found):
        assert kind == later or strength < stronger


def test_hands_that_may_be_exchanged_are_distinguished_by_what_they_may_become() -> None:
    def kind(*names: str) -> int:
        return int(kind_of(card_set([GAME.card_number(name) for name in names]), 1, True))

    plain = kind("AC", "QD", "9H", "5S", "3C")
    assert kind("AC", "QC", "9H", "5C", "3C") - plain == 3, "four of a suit"
    assert kind("AC", "QD", "JH", "TS", "2C") - plain == 1, "a king is missing"
    assert kind("AC", "QH", "4H", "3S", "2C") - plain == 1, "a five is missing"
    assert kind("9C", "8D", "7H", "6S", "2C") - kind("9C", "8D", "5H", "3S", "2C") == 2, "a ten or a five"
    no_low_ace = card_set([GAME.card_number(name) for name in ("AC", "QH", "4H", "3S", "2C")])
    assert kind_of(no_low_ace, 1, False) == plain
    made = {kind("AC", "KC", "QC", "JC", "TC"), kind("AC", "KC", "QC", "JC", "9C"), kind("AC", "AD", "AH", "AS", "9C")}
    assert len(made) == 3
    assert max(made) == grading.OPEN_KINDS - 1


def test_no_two_places_share_a_class() -> None:
    places = itertools.product(range(SLOTS + 1), range(3), range(planning.NEWS))
    runs = [
        (int(planning.first_class(row, left, news)), grading.OPEN_KINDS if left else grading.KINDS)
        for row, left, news in places
    ]
    end = 0
    for first, length in sorted(runs):
        assert first == end
        end = first + length
    assert end == planning.CLASSES == len(OWN)


def test_the_values_at_the_beginning_are_the_strong_bots_chances() -> None:
    for hand in random_hands(np.random.default_rng(2), 100):
        for row, left, news in [(0, 0, 0), (1, 1, 2), (2, 2, 4), (3, 0, 1)]:
            place = planning.first_class(row, left, news) + kind_of(hand, left, True)
            assert OWN[place] == np.float32(CHANCES[left, row, grade(hand, True)])


def test_classes_and_outcomes_are_shown_as_a_match_goes_on() -> None:
    tables = BatchEnv(GAME, 1, seed=5, autoreset=False)
    tables.reset()
    dice = np.random.default_rng(5)
    inner, found, outcomes = tables.engine.batch, np.zeros(SLOTS, np.int64), np.zeros(SLOTS)
    shown_down = 0
    while inner.seat[0] >= 0:
        tables.step(dice.choice(np.flatnonzero(inner.mask[0]), 1))
        flat = tables.observe(np.array([0]), np.array([0]))
        shown = GAME.records(flat)[0]
        planning.look(GAME.options, shown, found, outcomes)
        sudden = int(shown["sudden_death"]) > 0
        for slot in range(SLOTS):
            mine, theirs = (card_set(np.flatnonzero(shown[name][slot])) for name in ("slots", "exposed"))
            if shown["phase"][0] or len(members(mine)) < SLOT:
                assert found[slot] == -1
                assert np.isnan(outcomes[slot])
                continue
            left = 0 if theirs else int(shown["turns_left"][0]) if shown["current_slot"][slot] else 2
            news = planning.news_of(shown, slot)
            first = planning.first_class(SLOTS if sudden else slot, left, news)
            assert found[slot] == first + kind_of(mine, left, True)
            if theirs:
                shown_down += 1
                lead = set_strength(mine, True) - set_strength(theirs, True)
                assert outcomes[slot] == (lead > 0) + 0.5 * (lead == 0)
            else:
                assert np.isnan(outcomes[slot])
    assert shown_down >= 2 * SLOTS


# Splits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "points", "finished_games"), [({}, (0, 0), 0), ({}, (8, 2), 1), ({"reward": "points"}, (3, 1), 1)]
)
def test_a_split_is_worth_what_its_outcomes_are(given: dict[str, Any], points: Hands, finished_games: int) -> None:
    game = GAME.bind(given)
    shown = shown_to(offered(np.random.default_rng(3)), [])
    shown["points"], shown["game"] = points, finished_games
    coefficients = planning.outcome_worth(game.options, shown)
    chances = (0.2, 0.7, 0.55)
    expected = 0.0
    for wins in itertools.product((0, 1), repeat=SLOTS):
        gain = sum(value if won else -value for won, value in zip(wins, (1, 2, 3), strict=True))
        lead = (points[0] - points[1]) // 2 + gain
        share = np.prod([chance if won else 1 - chance for won, chance in zip(wins, chances, strict=True)])
        expected += share * (gain if given else match_value(game.options, lead, 1 - finished_games))
    assert splitter.worth_of(coefficients, *chances) == pytest.approx(expected)


def test_all_steps_agree_with_the_plan_at_the_first() -> None:
    dice = np.random.default_rng(4)
    act = lambda options, *rest: planning.act(planner_of(GAME, OWN), *rest)  # noqa: E731
    for _ in range(DEALS):
        cards = offered(dice)
        pool = planning.best_splits(searching(shown_to(cards, [])), card_set(cards), 1)
        made = finished(GAME.options, act, cards, [], dice)
        assert made == tuple(pool.splits[0])
        assert sum(made) == card_set(cards)


def test_the_plan_is_near_the_best_of_all_splits_and_above_the_strong_bots() -> None:
    dice, gaps, leads = np.random.default_rng(6), [], []
    for _ in range(DEALS if COMPILED else 1):
        cards = offered(dice)
        search = searching(shown_to(cards, []))
        found = float(planning.best_splits(search, card_set(cards), 1).worth[0])
        best = worth(search, splitter.split_around(search, (0, 0, 0), card_set(cards)))
        strong = finished(GAME.options, GAME.bots["strong"].act, cards, [], dice)
        gaps.append(best - found)
        leads.append(found - worth(search, strong))
    assert min(gaps) >= -1e-9
    assert np.mean(gaps) < 0.002
    assert min(leads) >= -1e-9


def test_candidates_are_different_splits_best_first_and_stay_the_same_on_the_way() -> None:
    dice = np.random.default_rng(9)
    cards = offered(dice)
    by, mask, out = planner_of(GAME, OWN), np.zeros(GAME.num_actions, np.int8), np.zeros((24, HAND), np.int64)
    assert planning.candidates(by, shown_to(cards, []), mask, out) == 24
    assert len({tuple(row) for row in out.tolist()}) == 24
    assert ((out >= ASSIGN) & (out < ASSIGN + SLOTS)).all()
    search = searching(shown_to(cards, []))
    splits = [
        tuple(card_set([c for c, step in zip(cards, row, strict=True) if step == ASSIGN + s]) for s in range(SLOTS))
        for row in out.tolist()
    ]
    values = [worth(search, split) for split in splits]  # type: ignore[arg-type]
    assert values == sorted(values, reverse=True)
    chosen = out[7] - ASSIGN
    for steps in (1, 6, 13):
        later = np.zeros_like(out)
        count = planning.candidates(by, shown_to(cards, chosen[:steps].tolist()), mask, later)
        expected = [row[steps:].tolist() for row in out if (row[:steps] == out[7, :steps]).all()]
        assert [row[: HAND - steps].tolist() for row in later[:count]] == expected
        assert (later[:count, HAND - steps :] == -1).all()
    elsewhere = at_random(6, dice)
    assert planning.candidates(by, shown_to(cards, elsewhere), mask, out) >= 1
    shown = shown_to(cards, [])
    shown["phase"] = 0, 1, 0
    assert planning.candidates(by, shown, mask, out) == 0


def test_steps_that_the_rules_take_are_left_out_of_a_candidate() -> None:
    game = GAME.bind(skip_forced=True)
    by, out = planner_of(game, OWN), np.zeros((1, HAND), np.int64)
    for seed in range(5):
        tables = BatchEnv(game, 1, seed=seed, autoreset=False)
        tables.reset()
        inner = tables.engine.batch
        planning.candidates(by, inner.observation[0], inner.mask[0], out)
        steps = [int(step) for step in out[0] if step >= 0]
        me = int(inner.seat[0])
        for step in steps:
            assert inner.seat[0] == me
            tables.step(np.array([step]))
        assert (inner.state["filled"][0, me] == SLOT).all()


def test_exploring_alters_some_plans_and_every_plan_as_a_whole() -> None:
    dice, altered = np.random.default_rng(10), 0
    for number in range(DEALS):
        cards = offered(dice)
        by = planner_of(GAME, OWN, luck=2 * number + 1)
        act = lambda options, *rest, by=by: planning.act(by, *rest)  # noqa: E731
        made = finished(GAME.options, act, cards, [], dice)
        assert made == planning.remembered(planner_of(GAME, OWN, luck=2 * number + 1), shown_to(cards, []), sum(made))
        altered += made != planning.remembered(planner_of(GAME, OWN), shown_to(cards, []), sum(made))
    assert not COMPILED or 0.2 * DEALS < altered < 0.6 * DEALS


@pytest.mark.slow
def test_under_misere_nothing_is_planned() -> None:
    with pytest.raises(ValueError, match="cannot be planned under these options: with misere the lower hand wins"):
        agent("plans", GAME.bind(misere=True))
    for game in (GAME.bind(episode="sudden_death"), GAME.bind(exchanges_per_round=0), GAME.bind(num_games=5)):
        tables = BatchEnv(game, 2, seed=1, autoreset=False)
        shown = tables.reset()
        player = agent("plans", game)
        while (rows := np.flatnonzero(tables.engine.batch.seat >= 0)).size:
            actions = player.act(shown.observation[rows], shown.action_mask[rows])
            shown = tables.step(actions, rows)
