"""The gate for data: what has a shape, and the sentence for what has not."""

from __future__ import annotations

from typing import Any

import pytest

from backalley.console.errors import InvalidValue
from backalley.envs.core.files import gate

RIGHT: list[tuple[Any, Any]] = [
    (3, gate.Whole(0, 3)), (0.5, gate.Number()), (2, gate.Number()), ("pitch", gate.GAME), ("", gate.Text()),
    (None, None), (True, bool),
    ([1, 2], gate.ListOf(gate.Whole())), ({"a": 1}, {"a": gate.Whole(), "b": gate.Optional(bool)}),
    ({"x": [1, "2"], "y": None}, gate.OPTIONS), (None, gate.Either((None, bool))),
]  # fmt: skip
WRONG: list[tuple[Any, Any, str]] = [
    (True, gate.Whole(), "it is True; it takes a whole number of 0 to"),
    (-1, gate.Whole(), "it is -1; it takes a whole number"),
    (1.0, gate.Whole(), "it is 1.0; it takes a whole number"),
    ("1", gate.Whole(), "it is '1'; it takes a whole number"),
    (float("nan"), gate.Number(), "it is nan; it takes a number"),
    (10**40, gate.Number(), "it takes a number"),
    (False, gate.Number(), "it is False; it takes a number"),
    ("evil:game", gate.GAME, "it is 'evil:game'; it takes one of baccarat, "),
    (1, gate.OneOf([True]), "it is 1; it takes one of True"),
    ("xx", gate.Text(1), "it is 'xx'; it takes text of at most 1 characters"),
    ([1, "x"], gate.ListOf(gate.Whole()), "entry 1 of it is 'x'; it takes a whole number"),
    ([1, 2], gate.ListOf(gate.Whole(), 1), "it takes a list of at most 1 values"),
    ({}, {"a": bool}, "it has no a"),
    ({"a": 1}, {"a": bool}, "a is 1; it takes true or false"),
    ({"a": True, "b": 1}, {"a": bool}, "it has an entry 'b', which is none of a"),
    ([], {"a": bool}, "it is []; it takes an object with a"),
    ({"a": {"b": {}}}, gate.OPTIONS, "'a' of it is {'b': {}}"),
    (1, gate.Either((None, bool)), "it is 1; it takes true or false"),
]


@pytest.mark.parametrize(("found", "shape"), RIGHT)
def test_what_has_a_shape_passes(found: Any, shape: Any) -> None:
    gate.pass_gate(found, shape)


@pytest.mark.parametrize(("found", "shape", "says"), WRONG, ids=lambda value: str(value)[:30])
def test_what_has_not_is_refused_in_a_clause(found: Any, shape: Any, says: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        gate.pass_gate(found, shape)
    assert says in str(refused.value)


def test_a_checksum_is_that_of_the_rest() -> None:
    kept = gate.with_checksum({"a": 1, "b": [1.5, "x"]})
    assert gate.pass_checksum(kept) == {"a": 1, "b": [1.5, "x"]}
    assert gate.pass_checksum({"a": 1}) == {"a": 1}, "files of 1.0.0 have none"
    with pytest.raises(InvalidValue, match="its checksum is another"):
        gate.pass_checksum({**kept, "a": 2})
