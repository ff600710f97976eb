"""A game compiled for a device that is not here: NVIDIA's assembler says how many registers a thread takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numba
import numpy as np
from numba.core.errors import NumbaError

from backalley.console.errors import InvalidCall, NotInstalled

from ..engine.batch_play import random_act
from ..game.game import Game
from .row_kernels import aligned, row_kernels, tables_of
from .scratch import BYTES, SIMULATED, cuda

NotCompiled = (NumbaError, NotImplementedError, KeyError)
"""What numba raises for what it cannot compile for a device."""


TARGETS = {"sm_80": (8, 0), "sm_90": (9, 0)}
"""What is assembled for, with the compute capability: A100, H100."""


class Compiled(NamedTuple):
    """What ptxas says of one CUDA kernel."""

    registers: int
    """32-bit registers of a thread; 64 or fewer let 1,024 threads run on a multiprocessor at once, 128 half of them."""
    stack: int
    """Bytes of a thread's stack frame, in slow memory."""
    spills: int
    """Bytes that did not fit into registers, stored and loaded."""
    lines: int
    """Lines of PTX."""


def compiled(game: Game, name: str, act: Callable[..., int] = random_act) -> dict[str, Compiled]:
    """Compile a kernel of `row_kernels` for the oldest of `TARGETS` and assemble it for each. Raises an error of
    `NotCompiled`, NotInstalled without ptxas, RuntimeError where it refuses what numba made, and in the simulator."""
    if SIMULATED:
        raise InvalidCall("CUDA's simulator compiles nothing; unset NUMBA_ENABLE_CUDASIM.")
    oldest = next(iter(TARGETS.values()))
    here, kernel = SimpleNamespace(compute_capability=oldest), row_kernels(game, act)[name].py_func
    signature = numba.types.void(*(numba.typeof(one) for one in _example(game, name)))
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=here):  # numba asks what it compiles for
        text, _ = cuda.compile_ptx(kernel, signature, cc=oldest)
    return {target: _assembled(text, target, f"{name} of {game.name}") for target in TARGETS}


def _assembled(text: str, target: str, what: str) -> Compiled:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(text, "utf-8")
        line = [_assembler(), "-v", f"-arch={target}", "-o", str(file.with_suffix(".cubin")), str(file)]
        done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise InvalidCall(f"ptxas refuses {what} for {target}: {done.stderr.strip()}")
    said = [int(re.search(rf"(\d+) {one}", done.stderr)[1]) for one in _SAID]  # type: ignore[index]
    return Compiled(said[0], said[1], said[2] + said[3], len(text.splitlines()))


def reason(error: Exception) -> str:
    """Return in a few words why a bot was not compiled, of what numba says in many."""
    said = str(error)
    missing = re.search(r"No implementation of function Function\(<(?:built-in )?function (\w+)", said)
    if missing:
        return f"it calls `numpy.{missing[1]}`"
    known = (words for mark, words in _REASONS.items() if mark in said)
    return next(known, said.strip().splitlines()[0] if said.strip() else type(error).__name__)


_REASONS = {
    "Only accept returning of array": "a function of it returns an array",
    "NRT required": "it copies arrays",
    "<ufunc ": "it reckons with whole arrays",
}
"""What is missing, by numba's words for it."""


_SAID = ("registers", "bytes stack frame", "bytes spill stores", "bytes spill loads")


def _assembler() -> str:
    """The path of ptxas: of NVIDIA's wheel, which fits numba's compiler, or the system's."""
    try:
        import nvidia
    except ImportError:
        places = []
    else:
        places = [file for folder in nvidia.__path__ for file in Path(folder).glob("*/bin/ptxas")]
    found = str(places[0]) if places else shutil.which("ptxas")
    if found is None:
        raise NotInstalled("Assembling takes NVIDIA's ptxas: pip install nvidia-cuda-nvcc-cu12.")
    return found


def _example(game: Game, name: str) -> tuple[Any, ...]:
    """Arguments of a kernel, by their types alone."""
    batch, fixed = tables_of(game, 1, True, lambda array: array)
    rows, words, memory = np.zeros(1, np.int64), np.zeros(1, np.uint64), np.zeros((1, BYTES), np.uint8)
    records = np.zeros(1, aligned(game.state_dtype))
    given: dict[str, tuple[Any, ...]] = {
        "open_each": (batch, fixed),
        "step_each": (batch, fixed, (rows,)),
        "play_each": (batch, fixed, 1, (rows, memory, words, rows, np.zeros((1, game.num_seats)), rows, rows)),
        "observe_each": (batch, (rows, batch.observation)),
        "determinize_each": ((records, rows, words, memory),),
        "show_each": (batch, (batch.terminated,)),
    }
    return (batch, fixed, (rows, rows, rows)) if name == "check_each" else (game.options, *given[name])
