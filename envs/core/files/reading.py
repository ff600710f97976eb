"""Read files from outside: only regular files of limited size, and JSON only of limited depth and length of numbers.

Text of these files is shown at terminals and in pictures: control characters in it are refused here, for all of them.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import IO, Any

from backalley.console.errors import InvalidType, InvalidValue, one_line, shortly, steers

MIB = 1 << 20
JSON_BYTES, YAML_BYTES, TENSOR_BYTES = 64 * MIB, MIB, 4096 * MIB
"""The greatest size of a file of each kind."""
DEPTH, DIGITS = 64, 64
"""The greatest depth of lists in JSON, and number of digits of its whole numbers. Our own files have 8, and the 39 of a
generator's state."""


def check_path(path: Any) -> Path:
    """Return a string or a path as a Path. Raises TypeError for anything else, and OSError for an impossible file name:
    one with a null byte, or with characters that the system cannot encode."""
    if not isinstance(path, (str, Path)):
        raise InvalidType(f"{shortly(path)} is no path of a file; give a string or a Path.")
    try:
        proper = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        proper = False
    if not proper:
        raise OSError(errno.EINVAL, "No file can have such a name", one_line(str(path)))
    return Path(path)


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file to read. Raises OSError, with the path, where there is none, and for a folder, a pipe or a
    device, which may never end, or block."""
    check_path(path)
    # Without O_NONBLOCK the opening of a pipe waits for somebody to write to it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return open(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "It is no regular file but a pipe or a device", str(path))


def file_bytes(path: Path, most: int) -> bytes:
    """Return the contents of a regular file. Raises OSError as `open_file` does, and where it holds more than `most`
    bytes."""
    with open_file(path) as file:
        room = min(max(os.fstat(file.fileno()).st_size, MIB), most)  # files of /proc say that they are empty
        data = file.read(room + 1)
    if len(data) > room:
        raise OSError(
            errno.EFBIG, f"It holds more than the {most // MIB:,} MiB that are read of such a file", str(path)
        )
    return data


def file_text(path: Path, most: int) -> str:
    """Return the same as text. Raises OSError, and ValueError in a clause for what is not UTF-8."""
    try:
        return file_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValue(f"it is not UTF-8: byte {error.start:,} is {error.object[error.start]:#04x}") from None


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file. Raises OSError as `file_bytes` does, and ValueError in a clause that says
    what is wrong with the file."""
    return json_of(file_text(path, JSON_BYTES))


def json_of(text: str | bytes) -> Any:
    """Return what a JSON text holds. Raises ValueError in a clause that says what is wrong with it."""
    try:
        found = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise InvalidValue(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise InvalidValue(f"it is not JSON: {error}") from None
    except UnicodeDecodeError:
        raise InvalidValue("it is not UTF-8") from None
    check_values(found)
    return found


_TOO_DEEP = f"it is nested more than {DEPTH} deep"


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise InvalidValue(f"a number in it has {len(digits):,} digits; {DIGITS} are the most")
    return int(digits)


def check_values(found: Any) -> None:
    """Raise ValueError in a clause for values that nest too deep, and for text with control characters."""
    level = [found]
    for _ in range(DEPTH + 1):
        for value in level:
            if isinstance(value, str) and steers(value):
                raise InvalidValue(f"text in it has control characters, {shortly(value)}")
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner += [*value, *value.values()]
            elif isinstance(value, list):
                inner += value
        level = inner
    if level:
        raise InvalidValue(_TOO_DEEP)
