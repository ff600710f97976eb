"""Bezique: what vectors cannot say. Exact figures, invariants, the rules of declaring against a second reading of them,
redrawn worlds, and the bots. The solver of the last eight tricks has tests of its own beside this file."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.rule_based import BotAgent, RandomAgent
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.bezique import declarations
from backalley.envs.bezique.declarations import (
    BEZIQUE,
    DECLARE_SEVEN,
    DOUBLE_BEZIQUE,
    FOUR,
    MARRIAGE,
    NO_DECLARATION,
    SEQUENCE,
)
from backalley.envs.bezique.game import DEAL_POINTS, DEAL_SPREAD, GAME, leaf_value
from backalley.envs.bezique.pack import NONE, STOCK, card_name, card_number
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.parts import OVER
from tests.cases import random_action

JUNK = [card for card in range(64) if (card >> 1) & 7 in (1, 2)]  # eights and nines make no declaration


def table(**options: Any) -> AECEnv:
    return AECEnv(GAME.bind(options))


def holding(cards: list[int], trump: int) -> Any:
    """A state in which seat 0 holds these cards."""
    state = np.zeros(1, GAME.state_dtype(GAME.bind()))[0]
    state.hand[0, : len(cards)] = sorted(cards)
    state.held[0] = len(cards)
    state.trump = trump
    return state


def chance_in_eight(special: list[str], wanted: Any) -> Fraction:
    """The probability that eight of the 64 cards hold a set of `special` cards for which `wanted(cards)` holds."""
    numbers = [card_number(name) for name in special]
    found = 0
    for size in range(len(numbers) + 1):
        for held in itertools.combinations(numbers, size):
            if wanted(list(held)):
                found += comb(64 - len(numbers), 8 - size)
    return Fraction(found, comb(64, 8))


def test_a_seven_is_turned_up_once_in_eight_deals() -> None:
    options, sevens = GAME.bind(), 0
    for card in range(64):
        deck = np.arange(64)
        deck[[16, card]] = deck[[card, 16]]
        state = np.zeros(1, GAME.state_dtype)[0]
        GAME.kernels.deal(options, state, deck)
        assert state.turn_up == card
        sevens += int(state.score[0] == 10)
    assert Fraction(sevens, 64) == Fraction(1, 8)


def test_chances_of_a_dealt_hand() -> None:
    """A bezique, a double bezique, a seven of trumps among eight cards: the exact figures of the page."""
    game = GAME.bind()

    def declares(action: int) -> Any:
        return lambda cards: declarations.declarable(game.options, holding(cards, 0), 0) >> (action - DECLARE_SEVEN) & 1

    pair = ["QSa", "QSb", "JDa", "JDb"]
    assert chance_in_eight(pair, declares(BEZIQUE)) == Fraction(6847, 136152)
    assert chance_in_eight(pair, declares(DOUBLE_BEZIQUE)) == Fraction(5, 45384)
    sevens = chance_in_eight(["7Ha", "7Hb"], lambda cards: declarations.fresh_seven(holding(cards, 2), 0) != NONE)
    assert sevens == 1 - Fraction(comb(62, 8), comb(64, 8))
    assert float(sevens) == pytest.approx(0.236111, abs=1e-6)


@pytest.mark.parametrize(
    "given", [{}, {"seven_is_declaration": False, "reuse": "free"}, {"last_trick": "trick_24", "endgame": "classic"}]
)
def test_points_of_a_deal_add_up(given: dict[str, Any]) -> None:
    """Both scores are 16 brisques, ten for one trick, the declarations, and ten for a seven turned up."""
    env = table(**given)
    random = np.random.default_rng(5)
    for seed in range(15):
        env.reset(seed=seed)
        state = env.engine.batch.state[0]
        declared = int(state.score.sum())
        turned_up, count, sevens = declared, 0, 0
        won = [0, 0]
        while env.engine.batch.seat[0] != OVER:
            before, trick, action = state.score.copy(), int(state.trick), random_action(env, random)
            env.step(action)
            if DECLARE_SEVEN <= action < NO_DECLARATION:
                declared += int((state.score - before).sum())
                count += int(action != DECLARE_SEVEN or env.options.seven_is_declaration)
                sevens += int(action == DECLARE_SEVEN)
            if trick < int(state.trick) <= 24:
                won[int(state.leader)] += 1
        assert int(state.brisques.sum()) == 16
        assert int(state.score.sum()) == 160 + 10 + declared
        assert count <= 24
        assert sum(won) == 24
        assert sevens + turned_up // 10 <= 2


class Reading:
    """A second reading of the rules of declaring, slow and by sets of cards (§1.5, §1.6)."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.history: list[tuple[int, frozenset[int]]] = []

    def kind(self, action: int) -> str:
        spans = [("seven", 65), ("marriage", 69), ("bezique", 70), ("double", 71), ("four", 75), ("sequence", 79)]
        return next(name for name, end in spans if action < end)

    def used(self, card: int, *kinds: str) -> bool:
        return any(card in cards and self.kind(action) in kinds for action, cards in self.history)

    def scorings(self, card: int) -> int:
        return sum(card in cards for _, cards in self.history)

    def groups(self, action: int, hand: list[int]) -> list[frozenset[int]]:
        """Every set of held cards of the shape of a declaration."""
        names = {card: card_name(card) for card in hand}
        suit = "CDHS"
        if action == DOUBLE_BEZIQUE:
            whole = frozenset(card for card in hand if names[card][:2] in ("QS", "JD"))
            return [whole] if len(whole) == 4 else []
        if FOUR <= action < SEQUENCE:
            rank = "JQKA"[action - FOUR]
            held = [card for card in hand if names[card][0] == rank]
            fours = [frozenset(four) for four in itertools.combinations(held, 4)]
            return (
                fours
                if self.options.quartet
                else [four for four in fours if len({names[card][1] for card in four}) == 4]
            )
        if action == BEZIQUE:
            wanted = ["QS", "JD"]
        elif action < BEZIQUE:
            wanted = [rank + suit[action - MARRIAGE] for rank in "KQ"]
        else:
            wanted = [rank + suit[action - SEQUENCE] for rank in "ATKQJ"]
        choices = [[card for card in hand if names[card][:2] == name] for name in wanted]
        return [frozenset(group) for group in itertools.product(*choices)]

    def allowed(self, action: int, group: frozenset[int], trump: int) -> bool:
        kind = self.kind(action)
        if kind == "sequence" and action - SEQUENCE != trump and self.options.plain_sequence == 0:
            return False
        if self.options.reuse == declarations.Reuse.FREE:
            return (action, group) not in self.history
        if self.options.reuse == declarations.Reuse.ONCE:
            return not any(self.scorings(card) for card in group)
        if kind == "double":
            return not any(self.used(card, "double") for card in group) and not all(
                self.used(card, "bezique") for card in group
            )
        barred = {"marriage": ("marriage", "sequence"), "bezique": ("bezique", "double")}.get(kind, (kind,))
        return not any(self.used(card, *barred) for card in group)

    def legal(self, hand: list[int], trump: int) -> set[int]:
        return {
            action
            for action in range(MARRIAGE, NO_DECLARATION)
            if any(self.allowed(action, group, trump) for group in self.groups(action, hand))
        }

    def declare(self, action: int, hand: list[int], trump: int) -> frozenset[int]:
        """The cards that a declaration takes: most scorings, then the lower copies, then the lower numbers."""
        groups = [group for group in self.groups(action, hand) if self.allowed(action, group, trump)]
        key = lambda group: (-sum(map(self.scorings, group)), sum(card & 1 for card in group), sorted(group))  # noqa: E731
        chosen = min(groups, key=key)
        self.history.append((action, chosen))
        return chosen


