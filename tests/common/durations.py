"""How long tests take, kept in `tests/durations.json`: seconds of each file's quick and slow tests on one core.

    pytest --junitxml build/tests.xml && python -m tests.common.durations build/tests.xml

It prints what the quick part and all of it come to on two cores. `tests/project/test_layout.py` holds that every
file is there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import ROOT

FILE = ROOT / "tests" / "durations.json"


class Slow:
    """A pytest plugin that notes which of the collected tests are slow."""

    def __init__(self) -> None:
        self.quick: set[tuple[str, str]] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if item.get_closest_marker("slow") is None:
                module = Path(item.path).relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
                self.quick.add((module, item.name))


def durations(report: Path) -> dict[str, dict[str, float]]:
    """Return the seconds of each file's quick and slow tests, from a report in JUnit's format."""
    slow = Slow()
    if pytest.main(["--collect-only", "-qq", "-n", "0", str(ROOT / "tests")], plugins=[slow]):
        raise SystemExit("The tests cannot be collected, so nothing was written.")
    files = [file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py")]
    found = {file: {"quick": 0.0, "slow": 0.0} for file in files}  # of an extra that is not installed, none is run
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = case.attrib["classname"], case.attrib["name"]
        if not module:  # a file that is skipped as a whole
            continue
        kinds = found[f"{module.replace('.', '/')}.py"]
        kinds["quick" if (module, name) in slow.quick else "slow"] += float(case.attrib["time"])
    return {file: {kind: round(time, 1) for kind, time in kinds.items()} for file, kinds in sorted(found.items())}


if __name__ == "__main__":
    found = durations(Path(sys.argv[1]))
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    quick, slow = (sum(kinds[kind] for kinds in found.values()) / 2 for kind in ("quick", "slow"))
    print(f"On two cores: {quick:.0f} s for the quick part, {quick + slow:.0f} s for all.")
