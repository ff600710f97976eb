"""Modules of other people by their import path."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from backalley.console.errors import BackAlleyError


def module_at(path: str, refused: Callable[[str], BackAlleyError]) -> ModuleType:
    """The module of an import path, also below the working folder, which an installed program does not look into by
    itself. Where there is none, this raises what `refused` makes of the name of the module that is missing; what the
    module itself raises stays as it is."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise refused(error.name) from None


def when_imported(name: str, call: Callable[[], None]) -> None:
    """Call once a module has been imported by whomever: now, if it is there already. It is not imported for this."""
    if name in sys.modules:
        call()
    else:
        sys.meta_path.insert(0, _Awaited(name, call))


class _Awaited:
    """A finder of one module that lets the others find it, and calls when it has run."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self.name, self.call = name, call

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The import system asks this of every module."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None:
            run = found.loader.exec_module

            def run_and_call(module: ModuleType) -> None:
                run(module)
                self.call()

            found.loader.exec_module = run_and_call  # type: ignore[method-assign]
        return found
