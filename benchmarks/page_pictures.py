"""Pictures on pages. Between the marks

    <!-- picture: GAME seed=7 decisions=9 -->
    <!-- /picture -->

stands the picture that `backalley picture` draws by these words, drawn anew with the pages. Files lie in
`docs/pictures`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from backalley.agents.registry import agent
from backalley.agents.watching import picture
from backalley.envs.core.catalogue import game as game_of

FOLDER = "docs/pictures"
_PART = re.compile(r"<!-- picture: (\w+)((?: \w+=[\w.]+)*) -->\n.*?<!-- /picture -->", re.DOTALL)
_FLAGS = ("seed", "decisions", "seat")
"""Words that are flags of the command; others are the game's options."""


def drawn(name: str, words: Mapping[str, str]) -> str:
    """The picture of a game's table, as `backalley picture` draws it."""
    game = game_of(name, **{key: value for key, value in words.items() if key not in _FLAGS})
    numbers = {key: int(value) for key, value in words.items() if key in _FLAGS}
    return picture(game, agent("bot", game), **{"seed": 0, "decisions": 0} | numbers)


def with_pictures(text: str, page: Path, root: Path) -> tuple[str, dict[Path, str]]:
    """The page with its pictures between their marks, and the files that these are, by path."""
    files: dict[Path, str] = {}

    def part(found: re.Match[str]) -> str:
        name, words = found[1], dict(word.split("=") for word in found[2].split())
        path = root / FOLDER / f"{name}.svg"
        files[path] = drawn(name, words)
        flags = [f"--{key} {value}" if key in _FLAGS else f"--option {key}={value}" for key, value in words.items()]
        lines = [
            f"<!-- picture: {name}{found[2]} -->",
            f"![A table of {game_of(name).title}]({os.path.relpath(path.resolve(), page.parent.resolve())})",
            "",
            "```sh",
            " ".join(["backalley picture", name, *flags, f"--out {FOLDER}/{name}.svg"]),
            "```",
            "<!-- /picture -->",
        ]
        return "\n".join(lines)

    return _PART.sub(part, text), files
