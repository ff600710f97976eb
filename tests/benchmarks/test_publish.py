"""How policies come with a game, shown on a tiny one: found by their folders, chosen by options, and pretrained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.agents.policies import pretrained
from backalley.agents.policies import publish as shipping
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import CURVE_JSON, JSON_FILE, PolicyFileError, read_metadata
from backalley.agents.policies.publish import DIGESTS_FILE, publish_policy
from backalley.agents.registry import agent
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.commands import run
from tests.common.tiny_policies import elsewhere, made, residual


@pytest.fixture
def game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    found = elsewhere(tmp_path, monkeypatch, kuhn)
    monkeypatch.chdir(tmp_path)
    return found


# Which one plays -----------------------------------------------------------------------------------------------------


def test_without_a_policy_the_sentence_says_how_to_train_one(game: Game) -> None:
    with pytest.raises(pretrained.NoPolicy) as caught:
        agent("policy", game.bind(first=1))
    assert str(caught.value) == (
        f"{game.name} comes with no policy. Train one: backalley train {game.spec} --option first=1"
    )
    with pytest.raises(
        ValueError, match=r"an agent is random, human, bot, bot:random, search\[:DETERMINIZATIONS\[:MILL"
    ):
        agent("nobody", game)


def test_the_policy_for_the_options_is_played(game: Game, tmp_path: Path) -> None:
    other = game.bind(first=1)
    publish_policy(made(tmp_path / "one", game, 1), "b_first", game)
    with pytest.raises(pretrained.NoPolicy) as caught:
        agent("policy", other)
    assert str(caught.value) == (
        f"No policy that comes with {game.name} serves first=1: policy:b_first is for first=0. By name policy:b_first "
        f"would play all the same, as well as can be. Train one: backalley train {game.spec} --option first=1"
    )
    publish_policy(made(tmp_path / "two", other, 2), "a_second", other)
    assert agent("policy", game).name == "policy:b_first"
    assert agent("policy", other).name == "policy:a_second"
    named = agent("policy:a_second", game)
    assert named.note == "It was trained under first=1, and plays under first=0 here."
    with pytest.raises(
        pretrained.NoPolicy, match=r"no policy 'third'; it comes with policy:a_second, policy:b_first\."
    ):
        agent("policy:third", game)
    with pytest.raises(
        ValueError, match=r"bot:random, policy, policy:a_second, policy:b_first, search\[.*mean policy\?"
    ):
        agent("polcy", game)
    report = backalley.evaluate(game, ["policy", "random"], deals=16)
    assert report.agents[0].name == "policy:b_first"


def test_a_policy_plays_options_it_serves_but_its_own_come_first(game: Game, tmp_path: Path) -> None:
    other = game.bind(first=1)
    place = publish_policy(made(tmp_path / "one", game, 1), "broad", game, {"first": ["0", "1"]})
    assert read_metadata(place)["serves"] == {"first": [1]}
    assert agent("policy", other).name == "policy:broad"
    publish_policy(made(tmp_path / "two", other, 2), "narrow", other)
    assert agent("policy", other).name == "policy:narrow"
    assert agent("policy", game).name == "policy:broad"


def test_a_folder_of_that_name_does_not_stand_in_the_way(game: Game, tmp_path: Path) -> None:
    made(tmp_path / "policy", game)
    with pytest.raises(
        pretrained.NoPolicy, match=r"comes with no policy\..* \(The folder of that name here is ./policy\.\)"
    ):
        agent("policy", game)
    for spec in ("./policy", "policy/", Path("policy"), str(tmp_path / "policy")):
        assert agent(spec, game).name == "run-s0"
    publish_policy(Path("policy"), "own", game)
    assert agent("policy", game).name == "policy:own"
    assert agent("./policy", game).name == "run-s0"
    for name in ("bot", "random"):
        made(tmp_path / name, game)
        assert agent(name, game).name in ("bot:random", "random")


def test_a_policy_that_corrects_a_bot_is_called_that(game: Game, tmp_path: Path) -> None:
    publish_policy(made(tmp_path / "one", game, player=residual(game)), "standard", game)
    found = agent("policy", game)
    assert (found.name, found.note) == (
        "policy:standard (random + residual)",
        "It is bot:random with a learned residual.",
    )
    assert "It is bot:random with a learned residual." in backalley.evaluate(game, [found, "bot"], deals=4).table()


def test_a_damaged_policy_is_reported(game: Game, tmp_path: Path) -> None:
    place = publish_policy(made(tmp_path / "one", game), "standard", game)
    (place / JSON_FILE).write_text("{")
    with pytest.raises(PolicyFileError, match="not JSON"):
        agent("policy", game)


def test_games_and_their_page_name_the_policies(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_policy(made(tmp_path / "one", game), "standard", game)
    catalogue.register_game(game.type)
    monkeypatch.setattr(catalogue, "own_games", lambda: ("backhand",))
    lines = run("games").output.splitlines()
    assert next(line for line in lines if line.startswith(game.id)).split()[-5:-3] == ["random", "standard"]
    assert "policy:NAME" in run("--help").output


# Shipping ------------------------------------------------------------------------------------------------------------


def test_a_shipped_policy_plays_as_the_one_it_was_copied_from(game: Game, tmp_path: Path) -> None:
    source = made(tmp_path / "run" / "policy", game, player=residual(game), seed=3)
    place = publish_policy(tmp_path / "run", "standard", game)
    digests = place.parent / DIGESTS_FILE
    assert place == game.type.folder / "policy" / "standard"
    one, other = PolicyAgent(source, game), PolicyAgent(place, game)
    assert one.identity == other.identity
    assert read_metadata(place)["made"] == read_metadata(source)["made"]
    (digest,) = json.loads(digests.read_text("utf-8")).values()
    assert digest == shipping.digest_of_play(one, game)
    publish_policy(made(tmp_path / "second", game, seed=4), "standard", game)  # takes its place
    assert json.loads(digests.read_text("utf-8")) != {"standard": digest}


def test_the_learning_curve_of_the_run_comes_along(game: Game, tmp_path: Path) -> None:
    """Up to the policy: a run may go on with attacks on it, or with phases that its gates refuse."""
    command = "backalley train kuhn --decisions 20,30"
    made(tmp_path / "run" / "policy", game, command=command)
    points = [{"decisions": float(decisions)} for decisions in (10, 20, 50, 60)]
    (tmp_path / "run" / CURVE_JSON).write_text(json.dumps({"command": f"{command},40", "points": points}))
    wanted = {"command": command, "points": points[:3]}
    for source in (tmp_path / "run", tmp_path / "run" / "policy"):
        place = publish_policy(source, "standard", game)
        assert json.loads((place / CURVE_JSON).read_text("utf-8")) == wanted
    again = publish_policy(place, "standard", game)
    assert json.loads((again / CURVE_JSON).read_text("utf-8")) == wanted, "it stays where it came along"
    publish_policy(made(tmp_path / "alone", game, 2), "standard", game)
    assert not (place / CURVE_JSON).exists(), "another policy's is no longer there"
    (tmp_path / "run" / CURVE_JSON).write_text("{")
    with pytest.raises(PolicyFileError, match=r"The learning curve .* cannot be read: it is not JSON"):
        publish_policy(tmp_path / "run", "standard", game)


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"commit": "0123abc+changes"}, r"from files that no commit holds \(0123abc\+changes\)"),
        ({"commit": None}, "does not say by which command and commit"),
        ({"command": None}, "does not say by which command and commit"),
    ],
)
def test_what_nobody_could_make_again_is_not_shipped(game: Game, tmp_path: Path, about: Any, says: str) -> None:
    with pytest.raises(PolicyFileError, match=says):
        publish_policy(made(tmp_path / "one", game, **about), "standard", game)
    assert not (game.type.folder / "policy").exists()


def test_what_cannot_be_shipped_is_reported(game: Game, tmp_path: Path) -> None:
    source = made(tmp_path / "one", game)
    for name in ("", "Two", "a b", "../up", "3"):
        with pytest.raises(PolicyFileError, match="is no name for a policy"):
            publish_policy(source, name, game)
    with pytest.raises(ValueError, match="has no option 'second'"):
        publish_policy(source, "standard", game, {"second": ["1"]})
    publish_policy(source, "standard", game)
    with pytest.raises(PolicyFileError, match="policy:standard is for the same options"):
        publish_policy(source, "another", game)


def test_options_that_show_something_else_cannot_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = elsewhere(tmp_path, monkeypatch, high_card)
    place = publish_policy(made(tmp_path / "one", wide), "standard", wide, {"seats": [2, 4]})
    assert agent("policy", wide.bind(seats=4)).name == "policy:standard"
    with pytest.raises(pretrained.NoPolicy, match=r"serves seats=1: policy:standard is for seats=3\|2\|4\. By name"):
        agent("policy", wide.bind(seats=1))
    monkeypatch.setattr(shipping, "observation_layout", lambda game: [game.num_seats])
    with pytest.raises(PolicyFileError, match=f"Under seats=2 {wide.name} shows another observation"):
        publish_policy(place, "standard", wide, {"seats": [2]})


def test_the_commands_ship_and_write_digests(game: Game, tmp_path: Path) -> None:
    source = made(tmp_path / "one", game)
    words = ["dev", "publish", str(source), "standard", "--game", game.spec, "--serves", "first=1"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    path = game.type.folder / "policy" / "digests.json"
    before = json.loads(path.read_text())
    path.write_text("{}")
    assert run("dev", "digests", game.spec).exit_code == 0
    assert json.loads(path.read_text()) == before
