"""The command line: every verb, its errors in sentences, its exit codes, and the line that runs it again."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import backalley
from backalley.benchmarks.exact.agent_values import AgentValues, Worth
from backalley.benchmarks.exact.exact import Solution
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.speed import speed as speeds
from backalley.cli import command_line
from backalley.cli.compiling import of_same_shape
from backalley.envs.core.files import playthrough
from backalley.envs.core.game import catalogue
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.commands import run

ABOUT = {**of_game(kuhn.GAME.bind()), "stamp": {"machine": "this"}}


@pytest.fixture(autouse=True)
def small_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tiny games that the command line can name."""
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME, "high_card": high_card.GAME})


def again(result: Result) -> list[str]:
    """The words of the line that the output ends with, after the program's name."""
    line = next(line for line in result.output.splitlines() if line.startswith("Again: "))
    program, *words = shlex.split(line.removeprefix("Again: "))
    assert program == "backalley"
    return words


def test_help_names_every_verb() -> None:
    shown = run("--help").output
    verbs = "games rules train evaluate tournament play speed solve exploit card replay record watch picture"
    for verb in verbs.split():
        assert f"\n  {verb} " in shown
        assert run(verb, "--help").exit_code == 0


def test_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "backalley", "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == f"backalley, version {backalley.__version__}"


def test_games() -> None:
    shown = run("games").output
    for name in backalley.game_names():
        game = backalley.game(name)
        line = next(line for line in shown.splitlines() if line.startswith(game.id))
        numbers = (game.num_seats, game.num_actions, game.observation_size)
        assert line.split()[-3:] == [str(number) for number in numbers]
        assert all(bot in line for bot in game.bots)


def test_rules() -> None:
    shown = run("rules", "backhand")
    assert (backalley.game("backhand").type.folder / "README.md").read_text("utf-8").strip() in shown.stdout
    assert run("rules", "pitch", "1.5").stdout.startswith("### §1.5 Scores")


def test_a_game_that_lacks_something_is_reported_and_the_others_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(kuhn.GAME, name="bare", bots=())
    monkeypatch.setattr(catalogue, "_registered", {"bare": bare})
    monkeypatch.setattr(catalogue, "own_games", lambda: ("backhand", "broken"))
    shown = run("games")
    assert shown.exit_code == 0
    assert "backhand-v0" in shown.stdout
    assert "bare has no README.md" in shown.stderr
    assert "broken cannot be loaded" in shown.stderr
    assert next(line for line in shown.stdout.splitlines() if line.startswith("bare-v0")).split()[-4] == "none"


def solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is known already: the best play of a game and an agent's, and how long a first step takes."""
    solution, worth = Solution(0.5, -0.25, 9, 1, 0.1, **ABOUT), Worth("random", -0.25, 0.0, 2.0, 9, 0.1)
    exact, values = "backalley.benchmarks.exact.exact", "backalley.benchmarks.exact.agent_values"
    waits = {"cold": {"import": 0.5, "first_step": 9.0}, "warm": {"import": 0.5, "first_step": 1.0}}
    monkeypatch.setattr(speeds, "first_step", lambda game: waits)
    monkeypatch.setattr(f"{exact}.solve", lambda game, **rest: solution)
    monkeypatch.setattr(f"{values}.read_solution", lambda path, game: solution)
    monkeypatch.setattr(
        f"{values}.agent_values",
        lambda game, agents, found, **rest: AgentValues(0.5, -0.25, rest["least"], [worth], **ABOUT),
    )


