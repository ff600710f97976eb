"""A long random run reports what it played, and notices promises that are broken."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from backalley.benchmarks import endurance, kinds
from backalley.benchmarks.endurance import BrokenPromise, endure
from backalley.benchmarks.option_sets import allowed, alternatives, mixtures
from backalley.envs.core.base import Game
from tests import high_card, kuhn
from tests.cases import GAMES

KUHN = kuhn.GAME.bind()


def test_it_counts_what_it_played() -> None:
    found = endure(KUHN, 10 * endurance.TABLES - 1)
    assert found["decisions"] == 10 * endurance.TABLES
    assert found["decisions"] / found["episodes"] == pytest.approx(2.25, abs=0.15)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reward_range": lambda options: (-1.0, 1.0)}, r"returns from -2 to 2 leave the bounds -1 to 1"),
        (
            {"piles": lambda options, state: {"hands": state.card.tolist()}},
            r"table 0 lacks a card, or has one twice, at step 0",
        ),
    ],
)
def test_a_broken_promise_is_a_sentence(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BrokenPromise, match=f"kuhn-v0, seed 0.* {says}"):
        endure(dataclasses.replace(kuhn.GAME, **change).bind(), 10 * endurance.TABLES)


def test_returns_that_do_not_sum_to_nothing_are_noticed() -> None:
    with pytest.raises(BrokenPromise, match=r"sum to 0\.5 instead of 0"):
        endurance.hold_returns(KUHN, np.array([[1.0, -1.0], [1.0, -0.5]]), "here")


def test_the_command_writes_what_it_found(tmp_path: Path) -> None:
    path = tmp_path / "endurance.json"
    done = CliRunner().invoke(
        endurance.main, ["backhand", "--decisions", "5000", "--json", str(path)], catch_exceptions=False
    )
    assert "backhand-v0: 8,192 decisions" in done.output
    assert json.loads(path.read_text("utf-8"))["games"][0]["decisions"] == 8192


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_value_of_every_option_stands_in_a_mixture(game: Game) -> None:
    drawn = mixtures(game, 3, seed=1)
    assert drawn == mixtures(game, 3, seed=1)
    assert len(drawn) >= 3
    assert all(allowed(game, given) for given in drawn)
    wanted = {(name, value) for name in game.option_values for value in alternatives(game, name)}
    missing = wanted - {item for given in drawn for item in given.items()}
    assert not [given for given in missing if allowed(game, dict([given]))]


def test_mixtures_are_played_and_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "endurance.json"
    done = CliRunner().invoke(
        endurance.main, ["backhand", "--decisions", "30000", "--sets", "2", "--json", str(path)], catch_exceptions=False
    )
    assert done.exit_code == 0
    found = json.loads(path.read_text("utf-8"))
    assert found["command"].endswith(f"backhand --decisions 30000 --seed 0 --sets 2 --json {path.as_posix()}")
    (game,) = found["games"]
    assert len(game["sets"]) >= 2
    assert game["decisions"] >= 30000
    assert {"game", "sets of options", "decisions"} <= set(next(iter(kinds.KINDS["endurance"]([found]))))  # type: ignore[arg-type]


def test_a_promise_broken_under_other_options_names_them() -> None:
    narrow = dataclasses.replace(
        high_card.GAME, reward_range=lambda options: (-9.0, 9.0 if options.seats == 3 else 0.0)
    )
    with pytest.raises(BrokenPromise, match=r"high_card.*seats=\d"):
        endurance.endure_mixtures(narrow.bind(), 10 * endurance.MIXED_TABLES, 0, 4)
