"""What `run.phases` may say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from backalley.training import config
from backalley.training.config import ConfigError
from backalley.training.phases import KINDS, Phases, kind
from tests.tiny_runs import GAME


@pytest.fixture(autouse=True)
def two_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "other", KINDS["ppo"])


@pytest.mark.parametrize(
    ("given", "written", "ends"),
    [
        ("ppo", ["ppo"], [1]),
        (["ppo"], ["ppo"], [1]),
        ("[ppo]", ["ppo"], [1]),
        ("other, ppo:0.3", ["other", {"ppo": 0.3}], [0.7, 1]),
        (["other", {"ppo": 0.3}, "ppo"], ["other", {"ppo": 0.3}, "ppo"], [0.35, 0.65, 1]),
        ([{"other": "0.25"}, {"ppo": 0.75}], [{"other": 0.25}, {"ppo": 0.75}], [0.25, 1]),
    ],
)
def test_a_list_of_phases(given: Any, written: list[Any], ends: list[float]) -> None:
    phases = Phases.read(given)
    assert phases.written() == written
    assert phases.ends == pytest.approx(ends)
    assert phases.ends[-1] == 1
    assert Phases.read(phases.written()) == phases
    settings = config.load(GAME, overrides={"run.phases": given})
    assert settings.run.phases == phases
    assert config.parse(settings.as_dict(), "again") == settings


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("", "a run has 1 to 20 phases."),
        ([], "a run has 1 to 20 phases."),
        (["ppo"] * 21, "a run has 1 to 20 phases."),
        (5, "it must be a list of phases, such as [ppo]."),
        ({"ppo": 1}, "it must be a list of phases, such as [ppo]."),
        ("pop", "'pop' is no kind of phase; there are: "),
        ("pop", " Did you mean ppo?"),
        ([["ppo"]], "['ppo'] is no kind of phase"),
        ([{"ppo": 0.5, "other": 0.5}], "is no kind of phase"),
        ("ppo:much", "the share of ppo is 'much'; it must be greater than 0, and 1 at most."),
        ("ppo:0", "the share of ppo is '0'; it must be greater than 0"),
        ([{"ppo": True}], "the share of ppo is True; it must be greater than 0"),
        ("ppo:nan", "the share of ppo is 'nan'; it must be greater than 0"),
        ("ppo:1,other", "the shares make 1, which leaves nothing for a phase without one."),
        ("ppo:0.5,other:0.4", "the shares make 0.9, and must make 1; or leave one out, and it takes the rest."),
    ],
)
def test_a_wrong_list_ends_in_a_sentence(wrong: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as caught:
        config.load(GAME, overrides={"run.phases": wrong})
    assert str(caught.value).startswith("--set: run option phases is ")


def test_every_kind_is_a_phase() -> None:
    from backalley.training.phase import Phase

    assert all(issubclass(kind(name), Phase) for name in KINDS)
