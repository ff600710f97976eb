"""Files and folders that are either completely written or not at all, whatever interrupts the write; and unfinished
work that a later run continues.

Everything is written beside its target, flushed to the disk, and renamed: a full disk, Ctrl-C, `kill -9` or a power cut
leaves the earlier file or folder unchanged.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue

from .reading import TENSOR_BYTES, check_path, file_bytes

PARTIAL = ".partial"
"""The ending of unfinished files; leftovers may be deleted at any time."""
_PREVIOUS = ".previous"
_UNFINISHED = ".unfinished"
_SAVE_SECONDS = 20.0


def write_file(path: Path, data: bytes) -> None:
    """Make `path` a file that holds `data`. Raises OSError when that fails, with the earlier file untouched."""
    with file_beside(path) as file:
        file.write(data)


@contextmanager
def file_beside(path: Path) -> Iterator[IO[bytes]]:
    """Make `path` a file that holds what is written to the one given here, once the block has ended without an error.
    Raises OSError when that fails, with the earlier file untouched."""
    check_path(path)
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file that could be replaced; name another one.")  # a device would be gone for good
    beside = path.with_name(path.name + PARTIAL)
    try:
        with open(beside, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        _name_place(error, path)
        raise
    _flush_folder(path.parent)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make `folder` one that holds exactly `files`. Raises OSError when that fails, with the earlier folder untouched.

    A folder cannot be renamed over another one, so a kill between the two renames leaves the earlier one as
    `<folder>.previous`; `recover` puts it back.
    """
    beside, previous = _beside(folder, PARTIAL), _beside(folder, _PREVIOUS)
    recover(folder)
    for leftover in (beside, previous):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        beside.mkdir(parents=True)
        for name, data in files.items():
            _write(beside / name, data)
        _flush_folder(beside)
        if folder.exists():
            os.rename(folder, previous)
        os.rename(beside, folder)
    except BaseException as error:
        recover(folder)
        shutil.rmtree(beside, ignore_errors=True)
        _name_place(error, folder)
        raise
    shutil.rmtree(previous, ignore_errors=True)
    _flush_folder(folder.parent)


def recover(folder: Path) -> None:
    """Put back a folder whose replacement was interrupted between its two renames."""
    previous = _beside(folder, _PREVIOUS)
    if previous.exists() and not folder.exists():
        os.rename(previous, folder)


def _beside(folder: Path, ending: str) -> Path:
    """The folder of that ending beside a folder, which may be named `.`"""
    place = folder if folder.name else folder.resolve()
    return place.with_name(place.name + ending) if place.name else place / ending  # the root has no name


class Unfinished:
    """The finished part of a long command, as arrays in a file beside the result.

    `task` describes the work, as JSON can hold it, and `sources` is a digest of its code. Without a `path` nothing is
    saved.
    """

    def __init__(self, path: Path | None, task: Mapping[str, Any], sources: str) -> None:
        """Raises TypeError and OSError for an invalid path."""
        self.path = None if path is None else unfinished_beside(check_path(path))
        self._task, self._sources = json.dumps(task, sort_keys=True), sources
        self._saved = time.monotonic()

    def load(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of the last `save`; none if there is no file, or if it is damaged or of other sources.
        Raises ValueError for the work of another task, which must not be overwritten."""
        if self.path is None:
            return {}
        try:
            data = io.BytesIO(file_bytes(self.path, TENSOR_BYTES))
            with np.load(data, allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            task, sources = str(arrays.pop("task")), str(arrays.pop("sources"))
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
            return {}
        except (NotImplementedError, RuntimeError, AttributeError, MemoryError):  # of damaged heads, in a zip and in it
            return {}
        if task != self._task:
            raise InvalidValue(
                f"{self.path} holds unfinished work of another task ({task}); name another file, or delete that one."
            )
        return arrays if sources == self._sources else {}

    def save(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Save these arrays. Raises OSError."""
        if self.path is not None:
            buffer = io.BytesIO()
            about = {"task": np.array(self._task), "sources": np.array(self._sources)}
            np.savez(buffer, allow_pickle=False, **{**arrays, **about})
            write_file(self.path, buffer.getvalue())
        self._saved = time.monotonic()

    def save_at_times(self, arrays: Callable[[], Mapping[str, npt.NDArray[Any]]]) -> None:
        """Save the result of `arrays()`, if the last save is long enough ago."""
        if self.path is not None and time.monotonic() - self._saved > _SAVE_SECONDS:
            self.save(arrays())


def unfinished_beside(path: Path) -> Path:
    """Return the file of unfinished work for `path`."""
    return path.with_name(path.name + _UNFINISHED)


def _name_place(error: BaseException, place: Path) -> None:
    """Add the path to an error of the disk: those of writing and flushing, as on a full disk, name no file."""
    if isinstance(error, OSError) and error.filename is None and error.strerror:
        error.filename = str(place)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make renames in `folder` outlive a power cut, where the system lets folders be opened (Windows does not)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
