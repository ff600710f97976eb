"""The policies that come with the games: each is whole, plays without torch, and as it did when it was pretrained."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import CURVE_JSON
from backalley.agents.policies.pretrained import FOLDER, Pretrained, pretrained
from backalley.agents.policies.publish import DIGESTS_FILE
from backalley.agents.registry import agent
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.cases import BY_NAME, GAMES

MOST_BYTES = 12_000_000
"""Of all policies together: the package is downloaded with them."""
WITH_POLICIES = [game for game in GAMES if pretrained(game)]
EACH = pytest.mark.parametrize(
    ("game", "one"),
    [pytest.param(game, one, id=f"{game.name}-{one.name}") for game in WITH_POLICIES for one in pretrained(game)],
)


def test_they_are_small_together() -> None:
    files = [path for game in GAMES for path in (game.type.folder / FOLDER).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


@EACH
def test_it_can_be_made_again(game: Game, one: Pretrained) -> None:
    made = one.metadata["made"]
    assert made["command"].startswith(f"backalley train {game.spec}")
    assert made["commit"]
    assert not made["commit"].endswith("+changes"), "made from files that no commit holds"


@EACH
def test_the_learning_curve_beside_it_is_of_its_run(game: Game, one: Pretrained) -> None:
    path = one.folder / CURVE_JSON
    if not path.is_file():
        pytest.skip("made before runs had learning curves")
    found = json.loads(path.read_bytes())
    assert found["command"] == one.metadata["made"]["command"]
    each = found["command"].rpartition("--decisions ")[2].split(",")
    assert found["points"][-1]["decisions"] == sum(map(int, each))


@pytest.mark.slow
@pytest.mark.sampled
@EACH
def test_it_plays_under_all_options_it_serves(game: Game, one: Pretrained) -> None:
    """Each value with its own others, and all pairs of options together."""
    trained = game.type.bind(one.metadata["options"])
    PolicyAgent(one.folder, trained)
    values = [[(option, value) for value in served] for option, served in one.metadata["serves"].items()]
    sets = [pair for some in values for pair in ([item] for item in some)]
    sets += [list(pair) for some in itertools.combinations(values, 2) for pair in itertools.product(*some)]
    for given in sets:
        bound = trained.bind(dict(given))
        assert not one.others(bound)
        PolicyAgent(one.folder, bound)


@pytest.mark.parametrize("game", WITH_POLICIES, ids=lambda game: game.name)
def test_no_two_are_for_the_same_options(game: Game) -> None:
    options = [json.dumps(one.metadata["options"], sort_keys=True) for one in pretrained(game)]
    assert len(set(options)) == len(options)


@pytest.mark.parametrize("game", WITH_POLICIES, ids=lambda game: game.name)
def test_the_agent_policy_is_there_right_away(game: Game) -> None:
    assert agent("policy", game).name.startswith("policy:")


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="thousands of positions take minutes uncompiled")
@pytest.mark.parametrize("game", WITH_POLICIES, ids=lambda game: game.name)
def test_they_play_as_they_did_where_torch_cannot_be_imported(game: Game) -> None:
    """Whoever changed on purpose how they play, or what they see, writes the digests again:
    `backalley dev digests`."""
    code = (
        "import json, sys\nsys.modules['torch'] = sys.modules['stable_baselines3'] = None\n"
        "import backalley\nfrom backalley.agents.policies.publish import digest, pretrained\n"
        f"game = backalley.game({game.spec!r})\n"
        "print(json.dumps({one.name: digest(one, game) for one in pretrained(game)}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert json.loads(done.stdout) == json.loads((game.type.folder / FOLDER / DIGESTS_FILE).read_text("utf-8"))


@BY_NAME
def test_nothing_else_lies_there(game: Game) -> None:
    place = game.type.folder / FOLDER
    known = {one.folder.name for one in pretrained(game)} | ({DIGESTS_FILE} if pretrained(game) else set())
    assert {path.name for path in place.iterdir()} == known if place.exists() else not known
    for one in pretrained(game):
        assert {path.name for path in one.folder.iterdir()} - {CURVE_JSON} == {
            "README.md",
            "policy.json",
            "policy.safetensors",
        }
