"""Words of our own that have a standard term: none comes back, in code, pages or messages."""

from __future__ import annotations

import re

import pytest

from tests import ROOT

WORDS = {
    "anew": "again",
    "crew": "thread pool",
    "House": "TableServer",
    "Spread": "Executor",
    "guest": "third-party agent",
    "practice_of": "training_game",
}
"""Each with what stands for it."""
LEFT_OUT = {"CHANGELOG.md", "test_words.py", "default.yaml", "phases.py", "test_rounds.py"}
"""History; and `begins: anew`, the value of a setting."""
FILES = [
    file
    for top in ("agents", "benchmarks", "docs", "envs", "notebooks", "src", "tests", "training", ".")
    for file in (ROOT / top).glob("*.md" if top == "." else "**/*")
    if file.suffix in (".py", ".md", ".toml", ".yaml", ".js", ".html") and file.name not in LEFT_OUT
]


@pytest.mark.parametrize("word", WORDS)
def test_no_word_of_our_own_comes_back(word: str) -> None:
    found = re.compile(rf"\b{word}\b")
    here = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in FILES
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if found.search(line)
    ]
    assert len(FILES) > 600
    assert not here, f"{word!r} is {WORDS[word]!r} here: {', '.join(here[:10])}"