def collect(hand: list[int], legal: Any, place: int, random: np.random.Generator) -> int:
    """A card to play that keeps the cards of a bezique and long suits (`place` 1 of a name) or ranks (0) together, with
    some luck in it."""
    if random.random() < 0.2:
        return int(random.choice(legal))
    kept = [card_name(card)[place] for card in hand]
    return int(
        min(
            legal,
            key=lambda card: (card_name(card)[:2] in ("QS", "JD"), kept.count(card_name(card)[place]), random.random()),
        )
    )


BITS = {"marriage": 2, "sequence": 4, "bezique": 8, "double": 16, "four": 32}


@pytest.mark.parametrize("quartet", ["one_of_each_suit", "any"])
@pytest.mark.parametrize("reuse", ["class", "free", "once"])
def test_declarations_agree_with_a_second_reading(reuse: str, quartet: str) -> None:
    """From rich positions on: what is legal, which copies are taken, what they are marked with."""
    env = table(reuse=reuse, quartet=quartet, plain_sequence=100)
    random = np.random.default_rng(3)
    seen: set[int] = set()
    for episode in range(60):
        # Courts of two suits, or of two ranks, and the cards of a bezique near the top of the pack, so that
        # declarations abound.
        place = episode & 1
        wanted = ["CD", "HS", "CH", "DS"][episode // 2 % 4] if place else ["JQ", "QK", "KA", "AJ"][episode // 2 % 4]
        courts = [card for card in range(64) if (card >> 1) & 7 >= 3]
        weights = np.array(
            [8.0 if card_name(card)[place] in wanted or card_name(card)[:2] in ("QS", "JD") else 1.0 for card in courts]
        )
        top = random.choice(courts, len(courts), replace=False, p=weights / weights.sum())
        env.reset(seed=episode, options={"decks": [top.tolist()], "start_outcome": episode & 1})
        state, readings = env.engine.batch.state[0], [Reading(env.options), Reading(env.options)]
        while int(state.trick) < 24 or int(state.declaring):
            seat = int(state.seat)
            hand = state.hand[seat][: state.held[seat]].tolist()
            if not int(state.declaring):
                env.step(collect(hand, np.flatnonzero(env.engine.batch.mask[0]), place, random))
                continue
            legal = set(np.flatnonzero(env.engine.batch.mask[0]).tolist())
            assert legal - {DECLARE_SEVEN, NO_DECLARATION} == readings[seat].legal(hand, int(state.trump))
            action = int(random.choice(sorted(legal - {NO_DECLARATION})))
            if action != DECLARE_SEVEN:
                seen.add(action)
                before = state.scored.copy()
                before[state.taken] = 0  # these are put away when the winner draws
                group = readings[seat].declare(action, hand, int(state.trump))
                env.step(action)
                if int(state.trick) < 24:
                    before[list(group)] |= BITS[readings[seat].kind(action)]
                    assert np.array_equal(state.scored, before)
            else:
                env.step(action)
    assert len(seen) >= 11, "too few kinds of declarations came up"


def redrawn(env: AECEnv, state: Any, seat: int, keys: Any) -> Any:
    states = np.repeat(state, len(keys))
    env.engine.determinize(states, np.full(len(keys), seat), np.asarray(keys, np.uint64))
    return states


def exchange_copies(state: Any, kind: int) -> None:
    """Give the two copies of a type each other's number, wherever they lie."""
    first, second = 2 * kind, 2 * kind + 1
    for name in ("scored", "won"):
        state[name][0, [first, second]] = state[name][0, [second, first]]
    for name in ("led", "turn_up", "taken", "stock", "hand"):
        old = state[name].copy()
        state[name][old == first], state[name][old == second] = second, first
    for seat in range(2):
        held = int(state["held"][0, seat])
        state["hand"][0, seat, :held] = np.sort(state["hand"][0, seat, :held])


@pytest.mark.parametrize("given", [{}, {"reuse": "free"}])
def test_copies_of_cards_elsewhere_cannot_be_told_apart(given: dict[str, Any]) -> None:
    """Whatever numbers they have, a seat sees the same, and the same worlds are drawn for it."""
    env = table(**given)
    random = np.random.default_rng(6)
    exchanged = 0
    for seed in range(6):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            env.step(random_action(env, random))
            state = env.engine.batch.state.copy()
            if state["seat"][0] == OVER or random.random() < 0.7:
                continue
            seat = int(random.integers(2))
            mine = {int(card) >> 1 for card in state["hand"][0, seat, : state["held"][0, seat]]}
            laid = [
                int(card) >> 1
                for card in state["hand"][0, 1 - seat, : state["held"][0, 1 - seat]]
                if state["scored"][0, card]
            ]
            twin = state.copy()
            for kind in range(32):
                # Two that both lie in front of the other player can be told apart by where they lie.
                if kind not in mine and laid.count(kind) < 2 and not (env.options.reuse and kind in laid):
                    exchange_copies(twin, kind)
                    exchanged += 1
            views = [env.engine.observe(np.zeros(1, np.int64), np.array([seat]), each) for each in (state, twin)]
            assert np.array_equal(*views)
            if not env.options.reuse:
                assert redrawn(env, state, seat, [7]).tobytes() == redrawn(env, twin, seat, [7]).tobytes()
    assert exchanged > 200


def test_redrawn_hands_are_drawn_evenly() -> None:
    """Known cards stay; each other card is as often in the other's hand as its closed places are among all hidden
    places."""
    env = table()
    random = np.random.default_rng(4)
    env.reset(seed=11)
    while int(env.engine.batch.state[0].trick) < 9:
        env.step(random_action(env, random))
    state = env.engine.batch.state.copy()
    seat, number = 0, 20_000
    known = state["known"][0, 1].astype(int)
    assert known.sum() > 0
    worlds = redrawn(env, state, seat, random.integers(2**63, size=number))
    before = state["hand"][0, 1, : state["held"][0, 1]]
    laid = [int(card) for card in before if state["scored"][0, card]]
    closed = len(before) - len(laid)
    counts = np.zeros(32)
    hidden = np.zeros(32, int)
    below = state["stock"][0, STOCK - state["stock_left"][0] + 1 :].tolist()
    for card in [*before.tolist(), *below]:
        hidden[card >> 1] += card not in laid
    for world in worlds:
        kinds = [int(card) >> 1 for card in world["hand"][1, : world["held"][1]] if not world["scored"][card]]
        assert len(kinds) == closed
        counts += np.bincount(kinds, minlength=32)
    pool = hidden - known
    share = (closed - known.sum()) / pool.sum()
    expected = known + pool * share
    spread = np.sqrt(np.maximum(pool * share * (1 - share), 1e-12) / number)
    assert (np.abs(counts / number - expected)[pool > 0] < 4.5 * spread[pool > 0] * np.sqrt(2)).all()
    assert np.array_equal(counts[pool == 0] / number, known[pool == 0])


def test_in_the_last_eight_tricks_nothing_is_hidden() -> None:
    env = table()
    random = np.random.default_rng(1)
    for seed in range(5):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            state = env.engine.batch.state.copy()
            if int(state["trick"][0]) >= 24 and not state["declaring"][0]:
                for seat in range(2):
                    world = redrawn(env, state, seat, [int(random.integers(2**63))])
                    for owner in range(2):
                        assert np.array_equal(world["hand"][0, owner] >> 1, state["hand"][0, owner] >> 1)
                    shown = env.engine.observe(np.zeros(1, np.int64), np.array([seat])).view(
                        env.engine.batch.observation.dtype
                    )[0, 0]
                    held = state["hand"][0, 1 - seat, : state["held"][0, 1 - seat]] >> 1
                    assert np.array_equal(shown["opponent_hand"], np.bincount(held, minlength=32))
            env.step(random_action(env, random))


def closed_types(state: Any, seat: int) -> Any:
    """How many cards of each type a seat holds that do not lie in front of it."""
    held = [int(card) >> 1 for card in state["hand"][seat, : state["held"][seat]] if not state["scored"][card]]
    return np.bincount(held, minlength=32)


@pytest.mark.parametrize(
    "given", [{}, {"turn_up": "taken_first", "melds_face_up": False}, {"seven_rule": "trick", "stock_top_open": False}]
)
def test_what_lies_open_stays_in_every_world(given: dict[str, Any]) -> None:
    """Cards laid down, drawn openly, turned up, on top of the stock; and before trick 24 the whole of the other's
    hand."""
    env = table(**given)
    random = np.random.default_rng(12)
    known_cards = laid_cards = ends = 0
    for seed in range(5):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            env.step(random_action(env, random))
            if env.engine.batch.seat[0] == OVER or random.random() < 0.6:
                continue
            state, seat = env.engine.batch.state.copy(), int(random.integers(2))
            true, other = state[0], 1 - seat
            known = true["known"][other].astype(int)
            assert (known <= closed_types(true, other)).all(), "known to be where it is not"
            known_cards += int(known.sum())
            laid = [int(card) for card in true["hand"][other, : true["held"][other]] if true["scored"][card]]
            laid_cards += len(laid)
            for world in redrawn(env, state, seat, random.integers(2**63, size=3)):
                assert (known <= closed_types(world, other)).all()
                now = [int(card) for card in world["hand"][other, : world["held"][other]] if world["scored"][card]]
                kinds = sorted((card >> 1, int(true["scored"][card])) for card in laid)
                assert sorted((card >> 1, int(world["scored"][card])) for card in now) == kinds
                assert world["turn_up"] >> 1 == true["turn_up"] >> 1
                assert np.array_equal(world["hand"][seat], true["hand"][seat])
                if env.options.stock_top_open and true["stock_left"] == 1:
                    assert np.array_equal(world["hand"] >> 1, true["hand"] >> 1)
                    ends += 1
    assert known_cards > 50 or not env.options.stock_top_open
    assert laid_cards > 20
    assert ends > 3 or not env.options.stock_top_open or env.options.turn_up


@pytest.mark.parametrize(
    "given", [{}, {"mode": "match", "target": 300, "last_trick": "trick_24"}, {"seven_rule": "trick", "reuse": "free"}]
)
def test_points_as_they_are_made_sum_to_the_scores(given: dict[str, Any]) -> None:
    """The same play under both rewards."""
    by_points, by_result = table(reward="points", **given), table(**given)
    random = np.random.default_rng(3)
    for seed in range(6):
        by_points.reset(seed=seed)
        by_result.reset(seed=seed)
        state, paid, result = by_points.engine.batch.state[0], np.zeros(2), np.zeros(2)
        while by_points.engine.batch.seat[0] != OVER:
            action = random_action(by_points, random)
            for env, sums in ((by_points, paid), (by_result, result)):
                env.step(action)
                sums += env.engine.batch.reward[0]
        points = 0.001 * (state.total + state.score)
        assert np.allclose(paid, points - points[::-1], atol=1e-5)
        assert np.allclose(result, np.sign(paid) if by_result.options.mode else paid, atol=1e-5)


def test_melds_laid_face_down_are_known_but_not_shown() -> None:
    """The other's declared cards appear among those he is known to hold, and nowhere else."""
    open_env, closed_env = table(), table(melds_face_up=False)
    random = np.random.default_rng(9)
    laid = 0
    for seed in range(4):
        open_env.reset(seed=seed)
        closed_env.reset(seed=seed)
        while open_env.engine.batch.seat[0] != OVER:
            for seat in range(2):
                views = [
                    env.engine.observe(np.zeros(1, np.int64), np.array([seat])).view(
                        env.engine.batch.observation.dtype
                    )[0, 0]
                    for env in (open_env, closed_env)
                ]
                assert not views[1]["opponent_laid"].any()
                assert not views[1]["opponent_scored"].any()
                laid += int(views[0]["opponent_laid"].sum())
                assert np.array_equal(
                    views[1]["opponent_hand"], views[0]["opponent_hand"] + views[0]["opponent_laid"].sum(axis=1)
                )
            action = random_action(open_env, random)
            open_env.step(action)
            closed_env.step(action)
    assert laid > 20


def evaluated(names: list[str], deals: int, **given: Any) -> Any:
    """By how much the second agent does better than the first, on the same decks from both sides."""
    game = GAME.bind(given)
    agents = [RandomAgent() if name == "random" else BotAgent(game, name) for name in names]
    return evaluate(game, agents, deals=deals, seed=1).differences[0]


@pytest.mark.slow
def test_each_bot_beats_the_weaker() -> None:
    for names in itertools.pairwise(["random", *GAME.bots]):
        difference = evaluated(list(names), 1500)
        assert difference.low > 0, f"{names}: {difference}"


def test_search_plays_out_with_the_strongest_fast_bot() -> None:
    assert GAME.playout_bot.name == "planner"


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"turn_up": "taken_first", "seven_rule": "trick", "quartet": "any", "stock_top_open": False},
        {
            "melds_face_up": False,
            "seven_is_declaration": False,
            "reuse": "once",
            "endgame": "classic",
            "plain_sequence": 0,
        },
        {"mode": "match", "target": 300, "last_trick": "trick_24", "declare_at_trick_24": False},
    ],
)
def test_the_bots_play_under_every_rule(given: dict[str, Any]) -> None:
    """An action that is not legal would raise."""
    for names in (["random", "planner"], ["random", "strong"]):
        assert evaluated(names, 150, **given).low > 0


