"""A server of tables in a process of its own, and a browser that looks at it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Served:
    """`backalley serve` at a free port, with its tables in `folder`."""

    def __init__(
        self, folder: Path, *words: str, compiles: bool | None = True, errors: int = subprocess.DEVNULL
    ) -> None:
        """With `compiles=False` kernels run as Python: nothing waits for a compiler. None begins like that, as the
        command does, and has another process compile."""
        compiled = {True: {"BACKALLEY_COMPILE": "now"}, False: {"NUMBA_DISABLE_JIT": "1"}, None: {}}[compiles]
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        env = {name: value for name, value in os.environ.items() if name != "BACKALLEY_COMPILE"}
        command = [sys.executable, "-m", "backalley", "serve", "--port", "0", "--folder", str(folder), "--pace", "0"]
        self.process = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
            env={**env, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", **compiled},
        )  # fmt: skip
        assert self.process.stdout is not None
        found = re.search(r"http://\S+?:\d+", self.process.stdout.readline())
        assert found, "the server did not say where it is"
        self.address = found[0]

    def kill(self) -> None:
        """Give it no time for anything."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium; the test is skipped where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("There is no Chromium on this machine; apt-get install chromium brings one.")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()
