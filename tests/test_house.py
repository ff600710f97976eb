"""The house itself: import arrows, fresh pages, README code, kernels never stale, compiled equals uncompiled, the
wheel's files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import backalley
from backalley.envs.core import docs, kernel, rng
from backalley.envs.core.base import Game
from tests.cases import GAMES, marks, option_sets, play_digest

ROOT = Path(__file__).resolve().parents[1]
BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)

LAYERS = ["core", "games", "agents", "benchmarks", "training", "cli"]


def layer(parts: tuple[str, ...]) -> int | None:
    """How far up a module of ours stands, by its dotted name's parts after `backalley`."""
    if not parts:
        return None
    if parts[0] == "envs":
        return 0 if parts[1:2] == ("core",) else 1
    return LAYERS.index(parts[0]) if parts[0] in LAYERS else None


def test_imports_point_one_way() -> None:
    seen = 0
    for folder in ("envs", "agents", "benchmarks", "training"):
        for path in (ROOT / folder).rglob("*.py"):
            mine = layer(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                for module in modules:
                    assert module.split(".")[0] not in ("envs", "agents", "benchmarks", "training", "tests"), (
                        f"{path}: {module}"
                    )
                    assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: relative import"
                    its = layer(tuple(module.split(".")[1:])) if module.startswith("backalley.") else None
                    if its is not None and mine is not None:
                        seen += 1
                        assert its <= mine, (
                            f"{path.relative_to(ROOT)} ({LAYERS[mine]}) imports {module} ({LAYERS[its]})"
                        )
    assert seen > 50


def test_the_core_names_no_game() -> None:
    words = [game.name for game in GAMES] + [game.title.lower() for game in GAMES]
    for path in (ROOT / "envs" / "core").glob("*.py"):
        text = re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)
        code = "\n".join(line.split("#")[0] for line in text.splitlines())
        assert not [word for word in words if re.search(rf"\b{word}\b", code)], path.name


def test_generated_tables_are_fresh() -> None:
    stale = [str(page.relative_to(ROOT)) for page, text in docs.pages().items() if page.read_text("utf-8") != text]
    assert not stale, "run python -m backalley.envs.core.docs"


@BY_NAME
def test_a_games_page_has_its_tables_and_cites_real_paragraphs(game: Game) -> None:
    page = (game.type.folder / "README.md").read_text("utf-8")
    for kind in ("options", "actions", "observation", "bots"):
        assert f"<!-- generated: {kind} -->" in page
    headings = set(re.findall(r"^#+ .*?(§[\d.]+\d|§\d)", page, re.MULTILINE))
    cited = set()
    for path in [*game.type.folder.glob("*.py"), *game.type.folder.glob("*.toml")]:
        cited |= set(re.findall(r"§\d+(?:\.\d+)*", path.read_text("utf-8")))
    assert cited, "the code cites no paragraph"
    assert cited <= headings, f"the code cites {sorted(cited - headings)}, which the page does not have"


def blocks() -> list[object]:
    found: list[object] = []
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(game.type.folder / "README.md" for game in GAMES)]
    for page in pages:
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)):
            found.append(pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}"))
    return found


@pytest.mark.parametrize("block", blocks())
def test_python_examples_of_the_pages_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README", "exec"), {"__name__": "example"})


