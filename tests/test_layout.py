"""The floor plan: which folders import which, how a game's folder is laid out, and how imports are written."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import pytest

from backalley.envs.core.base import Game
from tests.cases import GAMES

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("envs", "agents", "benchmarks", "training")
LAYERS = ["core", "games", "agents", "benchmarks", "training", "cli"]
ROOMS = ["state", "rules", "observation", "text", "bot", "game"]
"""The files that every game has; each may import those before it."""
OWN = [game for game in GAMES if game.type.module.startswith("backalley.envs.")]
BY_NAME = pytest.mark.parametrize("game", OWN, ids=lambda game: game.name)


def layer(parts: tuple[str, ...]) -> int | None:
    """How far up a module of ours stands, by its dotted name's parts after `backalley`."""
    if not parts:
        return None
    if parts[0] == "envs":
        return 0 if parts[1:2] == ("core",) else 1
    return LAYERS.index(parts[0]) if parts[0] in LAYERS else None


def imports(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Every import of a file of ours: how many dots it begins with, and the parts of what is imported after
    `backalley`; those of other packages are left out. Imports in functions and under TYPE_CHECKING count."""
    package = path.relative_to(ROOT).parts[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [
                (0, tuple(alias.name.split(".")[1:])) for alias in node.names if alias.name.startswith("backalley")
            ]
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = package[: len(package) - node.level + 1]
                found += [(node.level, (*base, *module, alias.name)) for alias in node.names]
            elif module[:1] == ("backalley",):
                found += [(0, (*module[1:], alias.name)) for alias in node.names]
    return found


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def test_imports_point_one_way() -> None:
    seen = 0
    for path in files():
        mine = layer(path.relative_to(ROOT).with_suffix("").parts)
        for _, parts in imports(path):
            its = layer(parts)
            if its is not None and mine is not None:
                seen += 1
                assert its <= mine, (
                    f"{path.relative_to(ROOT)} ({LAYERS[mine]}) imports {'.'.join(parts)} ({LAYERS[its]})"
                )
    assert seen > 300


def test_imports_inside_a_top_level_folder_are_relative_and_across_absolute() -> None:
    for path in files():
        top = path.relative_to(ROOT).parts[0]
        for level, parts in imports(path):
            shown = f"{path.relative_to(ROOT)} imports {'.'.join(parts)}"
            assert bool(level) == (parts[:1] == (top,)), f"{shown}: relative inside {top}/, absolute across"
        bare = {name.split(".")[0] for node in ast.walk(ast.parse(path.read_text("utf-8"))) for name in absolute(node)}
        assert not bare & {*FOLDERS, "tests"}, f"{path.relative_to(ROOT)} imports {bare}: a second copy of the package"


def absolute(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def test_the_core_names_no_game() -> None:
    words = [game.name for game in OWN] + [game.title.lower() for game in OWN]
    for path in (ROOT / "envs" / "core").glob("*.py"):
        text = re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)
        code = "\n".join(line.split("#")[0] for line in text.splitlines())
        assert not [word for word in words if re.search(rf"\b{word}\b", code)], path.name


def arrows(folder: Path) -> dict[str, set[str]]:
    """What each file of a folder imports from the others."""
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    found: dict[str, set[str]] = {name: set() for name in names}
    inside = folder.resolve().relative_to(ROOT).parts
    for name in names:
        for _, parts in imports(folder.resolve() / f"{name}.py"):
            if parts[: len(inside)] == inside and len(parts) > len(inside) and parts[len(inside)] in names:
                found[name].add(parts[len(inside)])
    return found


@BY_NAME
def test_every_room_is_there(game: Game) -> None:
    folder = game.type.folder
    for room in (*(f"{name}.py" for name in ROOMS), "__init__.py", "README.md", "vectors.toml"):
        assert (folder / room).is_file(), f"{game.name} has no {room}"
    assert list((folder / "playthroughs").glob("*.json"))
    assert game.type.module.endswith(f"{game.name}.game")


@BY_NAME
def test_imports_inside_a_game_run_down_the_list(game: Game) -> None:
    """No circle, and no room reaches a later one, not even through parts; `TYPE_CHECKING` counts."""
    graph = arrows(game.type.folder)
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError
    reach: dict[str, set[str]] = {}
    for name in order:
        reach[name] = set().union(graph[name], *(reach[other] for other in graph[name]))
    for number, room in enumerate(ROOMS):
        late = reach[room] & set(ROOMS[number + 1 :])
        assert not late, f"{game.name}/{room}.py reaches {late}"
    assert reach["state"] == set(), f"{game.name}/state.py imports {reach['state']} of its own folder"


def test_folders_that_games_share_have_no_circle_either() -> None:
    """The core is left out: a Game makes its environments, which are made of a Game."""
    shared = [path.parent for path in (ROOT / "envs").glob("*/__init__.py") if not (path.parent / "game.py").is_file()]
    shared.remove(ROOT / "envs" / "core")
    assert shared
    for folder in shared:
        list(graphlib.TopologicalSorter(arrows(folder)).static_order())


@BY_NAME
def test_the_version_is_declared_once_in_a_file_that_imports_nothing(game: Game) -> None:
    tree = ast.parse((game.type.folder / "__init__.py").read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)] == ["VERSION"]  # type: ignore[attr-defined]
    declared = (game.type.folder / "game.py").read_text("utf-8")
    assert "version=VERSION" in declared
