"""Baccarat with both hands open while a choice is: exact answers to a five by the Banker's total, against an
enumeration that shares no code with the game's, and what bots make of them; and purses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from backalley.envs.baccarat import answers, bot, odds
from backalley.envs.baccarat.state import BANK, BANKER_TURN, DRAW, PLAYER, PLAYER_TURN, STAND, TIE
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from tests.common.cases import asked, determinizations_of, observed
from tests.common.commands import run

GAME = game_type("baccarat").bind()
SIDES = (PLAYER, BANK, TIE)
GAINS = {PLAYER: (1, -1, 0), BANK: (-1, Fraction(19, 20), 0), TIE: (-1, -1, 9)}
"""What a unit on each side gains where the Player hand, the Banker hand, nobody wins."""

enumerates = pytest.mark.skipif(not COMPILED, reason="a million coups")


# An enumeration of its own -------------------------------------------------------------------------------------------


def banker_takes_a_card(total: int, third: int | None) -> bool:
    """The text's table, read of the third card; None where the Player stood."""
    rows = {3: {0, 1, 2, 3, 4, 5, 6, 7, 9, None}, 4: {2, 3, 4, 5, 6, 7, None}, 5: {4, 5, 6, 7, None}, 6: {6, 7}}
    return total < 3 or (total < 7 and third in rows[total])


def winner(player: int, banker: int) -> int:
    return 2 if player == banker else int(player < banker)


class Cards:
    """How many cards of each value are left, with replacement or without."""

    def __init__(self, counts: Sequence[int], replaced: bool) -> None:
        self.counts, self.replaced = list(counts), replaced

    def ways(self, values: Sequence[int], size: int) -> int:
        """Ordered sequences of `size` cards that begin with these values."""
        left, ways = list(self.counts), 1
        for value in values:
            ways *= left[value]
            left[value] -= not self.replaced
        rest, more = sum(left), size - len(values)
        return ways * (rest**more if self.replaced else math.perm(rest, more))


def ends(cards: Cards, dealt: Sequence[int], draws: bool, size: int) -> list[int]:
    """Ordered sequences of six cards after these four, of which the Player hand has five, by who wins."""
    found, banker = [0, 0, 0], (dealt[1] + dealt[3]) % 10
    for third in range(10) if draws else [None]:
        begun = list(dealt) + ([] if third is None else [third])
        player = 5 if third is None else (5 + third) % 10
        if banker_takes_a_card(banker, third):
            for last in range(10):
                found[winner(player, (banker + last) % 10)] += cards.ways([*begun, last], size)
        else:
            found[winner(player, banker)] += cards.ways(begun, size)
    return found


@enumerates
@pytest.mark.parametrize("decks", [1, 8, "inf"])
def test_every_five_counted_twice(decks: Any) -> None:
    packs = 1 if decks == "inf" else decks
    cards = Cards([16 * packs] + [4 * packs] * 9, decks == "inf")
    if decks == "inf":
        cards.counts = [4] + [1] * 9
    found = odds.fives(GAME.bind(decks=decks))
    expected = np.zeros((8, 2, 3), object)
    for first in range(10):
        for one in range(10):
            for two in range(10):
                if (one + two) % 10 < 8:
                    for draws in range(2):
                        dealt = (first, one, (5 - first) % 10, two)
                        expected[(one + two) % 10, draws] += ends(cards, dealt, bool(draws), 6)
    assert found.total == cards.ways([], 6)
    assert (found.tally == expected).all()


@enumerates
def test_the_best_answers_to_a_five_of_packs_without_end() -> None:
    game = GAME.bind(decks="inf")
    found = odds.fives(game)
    assert found.answers(game, PLAYER) == [STAND, STAND, STAND, STAND, None, STAND, DRAW, DRAW]
    assert found.answers(game, BANK) == [DRAW, DRAW, DRAW, DRAW, DRAW, DRAW, STAND, STAND]
    assert found.answers(game, TIE) == [DRAW] * 8
    level = found.gains(game, PLAYER)[4]
    assert level == (Fraction(4, 13), Fraction(4, 13))


