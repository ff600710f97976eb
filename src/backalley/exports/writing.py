"""`backalley.export`: a game's rules and players as files for programs that have no Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from backalley.agents.base.agent import POLICY
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_kinds import TablePlayer
from backalley.agents.policies.pretrained import NoPolicy
from backalley.agents.registry import agent
from backalley.console.errors import InvalidCall, InvalidValue, did_you_mean
from backalley.envs.core.compile.kernel import sources_of
from backalley.envs.core.compile.source_digest import source_digest
from backalley.envs.core.files import durable
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game

from . import TARGETS, mathematics, wasm
from .functions import functions_of
from .layout import header_of, layout_of, openspiel_game
from .module import module_text
from .players import weights_of
from .translate import object_code


@dataclass(frozen=True)
class Exported:
    """What `export` wrote."""

    folder: Path
    files: tuple[str, ...]
    """Names of the files in it."""
    layout: dict[str, Any]
    """What the layout's JSON says: records, actions, functions and where they came from."""

    def table(self) -> str:
        """Return the files with their sizes, and what was left out, as text."""
        rows = (f"{(self.folder / name).stat().st_size:>9,} bytes  {name}" for name in self.files)
        without = (f"Without {left_out}" for left_out in self.layout["left_out"])
        return "\n".join([f"{self.layout['title']}, written to {self.folder}:", *rows, *without])


def export(
    game: str | Game,
    target: str,
    out: str | Path,
    *,
    policy: str | Path | None = "policy",
    triple: str | None = None,
    replace: bool = False,
    **options: Any,
) -> Exported:
    """Write a game's rules and players under these options as files that need no Python, to the folder `out`.

    `target` is "native", "c" or "wasm" (see `TARGETS`); `triple` names another machine for "c", as compilers name it
    (`aarch64-linux-gnu`). `policy` is the learned policy that the code holds as one more player, by its name or folder;
    None leaves it out. By default it is the game's, where one comes with it for these options. Beside the code stand a
    JSON of its layout and the licence, and, but for "wasm", a C header, and C++ that makes it a game of OpenSpiel's.
    Options are constants of the file. Files of the same names are kept unless `replace` is set.

    Raises ValueError for a wrong option, target, triple or policy or where a file is there already, RuntimeError where
    no C compiler is found that "native" needs, and OSError where the folder cannot be written to.
    """
    if target not in TARGETS:
        raise InvalidValue(f"The target is {target!r}; it takes {', '.join(TARGETS)}.{did_you_mean(target, TARGETS)}")
    if triple is not None and target != "c":
        raise InvalidValue(f"A triple goes with target 'c'; {target!r} has a machine of its own.")
    bound = game.bind(**options) if isinstance(game, Game) else catalogue.game(game, **options)
    name, folder = bound.name, Path(out)
    code_name = f"{name}{_ending(target)}"
    header, spiel = f"{name}.h", f"{name}_openspiel.cc"
    names = [code_name, f"{name}.json", "LICENSE", *([] if target == "wasm" else [header, spiel])]
    present = [one for one in names if (folder / one).exists() and one != "LICENSE"]
    if present and not replace:
        raise InvalidValue(f"{folder / present[0]} is there already; name another folder, or say replace (--replace).")
    learned, left_out = _policy(bound, policy)
    folder.mkdir(parents=True, exist_ok=True)
    player = None if learned is None else learned.player
    functions = functions_of(bound, player)
    machine, link = _machine(target, triple, [f"{name}_{one.name}" for one in functions])
    instead = {called: f"{name}_{own}" for called, own in mathematics.NAMES.items()} if target == "wasm" else {}
    exported = {f"{name}_{one.name}" for one in functions}
    held = {} if learned is None else weights_of(bound, learned.plays_by())
    code = link(object_code(module_text(bound, "c", player), exported, *machine, instead, held))
    about: dict[str, Any] = {"target": target, "triple": machine[0], "processor": machine[1] or "any of the triple"}
    about |= {"rules": source_digest(*_sources(bound)), "left_out": left_out}
    about["players"] = [{"name": f"bot:{bot}", "function": f"bot_{bot}"} for bot in bound.bots]
    if learned is not None:
        about["players"].append({"name": learned.name, "function": "policy", "weights": learned.identity})
    layout = layout_of(bound, functions, about)
    files = {code_name: code, f"{name}.json": json.dumps(layout, indent=1).encode(), "LICENSE": licence().encode()}
    if target != "wasm":
        files |= {header: header_of(name, layout).encode(), spiel: openspiel_game(name, layout, code_name).encode()}
    for one, data in files.items():
        durable.write_file(folder / one, data)
    return Exported(folder, tuple(files), layout)


def _policy(game: Game, named: str | Path | None) -> tuple[PolicyAgent | None, list[str]]:
    """The policy of that name, if any, and what is left out."""
    try:
        found = None if named is None else agent(named, game)
    except NoPolicy as error:
        if named != POLICY:
            raise
        return None, [f"the learned policy: {error}"]
    if found is not None and (not isinstance(found, PolicyAgent) or isinstance(found.player, TablePlayer)):
        raise InvalidValue(
            f"The policy is {named!r}, which is none that compiled code plays; it takes the name or the folder of a "
            "policy that `backalley train` wrote."
        )
    return found, []


def _ending(target: str) -> str:
    if target == "native":
        return {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    return ".wasm" if target == "wasm" else ".o"


def _machine(
    target: str, triple: str | None, exported: list[str]
) -> tuple[tuple[str, str, str], Callable[[bytes], bytes]]:
    """The triple, processor and features to write for, and what makes the file of the object."""
    if target == "wasm":
        return ("wasm32-unknown-unknown", "", wasm.FEATURES), lambda code: wasm.module_of(code, exported)
    if target == "c":
        return (triple or llvm.get_process_triple(), "", ""), lambda code: code
    compiler = next((found for found in map(shutil.which, ("cc", "gcc", "clang")) if found), None)
    if compiler is None:
        raise InvalidCall(
            "A shared library is linked by a C compiler, and there is no cc, gcc or clang here; install one, or write "
            "an object file with target 'c'."
        )
    machine = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return machine, lambda code: _shared_library(compiler, code)


def _shared_library(compiler: str, code: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        given, made = Path(place, "code.o"), Path(place, "code.so")
        given.write_bytes(code)
        ended = subprocess.run([compiler, "-shared", "-o", made, given, "-lm"], capture_output=True, text=True)
        if ended.returncode:
            raise InvalidCall(f"{compiler} could not link the library: {ended.stderr.strip()}")
        return made.read_bytes()


def _sources(game: Game) -> list[Path]:
    """The files that the game's rules and bots are written in."""
    kernels = [*game.kernels, *(bot.act for bot in game.type.bots)]
    return sorted({path for kernel in kernels for path in sources_of(kernel)})


def licence() -> str:
    """Return the text of the package's licence."""
    from importlib.metadata import files

    found = [file for file in files("backalley") or () if file.name == "LICENSE"]
    place = Path(str(found[0].locate())) if found else Path(__file__).resolve().parents[3] / "LICENSE"
    return place.read_text("utf-8")
