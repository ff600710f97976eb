"""Variants: the same play in other words, by a seed; what they are worth, and an agent that knows; none leaks."""

from __future__ import annotations

import json
import pickle
import re

import pytest

import backalley
from backalley import testing
from backalley.benchmarks.rules_to_code.score import score_rules
from backalley.benchmarks.rules_to_code.task import task
from backalley.benchmarks.variants.variants import HELD_OUT, play_digest
from backalley.envs.core.game.catalogue import own_games
from backalley.envs.core.text import legal_texts, observation_text, read_answer, rules_text
from backalley.llm import make_prompt
from backalley.testing.files import check_vectors
from tests.common.cases import BY_NAME, TWO_QUICK
from tests.common.commands import run

SEED = 17


@TWO_QUICK
@pytest.mark.sampled
def test_a_variant_says_everything_in_its_own_words(game: backalley.Game) -> None:
    variant = backalley.variants(game.name, SEED)[0]
    state = variant.game.new_state(seed=1, events=True)
    texts = [rules_text(variant.game), task(variant.game), observation_text(state, state.seat), *variant.rules.values()]
    old = re.compile(rf"(?<![\"=\w])(?:{'|'.join(variant.type.naming.words)})(?![\w=])", re.IGNORECASE)
    assert [found[0] for text in texts for found in old.finditer(text)] == []
    assert variant.type.reworded(texts[2]) == texts[2]
    assert [read_answer(state, text) for text in legal_texts(state)] == state.legal_actions()
    assert [variant.game.card_number(variant.game.card_name(card)) for card in variant.game.pack] == [
        *variant.game.pack
    ]
    assert variant.game.changed_options


def test_a_variant_is_a_game_that_any_process_finds() -> None:
    variant, again, other = (backalley.variants("pitch", seed)[0] for seed in (SEED, SEED, SEED + 1))
    assert variant.game == again.game == backalley.game(variant.type.spec) == pickle.loads(pickle.dumps(variant.game))
    assert variant.game.title != other.game.title
    assert variant.game.title in make_prompt(variant.game.new_state(seed=0, events=True))
    for name, seed in (("whist", 0), ("pitch", -1)):
        with pytest.raises(backalley.BackAlleyError):
            backalley.variants(name, seed)


@pytest.mark.parametrize("name", ["backhand", "pitch", "bezique"])
def test_it_plays_the_same_bytes_and_its_vectors_hold(name: str) -> None:
    variant = backalley.variants(name, SEED)[0]
    assert variant.play_digest == play_digest(variant.type.base.bind(variant.game.option_values))
    check_vectors(variant.game)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["backhand", "pitch"])
def test_it_leaks_nothing_and_its_reference_scores_everything(name: str) -> None:
    game = backalley.variants(name, SEED)[0].game
    testing.check_twins(game, pairs=20)
    testing.check_redraws(game)
    testing.check_events(game)
    assert score_rules(None, [game], hidden=4, seed=1).score == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["backhand", "pitch"])
def test_the_oracle_gains_what_the_variant_is_worth(name: str) -> None:
    variant = backalley.variants(name, SEED)[0]
    value, players = variant.value(), variant.players()
    assert value.by == ("exact" if name == "backhand" else "equilibrium")
    others = ["oracle"] if variant.game.num_seats > 1 else []
    report = backalley.evaluate(variant.game, [players[one] for one in ("oracle", *others)], deals=400)
    gain = report.agents[0].mean_return
    wanted = value.low if not others else 0.0  # every seat in turn
    assert abs(gain.mean - wanted) <= 4 * gain.half_width / 1.96 + 1e-3
    worse = backalley.evaluate(variant.game, [players["random"], *([players["oracle"]] if others else [])], deals=400)
    assert worse.agents[0].mean_return.mean < wanted


@pytest.mark.slow
@BY_NAME
@pytest.mark.sampled
def test_held_out_variants_are_what_was_published(game: backalley.Game) -> None:
    assert {*json.loads(HELD_OUT.read_text("utf-8"))} == {*own_games()}
    assert len(backalley.held_out(game.name)) == 5


def test_the_command_lists_them() -> None:
    found = run("variants", "backhand", "--seed", "3", "--count", "2")
    assert "2 variants" in found.output
    assert "--seed 3 --count 2" in found.output