# Rules page: what a unit gains where the Player hand stands, where it draws, for each of the Banker's totals; and with
# the best answers, a coup.
BY_TOTAL = {
    PLAYER: (
        (0.306366, 0.230090),
        (0.308245, 0.195794),
        (0.308237, 0.159971),
        (0.310068, 0.142506),
        (0.310067, 0.308067),
        (0.075257, -0.028838),
        (-1, -0.413422),
        (-1, -0.614685),
    ),
    BANK: (
        (-0.321800, -0.246972),
        (-0.323612, -0.213525),
        (-0.323604, -0.178597),
        (-0.325390, -0.160238),
        (-0.325389, -0.322553),
        (-0.090669, 0.011394),
        (0.95, 0.380306),
        (0.95, 0.576245),
    ),
    TIE: (
        (-0.237242, -0.053917),
        (-0.229342, -0.050325),
        (-0.229354, -0.050316),
        (-0.229342, 0.482208),
        (-0.229354, 0.125029),
        (2.082668, 2.310633),
        (-1, -0.112410),
        (-1, -0.229342),
    ),
}
BEST = {
    1: (-0.006810, -0.001376, -0.063846),
    8: (-0.006478, -0.002099, -0.048440),
    "inf": (-0.006431, -0.002196, -0.045744),
}


@enumerates
@pytest.mark.parametrize("decks", BEST)
def test_the_pages_figures_of_a_declared_five(decks: Any) -> None:
    game = GAME.bind(decks=decks)
    known, drawn = odds.fives(game), odds.odds(game)
    found = [float(odds.bet_value(game, drawn, side) + known.worth(game, side)) for side in SIDES]
    assert found == pytest.approx(BEST[decks], abs=5e-7)
    if decks == 8:
        for side in SIDES:
            assert np.allclose(np.array(known.gains(game, side), float), BY_TOTAL[side], atol=5e-7)


@enumerates
def test_odds_print_the_table_by_the_bankers_total() -> None:
    done = run("dev", "odds", "baccarat", "decks=inf")
    assert done.exit_code == 0, done.output
    assert "4       +0.307692  +0.307692    -0.323077  -0.322189    -0.230769  +0.124260\n" in done.output
    assert "Banker's total" not in run("dev", "odds", "baccarat", "hands_declared=off").output


def test_only_a_betting_table_has_fives_to_declare() -> None:
    with pytest.raises(ValueError, match='in mode "table"'):
        odds.fives(GAME.bind(mode="chemin"))


# Bots ----------------------------------------------------------------------------------------------------------------


def hand_of(total: int) -> list[str]:
    """A court card, and another card to make this total."""
    return ["KC", "QC" if total == 0 else "AC" if total == 1 else f"{total}C"]


@enumerates
@pytest.mark.parametrize("decks", ["inf", 8])
@pytest.mark.parametrize("side", ["player", "bank", "tie"])
def test_the_counter_gives_the_best_answer_to_a_declared_five(decks: Any, side: str) -> None:
    game = GAME.bind(decks=decks)
    best = odds.fives(game).answers(game, ("player", "bank", "tie").index(side))
    env, given = AECEnv(game), []
    for total in range(8):
        one, two = hand_of(total)
        env.reset(seed=0, options={"decks": [["2D", one, "3D", two]]})
        env.step(game.action_number(f"{side} 5"))
        given.append(asked(env, "counter"))
    assert given == ["stand" if answer == STAND else "draw" for answer in best]


