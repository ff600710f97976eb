"""What people type, hand in and call wrongly: every one of these is answered in a sentence, with exit code 2, at once,
without a control character and without a trace; and nothing is read that might never end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest

import backalley
import backalley.training.train  # takes seconds, which are nobody's answer
from backalley.agents.policies import policy_file, pretrained
from backalley.agents.registry import agent
from backalley.benchmarks.publish.sources import all_sources
from backalley.envs.core.files import durable, playthrough, reading
from backalley.envs.core.game import catalogue
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.commands import run

SECONDS = 60
"""After which an answer has not come."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
CLEAR, TITLE = "\x1b[2J", "\x1b]0;title\x07"
KINDS = ["evaluation", "tournament", "ladder", "cross", "methods", "searches", "crowds", "solution", "agent_values"]
KINDS += ["exploitability", "equilibrium", "speed", "endurance", "throughput", "learning curve", "training"]


class Late(BaseException):
    """No answer has come, and nothing takes this for one."""


@pytest.fixture(autouse=True)
def small_games(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Tiny games with names, a folder of one's own to work in, and an end to waiting."""
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME, "high_card": high_card.GAME})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def late(number: int, frame: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def wrong(words: list[str]) -> str:
    """What is wrong with the answer to a command line that has to be refused; nothing where it is as it should be."""
    signal.alarm(SECONDS)
    result = run(*words, catch_exceptions=True)
    signal.alarm(0)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{type(result.exception).__name__}: {result.exception}"
    if result.exit_code != 2:
        return f"exit code {result.exit_code}: {result.output[-200:]!r}"
    said = result.stderr.splitlines()
    if not said or not said[-1].startswith("Error: ") or len(said[-1]) < 25:
        return f"no sentence: {result.stderr[-200:]!r}"
    return f"steers the terminal: {result.output[-200:]!r}" if STEERS.search(result.output) else ""


def check(cases: list[list[Any]]) -> None:
    """All of these command lines are refused as they should be."""
    found = {json.dumps(words)[:200]: wrong(words) for words in ([str(word) for word in case] for case in cases)}
    bad = {words: why for words, why in found.items() if why}
    assert not bad, f"{len(bad)} of {len(cases)}:\n" + "\n".join(f"{words}\n    {why}" for words, why in bad.items())


# Words of the command line --------------------------------------------------------------------------------------------

TEXT = [
    "", " ", "\t", "\n", "a\0b", CLEAR, TITLE, "x" * 10_000, "²", "nan", "1e400", "[]", "{}", "-", "../..", "%s", "{0}",
    "\u202e", "\ud800", "\udcff", "[red]x[/red]", "random\n", " random ", "RANDOM", "None", "/", "/dev/null",
    "/dev/zero",
]  # fmt: skip
AGENTS = [
    "bot:", "policy:", "sb3:", "search+", "search+:", "search+bot:", "search+policy:", "bot: ", "bot:x:y", "bot:nosuch",
    f"bot:{CLEAR}", f"policy:{CLEAR}", f"search+{CLEAR}", f"sb3:{CLEAR}", "policy:..", "policy:\0", "sb3:\0",
    "sb3:/dev/zero", "search:", "search::", "search:0", "search:-1", "search:x", "search:1:0", "search:1:nan",
    "search:" + "9" * 5000, "search+human", "search+search:1", "search+nosuch:3", "search+bot:nosuch:3", "mc:0", "mc:x",
    "mc", "mc:1:x", "mc:1:nan", "mc:20:5:1", "search:1000001", "search+mc:20", "search+bot:1:2:3",
    "mc:²", "plans", "plans:", "random:", "random:x", "human:x", "os:", ":os", "os:system", "os:getcwd",
    "os:nosuch", "os:path", "os.path:join", "os:environ", "sys:exit", "sys:stdout", "json:loads", "builtins:int",
    "builtins:open", "builtins:print", "builtins:type", "builtins:object", "pathlib:Path", "subprocess:Popen",
    "re:compile", "shutil:rmtree", "collections:Counter", "nosuch:X", "nosuch.sub:X", ".:X", "..:X", ".os:X", "os.:X",
    "a b:X", "os:a.b", "numpy:array", "numpy:ndarray", "backalley:game", "backalley:agent",
    "tests.common.high_card:GAME",
    "none.py:X", "backalley.agents.base.agent:Agent", ".py:X", f"{CLEAR}:X", f"x{CLEAR}.py:X", f"os:{CLEAR}",
    "/dev/null:X",
]  # fmt: skip


def test_agents() -> None:
    check([["evaluate", "kuhn", "--deals", "4", "--", name, "random"] for name in TEXT + AGENTS])


def test_games() -> None:
    names = [
        "kuhn-v1", "kuhn-v", "kuhn:", "os", "os.path", "os:path", "nosuch.game",
        "tests.common.high_card:Options", ".kuhn",
        "..", "tests..high_card", "backalley.envs", "json:loads", "a.\0b", f"a.{CLEAR}", "backalley/", "kuhn.py", "a:b",
        ":", ":GAME", "tests.common.high_card:GAME:GAME", "x." * 3000,
    ]  # fmt: skip
    for verb in (["evaluate", "--deals", "4"], ["rules"], ["watch"]):
        check([[*verb, "--", name, *(["random"] if verb != ["rules"] else [])] for name in TEXT + names])


def test_options_and_settings() -> None:
    given = [
        "", "=", "=1", "first", "first=", "first=2", "first=-1", "first=x", "first=1.0", "first=" + "9" * 5000,
        f"first={CLEAR}", "first=\0", "nosuch=1", f"{CLEAR}=1", "\0=1", "first=1=1", "first=[]", "preset=x", "=\x1b",
        "first=nan", "first=1e400", "first=²", "\udcff=1", "first=\udcff", "first=None", "first=True",
    ]  # fmt: skip
    check([["evaluate", "kuhn", "random", "random", "--deals", "4", "--option", one] for one in given])
    settings = ["", "=", "ppo.epochs", "ppo.epochs=", "ppo.epochs=-1", "ppo.epochs=nan", f"ppo.epochs={CLEAR}", "ppo=1"]
    settings += [f"{CLEAR}=1", "\0=1", "nosuch.setting=1", "ppo.nosuch=1", "options.nosuch=1", "options.first=7"]
    settings += ["run.phases=", "run.phases=nosuch", f"run.phases={CLEAR}", "ppo.epochs=" + "9" * 5000, ".=1", "ppo.=1"]
    check([["train", "kuhn", "--seconds", "0.1", "--set", one] for one in settings])
    check([["train", "kuhn", "--seconds", "0.1", "--device", one] for one in [*TEXT, "gpu", "cuda:99", "meta"]])


def test_numbers() -> None:
    bad = ["", "a", "nan", "-1", "-inf", "1e400", "²", "0x2", "\0", CLEAR, "1,000", "--", "\udcff", "9" * 5000]
    two = ["kuhn", "random", "random"]
    for words in (
        ["evaluate", *two, "--deals"],
        ["evaluate", *two, "--precision"],
        ["evaluate", *two, "--deals", "4", "--seed"],
        ["evaluate", *two, "--deals", "4", "--threads"],
        ["tournament", *two, "--deals"],
        ["play", "kuhn", "--opponent", "random", "--hint", "random", "--seat"],
        ["picture", "kuhn", "--out", "p.svg", "--decisions"],
        ["picture", "kuhn", "--out", "p.png", "--zoom"],
        ["record", "kuhn", "random", "--out", "o.json", "--seed"],
        ["picture", "kuhn", "--out", "p.svg", "--seat"],
        ["watch", "kuhn", "random", "--pause"],
        ["watch", "kuhn", "random", "--seat"],
        ["speed", "kuhn", "--tables"],
        ["speed", "kuhn", "--tables", "1", "--seconds"],
        ["solve", "kuhn", "--agent", "random", "--least"],
        ["train", "kuhn", "--seconds"],
        ["train", "kuhn", "--decisions"],
        ["train", "kuhn", "--seconds", "0.1", "--seed"],
    ):
        # Seeds may be as long as one likes.
        check([[*words[:-1], f"{words[-1]}={one}"] for one in bad if words[-1] != "--seed" or one != "9" * 5000])
    check([["watch", "kuhn", "random", f"--pause={one}"] for one in ("inf", "9" * 400, "4000")])


def test_verbs_and_flags() -> None:
    check([["--", one] for one in ["-1", "--", "-inf", *TEXT]])
    check([[one] for one in TEXT if one])
    check([["evaluate", "kuhn", "random", "random", f"--x{one}"] for one in TEXT])
    check([["new-game", "--", one, "there"] for one in TEXT if not one.isidentifier()])


# Files ----------------------------------------------------------------------------------------------------------------


def nasty_files(place: Path) -> list[str]:
    """Names of what is no file of ours, in one way each."""
    texts: dict[str, str | bytes] = {
        "empty": "", "binary": bytes(range(256)), "broken": '{"a": ', "list": "[1]", "null": "null", "number": "5",
        "text": '"x"', "object": "{}", "deep": "[" * 100_000 + "]" * 100_000, "deep object": '{"a":' * 100_000,
        "deep 900": '{"kind":' + "[" * 900 + "]" * 900 + "}", "digits": '{"kind": ' + "9" * 5000 + "}",
        "digits 400": '{"kind": "evaluation", "deals": ' + "9" * 400 + "}", "nan": '{"kind": NaN}',
        "control": json.dumps({"kind": CLEAR + TITLE}), "key": json.dumps({CLEAR: 1}), "half": '{"kind": "\\ud800"}',
        "utf16": '{"kind": 1}'.encode("utf-16"), "latin": b'{"kind": "\xe9"}', "null byte": b'{"kind": "a\0b"}',
        f"{CLEAR}name": "{}",
    }  # fmt: skip
    for kind in KINDS:
        texts[f"{kind} 1"] = json.dumps({"kind": kind})
        texts[f"{kind} 2"] = json.dumps({"kind": kind, "game": "missouri_city-v0", "options": {}})
        texts[f"{kind} 3"] = json.dumps(
            {"kind": kind, "game": 5, "options": [], "agents": "x", "reports": 5, "rows": 3, "points": 5, "tables": {}}
        )
        texts[f"{kind} 4"] = json.dumps(
            {"kind": kind, "game": "kuhn-v0", "options": {"a": CLEAR}, "agents": [{"name": CLEAR}], "reports": [5]}
        )
        texts[f"{kind} 5"] = json.dumps({"kind": kind, "game": ["x"], "options": 5, "reports": [{"kind": ["x"]}]})
    for name, text in texts.items():
        (place / f"{name}.json").write_bytes(text.encode() if isinstance(text, str) else text)
    os.mkfifo(place / "pipe")
    (place / "loop").symlink_to(place / "loop")
    (place / "zeros").symlink_to("/dev/zero")
    (place / "folder").mkdir()
    named = [str(place / name) for name in ("pipe", "loop", "zeros", "folder", "none", "object.json/x")]
    named += ["/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem", "/" + "y/" * 4000, "x" * 300]
    named += ["a\0b", "\udcff", CLEAR, ""]
    return [*(str(place / f"{name}.json") for name in texts), *named]


def test_files(tmp_path: Path) -> None:
    files = nasty_files(tmp_path)
    for words in ("replay --", "plot --out p.svg --", "report --out r.html --", "train --resume"):
        check([[*words.split(), file] for file in files])
    check([["solve", "backhand", "--agent", "random", "--best", file] for file in files])


def test_settings_in_files(tmp_path: Path) -> None:
    texts = [
        "- 1", "a: b", "ppo: 5", "ppo:\n  nosuch: 1", "ppo:\n  epochs: " + "9" * 5000, "ppo:\n  epochs: 2001-99-99",
        "ppo:\n  epochs: !!python/object/apply:os.system ['x']", "ppo: &a [*a]", "a: &a {}\nppo: *a", "[" * 2000,
        "ppo: " + "{a: " * 300, f"{CLEAR}: 1", '"\\e[2J": 1', 'ppo:\n  "\\e[2J": 1', 'ppo:\n  epochs: "\\e[2J"',
        "? [a]\n: 1", "? {a: 1}\n: 1", "ppo:\n  epochs: .nan", "ppo:\n  epochs: .inf", 'options:\n  first: "\\e[2J"',
        "options: 5", "1: {a: 1}", "null: {}", "ppo:\n  1: 2", "!!binary x", "ppo:\n  epochs: !!int x",
        "ppo:\n  epochs: !!float x", "a: !!timestamp x", "<<: 5", "ppo:\n  <<: 5", "%YAML 9.9\n---\na: 1",
        "a: 1\n---\nb: 1", "- " * 500 + "x", "network:\n  width: 99999999999", "run:\n  phases: [ppo, nosuch]",
        "ppo: {epochs: [1,2]}", "ppo: {epochs: {a: 1}}",
    ]  # fmt: skip
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
    files = [str(tmp_path / f"{number}.yaml") for number in range(len(texts))]
    files += ["/dev/zero", str(tmp_path), "none.yaml", "a\0b", CLEAR, "\udcff"]
    os.mkfifo(tmp_path / "pipe")
    check([["train", "kuhn", "--seconds", "0.1", "--config", file] for file in [*files, tmp_path / "pipe"]])


def test_places_to_write_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    os.mkfifo(tmp_path / "pipe.svg")
    (tmp_path / "folder.html").mkdir()
    places: list[Any] = [
        tmp_path, tmp_path / "pipe.svg", tmp_path / "folder.html", "/dev/full", "/dev/zero", "x" * 300, "", ".", "..",
        "/", "/no such folder/x.svg", f"{CLEAR}/x.html", "a\0b", "a\0b.svg", "a\0b.html", "\ud800.svg",
        "/" + "y/" * 4000, tmp_path / "file" / "x.svg", tmp_path / "file" / "x.html", "x" * 250 + ".svg",
    ]  # fmt: skip
    curve = tmp_path / "curve.json"
    curve.write_text("{}")
    for words in (
        ["evaluate", "kuhn", "random", "random", "--deals", "4", "--json"],
        ["record", "kuhn", "random", "--out"],
        ["picture", "kuhn", "--out"],
        ["play", "kuhn", "--opponent", "random", "--hint", "random", "--save"],
        ["exploit", "kuhn", "random", "--json"],
        ["plot", curve, "--out"],
        ["report", curve, "--out"],
    ):
        check([[*words, place] for place in places])
    places = [tmp_path, tmp_path / "file", "a\0b", "\ud800"]
    check([["train", "kuhn", "--seconds", "1", "--out", place] for place in places])


def test_agents_in_files_of_ones_own(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {
        "syntax": "def (", "binary": bytes(range(256)), "null": b"x = 1\0", "latin": b"# \xe9\n",
        "raises": f"raise RuntimeError({CLEAR!r})", "value": "raise ValueError('x')", "exits": "raise SystemExit(3)",
        "empty": "", "imports": "import nosuchmodule", "endless": "def f(): f()\nf()",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_bytes(text.encode() if isinstance(text, str) else text)
    act = "\n  def act(self, view): return view.action_mask.argmax(1)\n"
    (tmp_path / "own.py").write_text(
        "def A(game): raise ValueError('boom')\n"
        f"class B:\n  def __init__(self, game): raise TypeError('boom'){act}"
        f"class C:\n  name = {CLEAR!r}{act}class D:\n  name = 'x' * 100_000{act}class E:\n  name = 'a\\nb'{act}"
        f"class F:\n  def __init__(self, *, x): pass{act}class G:\n  act = 5\n"
        f"class H:\n  def act(self, view): return {CLEAR!r}\n"
        "class I:\n  name = '\\ud800'" + act + "J = 5\n"
        "from backalley.agents.base.agent import Agent\nclass K(Agent):\n  name = 5" + act
    )
    named = [f"{tmp_path / name}.py:X" for name in texts] + [f"{tmp_path / 'own.py'}:{name}" for name in "ABCDEFGHIJKL"]
    os.mkfifo(tmp_path / "pipe.py")
    check([["evaluate", "kuhn", "--deals", "4", "--", name, "random"] for name in [*named, f"{tmp_path}/pipe.py:X"]])


# Policies -------------------------------------------------------------------------------------------------------------


def forged(place: Path, changes: dict[str, Any]) -> Path:
    """A policy whose JSON says something else, with the digest that goes with it."""
    source = pretrained.pretrained(backalley.game("missouri_city"))[0].folder
    metadata = {**json.loads((source / policy_file.JSON_FILE).read_bytes()), **changes}
    metadata["sha256"] = policy_file._metadata_digest(metadata)
    place.mkdir()
    (place / policy_file.WEIGHTS_FILE).write_bytes((source / policy_file.WEIGHTS_FILE).read_bytes())
    (place / policy_file.JSON_FILE).write_text(json.dumps(metadata))
    return place


def test_policies(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{"player": {"kind": kind}} for kind in (["network"], {}, None, 5, CLEAR, "")]
    changes += [{"name": name} for name in (CLEAR, TITLE, "a\nb", "", "x" * 1000, 5, None, "\ud800", "a\u202eb")]
    options: list[Any] = [{"nosuch": 1}, {"stalemate": CLEAR}, {"stalemate": []}, [], {"num_games": 3}]
    changes += [{"options": one} for one in options] + [{"game": game} for game in ("pitch", CLEAR, 5, "")]
    changes += [{"version": 99}, {"version": "0"}, {"format": 99}, {"observation": []}, {"observation": [CLEAR]}]
    changes += [{"weights": weights} for weights in ({}, {"bytes": "x"}, [])] + [{"made": 5}, {"found_by": CLEAR}]
    changes += [{"actions": 10**30}, {"actions": 3}, {"serves": 5}, {"serves": {"x": 1}}]
    folders = [forged(tmp_path / str(number), one) for number, one in enumerate(changes)]
    for name, text in (("deep", "[" * 100_000), ("digits", "9" * 5000), ("binary", "\x00\x01"), ("empty", "")):
        folders.append(forged(tmp_path / name, {}))
        (folders[-1] / policy_file.JSON_FILE).write_text(text)
    folders.append(forged(tmp_path / "pipe", {}))
    (folders[-1] / policy_file.WEIGHTS_FILE).unlink()
    os.mkfifo(folders[-1] / policy_file.WEIGHTS_FILE)
    folders.append(forged(tmp_path / "zeros", {}))
    (folders[-1] / policy_file.WEIGHTS_FILE).unlink()
    (folders[-1] / policy_file.WEIGHTS_FILE).symlink_to("/dev/zero")
    check([["evaluate", "missouri_city", "--deals", "4", str(folder), "random"] for folder in folders])
    for folder in folders:
        refused(lambda folder=folder: backalley.load_policy(folder))
    assert backalley.load_policy(forged(tmp_path / "fine", {"name": "Ω-7 ‘ü’"}), "missouri_city").name == "Ω-7 ‘ü’"


# Python ---------------------------------------------------------------------------------------------------------------

NOTHING: list[Any] = [object(), Ellipsis, b"x", 3 + 4j, range(3), {"a": 1}, Exception("x"), int, np.array([1, 2])]
NOTHING += [float("nan"), -1, CLEAR, "\0", "\ud800", Path("\0"), Path("\ud800"), Path("/dev/zero"), "x" * 10_000]
KUHN = backalley.game(kuhn.GAME)
CALLS: dict[str, Callable[[Any], Any]] = {
    "game": backalley.game,
    "agent": lambda given: agent(given, KUHN),
    "agent's game": lambda given: agent("random", given),
    "agent's threads": lambda given: agent("search", KUHN, num_threads=given),
    "agents": lambda given: backalley.evaluate(KUHN, given, deals=4),
    "deals": lambda given: backalley.evaluate(KUHN, ["random", "random"], deals=given),
    "precision": lambda given: backalley.evaluate(KUHN, ["random", "random"], precision=given),
    "seed": lambda given: backalley.evaluate(KUHN, ["random", "random"], deals=4, seed=given),
    "threads": lambda given: backalley.evaluate(KUHN, ["random", "random"], deals=4, num_threads=given),
    "tournament": lambda given: backalley.tournament(KUHN, given, deals=4),
    "load_policy": backalley.load_policy,
    "replay": lambda given: list(playthrough.replay(given)),
    "sources": lambda given: all_sources([given]),
    "register_game": backalley.register_game,
    "make": backalley.make,
    "make_vec": lambda given: backalley.make_vec(KUHN, num_envs=given),
    "out": lambda given: backalley.train(KUHN, seconds=1, out=given, device="nosuch"),
    "config": lambda given: backalley.train(KUHN, seconds=1, config=given, device="nosuch"),
    "training seed": lambda given: backalley.train(KUHN, seconds=1, seed=given, device="nosuch"),
    "training time": lambda given: backalley.train(KUHN, seconds=given, device="nosuch"),
    "decisions": lambda given: backalley.train(KUHN, decisions=given, device="nosuch"),
    "device": lambda given: backalley.train(KUHN, seconds=1, device=given),
    "resume": lambda given: backalley.train(resume=given),
}


def refused(call: Callable[[], Any]) -> str:
    """The sentence with which a call is refused: an error of this package's own, or one of the disk."""
    signal.alarm(SECONDS)
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    signal.alarm(0)
    assert isinstance(caught.value, (backalley.BackAlleyError, OSError)), repr(caught.value)
    assert len(str(caught.value)) > 15
    return str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    for given in NOTHING:
        refused(lambda given=given: CALLS[name](given))


# One by one -----------------------------------------------------------------------------------------------------------


def test_a_null_byte_in_the_folder_of_a_run() -> None:
    assert refused(lambda: backalley.train(KUHN, out="a\0b", seconds=1)).startswith("out is 'a\\x00b'")


def test_control_characters_of_a_recorded_game_reach_no_terminal(tmp_path: Path) -> None:
    kept = playthrough.record(backalley.game("backhand"), seed=1)
    for changes in ({"moves": [f"0: {CLEAR}", *kept["moves"][1:]]}, {"game": TITLE}, {"options": {CLEAR: 1}}):
        (tmp_path / "game.json").write_text(json.dumps({**kept, **changes}))
        assert not wrong(["replay", str(tmp_path / "game.json")])


def test_a_recorded_game_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chosen_by_a_file.py").write_text("raise SystemExit('imported')")
    kept = playthrough.record(backalley.game("backhand"), seed=1)
    for name in ("chosen_by_a_file.GAME", "chosen_by_a_file:GAME", "backalley.examples.kuhn"):
        (tmp_path / "game.json").write_text(json.dumps({**kept, "game": name}))
        assert f"There is no game {name!r}" in refused(lambda: list(playthrough.replay(tmp_path / "game.json")))
    assert "chosen_by_a_file" not in sys.modules


def test_pictures_are_xml_whatever_a_run_is_called(tmp_path: Path) -> None:
    (tmp_path / "run\x01\x1b").mkdir()
    curve = pretrained.pretrained(backalley.game("missouri_city"))[0].folder / policy_file.CURVE_JSON
    (tmp_path / "run\x01\x1b" / "curve.json").write_bytes(curve.read_bytes())
    result = run("plot", str(tmp_path / "run\x01\x1b"), "--out", str(tmp_path / "p.svg"))
    assert result.exit_code == 0, result.output
    assert not STEERS.search(result.output)
    minidom.parseString((tmp_path / "p.svg").read_bytes())


def test_an_error_of_the_disk_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a full disk: those of writing name none themselves."""
    script = (
        "import resource, sys; from pathlib import Path; from backalley.envs.core.files import durable\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: durable.write_file(Path('big.json'), bytes(100_000))\n"
        "except OSError as error: sys.exit(f'{error.filename}: {error.strerror}')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr.strip() == "big.json: File too large"
    assert not list(tmp_path.glob("big*"))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full)
    result = run("evaluate", "kuhn", "random", "random", "--deals", "4", "--json", str(tmp_path / "found.json"))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {tmp_path / 'found.json'}: No space left on device."


def test_unfinished_work_is_read_only_from_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "found.json.unfinished")
    signal.alarm(SECONDS)
    assert durable.Unfinished(tmp_path / "found.json", {}, "").load() == {}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_word() -> None:
    script = (
        "import os, signal, sys, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "sys.argv[0] = '/usr/bin/backalley'\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'numba': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "import backalley\n"
        "backalley.make_vec\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    library = subprocess.run(
        [sys.executable, "-c", script.replace("/usr/bin/backalley", "mine.py")], capture_output=True, text=True
    )
    assert "KeyboardInterrupt" in library.stderr, "in anybody else's program it is theirs"


def test_large_files_are_left_alone(tmp_path: Path) -> None:
    with open(tmp_path / "large.json", "wb") as file:
        file.truncate(200 << 20)
    began = time.perf_counter()
    assert not wrong(["replay", str(tmp_path / "large.json")])
    assert time.perf_counter() - began < 5

    with pytest.raises(OSError, match="MiB"):
        reading.file_bytes(tmp_path / "large.json", 1 << 20)
