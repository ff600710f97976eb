"""Files and folders that are either wholly on disk or not there at all, whatever interrupts their writing.

Everything is written beside its place, flushed to the disk, and renamed: a full disk, Ctrl-C, `kill -9` or a power cut
leaves the former file or folder as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

PARTIAL = ".partial"
"""The ending of what is still being written; such leftovers may be deleted at any time."""
_PREVIOUS = ".previous"


def write_file(path: Path, data: bytes) -> None:
    """`path` becomes a file that holds `data`. Raises OSError, with the former file untouched, when that fails."""
    beside = path.with_name(path.name + PARTIAL)
    try:
        _write(beside, data)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """`folder` becomes one that holds exactly `files`. Raises OSError, with the former folder untouched, when that
    fails.

    A folder cannot be renamed over another one, so a kill between the two renames that replace one leaves the former as
    `<folder>.previous`; `recover` puts it back.
    """
    beside, previous = folder.with_name(folder.name + PARTIAL), folder.with_name(folder.name + _PREVIOUS)
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
    except BaseException:
        recover(folder)
        shutil.rmtree(beside, ignore_errors=True)
        raise
    shutil.rmtree(previous, ignore_errors=True)
    _flush_folder(folder.parent)


def recover(folder: Path) -> None:
    """Put back a folder whose replacement was cut off between its two renames."""
    previous = folder.with_name(folder.name + _PREVIOUS)
    if previous.exists() and not folder.exists():
        os.rename(previous, folder)


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