@pytest.mark.slow
@pytest.mark.parametrize("dealt", [(2, 0, 3, 6), (9, 9, 6, 5), (0, 4, 5, 0), (7, 7, 8, 6), (1, 2, 4, 2)])
def test_what_an_answer_is_worth_is_exact_over_the_cards_left(dealt: tuple[int, int, int, int]) -> None:
    """In a shoe from which a coup is gone, by cards, not by totals."""
    game = GAME.bind(decks=1, reshuffle="shoe", num_coups=2, cut_card=0)
    faces = {0: "K", 1: "A"}
    deck = ["9C", "8C", "TC", "TD"]
    deck += [faces.get(value, str(value)) + suit for value, suit in zip(dealt, "HSDC", strict=True)]
    env = AECEnv(game)
    env.reset(seed=0, options={"decks": [deck]})
    for bet in ("no bet", "player 1"):
        env.step(game.action_number(bet))
    observation = env.engine.batch.observation[0]
    assert env.engine.batch.state["phase"][0] == PLAYER_TURN
    counts = np.bincount([0, *[0] * 15, *range(1, 10), *range(1, 10), *range(1, 10), *range(1, 10)], minlength=10)
    for value in (9, 8, 0, 0, *dealt):
        counts[value] -= 1
    assert observation["remaining"].tolist() == counts.tolist()
    left, banker = answers.cards_left(observation), (dealt[1] + dealt[3]) % 10
    cards = Cards(counts.tolist(), False)
    for side in SIDES:
        gains = answers.gains_of(game.options, side)
        for draws in (False, True):
            ways = [0, 0, 0]
            for third in range(10) if draws else [None]:
                player = 5 if third is None else (5 + third) % 10
                begun = [] if third is None else [third]
                lasts = range(10) if banker_takes_a_card(banker, third) else [None]
                for last in lasts:
                    total = banker if last is None else (banker + last) % 10
                    ways[winner(player, total)] += cards.ways([*begun, *([] if last is None else [last])], 2)
            exact = sum(Fraction(gain) * way for gain, way in zip(GAINS[side], ways, strict=True)) / sum(ways)
            found = answers.player_answers(game.options, observation, left, 5, banker, draws)
            assert answers.mean(gains, found) == pytest.approx(float(exact), abs=1e-12)


@enumerates
@pytest.mark.parametrize("decks", [8, "inf"])
def test_what_the_choice_is_worth_before_the_deal_is_about_right(decks: Any) -> None:
    """Reckoned as if the first four cards were put back, which with eight packs is off by little."""
    game = GAME.bind(decks=decks)
    env, known = AECEnv(game), odds.fives(game)
    env.reset(seed=0)
    observation = env.engine.batch.observation[0]
    left = answers.cards_left(observation)
    found = answers.choice_is_worth(game.options, observation, left)
    for side in SIDES:
        assert found[side] == pytest.approx(float(known.worth(game, side)), abs=1e-9 if decks == "inf" else 2e-4)


@pytest.mark.parametrize(
    ("given", "bets"),
    [
        ({"commission": 0.04}, ["bank 10"]),
        ({"commission": 0.04, "hands_declared": "off"}, ["no bet"]),
        ({"commission": 0.04, "mode": "punto_banco"}, ["no bet"]),
        pytest.param({"commission": 0.04, "num_bettors": 2}, ["bank 10", "no bet"], marks=pytest.mark.uncompiled),
        pytest.param(
            {"commission": 0.04, "num_bettors": 2, "participant": "player_backer"},
            ["no bet", "no bet"],
            marks=pytest.mark.uncompiled,
        ),
        pytest.param(
            {"commission": 0, "num_bettors": 3, "banker": "rotating"},
            ["bank 10", "bank 10", "no bet"],
            marks=pytest.mark.uncompiled,
        ),
        pytest.param(
            {"commission": 0, "num_bettors": 3, "banker": "rotating", "settles": "house"},
            ["bank 10", "bank 10", "bank 10"],
            marks=pytest.mark.uncompiled,
        ),
        pytest.param(
            {"commission": 0.04, "num_bettors": 2, "banker": "rotating", "first_banker": "richest", "settles": "house"},
            ["no bet", "bank 10"],
            marks=pytest.mark.uncompiled,
        ),
    ],
)
def test_the_counter_bets_on_a_choice_that_is_surely_its_own(given: dict[str, Any], bets: list[str]) -> None:
    env = AECEnv(GAME.bind(given))
    env.reset(seed=0)
    for bet in bets:
        assert asked(env, "counter") == bet
        env.step(env.game.action_number(bet))


