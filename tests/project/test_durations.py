"""The suite's own clock: `tests/durations.json` has every file of tests."""

from __future__ import annotations

import json

from tests import ROOT
from tests.common.durations import FILE


def test_every_file_of_tests_has_its_durations() -> None:
    kept = json.loads(FILE.read_text("utf-8"))
    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py")}
    assert files == set(kept), "run the command in tests/common/durations.py, which writes them again"
