"""What vectors cannot say of the Backhand series: chances, how far a deck is used, and what its games share."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.engine.engine import Engine
from backalley.envs.core.game.catalogue import game_names, games_root

DEALS = 1_000_000 if COMPILED else 2_000
SERIES = ["backhand", "buffalo_bayou", "missouri_city"]


def random_actions(mask: npt.NDArray[np.int8], dice: np.random.Generator) -> npt.NDArray[np.int64]:
    """A uniformly drawn legal action for each row."""
    actions: npt.NDArray[np.int64] = np.argmax(mask * dice.random(mask.shape, np.float32), axis=1)
    return actions


def random_returns(name: str, episodes: int, **options: Any) -> npt.NDArray[np.float64]:
    """Seat 0's returns over at least `episodes` episodes of uniformly random legal play, whole batches of first
    episodes."""
    batch = backalley.make_vec(f"{name}-v0", num_envs=min(episodes, 20_000), seed=7, autoreset=False, **options)
    dice, found = np.random.default_rng(7), []
    batch.reset()
    while sum(map(len, found)) < episodes:
        live, returns = np.arange(batch.num_envs), np.zeros(batch.num_envs)
        while len(live):
            step = batch.step(random_actions(batch.time_step.action_mask[live], dice), live)
            returns[live] += step.reward[live, 0]
            live = live[~step.terminated[live]]
        found.append(returns)
        batch.restart(np.arange(batch.num_envs))
    return np.concatenate(found)


def test_random_play_wins_backhand_as_often_as_enumeration_says() -> None:
    wins = random_returns("backhand", DEALS) > 0
    exact = 0.345877721  # README, reference figures
    error = math.sqrt(exact * (1 - exact) / len(wins))
    assert abs(wins.mean() - exact) < 5 * error, f"{wins.mean():.6f} against {exact}, standard error {error:.6f}"


def test_random_play_of_missouri_city_favours_nobody_by_colour() -> None:
    """With who is dealt first drawn by lot, the seats are alike."""
    returns = random_returns("missouri_city", DEALS // 2)
    assert abs(returns.mean()) < 5 * returns.std() / math.sqrt(len(returns))


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("ace_rule", ["once", "until_clean", "off"])
def test_the_deck_never_runs_out(name: str, ace_rule: str) -> None:
    """Packs stacked with the aces and the cards of 7 and more on top, every push hand pushed: at most 45 cards (two
    seats), 40 (one)."""
    engine = Engine(backalley.game(name, ace_rule=ace_rule), 1)
    dice = np.random.default_rng(3)
    high = [card for card in range(52) if card % 13 >= 5]
    low = [card for card in range(52) if card % 13 < 5]
    most = pushes = 0
    for _ in range(2000 if COMPILED else 50):
        engine.start_one(0)
        engine.deal_one(np.array([*dice.permutation(high), *dice.permutation(low)]))
        engine.show_one()
        while engine.batch.state[0].seat != OVER:
            mask = engine.batch.mask[0]
            action = 2 if mask[2] else int(dice.choice(np.flatnonzero(mask)))
            engine.move_one(action, engine.fresh_deck())
        state = engine.batch.state[0]
        most, pushes = max(most, int(state.next_card)), max(pushes, int(state.pushes.sum()))
        assert int(state.left.sum()) == 52 - int(state.next_card)
    assert pushes >= 8, "these packs were meant to make many push hands"
    assert most <= (45 if name == "missouri_city" else 40)


def test_the_shared_folder_is_no_game() -> None:
    assert (games_root() / "backhand_series" / "rules.py").is_file()
    assert "backhand_series" not in game_names()


def test_the_shared_folder_cites_paragraphs_that_the_pages_have() -> None:
    headings, cited = set(), set()
    for name in SERIES:
        page = (games_root() / name / "README.md").read_text("utf-8")
        headings |= set(re.findall(r"^#+ .*?(§[\d.]+\d|§\d)", page, re.MULTILINE))
    for path in (games_root() / "backhand_series").glob("*.py"):
        cited |= set(re.findall(r"§\d+(?:\.\d+)*", path.read_text("utf-8")))
    assert {"§1.2", "§2.3", "§3.4"} <= cited <= headings
