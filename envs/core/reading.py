"""Files from outside: read only where they are regular ones of a sensible size, and JSON only where it nests no deeper,
and its numbers are no longer, than anything that is written here.

Text of these files is shown at terminals and in pictures: control characters in it are refused here, for all of them.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from backalley.printable import one_line, steers

MIB = 1 << 20
JSON_BYTES, YAML_BYTES, TENSOR_BYTES = 64 * MIB, MIB, 4096 * MIB
"""The most that is read of a file of each kind."""
DEPTH, DIGITS = 64, 64
"""Lists within lists in JSON, and digits of its whole numbers. What is written here has 8, and the 39 of a generator's
state."""


def check_path(path: Any) -> Path:
    """A string or a path as a Path. Raises TypeError for anything else, and OSError for a name that no file can have:
    one with a null byte, or with what the system cannot encode."""
    if not isinstance(path, (str, Path)):
        raise TypeError(f"{_shortly(path)} is no path of a file; give a string or a Path.")
    try:
        proper = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        proper = False
    if not proper:
        raise OSError(errno.EINVAL, "No file can have such a name", one_line(str(path)))
    return Path(path)


def file_bytes(path: Path, most: int) -> bytes:
    """What a regular file holds. Raises OSError, with the path, where there is none, where it holds more than `most`
    bytes, and for a folder, a pipe or a device: these might never end, or wait forever."""
    check_path(path)
    # Without O_NONBLOCK the opening of a pipe waits for somebody to write to it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "It is no regular file but a pipe or a device", str(path))
        room = min(max(found.st_size, MIB), most)  # files of /proc say that they are empty
        data = file.read(room + 1)
    if len(data) > room:
        raise OSError(
            errno.EFBIG, f"It holds more than the {most // MIB:,} MiB that are read of such a file", str(path)
        )
    return data


def file_text(path: Path, most: int) -> str:
    """The same as text. Raises OSError, and ValueError in a clause for what is not UTF-8."""
    try:
        return file_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: byte {error.start:,} is {error.object[error.start]:#04x}") from None


def read_json(path: Path) -> Any:
    """What a JSON file holds. Raises OSError for what `file_bytes` does not read, and ValueError in a clause that says
    what is wrong with the file."""
    text = file_text(path, JSON_BYTES)
    try:
        found = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    _check(found)
    return found


_TOO_DEEP = f"it is nested more than {DEPTH} deep"


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"a number in it has {len(digits):,} digits; {DIGITS} are the most")
    return int(digits)


def _check(found: Any) -> None:
    """Raise ValueError in a clause for values that nest too deep, and for text that steers a terminal."""
    level = [found]
    for _ in range(DEPTH + 1):
        for value in level:
            if isinstance(value, str) and steers(value):
                raise ValueError(f"text in it has control characters, {_shortly(value)}")
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += [*value, *value.values()]
            elif isinstance(value, list):
                inner += value
        level = inner
    if level:
        raise ValueError(_TOO_DEEP)


def _shortly(value: Any) -> str:
    shown = one_line(repr(value))
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
