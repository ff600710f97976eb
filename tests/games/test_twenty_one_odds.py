"""What `odds` reckons of Twenty-One (§6), against the page's figures."""

from __future__ import annotations

import numpy as np
import pytest

from backalley.envs.twenty_one import odds


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
