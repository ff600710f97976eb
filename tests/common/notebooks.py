"""Runs notebooks, and says where what they show is not what is in them.

    python -m tests.common.notebooks [NAME ...]      writes all outputs, or those of the notebooks named so, again

Cells tagged `exact` show what follows from rules, bots and solutions alone: their text must come out as it is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from backalley.envs.core.compile.tiering import MESSAGE
from backalley.envs.core.files import durable
from tests import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SLOWEST = 600
"""Seconds that one cell may take, on a machine that has much else to do."""


def read(path: Path) -> Any:
    """A notebook as it is in its file."""
    return nbformat.read(path, as_version=4)


def run(notebook: Any, folder: Path) -> Any:
    """The notebook with the outputs of a new kernel that works in `folder`. Raises CellExecutionError."""
    fresh = nbformat.from_dict(notebook)
    for cell in code_cells(fresh):
        cell.outputs, cell.execution_count = [], None
    settings = {"timeout": SLOWEST, "kernel_name": "python3", "record_timing": False, "coalesce_streams": True}
    NotebookClient(fresh, resources={"metadata": {"path": str(folder)}}, **settings).execute()
    fresh.metadata["language_info"] = {"name": "python"}  # not the version of who ran it last
    return fresh


def code_cells(notebook: Any) -> list[Any]:
    """Its cells that are run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[Any]:
    """A cell's outputs but for standard error, which is no part of what a notebook tells."""
    return [output for output in cell.outputs if output.get("name") != "stderr"]


def warned(cell: Any) -> str:
    """What it wrote to standard error, but for the sentence on compiling."""
    words = "".join(output.text for output in cell.outputs if output.get("name") == "stderr")
    return str(words).replace(MESSAGE, "").strip()


def text_of(cell: Any) -> str:
    """What a cell shows in words."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in shown(cell))


def complaints(committed: Any, fresh: Any) -> list[str]:
    """What is wrong with the outputs of a notebook, given those of a run of the same cells: sentences."""
    found = []
    for number, (cell, other) in enumerate(zip(code_cells(committed), code_cells(fresh), strict=True), start=1):
        where = f"Code cell {number} ({cell.source.splitlines()[0]})"
        if cell.execution_count != number:
            found.append(f"{where} was run as number {cell.execution_count}: the notebook was not run in order.")
        if bool(shown(cell)) != bool(shown(other)):
            found.append(f"{where} {'shows' if shown(other) else 'no longer shows'} something: write outputs again.")
        elif "exact" in cell.metadata.get("tags", []) and text_of(cell) != text_of(other):
            found.append(f"{where} is exact, and is\n\n{text_of(cell)}\n\nbut came out as\n\n{text_of(other)}")
        if warned(other):
            found.append(f"{where} wrote to standard error: {warned(other)}")
    return found


def write(path: Path) -> None:
    """Run a notebook and put it in its own place, outputs and all."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = run(read(path), Path(folder))
    for cell in code_cells(fresh):
        cell.outputs = shown(cell)
    durable.write_file(path, (nbformat.writes(fresh, indent=1) + "\n").encode())


def main(names: list[str]) -> None:
    for path in NOTEBOOKS:
        if not names or any(name in path.stem for name in names):
            print(f"{path.relative_to(ROOT)} ...", flush=True)
            write(path)


if __name__ == "__main__":
    main(sys.argv[1:])
