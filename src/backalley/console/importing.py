"""Modules of other people by their import path."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType

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
