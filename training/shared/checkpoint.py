"""Checkpoints: all that a run depends on, as `state.safetensors` and `state.json` in a folder of their own. No pickles.

Each is a new folder, written beside its target and renamed, so that a kill at any moment leaves the previous one
untouched. A run resumed from a checkpoint ends with the same weights, bit for bit, as one that was never stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from backalley.console.errors import InvalidValue
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import TENSOR_BYTES, file_bytes, read_json

FORMAT = 3
FOLDER, ARRAYS_FILE, FACTS_FILE = "checkpoints", "state.safetensors", "state.json"
KEPT = 2
"""How many checkpoints are kept on disk."""
_NAME = re.compile(r"\d{2}-\d{12}")
"""The phase, from 1, and the decisions of the whole run."""

Arrays = dict[str, npt.NDArray[Any]]


class CheckpointError(InvalidValue):
    """A checkpoint that cannot be used; the message says which and why."""


def save(run: Path, phase: int, decisions: int, arrays: Arrays, facts: dict[str, Any]) -> Path:
    """Write the checkpoint of a run after `decisions` in all, in the phase of that number, from 0; then delete all but
    the latest. Raises OSError, with the earlier ones untouched."""
    data = save_tensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    head = {"format": FORMAT, "decisions": decisions, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    place = run / FOLDER / f"{phase + 1:02d}-{decisions:012d}"
    durable.write_folder(place, {ARRAYS_FILE: data, FACTS_FILE: json.dumps({**head, "facts": facts}).encode()})
    for old in found(run)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def found(run: Path) -> list[Path]:
    """Return the complete checkpoints of a run, oldest first."""
    return sorted(path for path in (run / FOLDER).glob("*") if _NAME.fullmatch(path.name))


def load(place: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and facts of a checkpoint. Raises CheckpointError where anything differs from what was written."""
    try:
        head = read_json(place / FACTS_FILE)
        data = file_bytes(place / ARRAYS_FILE, TENSOR_BYTES)
        if head["format"] != FORMAT:
            raise CheckpointError(
                f"The checkpoint {place} is of format {head['format']!r}; this version reads format {FORMAT}."
            )
        if (len(data), hashlib.sha256(data).hexdigest()) != (head["bytes"], head["sha256"]):
            raise CheckpointError(f"The checkpoint {place} is damaged: {ARRAYS_FILE} is not what was written.")
        return load_tensors(data), head["facts"]
    except OSError as error:
        raise CheckpointError(f"The checkpoint {place} cannot be read: {error}.") from None
    except CheckpointError:
        raise
    except (KeyError, TypeError, ValueError, SafetensorError):
        raise CheckpointError(f"The checkpoint {place} is damaged: it is truncated, or no checkpoint.") from None


def latest(run: Path) -> tuple[Arrays, dict[str, Any], list[str]] | None:
    """Return the latest readable checkpoint, and a sentence for each later one that cannot be read; None for a run that
    has none at all.

    Raises CheckpointError where there are some, but none can be read.
    """
    complaints: list[str] = []
    for place in reversed(found(run)):
        try:
            return *load(place), complaints
        except CheckpointError as error:
            complaints.append(str(error))
    if complaints:
        raise CheckpointError(
            f"{' '.join(complaints)} --restart begins the run again, and its policy and log are lost."
        )
    return None
