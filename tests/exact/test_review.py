"""The coach: what decisions have lost, from what the seat knew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import backalley
from backalley.agents.analysis import view_at
from backalley.benchmarks.analyse.review import judged, kind_of, reviewer
from backalley.benchmarks.studies.play.blunders import planted
from backalley.cli import main
from backalley.envs.core.files import playthrough

GAME = backalley.game("missouri_city")
PITCH = backalley.game("pitch", preset="small")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths = [tmp_path_factory.mktemp("review") / f"{seed}.json" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        playthrough.save(path, playthrough.record(PITCH, seed))
    return paths


def test_a_review_judges_each_choice_of_the_seat_and_no_other(files: list[Path]) -> None:
    found = backalley.review(files[0], seat=1, agent="mc:24")
    choices, mask, seat = [], None, -1
    for number, (env, _, action) in enumerate(playthrough.positions(files[0])):
        if seat == 1 and mask is not None and mask.sum() > 1:
            choices.append((number - 1, action))
        mask, seat = env.arrays.mask[0].copy(), int(env.arrays.seat[0])
    assert [(one.number, one.action) for one in found.decisions] == choices
    assert found == backalley.review(files[0], seat=1, agent="mc:24"), "the same file, the same review"
    for one in found.decisions:
        assert (one.loss, one.error) == (0, 0) if one.better == one.action else one.error >= 0


def test_sums_of_a_review(files: list[Path]) -> None:
    found = backalley.review(*files, agent="mc:24")
    ability, kinds = found.ability(), found.by_kind()
    assert ability.samples == 2
    assert ability.low <= ability.mean <= ability.high
    assert ability.mean == pytest.approx(sum(one.loss for one in found.decisions) / 2)
    assert sum(one.samples for one in kinds.values()) == len(found.decisions)
    losses = [one.loss for one in found.costliest()]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) <= 3


def test_a_review_follows_from_what_the_seat_knew() -> None:
    """Redealt, with all hidden cards others, a position gets the same judgement to the last bit."""
    player, compared = reviewer("mc:24", PITCH), 0
    env = backalley.make(PITCH)
    env.reset(seed=4)
    state = env.position()
    for _ in range(30):
        if state.is_over:
            break
        if not state.is_chance and len(state.legal_actions()) > 1:
            other = state.determinize(state.seat, 77)
            views = [view_at(backalley.BatchEnv.from_states(one.states())) for one in (state, other)]
            action = int(np.flatnonzero(views[0].action_mask[0])[-1])
            compared += state.record().tobytes() != other.record().tobytes()
            assert judged(views[0], action, player) == judged(views[1], action, player)
        state.apply(int(state.legal_actions()[0]))
    assert compared > 3


def test_kinds_of_actions_leave_cards_and_numbers_out() -> None:
    assert [kind_of(name) for name in ("bid 3", "bid 4", "play KC", "KC", "JOKER", "Hit")] == [
        "bid", "bid", "play", "card", "card", "hit",
    ]  # fmt: skip


def test_what_cannot_be_reviewed_is_said(files: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    playthrough.save(other, playthrough.record(GAME, 1))
    with pytest.raises(ValueError, match="of another game, or of other options"):
        backalley.review(files[0], other)
    with pytest.raises(ValueError, match="use 'mc:200'"):
        backalley.review(files[0], agent="random")
    with pytest.raises(ValueError, match="seat"):
        backalley.review(files[0], seat=9)
    with pytest.raises(ValueError, match="No game was given"):
        backalley.review()


def test_the_command_writes_a_page_and_json(files: list[Path], tmp_path: Path) -> None:
    page, data = tmp_path / "review.html", tmp_path / "review.json"
    line: list[Any] = ["review", str(files[0]), "--agent", "mc:24", "--html", str(page), "--json", str(data)]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 0, done.output
    found = backalley.review(files[0], agent="mc:24")
    assert str(found) in done.output
    kept = json.loads(data.read_text())
    assert [one["loss"] for one in kept["decisions"]] == [one.loss for one in found.decisions]
    shown = page.read_text()
    assert shown.count("data-frame=") == len(found.costliest())
    assert "Loss in a game" in shown


@pytest.mark.slow
@pytest.mark.release
def test_planted_blunders_of_twice_the_noise_are_found() -> None:
    """95 of 100 that lose two to three times the noise of a review; the best action is accused in 5 of 100."""
    found = planted(GAME, 100, seed=3)
    assert found["found"]["mean"] >= 0.95
    assert found["accused"]["mean"] <= 0.05
