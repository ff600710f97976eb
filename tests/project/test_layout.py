"""The floor plan: which folders import which, how a game's folder is laid out, and how imports are written."""

from __future__ import annotations

import ast
import functools
import graphlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.cases import GAMES

SRC = ROOT / "src" / "backalley"
FOLDERS = ("envs", "agents", "benchmarks", "training")
LATE = {
    ("envs/core/game/game", f"envs/core/{name}")
    for name in (
        *(f"api/{name}" for name in ("aec/AECEnv", "vector/BatchEnv", "game_state/GameState", "game_state/new_state")),
        "cuda/device_batch/CudaBatch",
    )
} | {("cli/dev", "benchmarks/studies/pages/docs/COMMANDS"), ("cli/shared", "benchmarks/studies/kinds")}
"""The only imports that go up: a game makes its environments and states, and the command line looks for studies."""
BY_NAME_ALONE = {
    ("envs/core/game/entries", later) for later in ("agents/gymnasium/gymnasium_env", "envs/core/api/registry")
} | {
    ("training/config/config", f"training/{phase}")
    for phase in (
        "ppo/ppo",
        "mmd/mmd",
        "rollouts/rollouts",
        "rollouts/rounds",
        "macros/plans",
        "macros/fictitious_play",
    )
}
"""The only modules of later rooms that are named in strings: registries and the list of phases take such."""
COMPILERS = {"benchmarks/figures/results", "cluster/same_code", "cluster/sent_modules", "exports/writing"}
COMPILERS |= {"exports/translate"}
"""Who imports the compiler's room outside the core and the games: for digests of sources, and to translate kernels for
other processors."""
WIDEST = 14
WIDER = {"envs/bezique": 15, "tests/common": 18, "tests/games": 28}
"""Files of a folder, `__init__.py` left out, and the folders that are wider, by what they held when this was
written: they may only become smaller."""
MOST_FILES = 13
"""Files of a room, `__init__.py` left out."""
PARTS = ["state", "rules", "observation", "events", "text", "bot", "game"]
"""The files that every game has; each may import those before it."""
OWN = [game for game in GAMES if game.type.module.startswith("backalley.envs.")]
BY_NAME = pytest.mark.parametrize("game", OWN, ids=lambda game: game.name)


