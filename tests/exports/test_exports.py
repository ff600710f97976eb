"""Exported games: a C program and Node.js play each to Python's bytes; what files hold, and what is refused."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import NetworkPlayer
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.exports import writing
from backalley.exports.module import module_text
from backalley.exports.writing import Exported, export
from tests import ROOT
from tests.common.cases import GAMES
from tests.common.commands import run

HERE = Path(__file__).parent
TABLES, STEPS = 100, 100
"""10,000 decisions."""
SMALL = backalley.game("backalley.examples.leduc")
COMPILER, NODE = shutil.which("gcc"), shutil.which("node")
PARTS = ("state", "mask", "observation", "seat", "reward", "terminated", "truncated", "determinized")
SLOW = [pytest.param(game, id=game.name, marks=pytest.mark.slow) for game in GAMES]
BOTH = pytest.mark.parametrize("game", [pytest.param(SMALL, id="leduc"), *SLOW])


@pytest.fixture(autouse=True)
def translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "module_text", TEXTS)


TEXTS = functools.cache(module_text)


def played(game: Game, given: Path, policy: Path | str) -> list[tuple[str, npt.NDArray[np.uint8]]]:
    """Play by Python, write the actions to a file, and return the bytes of each part in order."""
    batch = game.make_vec(TABLES, seed=0)
    bots = [(name, agent(f"bot:{name}", game)) for name in game.bots]
    bots += [("policy", agent(policy, game))] if policy else []
    random, shown, found = np.random.default_rng(1), batch.reset(), list[tuple[str, npt.NDArray[np.uint8]]]()
    sizes = [TABLES, STEPS, game.num_actions, game.num_seats, game.deck_size, game.num_start_outcomes]
    streams = np.array([rng.stream_of(seed) for seed in range(TABLES)], np.uint64)
    written = [np.array(sizes, np.int32).tobytes(), streams.tobytes()]
    for step in range(STEPS + 1):
        if step:
            drawn = np.where(shown.action_mask == 1, random.random(shown.action_mask.shape), -1)
            actions = drawn.argmax(1)
            written.append(actions.astype(np.int32).tobytes())
            shown = batch.step(actions)
        keys = np.arange(TABLES, dtype=np.uint64) + np.uint64(step * 1000)
        values = [batch.states().records, shown.action_mask, shown.observation, shown.seat, shown.reward]
        values += [shown.terminated, shown.truncated, batch.determinize(keys).records]
        choices = [(name, one.choose(shown.observation, shown.action_mask, keys)) for name, one in bots]  # type: ignore[attr-defined]
        named = [*zip(PARTS, values, strict=True), *((name, value.astype(np.int32)) for name, value in choices)]
        found += [(f"{name} {step}", np.frombuffer(value.tobytes(), np.uint8)) for name, value in named]
    given.write_bytes(b"".join(written))
    return found


@pytest.fixture
def policy(game: Game, tmp_path: Path) -> Path | str:
    """The game's own policy; of an example, a network of random weights, which draws."""
    if game is not SMALL:
        return "policy"
    player, random = NetworkPlayer(16, 2, greedy=False), np.random.default_rng(3)
    arrays = {name: random.normal(size=shape).astype(np.float32) for name, shape in player.shapes(game).items()}
    save_policy(tmp_path / "policy", arrays, game, name="drawn", player=player, made={})
    return tmp_path / "policy"


def same(expected: list[tuple[str, npt.NDArray[np.uint8]]], made: Path) -> None:
    found, place = np.fromfile(made, np.uint8), 0
    for name, value in expected:
        assert np.array_equal(found[place : place + len(value)], value), name
        place += len(value)
    assert place == len(found)


@pytest.mark.skipif(COMPILER is None, reason="there is no gcc")
@BOTH
@pytest.mark.sampled
def test_a_c_program_plays_to_the_same_bytes(game: Game, policy: Path | str, tmp_path: Path) -> None:
    written = export(game, "native", tmp_path, policy=policy)
    name = game.name
    players = ",".join(f"{name}_{player['function']}" for player in written.layout["players"])
    words = ["gcc", "-std=c11", "-Wall", "-Werror", f"-DGAME={name}", f'-DHEADER="{name}.h"', f"-DPLAYERS={players}"]
    words += [f"-I{tmp_path}", str(HERE / "play_exported.c"), str(tmp_path / written.files[0]), "-o", "player"]
    subprocess.run(words, check=True, cwd=tmp_path)
    expected = played(game, tmp_path / "given", policy)
    subprocess.run([tmp_path / "player", "given", "made"], check=True, cwd=tmp_path)
    same(expected, tmp_path / "made")


