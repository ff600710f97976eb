"""Where machine code is kept, so that it is never that of an older text.

Numba's own cache looks only at the file a function stands in: edit `tricks.py`, and the cached kernels of a game that
calls it would keep running the old rule. So the cache folder of a kernel is named after a digest of its file and of all
files that it imports, directly or not: those of this package, and of a game outside it those beside that game.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numba
import numpy as np

_PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds envs/, agents/ and the others: `backalley` itself, or the checkout."""
_FOLDERS = ("envs", "agents", "benchmarks", "training")
_NAME = __name__.partition(".")[0]
_INSTALLED = {"site-packages", "dist-packages"}
_KEPT_DAYS = 30


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
    compiling = {Path(__file__).resolve().with_name(name) for name in ("kernel.py", "specialise.py", "numba_repair.py")}
    known = compiling.union(with_imports(*paths))
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    for file in sorted(known):
        digest.update(str(file).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """The folder that holds the caches: `$BACKALLEY_CACHE`, or `backalley` in the user's cache folder."""
    named = os.environ.get("BACKALLEY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "backalley"


@functools.cache
def writable_root() -> Path:
    """`cache_root()`, rid of caches that nobody has used for a month; a temporary folder where it cannot be written."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK):
            raise PermissionError(root)
        for folder in root.iterdir():
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEPT_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="backalley-kernels-"))
    return root


def cache_folder(*paths: Path) -> str:
    """Where the machine code of kernels of these source files is kept, for the present text of all that they are made
    of."""
    return _folder(source_digest(*paths))


@functools.cache
def _folder(digest: str) -> str:
    folder = writable_root() / digest
    folder.mkdir(exist_ok=True)
    os.utime(folder)
    return str(folder)