def drawn(number: int) -> str:
    """A drawing in CONTRIBUTING.md: the first is of boxes, the second of rooms."""
    return (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("```text\n")[number].split("```")[0]


def drawing() -> list[str]:
    """The rooms, lowest first, as the drawing in CONTRIBUTING.md has them."""
    found = []
    for line in drawn(2).splitlines():
        folder, _, rest = line.partition("  ")
        folder = folder.removeprefix("src/backalley").lstrip("/").replace("<game>", "")
        if "←" in rest:
            found += [f"{folder}/{room.strip()}".lstrip("/") for room in rest.split("←")]
        elif folder:
            found.append(folder.rstrip("/"))
    return found


ROOMS = drawing()


def room(path: str) -> int | None:
    """The number of the room that a file or what is taken from it belongs to, as `envs/core/game/game/Game`."""
    if re.fullmatch(r"\w+_v\d+(/.*)?", path):
        path = "envs/module"  # the modules of the games, as PettingZoo names its environments
    found = [name for name in ROOMS if f"{path}/".startswith(f"{name}/")]
    return ROOMS.index(max(found, key=len)) if found else None


@functools.cache
def files() -> dict[str, Path]:
    """Every source file of the package, by its place in it without the ending."""
    found = {
        path.relative_to(ROOT).with_suffix("").as_posix(): path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    for path in SRC.rglob("*.py"):
        place = path.relative_to(SRC)
        if place.parts[0] not in FOLDERS:
            found[place.with_suffix("").as_posix()] = path
    return found


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def imports(place: str, path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Every import of a file of ours: how many dots it begins with, and the parts of what is imported after
    `backalley`; those of other packages are left out. Imports in functions and under TYPE_CHECKING count."""
    package = tuple(place.split("/"))[:-1]
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [
                (0, tuple(alias.name.split(".")[1:])) for alias in node.names if alias.name.split(".")[0] == "backalley"
            ]
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = package[: len(package) - node.level + 1]
                found += [(node.level, (*base, *module, alias.name)) for alias in node.names]
            elif module[:1] == ("backalley",):
                found += [(0, (*module[1:], alias.name)) for alias in node.names]
    return found


def test_the_drawing_has_every_room() -> None:
    """And nothing else: a folder or file that no room holds would be free to import what it likes."""
    assert len(ROOMS) > 25
    rest = {"__init__", "__main__", "_by_name"}  # the root, which imports all, and what imports nothing
    above = (*FOLDERS, "envs/core", "benchmarks/studies")
    for place in files():
        inside = place.split("/")
        if len(inside) > 1 and inside[-1] == "__init__" and "/".join(inside[:-1]) in above:
            continue
        assert place in rest or inside[0] == "template" or room(place) is not None, place
    for name in ROOMS:
        assert any(room(place) == ROOMS.index(name) for place in files()), f"nothing lives in {name}"


def box(path: str) -> str | None:
    """The box of a file or of what is taken from it; None for the package's root."""
    if room(path) is None:
        return None
    apart = {"envs/core": "core", "benchmarks/studies": "studies", "envs": "games", "examples": "games"}
    if re.match(r"\w+_v\d", path):
        return "games"
    found = next((name for folder, name in apart.items() if f"{path}/".startswith(f"{folder}/")), path.split("/")[0])
    return found if found in BOXES else "outside"


BOXES = ["console", "core", "games", "agents", "cluster", "benchmarks", "training", "cli", "studies"]
"""Those that are folders of their own; all other rooms are outside."""


def test_the_boxes_import_as_they_are_drawn() -> None:
    """Along the arrows and no other way; and no arrow is drawn that no import takes."""
    chains = [[name.strip() for name in line.split("←")] for line in drawn(1).splitlines()]
    arrows = {(right, left) for chain in chains for left, right in itertools.pairwise(chain)}
    assert {name for arrow in arrows for name in arrow} == {*BOXES, "outside"}
    below = {name: {left for right, left in arrows if right == name} for name in (*BOXES, "outside")}
    for _ in below:
        below = {name: found.union(*(below[other] for other in found)) for name, found in below.items()}
    taken = {
        (box(place), box("/".join(parts)))
        for place, path in files().items()
        for _, parts in imports(place, path)
        if (place, "/".join(parts)) not in LATE
    }
    taken = {(mine, its) for mine, its in taken if mine and its and mine != its}
    assert [(mine, its) for mine, its in taken if its not in below[mine]] == []
    assert arrows <= taken


def test_every_room_says_what_it_holds_and_is_small() -> None:
    for name in ROOMS:
        folder = SRC / name
        if not folder.is_dir() or name == "envs":
            continue
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        assert len(text.split()) > 10, f"{name}/__init__.py does not say what lives there"
        assert len(list(folder.glob("[!_]*.py"))) <= MOST_FILES, name


def test_imports_point_to_earlier_rooms() -> None:
    seen, late = 0, set()
    for place, path in files().items():
        mine = room(place)
        if mine is None:
            continue
        for _, parts in imports(place, path):
            its = room("/".join(parts))
            if its is None:
                assert parts[-1:] == ("__version__",) or place.startswith("cli/"), f"{place} imports the root"
            elif its > mine:
                late.add((place, "/".join(parts)))
            seen += 1
    assert late == LATE
    assert seen > 1000


def test_rooms_have_no_circle() -> None:
    """Within a room, too, files can be put into an order in which each imports only those before it."""
    every = {place.removesuffix("/__init__"): path for place, path in files().items() if room(place) is not None}
    graph: dict[str, set[str]] = {place: set() for place in every}
    for place, path in every.items():
        real = f"{place}/__init__" if path.stem == "__init__" else place
        for _, parts in imports(real, path):
            if (real, "/".join(parts)) in LATE:
                continue
            names = ["/".join(parts[:size]) for size in range(len(parts), 0, -1)]
            found = next((name for name in names if name in every), None)
            if found is not None and found != place:
                graph[place].add(found)
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def test_imports_inside_a_top_level_folder_are_relative_and_across_absolute() -> None:
    for place, path in files().items():
        top = place.split("/")[0]
        if top not in FOLDERS:
            continue
        for level, parts in imports(place, path):
            shown = f"{place} imports {'.'.join(parts)}"
            assert bool(level) == (parts[:1] == (top,)), f"{shown}: relative inside {top}/, absolute across"
        bare = {name.split(".")[0] for node in ast.walk(parsed(path)) for name in absolute(node)}
        assert not bare & {*FOLDERS, "tests"}, f"{place} imports {bare}: a second copy of the package"


def absolute(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


@functools.cache
def named_modules(path: Path) -> set[str]:
    """Our own modules that a file names in strings, as `importlib.import_module` takes them."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and re.fullmatch(r"\w+(\.\w+)+(:\w+)?", str(node.value)):
            found.add(str(node.value).partition(":")[0].removeprefix("backalley.").replace(".", "/"))
    return found & {place.removesuffix("/__init__") for place in files()}


def test_modules_named_in_strings_are_of_earlier_rooms() -> None:
    late, seen = set(), 0
    for place, path in files().items():
        mine, named = room(place), named_modules(path)
        seen += len(named)
        if mine is not None:
            late |= {(place, name) for name in named if (room(name) or 0) > mine}
    assert late == BY_NAME_ALONE
    assert seen > 15


def test_the_engine_has_one_door() -> None:
    """What is outside the core takes tables as `BatchEnv` and `AECEnv` are, and kernels from `game/kernels.py` and
    `api/compiled_play.py`; a game's files may import the compiler's room itself."""
    compilers = set()
    for place, path in files().items():
        if place.startswith("envs/core/"):
            continue
        names = {"/".join(parts) for _, parts in imports(place, path)} | named_modules(path)
        assert not [name for name in names if f"{name}/".startswith("envs/core/engine/")], f"{place} names the engine"
        tree = ast.walk(parsed(path))
        taken = [node.lineno for node in tree if isinstance(node, ast.Attribute) and node.attr in ("engine", "_engine")]
        assert not taken, f"{place} takes the engine of tables, lines {taken}"
        if any(f"{name}/".startswith("envs/core/compile/") for name in names):
            compilers.add(place)
    assert {place for place in compilers if not place.startswith(("envs/", "template/"))} == COMPILERS


def test_a_game_imports_no_other_game() -> None:
    """But a folder that several share, which is no game itself."""
    seen = 0
    for place, path in files().items():
        own = place.split("/")[1] if place.startswith("envs/") else "core"
        for _, parts in imports(place, path) if own != "core" else ():
            other = parts[1] if parts[0] == "envs" and len(parts) > 1 else own
            shared = not (ROOT / "envs" / other / "game.py").is_file()
            assert other == own or shared, f"{place} imports the game {other}"
            seen += other not in (own, "core")
    assert seen > 10, "the Backhand series shares a folder"


def test_no_folder_is_too_wide() -> None:
    wide = {}
    for top in (*FOLDERS, "tests", "src"):
        for folder in (ROOT / top, *(ROOT / top).rglob("*/")):
            if folder.is_dir() and not any(one.is_symlink() for one in (folder, *folder.parents)):
                wide[folder.relative_to(ROOT).as_posix()] = len(list(folder.glob("[!_]*.py")))
    assert len(wide) > 60
    assert {name: width for name, width in wide.items() if width > WIDER.get(name, WIDEST)} == {}


def test_the_core_names_no_game() -> None:
    words = [game.name for game in OWN] + [game.title.lower() for game in OWN]
    for path in (ROOT / "envs" / "core").rglob("*.py"):
        text = re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)
        code = "\n".join(line.split("#")[0] for line in text.splitlines())
        assert not [word for word in words if re.search(rf"\b{word}\b", code)], path


@BY_NAME
def test_every_part_is_there(game: Game) -> None:
    folder = game.type.folder
    for part in (*(f"{name}.py" for name in PARTS), "__init__.py", "README.md", "vectors.toml"):
        assert (folder / part).is_file(), f"{game.name} has no {part}"
    assert list((folder / "playthroughs").glob("*.json"))
    assert game.type.module.endswith(f"{game.name}.game")


@BY_NAME
def test_imports_inside_a_game_run_down_the_list(game: Game) -> None:
    """No part reaches a later one, not even through other files; `TYPE_CHECKING` counts."""
    folder = game.type.folder.resolve().relative_to(ROOT).as_posix()
    own = {place: path for place, path in files().items() if place.startswith(f"{folder}/") and path.stem != "__init__"}
    graph = {
        place: {
            name
            for _, parts in imports(place, path)
            for name in ("/".join(parts), "/".join(parts[:-1]))
            if name in own and name != place
        }
        for place, path in own.items()
    }
    reach: dict[str, set[str]] = {}
    for place in graphlib.TopologicalSorter(graph).static_order():
        reach[place] = set().union(graph[place], *(reach[other] for other in graph[place]))
    for number, part in enumerate(PARTS):
        late = reach[f"{folder}/{part}"] & {f"{folder}/{name}" for name in PARTS[number + 1 :]}
        assert not late, f"{game.name}/{part}.py reaches {late}"
    assert reach[f"{folder}/state"] == set(), f"{game.name}/state.py imports {reach[f'{folder}/state']}"


@BY_NAME
def test_the_version_is_declared_once_in_a_file_that_imports_nothing(game: Game) -> None:
    tree = ast.parse((game.type.folder / "__init__.py").read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)] == ["VERSION"]  # type: ignore[attr-defined]
    declared = (game.type.folder / "game.py").read_text("utf-8")
    assert "version=VERSION" in declared


def imported_by(code: str) -> set[str]:
    """Our files and those of torch's compiler, packages apart, that a process has imported once it has run the code."""
    code += "\nimport sys; print(*(name for name in sys.modules if name.startswith(('backalley.', 'torch._dynamo.')) "
    code += "and not sys.modules[name].__spec__.submodule_search_locations))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return {name.removeprefix("backalley.") for name in ended.stdout.split()}


OPTIONAL = ["agents.people", "agents.programs", "agents.search", "agents.gymnasium", "web", "records", "envs.core.text"]
OPTIONAL += ["envs.core.drawing", "envs.core.api.aec", "cluster.ray_cluster", "cluster.sent_modules"]
OPTIONAL += ["benchmarks.exact", "benchmarks.figures.charts", "benchmarks.publish", "benchmarks.matches.tournament"]


def test_a_match_of_bots_imports_no_more_than_it_takes() -> None:
    """Neither people, programs, policies and searches, nor drawings, texts, charts and the cluster."""
    used = imported_by("import backalley; backalley.evaluate('missouri_city', ['bot', 'random'], deals=2)")
    apart: tuple[str, ...] = (*OPTIONAL, "agents.policies", "training", "benchmarks.sequential")
    apart += ("envs.core.engine.event_log", "envs.core.rules.symmetry", "console.progress")
    apart += ("envs.core.files", "envs.core.game.reset_options", "envs.core.compile.guarded")
    assert not [name for name in sorted(used) if name.startswith(apart)]
    outside = [name for name in used if not name.startswith(("envs.missouri_city", "envs.backhand_series"))]
    assert len(outside) <= 50, f"{len(outside)} files beside those of the game"


def test_training_imports_no_more_than_it_takes(tmp_path: Path) -> None:
    """Neither what a match of bots leaves out, nor other ways to learn, attacks, planners and torch's compiler."""
    used = imported_by(
        f"""import backalley
small = {{"ppo.tables": 16, "ppo.steps": 4, "ppo.batch_size": 32, "network.width": 8, "run.evaluation_deals": 2}}
small |= {{"run.phases": "ppo", "run.curve_every": 0.001, "run.curve_deals": 2}}
backalley.train("backalley.examples.kuhn", out={str(tmp_path / "run")!r}, decisions=64, config_overrides=small)"""
    )
    apart = [f"agents.policies.{name}" for name in ("planner", "pretrained", "own_policy", "residual")]
    apart += ["training.attack", "training.mmd", "training.rollouts", "training.macros", "training.seeds", "torch"]
    assert not [name for name in sorted(used) if name.startswith((*OPTIONAL, *apart))]
    outside = [name for name in used if not name.startswith("examples")]
    assert len(outside) <= 80, f"{len(outside)} files beside those of the game"


MOST_LINES = {"the wheel": 73_189, "benchmarks/studies": 9_376, "tests": 34_288}
"""Lines of Python, comments and all. They may fall; whoever needs more looks for what the new lines replace."""


def test_it_does_not_grow() -> None:
    lines = dict.fromkeys(MOST_LINES, 0)
    for top in (*FOLDERS, "tests", "src"):
        for file in (ROOT / top).rglob("*.py"):
            place = file.relative_to(ROOT).as_posix()
            if any(parent.is_symlink() for parent in file.parents):
                continue
            part = next((part for part in ("benchmarks/studies", "tests") if place.startswith(f"{part}/")), "the wheel")
            lines[part] += len(file.read_bytes().splitlines())
    assert all(lines[part] <= most for part, most in MOST_LINES.items()), lines


# Words ----------------------------------------------------------------------------------------------------------------

WORDS = {
    "anew": ("again", ""),
    "crew": ("thread pool", ""),
    "House": ("TableServer", ""),
    "Spread": ("Executor", ""),
    "[Gg]uest": ("third-party agent", ""),
    "practice_of": ("training_game", ""),
    "standing policy": ("current policy", ""),
    "crowds?": ("large tables", "envs/killer_bridge/bot.py|.*/speed.(py|md)|tests/(core|project)/.*"),
    r"\w*(?<!action_)told": (
        "shown, reported, distinguished",
        "envs/twenty_one/.*(py|toml)|envs/bezique/vectors.toml|.*(chat|cluster_check).py|.*cluster.md",
    ),
    r"(stands|stood)(?! (for|in for|out|beside|before)\b|$)": (
        "is, was current",
        r"(envs/(?!core)|tests/|notebooks/|src/.*_v\d).*",
    ),
}
"""Each with what is said here, and the places where it is something else: a move at the table, a State's field, words
of stored results and of a prompt. `action_told` is a public name."""
LEFT_OUT = {"CHANGELOG.md", "test_layout.py", "default.yaml", "phases.py"}
LEFT_OUT |= {"test_rounds.py", "test_same_bits.py"}
"""History; and `begins: anew`, the value of a setting."""
FILES = {
    file.relative_to(ROOT).as_posix(): file.read_text("utf-8").splitlines()
    for top in ("agents", "benchmarks", "docs", "envs", "notebooks", "src", "tests", "training", ".")
    for file in (ROOT / top).glob("*.md" if top == "." else "**/*")
    if file.suffix in (".py", ".md", ".toml", ".yaml", ".js", ".html") and file.name not in LEFT_OUT
}


@pytest.mark.parametrize("word", WORDS)
def test_no_word_of_our_own_comes_back(word: str) -> None:
    found, also = re.compile(rf"\b{word}\b"), re.compile(WORDS[word][1] or "(?!)")
    here = [
        f"{place}:{number}"
        for place, lines in FILES.items()
        for number, line in enumerate(lines, 1)
        if found.search(line) and not also.fullmatch(place)
    ]
    assert len(FILES) > 600
    assert not here, f"{word!r} is {WORDS[word][0]!r} here: {', '.join(here[:10])}"
