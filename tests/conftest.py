"""What tests of several files share by name."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One training run from beginning to end, to compare others with."""
    from tests.tiny_runs import tiny  # needs torch, which most tests do not

    return tiny(tmp_path_factory.mktemp("whole") / "run", seed=7)
