"""The guides' programs set torch's number of threads; a test of them leaves it as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backalley.agents.policies.network import one_thread


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    with one_thread():
        yield
