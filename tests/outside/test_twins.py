"""Histories that a seat cannot tell apart hand it the same bytes: over all games and options, and what finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

import backalley
from backalley import testing
from backalley.envs.core.game.game import Game
from backalley.testing import twins
from tests.common.cases import CASES, GAMES

CHEMIN = partial(backalley.game, "baccarat", mode="chemin", decks="home")


@pytest.mark.slow
@pytest.mark.parametrize("game", CASES)
def test_under_every_option(game: Game) -> None:
    testing.check_twins(game, pairs=12, tries=60)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_by_default(game: Game) -> None:
    assert int(testing.check_twins(game, seed=1, pairs=15, tries=200).split()[0]) > 1


def test_they_differ_in_what_is_hidden_and_in_length() -> None:
    found = [pair.lengths for pair in twins.twins_of(CHEMIN(), pairs=60, tries=1500)]
    assert len(found) == 60
    assert any(one != other for one, other in found), "the Player of one was asked, that of the other was not"


@pytest.mark.parametrize(
    ("name", "leak"),
    [
        ("decisions", lambda view: view._tables.arrays.decisions[view._rows]),
        ("key", lambda view: view.key + view._tables.arrays.decisions[view._rows].astype("u8")),
        ("action_mask", lambda view: view._tables.arrays.raw[view._rows]),
    ],
)
def test_what_a_view_says_too_much_is_found(name: str, leak: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = twins._view

    def leaking(env: Any) -> Any:
        view = plain(env)
        setattr(view, name, leak(view))
        return view

    monkeypatch.setattr(twins, "_view", leaking)
    with pytest.raises(testing.BrokenPromise, match=f"cannot tell two histories apart.* is handed another {name} in"):
        testing.check_twins(CHEMIN())


@pytest.mark.slow
def test_planted_leaks_are_found() -> None:
    """Every changed line of Leduc poker but the two that show a seat what it knows (who began, that somebody acted)."""
    asked = json.dumps(["backalley.examples.leduc", {}, 18, 0])
    command = [sys.executable, "-m", "backalley.benchmarks.studies.play.mutants", asked]
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["mutants"] == 18
    assert found["found"] >= 16, found["missed"]