def shown_to(state: Any, seat: int, options: Any) -> tuple[Any, Any]:
    """Observation and mask of a state."""
    seen, mask = np.zeros(1, GAME.observation_dtype)[0], np.zeros(GAME.num_actions, np.int8)
    GAME.kernels.observe(options, state, seat, seen)
    GAME.kernels.legal(options, state, mask)
    return seen, mask


@pytest.mark.slow
def test_a_lead_in_a_match_is_worth_what_the_outlook_says() -> None:
    """Points of a deal between equals, and matches played on from given totals."""
    game = GAME.bind()
    planner = BotAgent(game, "planner")
    env = table()
    points = np.array([play_deal(env, seed, planner) for seed in range(400)], float)
    difference = points[:, 0] - points[:, 1]
    assert abs(points.mean() - DEAL_POINTS) < 4 * points.std() / np.sqrt(points.size)
    assert abs(difference.std() - DEAL_SPREAD) < 0.15 * DEAL_SPREAD
    game = GAME.bind({"mode": "match"})
    state = np.zeros(1, game.state_dtype)[0]
    random = np.random.default_rng(7)
    for ahead, behind in ((600, 400), (900, 850), (300, 300), (800, 200)):
        state.total[:] = ahead, behind
        won = 0
        for _ in range(3000):
            totals = np.array([ahead, behind])
            while totals.max() < game.options.target or totals[0] == totals[1]:
                totals = totals + points[random.integers(len(points))][:: random.choice([1, -1])]
            won += int(np.sign(totals[0] - totals[1]))
        assert leaf_value(game.options, state, 0) == pytest.approx(won / 3000, abs=0.1)
        assert leaf_value(game.options, state, 1) == -leaf_value(game.options, state, 0)


