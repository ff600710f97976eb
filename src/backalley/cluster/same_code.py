"""Whether another process has the same code: the package's source files, and the versions that numbers depend on."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

import numba
import numpy as np

from backalley import __version__
from backalley.envs.core.compile import source_digest

ROOT = Path(__file__).resolve().parents[1]
"""The package's own folder."""
FOLDERS = tuple(
    Path(source_digest.__file__).resolve().parents[3] / name for name in ("envs", "agents", "benchmarks", "training")
)
"""The folders that are linked into it, or lie in it once it is installed."""


def sources() -> Iterator[tuple[str, Path]]:
    """Yield every source file of the package: its place in it, and its path."""
    for folder in FOLDERS:
        for path in folder.rglob("*.py"):
            yield f"{folder.name}/{path.relative_to(folder).as_posix()}", path
    linked = {folder.name for folder in FOLDERS}
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] not in linked:
            yield path.relative_to(ROOT).as_posix(), path


@functools.cache
def code() -> dict[str, str]:
    """Return what has to be equal on every machine, by its name in a sentence."""
    digest = hashlib.sha256()
    for place, path in sorted(sources()):
        digest.update(place.encode() + b"\0" + path.read_bytes() + b"\0")
    return {
        "Back Alley": __version__,
        "the digest of its source files": digest.hexdigest()[:16],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "NumPy": np.__version__,
        "Numba": numba.__version__,
    }


def difference(there: Mapping[str, str], here: Mapping[str, str], where: str) -> str:
    """Return a sentence on how the code at another place differs from the code here."""
    other = [
        f"{name} is {there.get(name, 'missing')} there and {value} here"
        for name, value in here.items()
        if there.get(name) != value
    ]
    return (
        f"{where} has other code, and could find something else: {'; '.join(other)}. Install the same version on every "
        "machine."
    )
