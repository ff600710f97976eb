"""A digest of everything that a source file's machine code depends on: its text and that of all files it imports.

Numba's own cache looks only at the file that a function is in: after an edit of `tricks.py`, the cached kernels of a
game that calls it would keep the old rule. So machine code is cached under a digest of a kernel's file and of all files
that it imports, directly or not: those of this package, and for a game outside it those beside that game. Files count
by their place in the package and their text, so two environments or checkouts with the same text share compiled code.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numba
import numpy as np

_PACKAGE = Path(__file__).resolve().parents[3]
"""The folder that holds envs/, agents/ and the others: `backalley` itself, or the checkout."""
_FOLDERS = ("envs", "agents", "benchmarks", "training")
_NAME = __name__.partition(".")[0]
_INSTALLED = {"site-packages", "dist-packages"}
_SETTINGS = ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def imported_files(path: Path) -> tuple[Path, ...]:
    """Return the files that `path` imports from this package or, for a file outside it, from beside that file. Imports
    count whether absolute or relative, at the top, inside functions or under `TYPE_CHECKING`."""
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
    """A value that changes when a file is rewritten: a game outside this package may be edited and imported again in
    one process, as in a notebook. This package's own files are assumed not to change."""
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
    """Possible paths of the module of an import in `path`, without the ending."""
    parts = module.split(".") if module else []
    if level:
        yield path.parents[level - 1].joinpath(*parts)
    elif parts[0] == _NAME:
        if parts[1:2] and parts[1] in _FOLDERS:  # what lies elsewhere in the package is compiled nowhere
            yield _PACKAGE.joinpath(*parts[1:])
    elif not _ours(path):
        for root in _roots(path):
            own = path.relative_to(root).parts[0]
            if parts[0] == own.removesuffix(".py") or root.name not in _INSTALLED:
                yield root.joinpath(*parts)


@functools.cache
def _roots(path: Path) -> tuple[Path, ...]:
    """The entries of `sys.path` above a file of a game outside this package."""
    entries = {Path(entry).resolve() for entry in sys.path if entry}
    return tuple(sorted(root for root in entries if path.is_relative_to(root)))


def with_imports(*paths: Path) -> set[Path]:
    """Return these files and all that they import, directly or not (see `imported_files`), and the data beside them: of
    `tables.py`, which a kernel's globals may come from, also `tables.json`."""
    known, waiting = {*paths}, [*paths]
    while waiting:
        new = set(imported_files(waiting.pop())) - known
        known |= new
        waiting += new
    return known | {data for path in known if (data := path.with_suffix(".json")).is_file()}


def source_digest(*paths: Path) -> str:
    """Return a digest of source files, of all files that they import, directly or not (see `imported_files`), of the
    compiler's own files, and of Numba's and NumPy's versions."""
    if all(map(_ours, paths)):
        return _digest(paths, ())
    return _digest(paths, tuple(map(_edition, sorted(with_imports(*paths)))))


@functools.cache
def _digest(paths: tuple[Path, ...], editions: tuple[tuple[int, ...], ...]) -> str:
    compiling = set(Path(__file__).resolve().parent.glob("*.py"))
    # Numba's own settings that change machine code, such as NUMBA_BOUNDSCHECK.
    settings = [getattr(numba.config, name, None) for name in _SETTINGS]
    settings.append(os.environ.get("BACKALLEY_WHOLE_PROGRAM"))  # what Numba alone compiled is made of other parts
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__} {settings}".encode())
    for place, file in sorted((_place(file), file) for file in compiling.union(with_imports(*paths))):
        digest.update(place.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _place(path: Path) -> str:
    """The path of a file relative to this package, or to the nearest entry of `sys.path`, so that both may move."""
    if _ours(path):
        return path.relative_to(_PACKAGE).as_posix()
    roots = _roots(path)
    return path.relative_to(max(roots, key=lambda root: len(root.parts))).as_posix() if roots else path.name