def play_deal(env: AECEnv, seed: int, player: BotAgent) -> list[int]:
    """The points of both seats after a deal between equals."""
    env.reset(seed=seed)
    batch = env.engine.batch
    while batch.seat[0] != OVER:
        env.step(int(player.bot.act(env.options, batch.observation[0], batch.mask[0], np.uint64(0))))
    points: list[int] = batch.state[0].score.tolist()
    return points


def test_bots_know_what_bars_what() -> None:
    """One bezique before the double, not two; a marriage before its sequence, and at the end the most points at once
    (§1.6)."""
    game = GAME.bind()
    pair = [card_number(name) for name in ("JDa", "JDb", "QSa", "QSb")]
    run = [card_number(name) for name in ("AHa", "THa", "KHa", "QHa", "JHa")]
    for cards, trick, scored, wanted in (
        (pair, 5, [], BEZIQUE),
        (pair, 5, [pair[0], pair[2]], DOUBLE_BEZIQUE),
        (pair, 22, [], DOUBLE_BEZIQUE),
        (run, 5, [], MARRIAGE + 2),
        (run, 22, [], SEQUENCE + 2),
    ):
        state = holding([*cards, *JUNK[: 7 - len(cards)]], trump=2)
        state.declaring, state.trick, state.turn_up = 1, trick, card_number("AHb")
        state.scored[scored] = declarations.IN_BEZIQUE
        for bot in GAME.bots.values():
            assert bot.act(game.options, *shown_to(state, 0, game.options), np.uint64(0)) == wanted


def test_options_that_make_no_sense_are_sentences() -> None:
    with pytest.raises(backalley.OptionError, match="cards_dealt"):
        GAME.bind({"cards_dealt": 9})
    with pytest.raises(backalley.OptionError, match="last_trick"):
        GAME.bind({"last_trick": "trick_25"})
    assert GAME.bind({"last_trick": "trick_24"}).last_trick == -1
    with pytest.raises(ValueError, match="There is no card 'QS'"):
        card_number("QS")
