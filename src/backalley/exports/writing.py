"""`backalley.export`: a game's rules as files for programs that have no Python."""

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

from backalley.console.errors import InvalidCall, InvalidValue, did_you_mean
from backalley.envs.core.compile.kernel import sources_of
from backalley.envs.core.compile.source_digest import source_digest
from backalley.envs.core.files import durable
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game

from . import TARGETS, mathematics, wasm
from .functions import functions_of
from .layout import header_of, layout_of
from .module import module_text
from .translate import object_code

_LEFT_OUT = "the learned policy: its weights are no part of the rules' code"


@dataclass(frozen=True)
class Exported:
    """What `export` wrote."""

    folder: Path
    files: tuple[str, ...]
    """Names of the files in it."""
    layout: dict[str, Any]
    """What the layout's JSON says: records, actions, functions and where they came from."""

    def table(self) -> str:
        """Return the files with their sizes, as text."""
        rows = (f"{(self.folder / name).stat().st_size:>9,} bytes  {name}" for name in self.files)
        return "\n".join([f"{self.layout['title']}, written to {self.folder}:", *rows])


def export(
    game: str | Game, target: str, out: str | Path, *, triple: str | None = None, replace: bool = False, **options: Any
) -> Exported:
    """Write a game's rules under these options as files that need no Python, to the folder `out`.

    `target` is "native", "c" or "wasm" (see `TARGETS`); `triple` names another machine for "c", as compilers name it
    (`aarch64-linux-gnu`). Beside the code stand a JSON of its layout and the licence, and, but for "wasm", a C header.
    Options are constants of the file. Files of the same names are kept unless `replace` is set.

    Raises ValueError for a wrong option, target or triple or where a file is there already, RuntimeError where no C
    compiler is found that "native" needs, and OSError where the folder cannot be written to.
    """
    if target not in TARGETS:
        raise InvalidValue(f"The target is {target!r}; it takes {', '.join(TARGETS)}.{did_you_mean(target, TARGETS)}")
    if triple is not None and target != "c":
        raise InvalidValue(f"A triple goes with target 'c'; {target!r} has a machine of its own.")
    bound = game.bind(**options) if isinstance(game, Game) else catalogue.game(game, **options)
    name, folder = bound.name, Path(out)
    code_name = f"{name}{_ending(target)}"
    names = [code_name, f"{name}.json", "LICENSE", *([] if target == "wasm" else [f"{name}.h"])]
    present = [one for one in names if (folder / one).exists() and one != "LICENSE"]
    if present and not replace:
        raise InvalidValue(f"{folder / present[0]} is there already; name another folder, or say replace (--replace).")
    folder.mkdir(parents=True, exist_ok=True)
    functions = functions_of(bound)
    machine, link = _machine(target, triple, [f"{name}_{one.name}" for one in functions])
    instead = {called: f"{name}_{own}" for called, own in mathematics.NAMES.items()} if target == "wasm" else {}
    exported = {f"{name}_{one.name}" for one in functions}
    code = link(object_code(module_text(bound), exported, *machine, instead))
    about: dict[str, Any] = {"target": target, "triple": machine[0], "processor": machine[1] or "any of the triple"}
    about |= {"rules": source_digest(*_sources(bound)), "left_out": [_LEFT_OUT]}
    layout = layout_of(bound, functions, about)
    files = {code_name: code, f"{name}.json": json.dumps(layout, indent=1).encode(), "LICENSE": licence().encode()}
    if target != "wasm":
        files[f"{name}.h"] = header_of(name, layout).encode()
    for one, data in files.items():
        durable.write_file(folder / one, data)
    return Exported(folder, tuple(files), layout)


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
