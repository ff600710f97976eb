"""`testing.check_vector`: environments that keep the protocol pass, and each fault is found by the check for it."""

from __future__ import annotations

import functools
import re

import pytest

import backalley
from backalley import testing
from backalley.testing.vector import VectorEnv
from tests.common import faulty_vector as faulty
from tests.common.cases import BY_NAME

FAULTS = [
    (faulty.FlatReward, "shapes", r"reward has shape \(5,\); it has to be \(5, 2\)"),
    (faulty.BothFlags, "shapes", "a table is terminated and truncated at once"),
    (faulty.MaskOfBothSeats, "masks", r"legal actions .* on all tables raise ValueError"),
    (faulty.PlaysAnything, "masks", r"action \d, which the mask of table \d forbids, is played"),
    (faulty.PlaysTheRestFirst, "masks", "after refused actions, which have to change nothing, legal actions"),
    (faulty.PythonsRows, "rows", "row -1 is played; it has to raise"),
    (faulty.RowTwice, "rows", "a row named twice is played"),
    (faulty.ClearsAllRewards, "rows", r"a step of rows \[.*\] changes the reward of another row"),
    (faulty.RestartClears, "rows", r"restart(\(\[.*\]\))? changes (the )?(reward|terminated|truncated)"),
    (faulty.OneStream, "rows", "in two calls give another observation than all in one"),
    (faulty.OneStream, "seeds", r"one table with seed \d plays otherwise: \w+ differs from that of row \d"),
    (faulty.SameSeed, "seeds", r"one table with seed 1 plays otherwise: \w+ differs from that of row 1"),
    (faulty.GlobalChance, "seeds", "a second environment with the same seed plays otherwise"),
    (faulty.CountsOn, "seeds", r"reset\(seed\) of an environment that has played plays otherwise"),
    (faulty.FlagsOfTheNext, "ends", "with autoreset a step shows another terminated than without"),
    (faulty.NextStepResets, "ends", r"table \d resets itself, and nobody is to act there|mask allows nothing"),
    (faulty.KeepsItsSeat, "ends", r"table \d is finished, and seat \d is to act; it has to be negative"),
    (faulty.MaskAfterTheEnd, "ends", r"table \d is finished, and its mask allows something"),
    (faulty.PlaysOn, "ends", r"an action on the finished table \d is played"),
    (faulty.OtherObservation, "observe", r"observe of 3 rows has shape \(3, 5\)"),
    (faulty.LooksCost, "observe", "observe|observing"),
    (faulty.PaysTheActor, "reference", r"table \d pays \[.*\], and the AEC environment \[.*\]"),
    (faulty.ShowsTheLast, "reference", r"observation of table \d is not that of the AEC environment"),
    (faulty.EndsLate, "reference", r"table \d is terminated and truncated .*, and the AEC environment"),
    (faulty.HandsOutItsOwn, "writing", "writing to what is handed out changes play: "),
]


@pytest.mark.parametrize(("made", "name", "says"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_fault_of_a_vector_environment_is_found(made: type[faulty.Fair], name: str, says: str) -> None:
    report = testing.check_vector(made, aec=faulty.Single, steps=40)
    (found,) = (one for one in report.findings if one.name == name)
    assert not report.ok
    assert not found.kept, report
    assert re.search(f"^Seed 0, step \\d+: .*({says})", found.says), found.says


def test_every_planted_fault_is_tried() -> None:
    made = {one for one in vars(faulty).values() if isinstance(one, type) and issubclass(one, faulty.Fair)}
    assert made - {faulty.Fair, faulty.ReadOnly} == {one for one, _, _ in FAULTS}


def test_a_fair_one_passes_and_what_it_lacks_is_said() -> None:
    report = testing.check_vector(faulty.Fair, aec=faulty.Single, steps=80)
    assert report.ok, report
    assert "Not tried" not in str(report)
    report = testing.check_vector(faulty.ReadOnly, steps=5)
    assert report.ok, report
    assert "Not tried: there is no observe(seats, rows)" in str(report)
    assert "Not tried: only a PettingZoo environment of the same game" in str(report)
    assert "All is read-only." in str(report)


@BY_NAME
def test_our_batches_keep_the_protocol(game: backalley.Game) -> None:
    report = testing.check_vector(game.make_vec, aec=game.make, steps=30)
    assert report.ok, report
    held: VectorEnv = game.make_vec(num_envs=2)  # the type checker holds it
    assert held.num_envs == 2


def test_ends_are_tried_in_a_game_of_short_episodes() -> None:
    report = testing.check_vector(functools.partial(backalley.make_vec, "backhand"), steps=30)
    (ends,) = (found for found in report.findings if found.name == "ends")
    assert re.match(r"\d+ episodes ended alike", ends.says)
