"""An error in a kernel names the kernel, its § and the field, compiled or not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from backalley.console.errors import KernelError
from backalley.envs.core.compile.kernel import COMPILED, bind, uncompiled
from backalley.envs.core.compile.tiering import Interpreted, explaining
from backalley.envs.core.rules import trick_hand
from backalley.envs.core.rules.record import Record

TEXT = '''
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules.trick_hand import lay


@kernel
def reads(options, state):
    """A card is played. §1.2"""
    return 3 + state.trik


@kernel
def writes(options, state):
    """§1.2 and §3"""
    state.trik = 3
    return 0


@kernel
def agrees(options, state):
    return options.fold_cost


@kernel
def plays(options, state):
    """§2"""
    lay(state, 0, 3)
    return 0


@kernel
def calls(options, state):
    """§4"""
    return reads(options, state)


@kernel
def adds(options, state):
    """§5"""
    return state.seat + "1"
'''


class Options(NamedTuple):
    """What can be agreed."""

    fold_costs: float = 0.5


GIVEN = Options(), np.zeros(1, np.dtype((Record, [("seat", "i1"), ("tricks", "i2", 2)])))[0]


def compiled(kernel: Any) -> None:
    """What compiling says."""
    bind(kernel, *GIVEN)


def interpreted(kernel: Any) -> None:
    """What running it as Python says, where it could be compiled."""
    Interpreted(kernel)(*GIVEN)


def plain(kernel: Any) -> None:
    """What Python says where nothing is compiled."""
    explaining()(uncompiled(kernel))(*GIVEN)


WAYS = [compiled, interpreted] if COMPILED else [plain]


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of kernels that go wrong."""
    (tmp_path / "wrong_rules.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wrong_rules", raising=False)
    return importlib.import_module("wrong_rules")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("reads", "In the kernel reads, §1.2 ({}/wrong_rules.py, line 9), state has no field 'trik'{}"),
        ("writes", "In the kernel writes, §1.2, §3 ({}/wrong_rules.py, line 15), state has no field 'trik'{}"),
        ("calls", "In the kernel reads, §1.2 ({}/wrong_rules.py, line 9), state has no field 'trik'{}"),
    ],
)
def test_a_field_that_is_not_there(
    rules: ModuleType, tmp_path: Path, way: Callable[[Any], None], name: str, says: str
) -> None:
    with pytest.raises(KernelError) as said:
        way(getattr(rules, name))
    has = "; it has seat, tricks. Did you mean 'tricks'?"
    assert str(said.value) == says.format(tmp_path.name, has)
    assert said.value.__cause__ is not None


@pytest.mark.parametrize("way", WAYS)
def test_an_option_that_is_not_there(rules: ModuleType, way: Callable[[Any], None]) -> None:
    with pytest.raises(KernelError, match=r"In the kernel agrees \(.*line 21\), options has no field 'fold_cost'[.;]"):
        way(rules.agrees)


@pytest.mark.parametrize("way", WAYS)
def test_a_field_that_the_cores_rules_want(rules: ModuleType, way: Callable[[Any], None]) -> None:
    """Both are said: whose rule it is, and who called it."""
    fields = {"seat", "tricks"}
    with pytest.raises(KernelError) as said:
        way(rules.plays)
    assert str(said.value).startswith("In the kernel lay (rules/trick_hand.py, line ")
    assert "called by the kernel plays, §2 (" in str(said.value)
    name = str(said.value).partition("no field '")[2].partition("'")[0]
    assert name in trick_hand.TrickHand.__annotations__.keys() - fields


@pytest.mark.parametrize("way", WAYS)
def test_other_errors_say_where_they_happened(rules: ModuleType, way: Callable[[Any], None]) -> None:
    with pytest.raises(Exception) as said:  # noqa: PT011  (Python's own, or ours)
        way(rules.adds)
    if way is compiled:
        assert isinstance(said.value, KernelError)
        assert "What the kernel adds, §5 (" in str(said.value)
        assert "cannot be compiled. Numba says: No implementation of function" in str(said.value)
    else:
        assert type(said.value).__module__.startswith(("builtins", "numpy"))
        (note,) = said.value.__notes__
        assert "In the kernel adds, §5 (" in note