def run(code: str, tmp_path: Path, **environment: str) -> str:
    """Run Python code in a process of its own, warnings being errors; gives its output."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    env = {**os.environ, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_symbols_of_machine_code_name_records_by_their_fields() -> None:
    """Whatever types a process has met before: code kept by one process must not bear a symbol that another gives to
    other records."""
    code = (
        "import numba, numpy as np; from backalley.envs.core import kernel\n"
        "record = lambda code, size: numba.typeof(np.zeros(1, "
        "np.dtype([('seat', 'i1'), ('shoe', code, size)]))).dtype\n"
        "[record('i4', size) for size in range(1, {met})]\n"
        "print(record('u2', 6).mangling_args, record('u2', 52).mangling_args)"
    )
    commands = [[sys.executable, "-c", code.format(met=met)] for met in (1, 9)]
    shown = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]
    assert shown[0] == shown[1]
    one, other = shown[0].split(") (")
    assert one.strip("()\n") != other.strip("()\n")


@pytest.mark.parametrize("most", [60, pytest.param(10**9, marks=pytest.mark.slow)], ids=["beginnings", "whole"])
@BY_NAME
def test_compiled_equals_uncompiled(game: Game, most: int, tmp_path: Path) -> None:
    """The same episodes, line by line in Python and compiled: the same states, masks, observations, worlds, bots'
    moves, rewards."""
    mixed = [given for given in option_sets(game) if len(given) > 1]
    sets = [{}, *[given for given in mixed if most > 60 or not marks(game, given)][:2]]
    episodes = 2 if play_length(game) > 60 else 6
    code = "from tests.cases import *\nfrom backalley.envs.core.base import game\n"
    code += f"for given in {sets!r}: print(play_digest(game({game.name!r}), given, 17, {episodes}, {most}))"
    uncompiled = run(code, tmp_path, NUMBA_DISABLE_JIT="1")
    assert uncompiled.split() == [play_digest(game, given, 17, episodes, most) for given in sets]


def play_length(game: Game) -> int:
    env = backalley.make(game.id)
    env.reset(seed=0)
    random = np.random.default_rng(0)
    while env.engine.batch.seat[0] >= 0:
        env.step(int(random.choice(np.flatnonzero(env.engine.batch.mask[0]))))
    return int(env.engine.batch.decisions[0])


def test_editing_a_kernel_that_another_file_calls_changes_what_runs(tmp_path: Path) -> None:
    """Numba's own cache would go on with the old rule: it looks only at the caller's file. Here it is two imports
    away."""
    core = tmp_path / "backalley" / "envs" / "core"
    core.mkdir(parents=True)
    for folder in (core, core.parent, core.parent.parent):
        (folder / "__init__.py").touch()
    (core / "kernel.py").write_text((ROOT / "envs" / "core" / "kernel.py").read_text("utf-8"))
    head = "from backalley.envs.core.kernel import kernel\n"
    (core / "values.py").write_text(head + "@kernel\ndef value(card):\n    return card + 1\n")
    imports = "from backalley.envs.core import (\n    values,\n)\n"
    (core / "tricks.py").write_text(head + imports + "@kernel\ndef points(card):\n    return values.value(card)\n")
    imports = "import backalley.envs.core.tricks as tricks\nPOINTS = tricks.points\n"
    (core / "caller.py").write_text(head + imports + "@kernel\ndef score(card):\n    return POINTS(card) * 10\n")
    env = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "BACKALLEY_CACHE": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    env.pop("NUMBA_DISABLE_JIT", None)

    def score() -> tuple[str, str]:
        code = "from backalley.envs.core.caller import score; print(score(4), sum(score.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True, cwd=tmp_path
        )
        shown = done.stdout.split()
        return shown[0], shown[1]

    assert score() == ("50", "0")
    assert score() == ("50", "1"), "the second process should find the compiled kernel on disk"
    (core / "values.py").write_text((core / "values.py").read_text().replace("card + 1", "card + 2"))
    assert score() == ("60", "0")


def test_a_game_that_cannot_be_imported_elsewhere_leaves_the_others_caches_readable(tmp_path: Path) -> None:
    """Numba keeps the types that a kernel was called with; those of a game outside the package must not stand in the
    way of others."""
    cache = str(tmp_path / "cache")
    play = "from backalley.agents.rule_based import RandomAgent\nfrom backalley.benchmarks.evaluate import evaluate\n"
    here = play + "from tests.kuhn import GAME\nprint(evaluate(GAME.bind(), [RandomAgent()] * 2, deals=50).deals)"
    assert run(here, tmp_path, BACKALLEY_CACHE=cache) == "50"
    names = f"import backalley\nGAME = backalley.game({GAMES[0].name!r})\n"
    away = play + names + "print(evaluate(GAME.bind(), [RandomAgent()] * 2, deals=50).deals)"
    assert run(away, tmp_path, BACKALLEY_CACHE=cache, PYTHONPATH=str(ROOT / "src")) == "50"


def test_unused_caches_are_dropped_and_an_unwritable_place_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKALLEY_CACHE", str(tmp_path / "cache"))
    for name, age in (("old", 40), ("young", 3)):
        (tmp_path / "cache" / name).mkdir(parents=True)
        os.utime(tmp_path / "cache" / name, (time.time() - age * 86400,) * 2)
    try:
        for cached in (kernel.cache_folder, kernel._writable_root):
            cached.cache_clear()
        folder = Path(kernel.cache_folder(Path(kernel.__file__)))
        assert {path.name for path in (tmp_path / "cache").iterdir()} == {"young", folder.name}
        (tmp_path / "file").touch()
        monkeypatch.setenv("BACKALLEY_CACHE", str(tmp_path / "file" / "below"))
        for cached in (kernel.cache_folder, kernel._writable_root):
            cached.cache_clear()
        assert Path(kernel.cache_folder(Path(kernel.__file__))).is_dir()
    finally:
        for cached in (kernel.cache_folder, kernel._writable_root):
            cached.cache_clear()


def test_streams_are_splitmix64_and_shuffles_are_fair() -> None:
    """First words for seed 1234567 as published with the reference implementation; every order of four cards equally
    often."""
    stream, words = np.uint64(1234567), []
    with np.errstate(over="ignore"):
        for _ in range(3):
            stream = np.uint64(rng.advance(stream))
            words.append(int(rng.mix(stream)))
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    counts: dict[tuple[int, ...], int] = {}
    stream = np.uint64(3)
    for _ in range(24_000):
        cards = np.arange(4)
        stream = np.uint64(rng.shuffle(stream, cards, 4))
        counts[tuple(cards.tolist())] = counts.get(tuple(cards.tolist()), 0) + 1
    assert len(counts) == 24
    squares = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert squares < 58, (
        f"chi-squared with 23 degrees of freedom is {squares:.1f}; 58 is passed once in 10,000 fair runs"
    )


@pytest.mark.slow
def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if name.startswith("backalley/")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    own = [name for name in tracked if name.startswith("src/backalley/") and (ROOT / name).is_file()]
    wanted = {f"backalley/{name.removeprefix('src/backalley/')}" for name in own}
    wanted |= {
        f"backalley/{name}" for name in tracked if name.split("/")[0] in ("envs", "agents", "training", "benchmarks")
    }
    assert wanted == held


def test_ids_declared_and_registered_are_the_same() -> None:
    import gymnasium

    for game in GAMES:
        assert game.type.gymnasium_id in gymnasium.registry
        assert backalley.game(game.id) is game
