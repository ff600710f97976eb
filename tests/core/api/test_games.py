"""Games by name, bound to options, from inside and outside the package."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import backalley
from backalley.envs.core.files import gate
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules.record import Record, field
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.cases import BY_NAME


def test_one_game_however_its_options_are_spelt() -> None:
    by_word = backalley.game("pitch", joker="low_trump", target="11")
    declared = by_word.type.Options.__annotations__["joker"]
    assert declared is not None
    number = int(by_word.options.joker)
    by_number = backalley.game("pitch", joker=number, target=11)
    enum = type(by_word.type.Options._field_defaults["joker"])  # type: ignore[attr-defined]
    by_enum = backalley.game("pitch").bind(joker=enum(number), target=11)
    assert by_word == by_number == by_enum
    assert hash(by_word) == hash(by_number) == hash(by_enum)
    assert by_word != backalley.game("pitch", joker="low_trump")
    assert by_word != backalley.game("bezique")
    assert len({by_word, by_number, backalley.game("pitch")}) == 2


def test_what_is_shown_of_a_game_can_be_pasted() -> None:
    game = backalley.game("pitch", joker="low_trump", target=11)
    assert repr(game) == "backalley.game('pitch', target=11, joker='low_trump')"
    assert eval(repr(game)) == game
    assert repr(backalley.game("pitch")) == "backalley.game('pitch')"
    assert eval(repr(kuhn.GAME.bind(first=1))) == kuhn.GAME.bind(first=1)


@pytest.mark.parametrize(
    "name",
    ["poker_duel", "poker_duel-v0", "backalley/poker_duel-v0", "backalley/PokerDuel-v0", "PokerDuel", "poker-duel"],
)
def test_names_in_every_form(name: str) -> None:
    assert backalley.game(name) == backalley.game("poker_duel")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"seat": field("i1")}, "its State has no field 'reward'"),
        ({"reward": field("f4", 2)}, "its State has no field 'seat'"),
        ({"seat": field("u1"), "reward": field("f4", 2)}, "'seat' is of type 'u1'; it has to be a signed"),
        ({"seat": field("i1"), "reward": field("i4", 2)}, "'reward' is of type 'i4'; it has to be a 32-bit float"),
        ({"seat": field("i1"), "reward": field("f4")}, "'reward' has shape (); it has to be one number for each seat"),
    ],
)
def test_fields_that_every_state_has_are_checked_where_a_game_is_declared(fields: dict[str, object], says: str) -> None:
    with pytest.raises(TypeError, match=f"^kuhn: .*{re.escape(says)}"):
        dataclasses.replace(kuhn.GAME, State=type("State", (), fields))


def test_a_declaration_names_its_module() -> None:
    with pytest.raises(TypeError, match=r"^kuhn: its declaration names no module; write GameType\(module=__name__, "):
        dataclasses.replace(kuhn.GAME, module="")


def test_wrong_names_are_sentences() -> None:
    with pytest.raises(backalley.UnknownGame, match=r"no game 'poker_dual'; there are: .*Did you mean poker_duel\?"):
        backalley.game("poker_dual")
    with pytest.raises(backalley.UnknownGame, match="is here in version 0"):
        backalley.game("pitch-v7")
    with pytest.raises(backalley.UnknownGame, match="no module 'no_such'"):
        backalley.game("no_such.game")
    with pytest.raises(backalley.UnknownGame, match="declares no game"):
        backalley.game("tests.common.cases")
    for wrong in (None, 5, ["pitch"]):
        with pytest.raises(backalley.UnknownGame, match="named by a string"):
            backalley.game(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("game", [backalley.game("pitch", target=5), kuhn.GAME.bind(first=1)], ids=["own", "outside"])
def test_games_are_copied_and_pickled_by_their_import_path(game: backalley.Game) -> None:
    assert copy.deepcopy(game) == game
    assert pickle.loads(pickle.dumps(game)) == game
    assert pickle.loads(pickle.dumps(game.type)) is game.type
    batch = game.make_vec(3, seed=1)
    batch.reset()
    again = pickle.loads(pickle.dumps(batch))
    assert again.game == game


def test_a_declaration_without_a_name_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="import path of its declaration"):
        pickle.dumps(dataclasses.replace(kuhn.GAME, title="Another"))


def test_games_from_outside_by_path_and_by_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {})
    assert backalley.game("backalley.examples.kuhn") == kuhn.GAME.bind()
    assert backalley.game("backalley.examples.kuhn:GAME", first=1) == kuhn.GAME.bind(first=1)
    with pytest.raises(backalley.UnknownGame, match="no game 'kuhn'"):
        backalley.game("kuhn")
    assert backalley.register_game("backalley.examples.kuhn") is kuhn.GAME
    assert backalley.register_game(kuhn.GAME) is kuhn.GAME
    assert backalley.game("kuhn-v0") == kuhn.GAME.bind()
    assert "kuhn" in backalley.game_names()
    assert gymnasium.make("backalley/Kuhn-v0", opponent="random").unwrapped.game == kuhn.GAME.bind()
    report = backalley.evaluate("kuhn", ["bot", "random"], deals=20)
    assert report.deals == 20


def test_a_name_that_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME})
    for name in ("pitch", "kuhn"):
        with pytest.raises(ValueError, match="a game named"):
            backalley.register_game(dataclasses.replace(high_card.GAME, name=name))
    with pytest.raises(TypeError, match="by its GameType or its import path"):
        backalley.register_game(5)  # type: ignore[arg-type]


def test_a_game_that_was_edited_and_imported_again_takes_its_own_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME})
    edited = dataclasses.replace(kuhn.GAME, title="Kuhn, edited")
    with pytest.raises(ValueError, match="a game named"):
        backalley.register_game(edited)  # a copy, which its module does not declare
    monkeypatch.setattr(kuhn, "GAME", edited)
    assert backalley.register_game("backalley.examples.kuhn") is edited
    assert backalley.game("kuhn").title == "Kuhn, edited"


def test_a_game_that_cannot_be_loaded_does_not_stand_in_the_others_way(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("backhand", "broken")
    monkeypatch.setattr(catalogue, "own_games", lambda: names)
    monkeypatch.setattr(catalogue, "_registered", {})
    with pytest.warns(UserWarning, match="The game broken cannot be loaded"):
        assert [game.name for game in backalley.games()] == ["backhand"]


def test_a_game_without_bots_is_played_by_everybody_else() -> None:
    bare = dataclasses.replace(kuhn.GAME, bots=())
    assert isinstance(bare, GameType)
    assert bare.bind().bots == {}
    report = backalley.evaluate(bare, ["mc:2", "random"], deals=20)
    assert report.deals == 20
    with pytest.raises(ValueError, match="kuhn has no bots"):
        backalley.agent("bot", bare)


@pytest.mark.parametrize("value", [3, 300, -200, 2.5, True, np.int64(300), np.uint8(7), [1, 2], np.arange(3), "x"])
def test_a_record_reads_and_writes_as_numpys_does(value: Any) -> None:
    parts = [("seat", "i1"), ("hands", "u1", (2, 2)), ("units", "f4", 2)]
    kept = []
    for kind in (np.record, Record):
        rows = np.zeros(2, np.dtype((kind, parts)))
        found: list[Any] = [type(rows[1].hands), type(rows[1].seat)]
        for name in ("seat", "hands", "units", "trick", "dtype"):
            try:
                setattr(rows[1], name, value)
            except (AttributeError, OverflowError, ValueError, TypeError) as error:
                found.append(type(error))
        rows[0].hands[1, 0] = 9
        kept.append((found, rows.tobytes(), rows[1].units.tolist()))
        with pytest.raises(AttributeError, match="trick"):
            _ = rows[0].trick
        assert pickle.loads(pickle.dumps(rows)).dtype.type is kind
    assert kept[0] == kept[1]


@BY_NAME
def test_the_named_parts_of_an_observation_are_its_record(game: backalley.Game) -> None:
    """Each name's place in the flat vector holds what the record calls by that name, within its bounds."""
    batch = game.make_vec(8, seed=3)
    step = batch.reset()
    for _ in range(12):
        flat = step.observation
        record = game.records(flat.copy())
        covered = np.zeros(game.observation_size, int)
        for name, place in game.observation_fields.items():
            part = flat[:, place.start : place.stop]
            assert np.array_equal(part.reshape(-1, *place.shape), record[name].reshape(-1, *place.shape)), name
            assert ((part >= place.low) & (part <= place.high)).all(), name
            assert place.doc, f"{name} says nothing of itself"
            covered[place.start : place.stop] += 1
        assert (covered == 1).all()
        step = batch.step(step.action_mask.argmax(1))


