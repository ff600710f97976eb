"""The notebooks run from top to bottom, and what is exact in them comes out as it is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nbformat.v4 as make
import pytest
from nbclient.exceptions import CellExecutionError

from tests.common.notebooks import NOTEBOOKS, ROOT, code_cells, complaints, read, run

MOST_BYTES = 400_000


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_in_it(path: Path, tmp_path: Path) -> None:
    committed = read(path)
    found = complaints(committed, run(committed, tmp_path))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_tells_nothing_of_the_machine_it_was_run_on(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES
    words = path.read_text("utf-8")
    for place in (str(Path.home()), str(ROOT), tempfile.gettempdir()):
        assert f"{place}/" not in words
    assert any("exact" in cell.metadata.get("tags", []) for cell in code_cells(read(path)))


def cell(source: str, count: int | None = 1, words: str = "", *, tag: str = "exact", error: str = "") -> Any:
    """A code cell that was run as number `count` and printed `words`, and `error` on standard error."""
    outputs = [make.new_output("stream", name="stdout", text=words)] if words else []
    outputs += [make.new_output("stream", name="stderr", text=error)] if error else []
    return make.new_code_cell(source, execution_count=count, outputs=outputs, metadata={"tags": [tag]})


def sheet(*cells: Any) -> Any:
    return make.new_notebook(cells=list(cells))


def test_an_exact_cell_that_differs_is_shown_with_both_texts() -> None:
    (found,) = complaints(sheet(cell("x", words="21 points")), sheet(cell("x", words="22 points")))
    assert "is exact, and is\n\n21 points\n\nbut came out as\n\n22 points" in found
    assert complaints(sheet(cell("x", words="21")), sheet(cell("x", words="21"))) == []


def test_what_was_trained_may_differ_but_must_be_there() -> None:
    kept, came = cell("x", words="0.71", tag="trained"), cell("x", words="0.69", tag="trained")
    assert complaints(sheet(kept), sheet(came)) == []
    (found,) = complaints(sheet(cell("x", tag="trained")), sheet(came))
    assert "shows something: write outputs again" in found
    (found,) = complaints(sheet(kept), sheet(cell("x", tag="trained")))
    assert "no longer shows something" in found


def test_cells_that_were_run_out_of_order_or_warn_are_reported() -> None:
    (found,) = complaints(sheet(cell("x", 1), cell("y", 3)), sheet(cell("x"), cell("y")))
    assert found.startswith("Code cell 2 (y) was run as number 3")
    (found,) = complaints(sheet(cell("x")), sheet(cell("x", error="DeprecationWarning: soon")))
    assert found.endswith("wrote to standard error: DeprecationWarning: soon")


@pytest.mark.slow
def test_a_cell_that_fails_fails_the_notebook(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(sheet(cell("1 / 0")), tmp_path)
    fresh = run(sheet(cell("import pathlib; print(21, pathlib.Path.cwd().name)")), tmp_path)
    assert [one.text for one in fresh.cells[0].outputs] == [f"21 {tmp_path.name}\n"]
