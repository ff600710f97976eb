"""The command line, in this process and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from backalley.cli import main
from tests import ROOT


def run(*words: object, **rest: Any) -> Result:
    """What becomes of a command line; an exception that it does not turn into a sentence is raised."""
    return CliRunner().invoke(main, [str(word) for word in words], **{"catch_exceptions": False, **rest})


def process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What becomes of a command line in a process of its own, which knows of nothing that was registered here."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-m", "backalley", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, check=False)