@pytest.mark.skipif(NODE is None, reason="there is no Node.js")
@BOTH
@pytest.mark.sampled
def test_node_plays_to_the_same_bytes(game: Game, policy: Path | str, tmp_path: Path) -> None:
    written = export(game, "wasm", tmp_path, policy=policy)
    expected = played(game, tmp_path / "given", policy)
    code, layout = written.files[:2]
    words = ["node", str(HERE / "play_exported.mjs"), code, layout, "given", "made"]
    subprocess.run(words, check=True, cwd=tmp_path)
    same(expected, tmp_path / "made")
    assert (tmp_path / code).stat().st_size < 2_500_000


@pytest.fixture(scope="module")
def leduc(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export(SMALL, "c", tmp_path_factory.mktemp("exported"), triple="aarch64-linux-gnu")


def test_the_layout_says_where_every_field_is(leduc: Exported) -> None:
    kept = json.loads((leduc.folder / f"{SMALL.name}.json").read_text("utf-8"))
    assert kept == leduc.layout
    fields = SMALL.observation_dtype.fields
    assert fields is not None
    assert {one["name"]: one["offset"] for one in kept["observation"]["fields"]} == {
        name: fields[name][1] for name in fields
    }
    assert kept["actions"] == [SMALL.action_str(action) for action in range(SMALL.num_actions)]
    assert kept["triple"] == "aarch64-linux-gnu"


@pytest.mark.parametrize("triple", ["i686-linux-gnu", "s390x-linux-gnu", "x86_64-pc-windows-gnu"])
def test_other_machines_have_code_too(triple: str, tmp_path: Path) -> None:
    """Narrow ones, and those whose highest byte comes first."""
    written = export(SMALL, "c", tmp_path, triple=triple)
    assert written.layout["triple"] == triple
    assert (tmp_path / written.files[0]).stat().st_size > 5000


@pytest.mark.skipif(COMPILER is None, reason="there is no gcc")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_header_stands_alone(leduc: Exported, language: str) -> None:
    words = ["gcc", "-x", language, "-fsyntax-only", "-Wall", "-Werror", f"{SMALL.name}.h"]
    subprocess.run(words, check=True, cwd=leduc.folder)


@pytest.mark.skipif(COMPILER is None, reason="there is no gcc")
def test_the_guides_environment_in_c_plays(tmp_path: Path) -> None:
    export(SMALL, "c", tmp_path)
    page = (ROOT / "docs" / "guides" / "exporting.md").read_text("utf-8")
    (tmp_path / "env.c").write_text(page.split("```c\n")[1].split("```")[0])
    words = ["gcc", "-std=c11", "-Wall", "-Werror", "env.c", f"{SMALL.name}.o", "-lm", "-o", "env"]
    subprocess.run(words, check=True, cwd=tmp_path)
    said = subprocess.run([tmp_path / "env"], check=True, capture_output=True, text=True).stdout
    assert int(said.split()[0]) > 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "rust"], "'rust' is not one of"),
        (["--target", "wasm", "--option", "cards=9"], "has no option 'cards'"),
        (["--target", "wasm", "--triple", "aarch64-linux-gnu"], "A triple goes with target 'c'"),
        (["--target", "c", "--triple", "nowhere"], "The triple is 'nowhere'"),
        (["--target", "c", "--policy", "random"], "The policy is 'random', which is none that compiled code plays"),
        (["--target", "c", "--policy", "policy:best"], "comes with no policy"),
    ],
)
def test_what_cannot_be_written_is_a_sentence(words: list[str], said: str, tmp_path: Path) -> None:
    ended = run("export", "backalley.examples.leduc", *words, "--out", str(tmp_path / "made"))
    assert ended.exit_code == 2
    assert said in ended.output
    assert not list(tmp_path.glob("made/*"))


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="there is no gcc")
def test_the_guides_environment_for_pufferlib_plays_the_policy(tmp_path: Path) -> None:
    """Without PufferLib's header, which makes a module of Python of it."""
    export("missouri_city", "c", tmp_path)
    text = (ROOT / "docs" / "guides" / "exporting.md").read_text("utf-8").split("```c\n")[2].split("```")[0]
    assert len(text.splitlines()) < 60
    (tmp_path / "env.c").write_text(text.split('#include "env_binding.h"')[0] + PUFFER)
    words = ["gcc", "-std=c11", "-Wall", "-Werror", "env.c", "missouri_city.o", "-lm", "-o", "env"]
    subprocess.run(words, check=True, cwd=tmp_path)
    score, length, count = map(float, subprocess.check_output([tmp_path / "env"], text=True).split())
    assert count > 1000
    assert -0.6 < score / count < -0.3, "random play loses to the policy"
    assert 1 <= length / count < 20


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="there is no Node.js")
def test_the_guides_page_for_browsers_plays_a_game(tmp_path: Path) -> None:
    export("missouri_city", "wasm", tmp_path)
    text = (ROOT / "docs" / "guides" / "exporting.md").read_text("utf-8").split("```js\n")[1].split("```")[0]
    files = """import fs from "node:fs";
    const headers = { "Content-Type": "application/wasm" };
    globalThis.fetch = async (name) => new Response(fs.readFileSync(name), { headers });\n"""
    (tmp_path / "page.mjs").write_text(files + text)
    shown = subprocess.check_output(["node", "page.mjs"], text=True, cwd=tmp_path).splitlines()
    assert {line.split(":")[0] for line in shown} == {"seat 0", "seat 1"}
    assert 2 <= len(shown) < 100


