"""What tests of several files share by name, which are played, and where those marked `uncompiled` are."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Tests of compiled code compile at once, in the processes that they start, too; those of tiering do not.
os.environ.setdefault("BACKALLEY_COMPILE", "now")

from backalley.benchmarks.speed import alone
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game import catalogue
from tests.common.cases import GAMES, ONLY
from tests.common.uncompiled import Beside

BESIDE = pytest.StashKey[Beside]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--release", action="store_true", help="play the tests that are left out or sampled, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `release` are left out, and of those marked `sampled` two thirds of the slow cases. All are played
    with `--release`, where nothing is compiled, and where a test is asked for by name."""
    if not COMPILED or ONLY or config.getoption("release") or any("::" in arg for arg in config.args):
        return
    left_out = {item for item in items if item.get_closest_marker("release") or not _in_sample(item)}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def _in_sample(item: pytest.Item) -> bool:
    """A third of the games, the same in all files of a folder, to share machine code."""
    if not (item.get_closest_marker("sampled") and item.get_closest_marker("slow")):
        return True
    place = next((place for place, game in enumerate(GAMES) if game.name in item.name), 0)
    return (place + len(item.nodeid.partition("::")[0].rpartition("/")[0])) % 3 == 0


@pytest.fixture(scope="module", autouse=True)
def _the_compilers_objects_stay() -> Iterator[None]:
    """Millions, which the garbage collector would look through again and again (*measured*: 6 % of the time)."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_registrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games that a test registers are gone after it."""
    monkeypatch.setattr(catalogue, "_registered", dict(catalogue._registered))


@pytest.fixture(autouse=True)
def _others_use_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run beside each other, and what they time is not kept."""
    monkeypatch.setattr(alone, "MOST", 1000.0)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One training run from beginning to end, to compare others with."""
    from tests.common.tiny_runs import tiny  # needs torch, which most tests do not

    return tiny(tmp_path_factory.mktemp("whole") / "run", seed=7)


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another, of two phases and with a learning curve."""
    from tests.common.tiny_runs import two_phases

    return two_phases(tmp_path_factory.mktemp("two") / "run", seed=7)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Send a test that is marked `uncompiled` to the process beside; where nothing is compiled it is played here."""
    if not COMPILED or pyfuncitem.get_closest_marker("uncompiled") is None:
        return None
    config = pyfuncitem.config
    if BESIDE not in config.stash:
        config.stash[BESIDE] = Beside.like(config)
        config.add_cleanup(config.stash[BESIDE].close)
    config.stash[BESIDE].run(pyfuncitem.nodeid)
    return True
