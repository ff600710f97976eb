"""The guide's transformer: run as a reader would, and measured by `backalley dev study beliefs`."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backalley.benchmarks.studies.learning.guides import guide_beliefs, program_of_the_guide

TINY: dict[str, Any] = {"hand_size": 3, "tables": 64, "deals": 128, "redraws": 64}


def program() -> dict[str, Any]:
    """The page's names; its clock counts looks at it, so that a second is an update."""
    scope = program_of_the_guide("beliefs.py", "beliefs.md")
    scope["time"] = SimpleNamespace(process_time=itertools.count().__next__)
    return scope


@pytest.mark.uncompiled
@pytest.mark.parametrize("seats", [2, 3])
def test_where_cards_lie_and_what_redraws_know(seats: int) -> None:
    scope = program()
    args = scope["Args"](**TINY, players=seats)
    tables = scope["Tables"](args, 32, 5)
    places = tables.places()
    assert len({*tables.batch.states().decisions.tolist()}) > 5, "at all stages of a deal"
    records = tables.batch.states().records
    for row, (seat, place) in enumerate(zip(tables.now.seat, places, strict=True)):
        for left in range(seats - 1):
            held = {*np.flatnonzero(place == left).tolist()}
            bits = int(records["hand"][row, (seat + 1 + left) % seats])
            assert held == {card for card in range(54) if bits >> card & 1}
        mine = int(records["hand"][row, seat])
        assert all(place[card] == -1 for card in range(54) if mine >> card & 1)
    even = scope["even_redraw"](places, seats)
    np.testing.assert_allclose(np.exp(even).sum(1), 1, atol=1e-5)
    shares = scope["redrawn_shares"](tables, even, 50)
    np.testing.assert_allclose(np.exp(shares).sum(2)[places >= 0], 1, atol=1e-5)
    assert np.isfinite(scope["log_loss"](shares, places)).all()


@pytest.mark.uncompiled
def test_before_it_learns_it_is_the_even_redraw() -> None:
    scope = program()
    args = scope["Args"](**TINY)
    network = scope["Beliefs"](scope["game_of"](args), args)
    losses = scope["measure"](network, args)
    np.testing.assert_allclose(losses["transformer"], losses["even redraw"], rtol=1e-5)
    mean, low, high = scope["mean_and_interval"](np.array([1.0, 2.0, 3.0, 4.0]))
    assert (mean, round(high - mean, 6), round(mean - low, 6)) == (2.5, 1.265175, 1.265175)


@pytest.mark.slow
def test_it_learns_what_bids_and_cards_tell() -> None:
    scope = program()
    args = scope["Args"](**{**TINY, "seconds": 250, "deals": 1024})
    network, positions = scope["train"](args)
    assert positions == 64 * 249
    losses = scope["measure"](network, args)
    for bar in ("even redraw", "determinizations"):
        assert scope["mean_and_interval"](losses[bar] - losses["transformer"])[1] > 0, bar


def test_what_is_measured_is_kept() -> None:
    found = guide_beliefs(0.05, command="again", **TINY).to_json()
    assert [row["name"] for row in found["rows"]] == ["even redraw", "determinizations", "transformer"]
    assert found["rows"][2]["gain"] == [0, 0, 0]
    assert found["options"]["hand_size"] == 3
    assert (found["deals"], found["redraws"], found["command"]) == (128, 64, "again")