# Games of installed packages -----------------------------------------------------------------------------------------


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Installs a package that offers games: writes what an installer writes, beside the packages of this Python."""

    def write(package: str, games: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[backalley.games]\n{games}\n")
        catalogue._offered.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(catalogue, "_registered", {})
    yield write
    catalogue._offered.cache_clear()


KUHN = "kuhn = backalley.examples.kuhn"


def test_games_of_installed_packages_have_names_too(install: Callable[[str, str], None]) -> None:
    install("mycards", f"{KUHN}\nleduc = backalley.examples.leduc:GAME")
    assert {"kuhn", "leduc", "pitch"} <= set(backalley.game_names())
    assert backalley.game("kuhn-v0", first=1) == kuhn.GAME.bind(first=1)
    assert backalley.game("leduc").title == "Leduc poker"
    assert {found.name for found in backalley.games()} >= {"kuhn", "leduc", "pitch"}
    assert gate.game_in({"game": "kuhn", "version": 0, "options": {}}) == kuhn.GAME.bind()
    with pytest.raises(backalley.UnknownGame, match="kuhn is here in version 0"):
        backalley.game("kuhn-v1")
    gymnasium.registry.pop("backalley/Kuhn-v0", None)
    backalley.register_gymnasium()
    assert gymnasium.make("backalley/Kuhn-v0", opponent="random").unwrapped.game == kuhn.GAME.bind()
    assert backalley.register_game("backalley.examples.kuhn") is kuhn.GAME
    assert backalley.game("kuhn").type is kuhn.GAME


def test_a_name_belongs_to_one_package(install: Callable[[str, str], None]) -> None:
    install("mycards", KUHN)
    with pytest.raises(ValueError, match="The package mycards has a game named 'kuhn' already"):
        backalley.register_game(dataclasses.replace(high_card.GAME, name="kuhn"))
    install("yours", "kuhn = yours.kuhn")
    with pytest.raises(backalley.UnknownGame) as both:
        backalley.game("kuhn")
    for said in ("mycards", "yours", "uninstall one", "backalley.examples.kuhn", "yours.kuhn"):
        assert said in str(both.value)
    assert backalley.game("pitch").name == "pitch"
    with pytest.warns(UserWarning, match="kuhn cannot be loaded: UnknownGame: The packages"):
        assert "kuhn" not in [found.name for found in backalley.games()]


def test_a_name_of_ours_stays_ours(install: Callable[[str, str], None]) -> None:
    install("mycards", "Pitch = mycards.pitch\nkuhn = backalley.examples.leduc\nnone = mycards.none")
    with pytest.warns(UserWarning, match="The package mycards offers a game named 'Pitch', as one of the package back"):
        assert "Pitch" not in backalley.game_names()
    assert backalley.game("Pitch").type.module == "backalley.envs.pitch.game"
    with pytest.raises(backalley.UnknownGame, match="by the name 'kuhn'; its name is 'leduc'"):
        backalley.game("kuhn")
    with pytest.raises(backalley.UnknownGame, match="no module 'mycards' can be imported"):
        backalley.game("none")


def test_another_process_knows_them_and_imports_none_before_it_is_named(
    install: Callable[[str, str], None], tmp_path: Path
) -> None:
    install("mycards", KUHN)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import backalley
from backalley.envs.core.files import gate
from backalley.envs.core.files import gate
from backalley.envs.core.game import catalogue

backalley.make("pitch")
assert not catalogue._offered.cache_info().currsize, "reading what is installed takes long"
assert "kuhn" in backalley.game_names()
for name in ("backalley.examples.kuhn", "mycards"):
    try:
        gate.game_in({{"game": name, "version": 0, "options": {{}}}})
    except ValueError as error:
        assert "no game" in str(error), error
    else:
        raise AssertionError("a file named a module")
assert "backalley.examples.kuhn" not in sys.modules
print(backalley.game("kuhn").title)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "Kuhn poker\n", done.stderr
