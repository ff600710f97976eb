"""What `odds` reckons of Twenty-One (§6): against known figures, and against an enumeration that shares no code with
it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from backalley.envs.twenty_one import odds

# An enumeration in plain Python. A hand is a tuple of kinds. How a hand ends is a dict of chances by its total, with -1
# for a bust, "royal", and "traded" for a hand that is begun again.

Hand = tuple[str, ...]
Ends = dict[int | str, float]

COUNTS = {"7": 3, "8": 4, "9": 4, "10": 4, "ace": 4, "figure": 12, "Chantal": 1}
POINTS = {"7": [7], "8": [8], "9": [9], "10": [10], "ace": [11], "figure": [1], "Chantal": [1, 7, 10, 11]}


def best(hand: Hand) -> int:
    sums = {0}
    for kind in hand:
        sums = {total + points for total in sums for points in POINTS[kind]}
    return max((total for total in sums if total <= 21), default=-1)


def is_traded(hand: Hand) -> bool:
    return hand in (("7",), ("figure",) * 5) or (len(hand) > 1 and best(hand) == 15)


def draws(seen: Hand) -> list[tuple[str, float]]:
    """What the next card can be, and its chance, where these have been seen."""
    left = {kind: count - seen.count(kind) for kind, count in COUNTS.items()}
    return [(kind, count / sum(left.values())) for kind, count in left.items() if count > 0]


class Enumeration:
    """A punter's best play against a banker who draws to 16, the banker's first card being known or not."""

    def __init__(self, banker_card: str | None, trades: bool) -> None:
        self.banker: Hand = (banker_card,) if banker_card else ()
        self.trades = trades
        self.banker_ends = functools.cache(self._banker_ends)
        self.fresh = -1.0  # what a new hand is worth to the punter: at least this, and more each time it is reckoned
        self.play = functools.cache(self._play)
        while trades and self.play(())[2] > self.fresh + 1e-10:
            self.fresh = self.play(())[2]
            self.play = functools.cache(self._play)

    def _banker_ends(self, gone: Hand) -> Ends:
        """How the banker ends when the punter holds `gone`; what is traded is in the pack again."""

        @functools.cache
        def ends(hand: Hand) -> Ends:
            if hand == ("ace", "ace"):
                return {"royal": 1.0}
            if self.trades and is_traded(hand):
                return {"traded": 1.0}
            if best(hand) < 0 or (len(hand) > 1 and best(hand) >= 16):
                return {best(hand): 1.0}
            found: Ends = {}
            for kind, chance in draws(gone + hand):
                for end, after in ends(tuple(sorted((*hand, kind)))).items():
                    found[end] = found.get(end, 0.0) + chance * after
            return found

        begun_again = ends(())
        kept = 1.0 - begun_again.get("traded", 0.0)
        found = dict(ends(self.banker))
        traded = found.pop("traded", 0.0)
        for end, chance in begun_again.items():
            if end != "traded":
                found[end] = found.get(end, 0.0) + traded * chance / kept
        return found

    def _play(self, hand: Hand) -> tuple[float, float, float]:
        """What standing, a card, and the best of all are worth with a hand."""
        if hand == ("ace", "ace"):
            return 1.0, 1.0, 1.0
        if best(hand) < 0:
            return -1.0, -1.0, -1.0
        won = sum(chance for end, chance in self.banker_ends(hand).items() if end != "royal" and end < best(hand))  # type: ignore[operator]
        stand = 2.0 * won - 1.0
        hit = sum(chance * self.play(tuple(sorted((*hand, kind))))[2] for kind, chance in draws(hand + self.banker))
        value = hit if len(hand) < 2 else stand if best(hand) == 21 else max(stand, hit)
        return stand, hit, max(value, self.fresh) if self.trades and is_traded(hand) else value


def hands(pack: dict[str, int]) -> list[tuple[int, Hand]]:
    """The number in `odds` and the kinds of each hand of two cards or more that a pack holds, and is not bust."""
    held = [tuple(sorted(np.repeat(odds.KINDS, counts).tolist())) for counts in odds.ALL.held]
    return [
        (number, hand)
        for number, hand in enumerate(held)
        if len(hand) > 1 and all(hand.count(kind) <= count for kind, count in pack.items())
    ]


@pytest.mark.parametrize(
    ("banker_card", "trades"), [(None, False), *((kind, False) for kind in COUNTS), (None, True), ("8", True)]
)
def test_the_best_answer_is_exact(banker_card: str | None, trades: bool) -> None:
    """Every hand's worth; with trades under the page's assumption, that what is traded is in the pack again."""
    known = None if banker_card is None else odds.KINDS.index(banker_card)
    found = odds.answer(16, banker_card=known, trades=trades)
    wanted = Enumeration(banker_card, trades)
    pack = {kind: count - (kind == banker_card) for kind, count in COUNTS.items()}
    possible = hands(pack)
    assert len(possible) > 100
    for number, hand in possible:
        worth = found.stand[number], found.hit[number], found.value[number]
        assert worth == pytest.approx(wanted.play(hand), abs=1e-8), hand
    assert found.value[0] == pytest.approx(wanted.play(())[2], abs=1e-8)


def test_the_bankers_cards_seen_are_on_average_worth_as_much_as_unseen() -> None:
    """A punter who plays to a total does not look at the banker's card."""
    seen = [odds.answer(16, 15, banker_card=kind).value[0] for kind in range(len(odds.KINDS))]
    assert np.dot(seen, odds.PACK) / odds.PACK.sum() == pytest.approx(answer(16, 15), abs=1e-12)


