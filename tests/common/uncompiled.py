"""Tests marked `uncompiled` are played without the compiler, in a process beside the one that asks for them.

A record of another shape means that a whole game is compiled again: 13 to 50 seconds, for tests that play a few games.
Line by line in Python such a test takes a second or two. The process beside is pytest as well, with
`NUMBA_DISABLE_JIT=1`, so that fixtures, warnings and failures are what they always are. The first such test starts it,
later ones are sent to it by name; where one kills it or hangs, that test fails and the next has a new process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

LONGEST = 600.0
"""Seconds after which a test is taken to hang."""
ENVIRONMENT = {"NUMBA_DISABLE_JIT": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class Beside:
    """The process beside, as those who send it tests see it. `options` are pytest's own there."""

    def __init__(self, root: Path, options: Sequence[str] = (), longest: float = LONGEST) -> None:
        self.root, self.options, self.longest = root, list(options), longest
        self._process: multiprocessing.process.BaseProcess | None = None

    @classmethod
    def like(cls, config: pytest.Config) -> Beside:
        """One whose pytest finds the same tests as that of `config` and shows failures in the same way."""
        options = ["-c", str(config.inipath)] if config.inipath else []
        options += ["--tb", config.getoption("tbstyle"), *["-v"] * config.get_verbosity()]
        return cls(config.rootpath, options)

    def run(self, name: str) -> None:
        """Run one test (`tests/core/rules/test_rules.py::test_it[some]`) to its end; raise what pytest raises for a
        test that fails or is skipped."""
        if self._process is None or not self._process.is_alive():
            self._start()
        outcome, text = self._ask(name)
        if outcome == "skipped":
            pytest.skip(text)
        if outcome != "passed":
            pytest.fail(text, pytrace=False)

    def _ask(self, name: str) -> tuple[str, str]:
        try:
            self._door.send(name)
            if self._door.poll(self.longest):
                answer: tuple[str, str] = self._door.recv()
                return answer
        except (EOFError, OSError):
            return "failed", f"Uncompiled, it killed its process, which ended with status {self.close()}."
        self.close()
        return "failed", f"Uncompiled, it was not over after {self.longest:g} seconds."

    def _start(self) -> None:
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="backalley-uncompiled-")
        fixed = ["-o", "addopts=", "--strict-markers", "--capture=no", "-p", "no:cacheprovider"]
        places = [f"--rootdir={self.root}", f"--basetemp={Path(self._folder.name) / 'tests'}"]
        context = multiprocessing.get_context("spawn")
        self._door, theirs = context.Pipe()
        given = (theirs, self.root, [*self.options, *fixed, *places, str(self.root)])
        self._process = context.Process(target=serve, args=given, daemon=True)
        with pytest.MonkeyPatch.context() as patch:
            for key, value in ENVIRONMENT.items():
                patch.setenv(key, value)
            self._process.start()
        theirs.close()  # or nobody would notice its death

    def close(self) -> int | None:
        """End the process, if there is one; gives the status with which it ended by itself."""
        if self._process is None:
            return None
        self._door.close()
        self._process.join(1)
        status = self._process.exitcode
        self._process.kill()
        self._process.join()
        self._process = None
        self._folder.cleanup()
        return status


class Service:
    """A plugin of the pytest beside: its session runs what comes through the door, and nothing else."""

    def __init__(self, door: Connection, root: Path) -> None:
        self.door, self.root = door, root
        self.found: dict[str, dict[str, pytest.Item]] = {}
        self.reports: list[pytest.TestReport] = []

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.unregister(name="terminalreporter")  # whoever asked does the talking

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> bool:
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with contextlib.suppress(EOFError):
            while True:
                name = self.door.recv()
                self.reports.clear()
                self.play(session, name)
                self.door.send(verdict(name, self.reports))
        return True

    def play(self, session: pytest.Session, name: str) -> None:
        file = name.partition("::")[0]
        if file not in self.found:
            self.found[file] = {item.nodeid: item for item in session.perform_collect([str(self.root / file)])}
        if item := self.found[file].get(name):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.reports.append(report)  # type: ignore[arg-type]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)


def verdict(name: str, reports: Sequence[pytest.TestReport]) -> tuple[str, str]:
    """What became of a test, and what there is to say of it. Only one of which pytest says so has passed."""
    failed = [report for report in reports if report.failed]
    if failed:
        parts = [[report.longreprtext, *(f"{title}\n{text}" for title, text in report.sections)] for report in failed]
        return "failed", "\n\n".join(part for some in parts for part in some)
    for report in reports:
        if report.skipped:
            return "skipped", report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    if any(report.when == "call" and report.passed for report in reports):
        return "passed", ""
    return "failed", f"The pytest beside, which plays uncompiled, has no test {name}."


def serve(door: Connection, root: Path, options: list[str]) -> None:
    """The process beside, from its beginning to the closing of the door."""
    pytest.main(options, plugins=[Service(door, root)])