@pytest.mark.uncompiled
def test_the_counter_of_an_open_chemin_answers_for_its_own_hand() -> None:
    env = AECEnv(GAME.bind({"mode": "chemin", "decks": "inf", "hands_declared": "on"}))
    for total, answer in enumerate(["stand", "stand", "stand", "stand", "draw", "stand", "draw", "draw"]):
        one, two = hand_of(total)
        env.reset(seed=0, options={"decks": [["2D", one, "3D", two, "KD"]]})
        assert env.engine.batch.state["phase"][0] == PLAYER_TURN
        if total != 4:  # against a free Banker a four is not level
            assert asked(env, "counter") == answer
        env.step(DRAW)
        assert env.engine.batch.state["phase"][0] == BANKER_TURN
        # The Player's five is still a five. Level with it, the Banker gains by four cards and loses by five.
        assert asked(env, "counter") == ("draw" if total < 5 else "stand")


# What seats see, and imagine -----------------------------------------------------------------------------------------


def test_a_coup_without_a_choice_goes_straight_on() -> None:
    env = AECEnv(GAME)
    for deck in (["9C", "2C", "KC", "6C"], ["2C", "2D", "4C", "4D"], ["2C", "9D", "2D", "9H"]):
        env.reset(seed=0, options={"decks": [deck]})
        env.step(GAME.action_number("player 1"))
        assert env.engine.batch.seat[0] == OVER


def test_commissions_add_up_to_whole_units() -> None:
    """Twenty wins of 0.95 are nineteen units, and with the purse of one they cover a stake of twenty."""
    env = AECEnv(GAME.bind({"purses": 1, "stakes": [1, 20], "num_coups": 22}))
    env.reset(seed=0, options={"decks": [["4C", "3C", "4D", "6C"]] * 21})
    for _ in range(20):
        assert not env.engine.batch.mask[0, GAME.action_number("bank 2")]
        env.step(GAME.action_number("bank 1"))
    assert env.engine.batch.mask[0, GAME.action_number("bank 2")]


@pytest.mark.uncompiled
def test_hidden_bets_of_a_world_are_any_that_were_legal() -> None:
    env = AECEnv(GAME.bind({"num_bettors": 4, "purses": [4, 5, 100, 20], "banker": "rotating", "num_coups": 2}))
    env.reset(seed=0)
    legal = []
    for _ in range(3):
        legal.append(set(np.flatnonzero(env.engine.batch.mask[0]).tolist()))
        env.step(GAME.action_number("tie 1"))
    determinizations = determinizations_of(env, 3, 2000)
    for seat in range(3):
        found, times = np.unique(determinizations["bets"][:, seat], return_counts=True)
        assert set(found.tolist()) == legal[seat]
        assert times.min() > 0.6 * times.mean()
    assert [len(bets) for bets in legal] == [1 + 6, 1 + 8, 1 + 11 - 1]  # the bank's 20 covers a TIE of two, not of five


@pytest.mark.uncompiled
def test_money_is_shown_in_whole_units_and_debts_as_such() -> None:
    env = AECEnv(GAME.bind({"num_bettors": 3, "banker": "rotating", "purses": [1000, 70_000, 95], "num_coups": 3}))
    env.reset(seed=0, options={"decks": [["4C", "3C", "4D", "6C"], ["8C", "5C", "TC", "3C"]]})

    def shown(viewer: int) -> tuple[list[int], list[int]]:
        row = observed(env, viewer)
        return (row["money"] @ 256 ** np.arange(4)[::-1]).tolist(), row["in_debt"].tolist()

    assert shown(0) == ([1000, 70_000, 95], [0, 0, 0])
    assert shown(1) == ([70_000, 95, 1000], [0, 0, 0])
    for bet in ("bank 1", "no bet", "no bet", "tie 10", "tie 10", "no bet"):
        env.step(env.game.action_number(bet))
    assert env.engine.batch.state["units"][0].tolist() == pytest.approx([90.95, 90, -181])
    assert shown(0) == ([1090, 70_090, 86], [0, 0, 1])
    done = " ".join(env.game.table_str(env.engine.batch.state[0], 0).split())
    assert "seat 2 has the bank, has -86.00" in done


def test_a_bot_that_must_bet_bets_what_it_can() -> None:
    env = AECEnv(GAME.bind({"purses": 4, "stakes": [5, 3, 10], "allow_no_bet": False, "tie_pays": 12}))
    env.reset(seed=0)
    assert (asked(env, "backer"), asked(env, "counter")) == ("bank 3", "tie 3")
    assert bot.stake_on(env.game.options, np.zeros(15, np.int8), 0, True) == 0