def answer(banker: int, punter: int) -> float:
    return float(odds.answer(banker, punter).value[0])


# The page's figures


def test_drawing_to_sixteen_ends_as_the_page_says() -> None:
    assert len(odds.ALL.size) == 254
    ends = odds.draw_until(16)[0]
    assert ends.sum() == pytest.approx(1)
    assert ends[odds.BUST_END] == pytest.approx(119980907 / 752642800, abs=1e-14)
    page = {odds.BUST_END: 0.159413, 21: 0.161603, 20: 0.167141, 19: 0.180917, 18: 0.142123, 17: 0.098050, 16: 0.078657}
    for end, chance in {**page, odds.ROYAL_END: 0.012097}.items():
        assert ends[end] == pytest.approx(chance, abs=5e-7)
    assert ends[:16].sum() == 0


def test_fifteen_against_sixteen_is_a_saddle_point() -> None:
    worth = {(punter, banker): answer(banker, punter) for punter in range(12, 20) for banker in range(12, 20)}
    assert worth[15, 16] == pytest.approx(-0.131026, abs=5e-7)
    assert all(worth[punter, 16] < worth[15, 16] for punter in range(12, 20) if punter != 15)
    assert all(worth[15, banker] > worth[15, 16] for banker in range(12, 20) if banker != 16)


def test_the_best_answer_to_a_banker_who_draws_to_sixteen() -> None:
    best = odds.answer(16)
    assert best.value[0] == pytest.approx(-0.126377, abs=5e-7)
    page = {
        "Chantal": 0.3973,
        "ace": 0.1021,
        "10": -0.0039,
        "9": -0.0957,
        "figure": -0.1726,
        "8": -0.2670,
        "7": -0.4375,
    }
    assert odds.first_cards(best) == pytest.approx(page, abs=5e-5)
    assert best.value[0] > max(answer(16, punter) for punter in range(12, 20))


def test_the_best_answers_where_both_trade() -> None:
    ordinary, final = odds.answer(16, trades=True), odds.answer(16, banker_card=odds.EIGHT_KIND, trades=True)
    assert ordinary.value[0] == pytest.approx(-0.1422, abs=5e-5)
    first = odds.first_cards(ordinary)
    assert (first["10"], first["ace"]) == pytest.approx((-0.0784, 0.0533), abs=5e-5)
    assert final.value[0] == pytest.approx(0.0499, abs=5e-5)
