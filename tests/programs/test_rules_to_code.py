"""`score-rules`: the reference scores 100 %, planted faults are found by their paragraphs, and nothing that a candidate
does costs more than its case."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backalley.benchmarks.figures.result_kinds import figures
from backalley.benchmarks.publish.sources import all_sources
from backalley.benchmarks.rules_to_code import programs
from backalley.benchmarks.rules_to_code.programs import MOST_LATE, Limits, OfGame, Player, candidate
from backalley.benchmarks.rules_to_code.score import score_rules, suspects
from backalley.benchmarks.rules_to_code.scripts import first_difference, playable_cases, variants, where
from backalley.benchmarks.rules_to_code.task import INTERFACE, task
from backalley.envs.core.game.catalogue import game, games
from tests import ROOT
from tests.common.cases import GAMES
from tests.common.commands import run
from tests.common.planted_faults import FAULTS

_FAULTY = (
    f"import os, sys; os.environ['NUMBA_DISABLE_JIT'] = '1'; sys.path.insert(0, {str(ROOT)!r}); "
    "from tests.common.planted_faults import main; main()"
)
BACKHAND = game("backhand")
SCRIPT = playable_cases(BACKHAND)[0].script
OWN = [one for one in GAMES if one.name in {each.name for each in games()}]


@pytest.mark.slow
def test_our_own_rules_score_everything() -> None:
    found = score_rules(None, OWN, hidden=2, seed=1)
    assert found.score == 1, found.table()
    assert min(one["vectors"] for one in found.found["games"]) >= 14


@pytest.fixture(scope="module")
def faulty() -> Iterator[Player]:
    player = Player([sys.executable, "-c", _FAULTY], "faulty", 60.0)
    yield player
    player.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(FAULTS)), ids=lambda number: FAULTS[number].says)
def test_each_planted_fault_is_found_by_its_paragraph(number: int, faulty: Player) -> None:
    fault = FAULTS[number]
    found = _score(fault.game, OfGame(faulty, str(number)), hidden=0)
    wrong = {one["paragraph"] for one in found["paragraphs"] if one["right"] < one["vectors"]}
    assert fault.paragraph in wrong
    assert found["score"] < 1


def _score(name: str, player: Player, hidden: int) -> dict[str, Any]:
    found = score_rules(None, [game(name)], hidden=hidden, player=lambda _: player)
    scored: dict[str, Any] = found.found["games"][0]
    return scored


@pytest.mark.slow
def test_a_difference_in_hidden_games_speaks_against_the_rule_that_ran(faulty: Player) -> None:
    number = next(place for place, fault in enumerate(FAULTS) if fault.says.startswith("A marriage in trumps"))
    found = _score("bezique", OfGame(faulty, str(number)), hidden=4)
    suspected = {one["paragraph"] for one in found["paragraphs"] if one["hidden_wrong"]}
    assert "§1.5" in suspected
    assert found["whole"] < found["hidden"] == 4


def test_suspects_are_the_rules_that_ran_only_where_it_differs() -> None:
    always, rarely, elsewhere = "§1.1 rules.play", "§1.5 points.pips", "§1.6 rules.finish"
    first = [[always], [always], [always, rarely]], 2
    second = [[always, rarely]], 0
    third = [[always], [always, elsewhere]], None
    assert suspects([first, second, third]) == [["§1.5"], ["§1.5"]]
    assert suspects([([[]], 0), ([[always]], 5)]) == [[], []]  # nothing ran there, or it went on too long


def candidate_of(text: str, tmp_path: Path, **limits: Any) -> Player:
    file = tmp_path / "backhand.py"
    file.write_text(text)
    return candidate(file, Limits(**limits))


GAME = """
class Game:
    def __init__(self, options, start_outcome): {init}
    def turn(self): {turn}
    def deal(self, deck): pass
    def legal(self): return []
    def act(self, action): pass
    def rewards(self): return [0.0]
    def state(self): return {state}
