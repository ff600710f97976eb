"""A client of tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tables"


@pytest.fixture
def client(folder: Path) -> Iterator[Any]:
    from tests.common.web_client import serving

    with serving(folder) as found:
        yield found
