"""Every game keeps what every game promises, under every option, its rules as cases and its frozen games:
`backalley.testing` over whatever games are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from backalley import testing
from backalley.benchmarks.rules_to_code.scripts import vector_cases
from backalley.envs.core.files.playthrough import PlaythroughError, record, replay
from backalley.envs.core.game.game import Game
from backalley.testing.files import check_case, check_playthrough
from tests.common.cases import BY_NAME, CASES, GAMES, marks

Check = Callable[[Game], str]
UNDER_EVERY_OPTION: list[Check] = [
    testing.check_play,
    testing.check_redraws,
    testing.check_events,
    testing.check_bots,
    testing.check_batch,
]
BY_DEFAULT = [
    testing.check_seeds,
    testing.check_threads,
    testing.check_copies,
    testing.check_state,
    pytest.param(partial(testing.check_texts, episodes=1), marks=pytest.mark.slow, id="check_texts"),
]
AEC = [
    testing.check_aec_masks,
    testing.check_aec_seeds,
    testing.check_aec_observations,
    partial(testing.check_aec_ends, steps=3000),
]


@pytest.mark.parametrize("game", CASES)
@pytest.mark.parametrize("check", UNDER_EVERY_OPTION, ids=lambda check: check.__name__)
def test_under_every_option(check: Check, game: Game) -> None:
    check(game)


@BY_NAME
@pytest.mark.parametrize("check", BY_DEFAULT, ids=lambda check: getattr(check, "__name__", None))
def test_by_default(check: Check, game: Game) -> None:
    check(game)


@BY_NAME
@pytest.mark.parametrize("check", AEC, ids=["masks", "seeds", "observations", "ends"])
def test_as_a_pettingzoo_environment(check: Callable[..., str], game: Game) -> None:
    assert not check(game.make).startswith("Not tried")


@BY_NAME
def test_stacked_decks_are_dealt_at_each_table(game: Game) -> None:
    deck = list(range(game.cards_drawn if game.type.with_replacement(game.options) else game.deck_size))
    deck = [number % game.deck_size for number in deck][::-1]
    options = {"decks": [deck, deck], "start_outcome": game.num_start_outcomes - 1}
    testing.check_batch(game, seed=7, steps=120, options=options)


# The rules as cases: every `vectors.toml`. The format is CONTRIBUTING.md's --------------------------------------------


VECTORS = [
    pytest.param(
        game,
        case,
        id=f"{game.name}-{number}-{case['rule']}-{case['says'][:50]}",
        marks=marks(game, case.get("options", {})),
    )
    for game in GAMES
    for number, case in enumerate(vector_cases(game))
]


@pytest.mark.parametrize(("game", "case"), VECTORS)
def test_rule(game: Game, case: dict[str, Any]) -> None:
    check_case(game, case)


@BY_NAME
def test_every_game_has_its_rules_as_cases(game: Game) -> None:
    assert vector_cases(game)


# Frozen games replay as recorded, and a changed record is noticed -----------------------------------------------------


PATHS = [(game, path) for game in GAMES for path in sorted((game.type.folder / "playthroughs").glob("*.json"))]
FILES = [
    pytest.param(path, id=f"{game.name}/{path.name}", marks=[*found, pytest.mark.slow] if found else [])
    for game, path in PATHS
    for found in [marks(game, json.loads(path.read_text("utf-8"))["options"])]
]


@pytest.mark.parametrize("path", FILES)
def test_playthrough(path: Path) -> None:
    check_playthrough(path)


@BY_NAME
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