"""


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"init": "1 / 0"}, "ZeroDivisionError"),
        ({"turn": "return 'deal'"}, "asks for another pack"),
        ({"turn": "import os; os._exit(3)"}, "it ended"),
        ({"turn": "import sys; sys.exit(3)"}, "SystemExit"),
        ({"turn": "print('{\"steps\": 1}'); return 0"}, ""),
        ({"turn": "return 0", "state": "{'total': float('nan')}"}, "no JSON"),
        ({"turn": "return 0", "state": "{'total': {1, 2}}"}, "no JSON"),
        ({"turn": "return self.turn()"}, "RecursionError"),
        ({"turn": "import numpy"}, "ModuleNotFoundError"),
        ({"turn": "import backalley"}, "ModuleNotFoundError"),
    ],
)
def test_what_a_candidate_does_wrong_costs_its_case_alone(wrong: dict[str, str], says: str, tmp_path: Path) -> None:
    text = GAME.format(**{"init": "pass", "turn": "return 0", "state": "{}", **wrong})
    player = candidate_of(text, tmp_path)
    for _ in range(2):  # and the next case is played
        answer = player.play(SCRIPT)
        assert says in str(answer["error"])
    player.close()


CHEATS = {
    "our package": f"import sys; sys.path[:0] = {sys.path!r}; import backalley",
    "our package's files": f"open({str(ROOT / 'envs' / 'backhand' / 'vectors.toml')!r})",
    "by number": f"import os; os.open({str(ROOT / 'README.md')!r}, os.O_RDONLY)",
    "a folder": f"import os; os.listdir({str(ROOT)!r})",
    "a loader": "import importlib.util as u; s = u.spec_from_file_location('x', "
    f"{str(ROOT / 'envs' / '__init__.py')!r}); s.loader.exec_module(u.module_from_spec(s))",
    "another Python": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])",
    "a shell": "import os; os.system('true')",
    "a fork": "import os; os.fork()",
    "the network": "import socket; socket.create_connection(('127.0.0.1', 9))",
    "C": "import ctypes; ctypes.CDLL(None)",
}


@pytest.mark.parametrize("bubblewrap", [False, True])
@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_a_candidate_reads_and_starts_nothing_of_ours(
    cheat: str, bubblewrap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bubblewrap and not programs.has_bubblewrap():
        pytest.skip("bubblewrap is not installed, or may not be used")
    if bubblewrap:  # what is around the process does without what is in it
        monkeypatch.setattr(programs.worker, "__file__", str(_worker_without_guard(tmp_path)))
    else:
        monkeypatch.setattr(programs, "has_bubblewrap", lambda: False)
    turn = f"\n        try: {cheat}\n        except OSError as e: raise ValueError('refused') from e\n        return 0"
    player = candidate_of(GAME.format(init="pass", turn=turn, state="{}"), tmp_path)
    error = str(player.play(SCRIPT)["error"])
    player.close()
    harmless = bubblewrap and cheat in (CHEATS["another Python"], CHEATS["a shell"], CHEATS["a fork"], CHEATS["C"])
    assert harmless or "refused" in error or "ModuleNotFoundError" in error, error


def _worker_without_guard(folder: Path) -> Path:
    text, file = Path(programs.worker.__file__).read_text("utf-8"), folder / "plain_worker.py"
    assert "    guard(" in text
    file.write_text(text.replace("    guard(", "    print("), "utf-8")
    return file


def test_texts_that_steer_a_terminal_arrive_as_escapes(tmp_path: Path) -> None:
    state = "{'\\x1b[2J': '\\ud800', 'total': ['\\x1b]0;title\\x07']}"
    player = candidate_of(GAME.format(init="pass", turn="return 0", state=state), tmp_path)
    answer = player.play(SCRIPT)
    player.close()
    assert answer["steps"][0]["state"] == {"\\x1b[2J": "\\ud800", "total": ["\\x1b]0;title\\x07"]}
    found = score_rules(tmp_path, [BACKHAND, BACKHAND], hidden=1)
    assert [one["game"] for one in found.found["games"]] == ["backhand"]  # named twice, counted once
    assert "\x1b" not in found.table()
    assert len(found.found["sha256"]) == 64


def test_limits_end_hidden_games() -> None:
    for name, limit in (("pitch", "max_hands"), ("twenty_one", "max_rounds"), ("poker_duel", "max_sudden_death")):
        assert {limit: 1} in variants(game(name))


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of memory there")
def test_memory_is_limited(tmp_path: Path) -> None:
    player = candidate_of(GAME.format(init="b'x' * 2**31", turn="return 0", state="{}"), tmp_path, mib=256)
    assert "MemoryError" in player.play(SCRIPT)["error"]
    player.close()


def test_a_candidate_that_hangs_is_ended(tmp_path: Path) -> None:
    hangs = GAME.format(init="pass", turn="\n        while True: pass", state="{}")
    player = candidate_of(hangs, tmp_path, seconds=0.1)
    answers = [player.play(SCRIPT)["error"] for _ in range(MOST_LATE + 1)]
    assert all("no answer" in error for error in answers[:-1])
    assert "it was not asked" in answers[-1]


@pytest.mark.parametrize("text", ["def broken(:", "Games = 3", "raise SystemExit(2)"])
def test_a_file_that_cannot_be_loaded_scores_nothing(text: str, tmp_path: Path) -> None:
    player = candidate_of(text, tmp_path)
    assert "cannot be loaded" in player.play(SCRIPT)["error"]
    player.close()


DEEP: Any = []
for _ in range(2000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "steps", [None, 3, [], [3], [{}], [{"turn": True, "legal": 7, "rewards": "a", "state": []}], [{"turn": DEEP}]]
)
def test_whatever_is_answered_is_compared(steps: Any) -> None:
    wanted = {"seat": 0, "legal": ["hit"], "reward": [0], "over": False, "state": {"total": [12]}}
    assert first_difference(steps, None, iter([(0, wanted)])) is not None


def test_a_difference_says_whose_value_it_is_and_where() -> None:
    wanted = {"seat": 0, "legal": ["hit", "stand"], "state": {"total": [12]}}
    given = {"turn": 1, "legal": ["hit", "split"], "rewards": [], "state": {"total": [13]}}
    for fixed, said in (
        ({}, "turn: the candidate has 1, and the rules have 0"),
        ({"turn": 0}, "legal actions: only the candidate has split; only the rules have stand"),
        ({"turn": 0, "legal": ["hit", "stand"]}, "total: the candidate has [13], and the rules have [12]"),
    ):
        assert first_difference([{**given, **fixed}], None, iter([(0, wanted)])) == (0, said)
    script = {"options": {"to": 11, "teams": "solo"}, "actions": ["a", "b", "c", "d", "e"]}
    assert (
        where(script, 4, {"to": 11, "teams": "partners"}) == "after 4 actions, the last b / c / d (options teams=solo)"
    )
    assert where(script, 0, script["options"]) == "after 0 actions"


def test_right_answers_may_be_written_in_several_ways() -> None:
    wanted = {"seat": 1, "legal": ["play 2C", "pass"], "reward": [0.5, -0.5], "state": {"total": [[12], 3]}}
    given = {"turn": 1, "legal": ["PASS", "play  2c"], "rewards": [0.500001, -0.5], "state": {"total": [[12, 7], 3]}}
    assert first_difference([given], None, iter([(0, wanted)])) is None
    for name, other in (("turn", 0), ("legal", ["pass"]), ("legal", ["pass", "pass", "play 2C"]), ("rewards", [0.5])):
        assert first_difference([{**given, name: other}], None, iter([(0, wanted)])) is not None


@pytest.mark.parametrize("one", OWN, ids=lambda one: one.name)
def test_a_task_has_all_that_is_compared(one: Any) -> None:
    text = task(one)
    assert INTERFACE in text
    assert "## §" in text or "### §" in text
    for case in playable_cases(one):
        for _, wanted in case.checks:
            assert all(f"* `{name}`:" in text for name in wanted.get("state", {}))
    assert "Leaderboard" not in text


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "backhand.py").write_text(GAME.format(init="pass", turn="return 0", state="{}"))
    out = tmp_path / "found.json"
    found = run("score-rules", tmp_path, "--hidden", 0, "--json", out)
    assert found.exit_code == 0
    assert "§1.2" in found.output
    assert "Not written, and not counted" in found.output
    assert figures("rules_to_code", [one.found for one in all_sources([out])])  # as reports show it
    assert "class Game" in run("score-rules", "--task", "pitch").output


@pytest.mark.slow
def test_the_candidate_of_the_guide_scores_everything(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "rules_to_code.md").read_text("utf-8")
    (tmp_path / "backhand.py").write_text(guide.split("```python\n")[1].split("```")[0])
    found = score_rules(tmp_path, hidden=20)
    assert found.score == 1, found.table()
