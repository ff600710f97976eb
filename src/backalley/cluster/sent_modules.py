"""A user's own modules are sent with the work: agents of `file.py:Class`, games from outside the package.

What is pickled names its classes and functions by module. Every such module that is neither installed nor of this
package is sent as files, with what it imports from beside it, and imported on the other machine from a folder of its
process.
"""

from __future__ import annotations

import functools
import pickletools
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from backalley.console.errors import InvalidValue
from backalley.envs.core.compile.source_digest import with_imports

from .same_code import FOLDERS, ROOT

MOST_BYTES = 64 << 20
_LEFT_OUT = {"__pycache__", ".git", "playthroughs"}

Files = Mapping[str, bytes]
"""The contents of files by their place below a folder on `sys.path`."""


def own_modules(pickled: bytes) -> list[str]:
    """Return the user's own modules that a pickle names. Raises ValueError where one is the program itself and cannot
    travel."""
    named = {argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)}
    return sorted(name for name in named if name in sys.modules and _file_of_user(sys.modules[name]) is not None)


def files_of(modules: list[str]) -> dict[str, bytes]:
    """Return the files of modules, of the packages that they are in and of what they import from beside them, by their
    places. Raises ValueError where they are too large."""
    places: dict[str, Path] = {}
    loaded = [*sys.modules.items()] if modules else []
    by_file = {file: name for name, module in loaded if (file := _file_of_user(module)) is not None}
    for name in modules:
        for one in _with_packages(name):
            if (file := _file_of_user(sys.modules.get(one))) is not None:
                places[_place(one, file)] = file
        file = _file_of_user(sys.modules[name])
        if file is not None:
            for path in with_imports(file):
                for one in _with_packages(by_file.get(path, "")):
                    if (there := _file_of_user(sys.modules.get(one))) is not None:
                        places[_place(one, there)] = there
            if "." in name and file.name == "game.py":  # the game's folder: its policies and pages, too
                places |= _folder(name.rpartition(".")[0], file.parent)
    found: dict[str, bytes] = {}
    for place, path in sorted(places.items()):
        found[place] = path.read_bytes()
        if sum(map(len, found.values())) > MOST_BYTES:
            raise InvalidValue(
                f"The files beside {', '.join(modules)} are more than {MOST_BYTES >> 20} MiB, too many to send to "
                "every machine; move the agent or the game to a folder of its own."
            )
    return found


def arrive(files: Files) -> tempfile.TemporaryDirectory[str]:
    """Write files to a new folder and put it on `sys.path`; it is deleted with what is returned, or with the
    process."""
    folder = tempfile.TemporaryDirectory(prefix="backalley-")
    for place, data in files.items():
        path = Path(folder.name) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    sys.path.insert(0, folder.name)
    return folder


def _with_packages(name: str) -> Iterator[str]:
    """A module and the packages that hold it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _place(name: str, file: Path) -> str:
    inside = name.replace(".", "/")
    return f"{inside}/__init__.py" if file.name == "__init__.py" else f"{inside}.py"


def _folder(package: str, folder: Path) -> dict[str, Path]:
    return {
        f"{package.replace('.', '/')}/{path.relative_to(folder).as_posix()}": path
        for path in folder.rglob("*")
        if path.is_file() and not _LEFT_OUT.intersection(path.relative_to(folder).parts)
    }


def _file_of_user(module: ModuleType | None) -> Path | None:
    """The file of a module that other machines do not have: neither installed, nor of Python, nor of this package. The
    program itself (`__main__`) is no module that could be imported: Ray sends what it defines by itself."""
    given = getattr(module, "__file__", None)
    if module is None or not given or not given.endswith(".py") or getattr(module, "__name__", "") == "__main__":
        return None
    return _outside(given)


@functools.cache
def _outside(given: str) -> Path | None:
    """A file by its real path; None for one that is installed, of Python or of this package."""
    of_python = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    path = Path(given).resolve()
    roots = [*(Path(entry).resolve() for entry in of_python if entry), ROOT, *FOLDERS]
    return None if any(path.is_relative_to(root) for root in roots) else path
