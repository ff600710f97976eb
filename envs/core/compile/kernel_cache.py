"""The cache of machine code: one file for each kernel and argument types, in a folder named by a digest of the sources
(`source_digest.py`).

Code is read from the user's cache folder, even if that is read-only (an image, a shared installation). New code is
written to the first folder that accepts it: that one, or a folder of this user's among the temporary files. If neither
does, for example on a full disk, the code stays in memory. One sentence tells the user.

Numba's own cache has the same interface, but it names the folder by its absolute path, keeps one index for each kernel
that two processes may write at once, and raises where the disk is full.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from uuid import uuid4

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from backalley.console.errors import NotInstalled

from .source_digest import source_digest

SEEN_IN = (0, 61), (0, 68)
"""The first and the last minor version of Numba in which the fault was checked; pyproject.toml allows no others."""
_KEPT_DAYS = 30
_CHECK = hashlib.sha256().digest_size
_ENDING = f".{sys.implementation.cache_tag}.nbc"
_ENDINGS = {".nbc", ".nbi", ".partial"}
"""File endings in a cache folder of ours; Numba's own cache, used by earlier versions, has an index, `.nbi`."""
_FOLDER = re.compile(r"[0-9a-f]{16}")
_LONGEST_NAME = 100


class KernelCache(_Cache):  # type: ignore[misc]  # Numba has no types
    """The cached machine code of one kernel, in the form that Numba's dispatcher uses."""

    def __init__(self, function: Callable[..., Any], *sources: Path) -> None:
        """The digest is taken now: later compilation uses the text that was imported."""
        self._digest = source_digest(*sources)
        self._function = function
        name = re.sub("[<>]", "", f"{function.__module__}.{function.__qualname__}")
        self._name = f"{name[-_LONGEST_NAME:]}-{function.__code__.co_firstlineno}"

    @functools.cached_property
    def _code(self) -> str:
        """Computed on first use: a kernel that calls itself is not in its closure before."""
        return code_digest(self._function)

    @property
    def cache_path(self) -> str:
        """The folder that is written to first."""
        return str((cache_root() or _temporary_root() or Path()) / self._digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types of arguments; None where none is cached or the file is
        unreadable."""
        target_context.refresh()
        name, about = self._file(sig, target_context.codegen())
        for root in _places_to_read():
            with suppress(OSError):
                data = (root / self._digest / name).read_bytes()
                if hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
                    continue  # cut short or damaged
                with suppress(ImportError, AttributeError):  # types of a game that cannot be imported here
                    kept_about, kept = pickle.loads(data[_CHECK:])
                    if kept_about == about:
                        with suppress(OSError):
                            os.utime(root / self._digest)
                        return CompileResult._rebuild(target_context, *pickle.loads(kept))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache a compiled function where possible."""
        if data.library.has_dynamic_globals or not all(lifted.can_cache for lifted in data.lifted):
            return
        name, about = self._file(sig, data.codegen)
        kept = pickle.dumps((about, dumps(data._reduce())))
        refused = "" if cache_root() else " (this user has no home folder)"
        written: Path | None = None
        for root in _places_to_write():
            try:
                _write(root / self._digest / name, hashlib.sha256(kept).digest() + kept)
                written = root
                break
            except OSError as error:
                _given_up.add(root)
                refused += f"{' nor' if refused else ''} in {root} ({(error.strerror or str(error)).lower()})"
        if refused:
            instead = "in memory, for this process alone" if written is None else f"in {written}"
            _say(f"Compiled code cannot be kept{refused}; it is kept {instead}.")

    def _file(self, sig: Any, codegen: Any) -> tuple[str, tuple[str, ...]]:
        """The name of the file for these types, and the full text that the name is a digest of."""
        classes = [named for kind in getattr(sig, "args", sig) for named in _classes(kind)]
        about = (self._name, self._code, f"{sig} {classes}", *map(str, codegen.magic_tuple()))
        return f"{self._name}.{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}{_ENDING}", about

    def enable(self) -> None:
        """Numba's interface; it is always on."""

    def disable(self) -> None:
        """Numba's interface; it is always on."""

    def flush(self) -> None:
        """Numba's interface; cached files are dropped by their age."""


def code_digest(function: Callable[..., Any]) -> str:
    """Return a digest that distinguishes functions of one name and place: of its byte code and its closure."""
    return hashlib.sha256(repr(_held(function, ())).encode()).hexdigest()


def _held(value: Any, around: tuple[Any, ...]) -> Any:
    """A hashable stand-in for a function, or for a value in the closure of `around`."""
    function = getattr(value, "py_func", value)
    if not isinstance(function, FunctionType):
        return dumps(value)
    if function in around:
        return around.index(function)
    inside = (*around, function)
    cells = [_held(cell.cell_contents, inside) for cell in function.__closure__ or ()]
    paths = getattr(function, "sources", (Path(function.__code__.co_filename).resolve(),))
    sources = source_digest(*paths) if around and all(path.is_file() for path in paths) else ""
    return function.__module__, function.__qualname__, _text(function.__code__), cells, sources


def _text(code: CodeType) -> tuple[Any, ...]:
    constants = [_text(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_code, code.co_names, constants


def _classes(kind: Any) -> Iterator[str]:
    """The classes of named tuples in a type: Numba writes two of equal name and length alike."""
    own = getattr(kind, "instance_class", None)
    if own is not None:
        yield f"{own.__module__}.{own.__qualname__}{getattr(own, '_fields', ())}"
    for part in getattr(kind, "types", ()):
        yield from _classes(part)


# Folders --------------------------------------------------------------------------------------------------------------

_given_up: set[Path] = set()
"""Folders that could not be written to; not tried again in this process."""


def cache_root() -> Path | None:
    """Return the folder that holds the caches: `$BACKALLEY_CACHE`, or `backalley` in the user's cache folder; None for
    a user without a home."""
    named = os.environ.get("BACKALLEY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "backalley"
    except RuntimeError:  # neither HOME nor an entry for this user
        return None


def _temporary_root() -> Path | None:
    """A folder of this user's own among the temporary files; None where there is no place for one."""
    try:
        return Path(tempfile.gettempdir()) / f"backalley-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
    except OSError:
        return None


def _is_mine(root: Path) -> bool:
    """Whether only this user can write to a folder. Code is loaded from it, so a folder that somebody else made is
    refused."""
    try:
        found = root.lstat()
    except OSError:
        return False
    foreign = hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022)
    return stat.S_ISDIR(found.st_mode) and not foreign


def _places_to_read() -> Iterator[Path]:
    root, other = cache_root(), _temporary_root()
    if root is not None:
        _drop_unused(root)
        yield root
    if other is not None and _is_mine(other):
        _drop_unused(other)
        yield other


def _places_to_write() -> Iterator[Path]:
    root = cache_root()
    if root is not None and root not in _given_up:
        yield root
    other = _other_place()
    if other is not None:
        yield other


def _other_place() -> Path | None:
    """The folder among the temporary files, created if needed; None where it cannot be used."""
    other = _temporary_root()
    if other is None or other in _given_up:
        return None
    with suppress(OSError):
        other.mkdir(mode=0o700, exist_ok=True)
    return other if _is_mine(other) else None


@functools.cache
def _drop_unused(root: Path) -> None:
    """Delete caches that nobody has used for a month, and nothing else that may be in the folder."""
    with suppress(OSError):
        for folder in root.iterdir():
            if _is_cache(folder) and time.time() - folder.stat().st_mtime > _KEPT_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)


def _is_cache(folder: Path) -> bool:
    """Whether a folder is one of our caches: by its name, and by its contents."""
    if not _FOLDER.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    return all(file.suffix in _ENDINGS for file in folder.rglob("*") if not file.is_dir() or file.is_symlink())


@functools.cache
def _say(sentence: str) -> None:
    if sys.stderr:
        print(sentence, file=sys.stderr, flush=True)


def _write(path: Path, data: bytes) -> None:
    """Write beside the target, then rename, so that no process reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{uuid4().hex[:16]}.partial")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _symbol(record: Any) -> tuple[str, tuple[str]]:
    """The name of a record type in symbols: a digest of its fields."""
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:16],)


def name_records_by_fields() -> None:
    """Work around a fault of Numba: the names that its symbols give to record types.

    The symbols of machine code name a record by a number that counts types in the order a process meets them (since
    github.com/numba/numba/pull/1008; a fault of the same kind: github.com/numba/numba/issues/10486). So code cached by
    two processes could use one symbol for different records, and a third process that loads both ran the wrong one
    (seen: cards dealt to the offsets of another table's state). From now on a record is named by a digest of its
    fields. A test fails as soon as Numba names records so that two processes agree; then this can go.

    Raises NotInstalled, an ImportError, for a version of Numba that has not been checked.
    """
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    if not SEEN_IN[0] <= version <= SEEN_IN[1]:
        low, high = (".".join(map(str, bound)) for bound in SEEN_IN)
        raise NotInstalled(
            f"Numba is here in version {numba.__version__}; Back Alley mends a fault in how Numba keeps compiled code, "
            f"and has been checked with {low} to {high}: install one of those (pip install 'numba<={high}.*')."
        )
    numba.types.Record.mangling_args = property(_symbol)
