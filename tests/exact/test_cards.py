"""Strategy cards: a known optimum is found, a card loses exactly what it states, and broken files are refused."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.base.card import CardAgent, number_names
from backalley.agents.registry import agent
from backalley.benchmarks.cards.growing import StrategyCard, strategy_card
from backalley.benchmarks.cards.imitating import card_of_agent
from backalley.benchmarks.cards.page import HEIGHT, WIDTH, page
from backalley.benchmarks.exact.agent_values import agent_values
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.drawing.pictures.pixels import pdf
from backalley.envs.core.files.gate import CHECK, with_checksum
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from tests.exact.test_agent_values import ALONE, SOLUTION

BACKHAND = game_of("backhand")
PITCH = game_of("pitch").bind(preset="small")
SECTIONS: list[dict[str, Any]] = [
    {"legal": [0, 1], "rules": [{"number": 0, "least": 1, "yes": 1, "no": 2}, {"play": 0}, {"play": 1}]}
]


def found(**settings: Any) -> StrategyCard:
    return strategy_card(ALONE, SOLUTION, deals=60, **settings)


def test_the_optimum_of_a_tiny_game_is_found_without_loss_and_no_smaller_card_has_it() -> None:
    card = found(loses=0.0)
    assert card.curve[-1].loss == pytest.approx(0.0, abs=1e-12)
    assert card.curve[-1].error == 0
    assert all(one.loss > 1e-9 for one in card.curve[:-1])
    assert [one.leaves for one in card.curve] == [*range(card.curve[0].leaves, card.curve[-1].leaves + 1)]


@pytest.mark.parametrize("loses", [0.0, 0.02, 1.0])
def test_a_card_loses_what_it_states_and_no_more_than_was_asked(loses: float) -> None:
    card = found(loses=loses)
    made = CardAgent(ALONE, card.sections)
    values = agent_values(ALONE, [made], SOLUTION)
    assert values.gap(values.agents[0]) == pytest.approx(card.curve[-1].loss, abs=1e-12)
    assert card.curve[-1].loss <= loses + 1e-12
    assert card.curve[-1].leaves == made.size


def test_what_no_card_can_keep_is_refused() -> None:
    with pytest.raises(ValueError, match="loses is -1"):
        found(loses=-1.0)
    with pytest.raises(ValueError, match="No card of toy with at most 40 leaves loses at most 0: the best found loses"):
        strategy_card(ALONE, dataclasses.replace(SOLUTION, best_return=1.0), loses=0.0, deals=5)


def write(path: Path, **changes: Any) -> Path:
    good = CardAgent(BACKHAND, SECTIONS).to_json()
    kept = {name: value for name, value in {**good, **changes}.items() if value is not None and name != CHECK}
    path.write_text(json.dumps(with_checksum(kept)), "utf-8")
    return path


def test_a_file_plays_as_the_card_did(tmp_path: Path) -> None:
    played = agent(f"card:{write(tmp_path / 'mine.json')}", BACKHAND)
    assert isinstance(played, CardAgent)
    assert played.name == "card:mine"
    shown = np.zeros((3, BACKHAND.observation_size), BACKHAND.observation_base)
    mask = np.zeros((3, BACKHAND.num_actions), np.int8)
    shown[1, 0] = 1
    mask[:2, :2] = 1
    mask[2, 1] = 1
    assert played.choose(shown, mask, np.zeros(3, np.uint64)).tolist() == [1, 0, 1]


def rules(*nodes: Any, legal: Any = (0, 1)) -> list[Any]:
    return [{"legal": [*legal], "rules": [*nodes]}]


BROKEN = [
    ({"kind": "solution"}, "kind is 'solution'"),
    ({"game": "os.path"}, "There is no game"),
    ({"version": 9}, "version 9"),
    ({"sections": None}, "has no sections"),
    ({"more": 1}, "an entry 'more'"),
    ({"sections": rules()}, "needs rules"),
    ({"sections": rules({"play": 0}, legal=(99,))}, "legal actions below"),
    ({"sections": rules({"play": 2})}, "plays action 2, which is not legal"),
    ({"sections": rules({"number": 0, "least": 1, "yes": 0, "no": 0})}, "form no tree"),
    ({"sections": rules({"play": 0}, {"number": 0, "least": 1, "yes": 1, "no": 2}, {"play": 0})}, "before it"),
    ({"sections": rules({"number": 9999, "least": 1, "yes": 1, "no": 2}, {"play": 0}, {"play": 1})}, "number 9999"),
    ({"sections": rules({"play": "__import__"})}, "has no number"),
    ({"base": "cmd:sh"}, "its base is 'cmd:sh'; it takes one of random, bot"),
    ({"base": "human"}, "its base is 'human'"),
]


@pytest.mark.parametrize(("changes", "why"), BROKEN)
def test_broken_files_are_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    path = write(tmp_path / "card.json", **changes)
    said = rf"{re.escape(str(path))} cannot be played as a strategy card: .*{why}.*\."
    with pytest.raises(ValueError, match=said):
        agent(f"card:{path}", BACKHAND)


def test_a_changed_file_and_a_card_of_another_game_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "card.json")
    with pytest.raises(ValueError, match=r"is a card for .*backhand.*, not for .*buffalo_bayou"):
        agent(f"card:{path}", game_of("buffalo_bayou"))
    path.write_text(path.read_text("utf-8").replace('"least": 1', '"least": 2'), "utf-8")
    with pytest.raises(ValueError, match="it was changed since it was written"):
        agent(f"card:{path}", BACKHAND)


def test_the_page_is_of_size_a6_and_says_what_the_card_says() -> None:
    card = CardAgent(BACKHAND, SECTIONS)
    drawn = page(card, "It loses nothing.")
    assert f'viewBox="0 0 {WIDTH} {HEIGHT}"' in drawn
    assert all(line in drawn for line in card.words())
    assert pytest.approx(105 / 148, abs=0.002) == WIDTH / HEIGHT
    pytest.importorskip("PIL", reason="the extra pictures is not installed")
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf(drawn))
    assert box is not None
    assert [float(side) / 72 * 25.4 for side in box.groups()] == pytest.approx([105, 148], abs=0.5), "in millimetres"


def test_every_number_of_every_game_has_a_name_of_its_own() -> None:
    for name in game_names():
        game = game_of(name)
        names = number_names(game)
        assert len(names) == len({*names}) == game.observation_size, name


@pytest.mark.parametrize(
    ("game", "said"),
    [
        ("backhand", {"left (value 3)", "hand type (push)", "total"}),
        ("missouri_city", {"total (mine)", "hand (opponent's, card 2)"}),
        ("pitch", {"trump (not yet known)", "hand (QH)", "void (2, spades)", "bids (1, pass)"}),
    ],
)
def test_names_say_which_entry_a_number_is(game: str, said: set[str]) -> None:
    assert said <= {*number_names(game_of(game))}


def test_a_number_that_is_0_or_1_is_asked_for_by_its_name_alone() -> None:
    assert CardAgent(BACKHAND, SECTIONS).words()[1] == "  to act:"


@pytest.mark.parametrize("name", ["backhand", "missouri_city"])
def test_a_card_of_an_agent_loses_what_it_states_on_fresh_decks(name: str) -> None:
    game = game_of(name)
    card = card_of_agent(game, "bot", loses=0.3, deals=400)
    last = card.curve[-1]
    assert last.upper <= 0.3
    assert card.base == ""
    made = CardAgent(game, card.sections)
    assert made.size == last.leaves
    report = evaluate(game, [made, "bot"], deals=1000, seed=99)
    lead = report.agents[0].mean_return if game.num_seats > 1 else report.differences[0]
    loss = -lead.mean if game.num_seats > 1 else lead.mean
    assert loss <= last.loss + 3 * (last.error + lead.half_width / 1.96)
    assert loss >= last.loss - 3 * (last.error + lead.half_width / 1.96)


def test_a_card_for_a_phase_leaves_the_rest_to_its_base(tmp_path: Path) -> None:
    card = card_of_agent(PITCH, "bot", loses=2.0, deals=20, actions="bid")
    path = tmp_path / "bids.json"
    path.write_text(json.dumps(CardAgent(PITCH, card.sections, base=("bot", agent("bot", PITCH))).to_json()), "utf-8")
    bids = {*PITCH.type.phases["bid"]}
    assert all({*one["legal"]} <= bids for one in card.sections)
    made = agent(f"card:{path}", PITCH)
    phases = evaluate(PITCH, [made, f"bid=card:{path},play=bot"], deals=20)
    assert phases.agents[0].mean_return.mean == phases.agents[1].mean_return.mean == 0
    env = PITCH.make_vec(64, seed=1)
    env.reset()
    found = 0
    for _ in range(12):
        view = view_of(env, np.arange(64), np.arange(64, dtype=np.uint64))
        actions, others = made.act(view), agent("bot", PITCH).act(view)
        play = ~view.action_mask[:, sorted(bids)].any(1)
        assert (actions[play] == others[play]).all()
        found += play.sum()
        env.step(actions)
    assert found > 0


def test_what_no_card_can_be_made_of_is_refused() -> None:
    with pytest.raises(ValueError, match="give a regular expression that fits the names of two or more actions"):
        card_of_agent(PITCH, "bot", actions="fly")
    with pytest.raises(ValueError, match=r"'\(', which is no regular expression"):
        card_of_agent(PITCH, "bot", actions="(")
    with pytest.raises(ValueError, match="needs an agent for the rest: its base is 'search:4'; it takes one of random"):
        card_of_agent(PITCH, "search:4", actions="bid")
    with pytest.raises(ValueError, match=r"the best found loses [0-9.]+ ± "):
        card_of_agent(BACKHAND, "bot", loses=0.0, deals=20)