PUFFER = """
#include <stdio.h>
int main(void) {
    static missouri_city_observation row;
    static int action;
    static float reward, rewards;
    static unsigned char terminal;
    Env env = {.observations = &row, .actions = &action, .rewards = &reward, .terminals = &terminal, .stream = 7};
    c_reset(&env);
    for (int step = 0; step < 5000; step++) {
        action = -1; /* as one that is not legal: a random action is played */
        c_step(&env);
        rewards += reward;
        if (terminal) env.log.n += rewards != env.log.score ? 1e9 : 0;
    }
    c_render(&env), c_close(&env);
    printf("%f %f %f", env.log.score, env.log.episode_length, env.log.n);
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
@BOTH
@pytest.mark.sampled
def test_openspiel_plays_it_in_cpp(game: Game, tmp_path: Path) -> None:
    """Built as its first lines say, but linked with the object file."""
    spiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed.", exc_type=ImportError).__file__
    export(game, "c", tmp_path)
    name, place = game.name, str(Path(spiel).parent)
    text = (tmp_path / f"{name}_openspiel.cc").read_text("utf-8")
    build = re.search(r"g\+\+.*?\n\n", text, re.DOTALL)
    assert build is not None
    words = {**os.environ, "SPIEL": place}
    subprocess.run(build[0], shell=True, check=True, cwd=tmp_path, env=words)
    library = tmp_path / f"{name}_openspiel.so"
    words |= {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run([sys.executable, HERE / "play_in_openspiel.py", library, game.spec], check=True, env=words)


def test_the_layout_names_the_policy_or_says_why_there_is_none(leduc: Exported) -> None:
    assert [one["function"] for one in leduc.layout["players"]] == [f"bot_{name}" for name in SMALL.bots]
    (why,) = leduc.layout["left_out"]
    assert "comes with no policy" in why


def test_files_that_are_there_are_kept(leduc: Exported) -> None:
    before = {name: (leduc.folder / name).read_bytes() for name in leduc.files}
    with pytest.raises(InvalidValue, match="is there already"):
        export(SMALL, "c", leduc.folder)
    assert {name: (leduc.folder / name).read_bytes() for name in leduc.files} == before


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = run("export", "backalley.examples.leduc", "--target", "wasm", "--out", str(tmp_path / "file"))
    assert ended.exit_code == 2
    assert "file" in ended.output