@pytest.mark.parametrize(
    ("line", "said", "holds"),
    [
        (
            "evaluate high_card random random --option seats=3 --deals 300 --seed 4",
            ["high_card-v0: 300 deals x 3 seatings, seed 4"],
            lambda found: found["options"] == {"seats": 3},
        ),
        (
            "tournament kuhn random random random --deals 100 --seed 0",
            ["every pairing on the same 100 deals"],
            lambda found: len(found["standings"]) == 6,
        ),
        (
            "exploit kuhn random",
            ["In equilibrium seat 0 gains -0.05555"],
            lambda found: found["agents"][0]["name"] == "random",
        ),
        (
            "solve kuhn --within 0.0001",
            ["12 6 + 6 24"],
            lambda found: (
                found["value"]["low"] <= -1 / 18 <= found["value"]["high"] <= found["value"]["low"] + 4e-4
                and (found["information_sets"], found["choices"], found["histories"]) == (12, [6, 6], 24)
                and found["uniform"] == pytest.approx(11 / 24)
            ),
        ),
        (
            "solve high_card --option seats=1",
            ["best +0.500000000 0.750000000 9"],
            lambda found: (found["best_return"], found["machine"]) == (0.5, "this"),
        ),
        (
            "solve kuhn --agent random --best best.json --least 0.1",
            ["best play returns +0.500000000, random play -0.250000000.", "random -0.250000000 0.750000000"],
            lambda found: found["agents"][0]["gap"] == 0.75,
        ),
        (
            "speed kuhn --tables 16 --tables 64 --seconds 0.01 --repeats 2",
            ["16 tables 64 tables AEC loop"],
            lambda found: {entry["tables"] for entry in found["games"][0]["batch"]} == {16, 64},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_command_finds(
    line: str, said: list[str], holds: Callable[[Any], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says and writes it, with the line that finds it again."""
    solved(monkeypatch)
    path = tmp_path / "found.json"
    result = run(*line.split(), "--json", path)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    assert all(one in shown for one in said), shown
    found = json.loads(path.read_text("utf-8"))
    assert holds(found)
    words = again(result)
    assert shlex.split(found["command"])[1:] == words
    assert words[2:] == [*line.split()[2:], "--json", str(path)]
    assert run(*words).exit_code == 0
    if "agents" in found:
        assert json.loads(path.read_text("utf-8"))["agents"] == found["agents"]


def test_evaluate_by_precision_names_the_deals_it_took() -> None:
    result = run("evaluate", "kuhn", "random", "random", "--precision", "0.1")
    words = again(result)
    assert int(words[words.index("--deals") + 1]) >= 256
    assert "--precision" not in words


def test_interrupted_evaluation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from backalley.agents.match import Match

    original, calls = Match.play, []

    def play(match: Match, *arrays: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(match, *arrays)

    monkeypatch.setattr(Match, "play", play)
    path = tmp_path / "found.json"
    words = ("evaluate", "kuhn", "random", "random", "--deals", "1000", "--json", str(path))
    stopped = run(*words)
    assert stopped.exit_code == 130
    assert "Stopped after 16 of 1,000 deals." in stopped.stdout
    assert "the same line goes on from here" in stopped.stderr
    assert json.loads(path.read_text("utf-8"))["complete"] is False
    assert run(*again(stopped)).exit_code == 0
    found = json.loads(path.read_text("utf-8"))
    assert (found["complete"], found["deals"]) == (True, 1000)
    assert [file.name for file in tmp_path.iterdir()] == ["found.json"]


def test_play_to_the_end() -> None:
    words = ("play", "kuhn", "--opponent", "random", "--seed", "3")
    result = run(*words, input="raise\n?\nBET\npass\n")
    assert result.exit_code == 0, result.output
    assert "'raise' is no action of Kuhn poker. Legal: pass, bet." in result.output
    assert "  0  pass\n    1  bet" in result.output
    mine, other = (line for line in result.output.splitlines()[:9] if line.startswith(("seat 0  ", "seat 1  ")))
    assert mine.split()[-1] in "JQK"
    assert other == "seat 1  --"
    assert "The game is over. Returns: you " in result.output
    assert again(result) == ["play", "backalley.examples.kuhn", "--seat", "0", "--opponent", "random", "--seed", "3"]
    assert run(*words, input="bet\n").output.split("Returns")[1] == result.output.split("Returns")[1]


def test_play_takes_numbers_and_beginnings_and_lets_go() -> None:
    begun = run("play", "high_card", "--option", "seats=1", "--seed", "1", input="\nst\n")
    assert "Type an action's name" in begun.output
    assert "The game is over. Returns: you " in begun.output
    assert "The game is over" in run("play", "high_card", "--option", "seats=1", "--seed", "1", input="1\n").output
    for left in ("q\n", ""):
        result = run("play", "high_card", "--option", "seats=1", "--seed", "1", input=left)
        assert result.exit_code == 0
        assert "You left the table before the end." in result.output


def test_play_shows_only_what_the_seat_may_see() -> None:
    result = run("play", "high_card", "--opponent", "random", "--seed", "2", input="q\n")
    hands = [line.split()[-1] for line in result.output.splitlines() if line.startswith("seat ")]
    assert sorted(hand.isdigit() for hand in hands) == [False, False, True]
    assert hands.count("--") == 2


def test_play_without_a_standard_input_ends_politely() -> None:
    line = f"{shlex.quote(sys.executable)} -m backalley play backhand <&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "You left the table before the end." in done.stdout


def test_play_draws_a_seed_and_names_it() -> None:
    first, second = (again(run("play", "kuhn", "--opponent", "random", input="q\n")) for _ in range(2))
    assert "--seed" in first
    assert first != second


def test_replay(tmp_path: Path) -> None:
    name = backalley.game_names()[0]
    game = backalley.game(name)
    kept = playthrough.record(game.bind(), seed=1)
    path = tmp_path / "game.json"
    path.write_text(json.dumps(kept), "utf-8")
    result = run("replay", str(path))
    assert result.exit_code == 0, result.output
    assert "Everything shown and won is as it was recorded." in result.output
    assert again(result) == ["replay", str(path)]
    path.write_text(json.dumps({**kept, "returns": [value + 1 for value in kept["returns"]]}), "utf-8")
    wrong = run("replay", str(path))
    assert wrong.exit_code == 2
    assert "were recorded" in wrong.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"moves": 5}, "moves is 5; it takes a list"),
        ({"moves": []}, "0 moves show 1 tables"),
        ({"moves": ["fly"]}, "a move reads SEAT: ACTION"),
        ({"decks": [5]}, "entry 0 of decks is 5; it takes text"),
        ({"decks": ["ZZ"]}, "There is no card 'ZZ'"),
        ({"options": {"nosuch": 1}}, "nosuch"),
        ({"returns": [0, 0, 0]}, "3 returns"),
        ({"game": "snap"}, "There is no game 'snap'"),
    ],
)
def test_damaged_recordings_are_sentences(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    kept = playthrough.record(backalley.game("backhand"), seed=1) | changes
    if changes.get("moves") == ["fly"]:
        kept["shown"] = kept["shown"][:2]
    path.write_text(json.dumps(kept), "utf-8")
    result = run("replay", str(path))
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_results_never_replace_a_device(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run("evaluate", "kuhn", "random", "random", "--deals", "20", "--json", str(pipe))
    assert result.exit_code == 2
    assert "is no file that could be replaced" in result.stderr
    assert pipe.is_fifo()


def test_command_lines_are_quoted_for_a_shell() -> None:
    words = ["train", "two words", "--set", "a=b;c", "--title", "it's \x1b"]
    line = command_line(*words)
    assert line == "backalley train 'two words' --set 'a=b;c' --title $'it\\x27s \\x1b'"
    assert subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True).stdout == (
        "\n".join(["backalley", *words, ""])
    )


@pytest.mark.parametrize("name", backalley.game_names())
def test_compiling_ahead_covers_the_code_that_other_options_share(name: str) -> None:
    game = backalley.game(name)
    other = of_same_shape(game)
    assert other is not None
    assert len(other.changed_options) == 1
    assert (other.state_dtype, other.observation_dtype) == (game.state_dtype, game.observation_dtype)
