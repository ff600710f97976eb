"""The examples in docstrings are what one gets."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import backalley

FOLDERS = ("envs", "agents", "benchmarks", "training")
ROOT = Path(__file__).resolve().parents[1]


def modules() -> list[str]:
    """The modules that have examples."""
    files = (file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py")))
    there = (file for file in files if ">>> " in file.read_text("utf-8"))
    return ["backalley", *(".".join(["backalley", *file.relative_to(ROOT).with_suffix("").parts]) for file in there)]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_give_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert not found.failed, "see the output above"


def test_what_one_begins_with_has_an_example() -> None:
    for name in ("agent", "evaluate", "judge", "load_policy", "make", "make_vec", "tournament"):
        assert ">>> " in (getattr(backalley, name).__doc__ or ""), name
