"""Frozen whole games replay as recorded, through the AEC environment, and a changed record is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backalley.envs.core.base import Game
from backalley.envs.core.playthrough import PlaythroughError, record, replay
from tests.cases import GAMES, marks

PATHS = [(game, path) for game in GAMES for path in sorted((game.type.folder / "playthroughs").glob("*.json"))]
FILES = [
    pytest.param(path, id=f"{game.name}/{path.name}", marks=[*found, pytest.mark.slow] if found else [])
    for game, path in PATHS
    for found in [marks(game, json.loads(path.read_text("utf-8"))["options"])]
]


@pytest.mark.parametrize("path", FILES)
def test_playthrough(path: Path) -> None:
    assert len(list(replay(path))) > 2


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_game_has_playthroughs_and_a_bots(game: Game) -> None:
    names = [path.name for path in (game.type.folder / "playthroughs").glob("*.json")]
    assert len(names) >= 3, "freeze at least three games: random, a bot's, and one under other options"
    assert any("random" not in name for name in names)
    assert any("-" in name.split("_seed")[0] for name in names)


@pytest.mark.parametrize("harm", ["move", "shown", "returns", "truncated", "version", "foreign", "missing"])
def test_a_playthrough_that_no_longer_holds_is_a_sentence(harm: str, tmp_path: Path) -> None:
    game = GAMES[0]
    kept = record(game, seed=5)
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(kept))
    assert list(replay(path))
    if harm == "move":
        seat, name = kept["moves"][0].split(": ")
        named = (game.action_str(action) for action in range(game.num_actions))
        other = next(found for found in named if found != name)
        kept["moves"][0] = f"{seat}: {other}"
    elif harm == "shown":
        kept["shown"][1] = "00000000"
    elif harm == "returns":
        kept["returns"][0] += 0.5
    elif harm == "truncated":
        kept["moves"].pop()
        kept["shown"].pop()
    elif harm == "version":
        kept["version"] += 1
    elif harm == "foreign":
        kept["format"] = "something else"
    else:
        del kept["decks"]
    path.write_text(json.dumps(kept))
    with pytest.raises(PlaythroughError, match=r"kept\.json"):
        list(replay(path))
