"""The suite's own clock: `tests/durations.json` has every file, and what it says fits the limits of CONTRIBUTING."""

from __future__ import annotations

import json

from tests import ROOT
from tests.common.durations import FILE

CORES, QUICK, WHOLE = 2, 3 * 60, 15 * 60
"""CI's cores, and the most seconds of the quick part and of the whole run on them."""


def test_every_file_of_tests_has_its_durations_and_all_fit_the_limits() -> None:
    kept = json.loads(FILE.read_text("utf-8"))
    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py")}
    assert files - set(kept) == set(), "run the command in tests/common/durations.py, which writes them again"
    quick, slow = (sum(kept[file][kind] for file in files & set(kept)) for kind in ("quick", "slow"))
    assert quick / CORES < QUICK, f"the quick part takes {quick / CORES:.0f} s"
    assert (quick + slow) / CORES < WHOLE, f"the whole run takes {(quick + slow) / CORES:.0f} s"
