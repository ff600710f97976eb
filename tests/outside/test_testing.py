"""`backalley.testing`: each check finds the fault that it is for, in games and in others' environments, and `backalley
check` reports it. (That our games pass is `test_rules.py`'s.)"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley import testing
from backalley.cli.new_game import TEMPLATES, NewGameError, new_game
from backalley.envs.core.compile.interfaces import CHANCE, Bot
from backalley.envs.core.compile.kernel import COMPILED, kernel
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.testing.play import LOOKS, Table, walk
from backalley.testing.reach import _counted
from tests.common import faulty, high_card
from tests.common.commands import process, run

# Environments of others ----------------------------------------------------------------------------------------------

FAULTS = [
    (faulty.SharedCopy, "deepcopy", "what is played in a copy by deepcopy changes the original"),
    (faulty.FreshCopy, "deepcopy", "a copy by deepcopy is not in the middle of the episode; to look at it raises"),
    (faulty.OtherChance, "deepcopy", "a copy by deepcopy goes on otherwise"),
    (faulty.GlobalChance, "seeds", "a second episode with the same seed is another one"),
    (faulty.SeedsTheGlobalChance, "seeds", "another episode while others draw from the global random numbers"),
    (faulty.NoSeed, "seeds", "a second episode with the same seed is another one"),
    (faulty.OthersMask, "masks", r"action \d of (north|south) is allowed, and step\(\) raises ValueError"),
    (faulty.EmptyMask, "masks", "is to act, and its mask allows nothing"),
    (faulty.LongMask, "masks", r"has shape \(5,\), and its action space is Discrete\(4\)"),
    (faulty.PlaysAnything, "masks", r"forbids action \d, and step\(\d\) plays it"),
    (faulty.MaskOfTheActor, "observations", "agents off turn the mask of the agent to act"),
    (faulty.LooksCost, "observations", "observation of (north|south) changes what it observes next"),
    (faulty.HandsOutItsOwn, "observations", "what is written into an observation of north changes"),
    (faulty.ShowsTheOther, "unseen", r"the observation of south tells action \d of north from \d"),
    (faulty.KeepsTheReward, "ends", "last\\(\\) reported north rewards of .* in all"),
    (faulty.NobodyLeaves, "ends", "north, south cannot leave by step"),
]


def unseen(env: Any) -> list[int]:
    return [number for number in range(faulty.ACTIONS) if number not in env.numbers[env.agent_selection]]


@pytest.mark.parametrize(("made", "name", "says"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_fault_of_an_environment_is_found(made: type[faulty.Fair], name: str, says: str) -> None:
    report = testing.check_aec(made, steps=60, copies={"deepcopy": testing.aec.COPIES["deepcopy"]}, unseen=unseen)
    (found,) = (one for one in report.findings if one.name == name)
    assert not report.ok
    assert not found.kept
    assert re.search(f"^Seed 0, step \\d+: .*{says}|^Seed \\d+, step \\d+: .*{says}", found.says), found.says


def test_a_fair_environment_passes_made_anew_or_given() -> None:
    deepcopy = {"deepcopy": testing.aec.COPIES["deepcopy"]}
    for env in (faulty.Fair, faulty.Fair()):
        report = testing.check_aec(env, steps=60, copies=deepcopy, unseen=unseen)
        assert report.ok, report
        assert "Not tried" not in str(report)
    report = testing.check_aec(faulty.Fair, steps=10, seconds=1.5)
    assert "seeds before" in str(report)
    assert "pickle raises" in str(report)  # the spaces are functions
    assert "Not tried: only you can say" in str(report)


# Games ---------------------------------------------------------------------------------------------------------------


@kernel
def nothing(options: Any, state: Any, *given: Any) -> None:
    pass


@kernel
def shows_all(options: Any, state: Any, seat: int, out: Any) -> None:
    out.card[state.card[1 - seat]] = 1


@kernel
def leaves_a_trace(options: Any, state: Any, seat: int, key: Any) -> None:
    kuhn.determinize(options, state, seat, key)
    if state.card[1 - seat] == 0:
        state.bets[2] = 1


@kernel
def deals_by_chance(options: Any, state: Any, deck: Any) -> None:
    kuhn.deal(options, state, np.random.permutation(3))  # noqa: NPY002


@kernel
def waits(options: Any, state: Any, action: int) -> None:
    kuhn.step(options, state, action)
    if state.seat == 1:
        state.seat = CHANCE


@kernel
def raises_always(options: Any, observation: Any, mask: Any, key: Any) -> int:
    return 2


def broken(**kernels: Any) -> Game:
    return dataclasses.replace(kuhn.GAME, kernels=kuhn.GAME.kernels._replace(**kernels)).bind()


GAMES: list[tuple[Callable[[], Game], Callable[..., str], str]] = [
    (lambda: broken(legal=nothing), testing.check_masks, "seat 0 is to act and has no legal action"),
    (
        lambda: broken(observe=shows_all),
        testing.check_leaks,
        "seat 0 sees something hidden: determinize changes its card",
    ),
    (lambda: broken(determinize=leaves_a_trace), testing.check_leaks, r"lets \['bets'\] depend on what seat"),
    (lambda: broken(deal=deals_by_chance), testing.check_seeds, "a second episode with that seed was another one"),
    (lambda: broken(deal=deals_by_chance), testing.check_batch, r"of row \d of a batch differs"),
    (lambda: broken(deal=deals_by_chance), testing.check_state, r"the (observation|state) of a GameState differs"),
    (
        lambda: dataclasses.replace(kuhn.GAME, piles=lambda options, state: {"hands": state.card.tolist()}).bind(),
        testing.check_cards,
        "a card is missing, or lies in two places",
    ),
    (
        lambda: dataclasses.replace(kuhn.GAME, reward_range=lambda options: (-1.0, 1.0)).bind(),
        testing.check_returns,
        "returns from -2 to 2 leave the bounds -1 to 1",
    ),
    (
        lambda: dataclasses.replace(kuhn.GAME, cards_needed=lambda options: 1).bind(),
        testing.check_deal,
        "a deal uses cards below the 1",
    ),
    (
        lambda: dataclasses.replace(kuhn.GAME, bots=(Bot("raiser", raises_always, "Raises."),)).bind(),
        testing.check_bots,
        "bot raiser chose 2, which is not legal",
    ),
    (
        lambda: dataclasses.replace(
            kuhn.GAME, table=lambda options, state, seat: kuhn.GAME.table(options, state, None)
        ).bind(),
        testing.check_texts,
        "what seat 0 reads shows something hidden",
    ),
    (
        lambda: dataclasses.replace(
            kuhn.GAME, action_str=lambda options, action: ("slot 1", "slot one")[action]
        ).bind(),
        testing.check_texts,
        "'slot 1' could be slot 1 or slot one",
    ),
]


@pytest.mark.uncompiled
@pytest.mark.parametrize(("make", "check", "says"), GAMES, ids=lambda value: getattr(value, "__name__", None))
def test_a_fault_of_a_game_is_found(make: Callable[[], Game], check: Callable[..., str], says: str) -> None:
    with pytest.raises(testing.BrokenPromise, match=f"^backalley.game.*kuhn.*, seed \\d+.*{says}"):
        check(make())
    check(kuhn.GAME.bind())


@pytest.mark.uncompiled
def test_worlds_that_are_never_redrawn_are_found() -> None:
    city = backalley.game_type("missouri_city")
    with pytest.raises(testing.BrokenPromise, match="seed 1, decision 0: determinize redraws nothing"):
        testing.check_redraws(dataclasses.replace(city, kernels=city.kernels._replace(determinize=nothing)).bind())


@pytest.mark.uncompiled
def test_what_failed_can_be_played_again_from_its_seed() -> None:
    game = broken(determinize=leaves_a_trace)
    with pytest.raises(testing.BrokenPromise) as first:
        testing.check_leaks(game, seed=3, episodes=50)
    found = re.search(r"seed (\d+), decision (\d+)", str(first.value))
    assert found
    with pytest.raises(testing.BrokenPromise) as again:
        testing.check_leaks(game, seed=int(found[1]), episodes=1)
    assert str(again.value) == str(first.value)


# A game of one's own, and the command --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.uncompiled
@pytest.mark.parametrize("template", ["small", "trick"])
def test_a_new_game_passes_every_check_and_its_page_runs(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"my_{template}"
    monkeypatch.setattr(catalogue, "_registered", {})
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    made = run("new-game", name, str(tmp_path), *(["--trick"] if template == "trick" else []))
    assert f"backalley check {name}.game" in made.output, made.output
    assert "README.md has the rules" in made.output
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", (tmp_path / name / "README.md").read_text("utf-8"), re.DOTALL)
    exec(compile(example, "README", "exec"), {"__name__": "example"})
    assert "seat 1" in capsys.readouterr().out, "the page's example draws the table"
    done = run("check", f"{name}.game")
    assert done.exit_code == 0, done.output
    assert done.output.count("Every check passed.") == 1
    assert re.search(r"\n  reached +ok +\d+ of \d+ actions;", done.output), done.output
    assert re.search(r" \d of \d § \(not §[\d., §]+\)\. Every check passed", " ".join(done.output.split())), done.output
    assert done.output.endswith(f"Again: backalley check {name}.game --seed 0 --episodes 4\n")
    assert "Not tried: nothing is compiled in this process" in done.output


@pytest.mark.uncompiled
def test_what_fails_is_a_sentence_and_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {})
    monkeypatch.chdir(tmp_path)
    place = new_game("my_rules", tmp_path)
    vectors = place / "vectors.toml"
    vectors.write_text(vectors.read_text("utf-8").replace("over = true", "over = false"))
    done = run("check", str(place), "--episodes", "1")  # by its folder
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert re.search(r"vectors FAILED my_rules, §1\.2: [^.]*\. Step 2: over should be False\.", said), said
    assert re.search(r" 1 of \d+ checks failed\.", said)


@pytest.mark.uncompiled
def test_a_game_is_checked_under_other_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {})
    done = run("check", "backalley.examples.kuhn", "--sets", "1", "--episodes", "1")
    assert done.exit_code == 0, done.output
    assert done.output.count("Every check passed.") == 2
    assert "backalley.game('backalley.examples.kuhn', first=1):" in done.output
    assert "Not tried: the game's folder has no playthroughs" in testing.check_playthroughs(high_card.GAME.bind())


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="compares the two")
def test_a_kernel_that_plays_otherwise_compiled_is_found(tmp_path: Path) -> None:
    new_game("my_flag", tmp_path)
    rules = tmp_path / "my_flag" / "rules.py"
    overflows = "else -options.fold_costs * (1 + (np.int8(100) + np.int8(100) > 0))"  # in Python alone
    rules.write_text(rules.read_text("utf-8").replace("else -options.fold_costs", overflows))
    done = process("check", "my_flag.game", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "compiled, it plays otherwise than line by line in Python" in " ".join(done.stdout.split())


def test_templates_are_short() -> None:
    for template, most in (("small", 150), ("trick", 250)):
        files = (TEMPLATES / template).glob("*.py")
        assert len([line for path in files for line in path.read_text("utf-8").splitlines() if line.strip()]) <= most


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Pitch", "named like a Python module"),
        ("pitch", "a game named"),
        ("json", "a module of Python's"),
        ("class", "named like"),
    ],
)
def test_a_new_game_needs_a_name_of_its_own(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(NewGameError, match=says):
        new_game(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_new_game_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "war").mkdir()
    with pytest.raises(NewGameError, match="is there already"):
        new_game("war", tmp_path)


def test_a_walk_looks_at_the_first_positions_and_ever_fewer_later_ones() -> None:
    table = Table(backalley.game("missouri_city").make(), 0)
    seen, tried = walk(table, LOOKS, positions=10**6)
    assert seen == table.batch.decisions[0]
    assert tried > seen


def test_what_was_reached_is_counted() -> None:
    """And what was not is named: `pitch` has cards that its default options leave out."""
    assert testing.check_reach(backalley.game("backalley.examples.leduc")) == (
        "3 of 3 actions; 9 of 9 fields of State; 4 of 4 fields of Observation; 2 of 2 kinds of events; 1 of 1 options."
    )
    says = testing.check_reach(backalley.game("pitch"))
    assert re.search(r"^\d+ of 62 actions \(not .*play JOKER", says), says
    assert "play JOKER" not in testing.check_reach(backalley.game("pitch", joker="low_trump"))
    assert re.search(r"; 5 of 6 § \(not §1\.1\)\.$", says), says


def test_no_more_than_a_dozen_names_are_listed() -> None:
    said = _counted("actions", map(str, range(20)), ["3"])
    assert said == "1 of 20 actions (not 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 7 more)"
