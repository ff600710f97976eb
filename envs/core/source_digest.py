"""A digest of all that a source file's machine code follows from: its text and that of all files that it imports.

Numba's own cache looks only at the file a function stands in: edit `tricks.py`, and the cached kernels of a game that
calls it would keep running the old rule. So machine code is kept under a digest of a kernel's file and of all files
that it imports, directly or not: those of this package, and of a game outside it those beside that game. Files count by
their place in the package and their text, so that two environments or checkouts with the same text share what one of
them compiled.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numba
import numpy as np

_PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds envs/, agents/ and the others: `backalley` itself, or the checkout."""
_FOLDERS = ("envs", "agents", "benchmarks", "training")
_NAME = __name__.partition(".")[0]
_INSTALLED = {"site-packages", "dist-packages"}
_SETTINGS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def imported_files(path: Path) -> tuple[Path, ...]:
    """The files of this package, and those beside a file of another, that `path` imports: absolutely or relatively, at
    its top, inside functions and under `TYPE_CHECKING` alike."""
    return _imported(path, _edition(path))


@functools.cache
def _imported(path: Path, edition: tuple[int, ...]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for node in _statements(ast.parse(path.read_bytes()).body):
        if isinstance(node, ast.Import):
            wanted = [(0, alias.name, list[str]()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            wanted = [(node.level, node.module or "", [alias.name for alias in node.names])]
        else:
            continue
        for level, module, names in wanted:
            for place in _places(path, level, module):
                if (file := place.with_name(f"{place.name}.py")).is_file():
                    found[file] = None  # a module: what is taken from it lies in it
                    continue
                inside = [place / "__init__.py", *(place / f"{name}.py" for name in names)]
                inside += [place / name / "__init__.py" for name in names]
                found |= dict.fromkeys(file for file in inside if file.is_file())
    return tuple(file for file in found if file != path)


def _edition(path: Path) -> tuple[int, ...]:
    """What changes when a file is written anew: a game outside this package may be edited and imported again while the
    process goes on, as in a notebook. This package's own files are taken to stay as they are."""
    if _ours(path):
        return ()
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@functools.cache
def _ours(path: Path) -> bool:
    return any(path.is_relative_to(_PACKAGE / folder) for folder in _FOLDERS)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement at any depth. Expressions hold no imports, and walking them took nine tenths of the time."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, ()))
        for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _statements(branch.body)


def _places(path: Path, level: int, module: str) -> Iterator[Path]:
    """Where the module of an import in `path` may lie, without the ending."""
    parts = module.split(".") if module else []
    if level:
        yield path.parents[level - 1].joinpath(*parts)
    elif parts[0] == _NAME:
        yield _PACKAGE.joinpath(*parts[1:])
    elif not _ours(path):
        for root in _roots(path):
            own = path.relative_to(root).parts[0]
            if parts[0] == own.removesuffix(".py") or root.name not in _INSTALLED:
                yield root.joinpath(*parts)


@functools.cache
def _roots(path: Path) -> tuple[Path, ...]:
    """The entries of `sys.path` that a file of a game outside this package lies below."""
    entries = {Path(entry).resolve() for entry in sys.path if entry}
    return tuple(sorted(root for root in entries if path.is_relative_to(root)))


def with_imports(*paths: Path) -> set[Path]:
    """These files, and all that they import, directly or not (see `imported_files`)."""
    known, waiting = {*paths}, [*paths]
    while waiting:
        new = set(imported_files(waiting.pop())) - known
        known |= new
        waiting += new
    return known


def source_digest(*paths: Path) -> str:
    """A digest of source files, of all files that they import, directly or not (see `imported_files`), of what
    compiles them, and of Numba's and NumPy's versions."""
    if all(map(_ours, paths)):
        return _digest(paths, ())
    return _digest(paths, tuple(map(_edition, sorted(with_imports(*paths)))))


@functools.cache
def _digest(paths: tuple[Path, ...], editions: tuple[tuple[int, ...], ...]) -> str:
    here = Path(__file__).resolve()
    compiling = {here, *(here.with_name(f"{name}.py") for name in ("kernel", "kernel_cache", "specialise"))}
    compiling.add(here.with_name("numba_repair.py"))
    # Numba's own settings that change machine code, such as NUMBA_BOUNDSCHECK.
    settings = [getattr(numba.config, name, None) for name in _SETTINGS]
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__} {settings}".encode())
    for place, file in sorted((_place(file), file) for file in compiling.union(with_imports(*paths))):
        digest.update(place.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _place(path: Path) -> str:
    """Where a file lies in this package, or below the entry of `sys.path` nearest to it, wherever either may lie."""
    if _ours(path):
        return path.relative_to(_PACKAGE).as_posix()
    roots = _roots(path)
    return path.relative_to(max(roots, key=lambda root: len(root.parts))).as_posix() if roots else path.name
