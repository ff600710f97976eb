"""Games in words: what a seat may know, the rules by paragraph, and which answers are read as which action."""

from __future__ import annotations

import json
import random
import textwrap
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.rules.table import COLUMNS, broken
from backalley.envs.core.text import (
    UnreadableAnswer,
    event_texts,
    legal_texts,
    observation_text,
    paragraphs,
    read_among,
    read_answer,
    rules_text,
)
from backalley.examples.kuhn import GAME as KUHN
from tests.common.cases import BY_NAME


def position(game: backalley.Game, seed: int, decisions: int) -> GameState:
    """A position after that many random decisions, or the last one before the end."""
    state, chance = game.new_state(seed), random.Random(seed)
    for _ in range(decisions):
        after = state.clone()
        after.apply(chance.choice(state.legal_actions()))
        if after.is_over:
            break
        state = after
    return state


def test_an_observation_in_words() -> None:
    state = backalley.game("pitch", target=7).new_state(3, events=True)
    for action in ("bid 2", "bid 4"):
        state.apply(state.game.action_number(action))
    assert observation_text(state, 2).splitlines() == [
        "Game: Pitch, with these options:",
        "  target=7: points that win a game (takes 1..16383)",
        "You are seat 2, and play together with seat 0. To your left, in order, sit seat 3, seat 0, seat 1.",
        "",
        "What happened so far, as you saw it:",
        "seat 0: deals",
        "you: dealt 6C JC 3D 6D 7S AS",
        "seat 1: bid 2",
        "you: bid 4",
        "",
        "The table as you see it:",
        *state.table_str(2).splitlines(),
        "",
        "It is your turn.",
    ]
    assert observation_text(state, 1, since=None).endswith("It is the turn of seat 2.")
    assert "bid 4" not in observation_text(state, 1, since=None).partition("The table")[0]
    assert event_texts(state, 1)[-1] == "seat 2: bid 4"


def test_the_rules_by_paragraph() -> None:
    pitch = backalley.game("pitch")
    assert paragraphs(pitch)["§1.5"].startswith("### §1.5 Scores\n\nIf the bidding side")
    assert rules_text(pitch, "1.5") == rules_text(pitch, "§1.5") == paragraphs(pitch)["§1.5"]
    assert "### §1.6" in rules_text(pitch, "§1"), "a paragraph holds those under it"
    assert "### §1.10" not in rules_text(backalley.game("twenty_one"), "§1.1"), "§1.10 is not under §1.1"
    with pytest.raises(ValueError, match=r"The page of pitch has no paragraph '§9'; it has §1, §1.1, .*"):
        rules_text(pitch, "§9")
    with pytest.raises(ValueError, match="kuhn has no page"):
        paragraphs(backalley.game(KUHN))


def test_rules_that_begin_on_another_page_come_with_it() -> None:
    assert list(paragraphs(backalley.game("missouri_city")))[:8] == [
        "§1", "§1.1", "§1.2", "§1.3", "§1.4", "§1.5", "§1.6", "§2",
    ]  # fmt: skip
    assert "§2.1" not in paragraphs(backalley.game("backhand"))


@BY_NAME
def test_rules_in_words_hold_no_measurements_and_no_advice(game: backalley.Game) -> None:
    text = rules_text(game)
    assert "`" + game.action_str(0) + "`" in text, "the names of actions"
    for unwanted in ("<!--", "```", "](", "Bots", "Leaderboard", "95 %"):
        assert unwanted not in text


@BY_NAME
def test_every_legal_action_is_read_by_its_name(game: backalley.Game) -> None:
    for seed in range(5):
        state = position(game, seed, 7 * seed)
        for action, name in zip(state.legal_actions(), legal_texts(state), strict=True):
            for answer in (name, name.upper(), f'{{"action": "{name}"}}', f"  `{name}`. "):
                assert read_answer(state, answer) == action, answer


@BY_NAME
def test_a_refusal_says_what_was_given_and_what_is_legal(game: backalley.Game) -> None:
    state = position(game, 1, 4)
    with pytest.raises(UnreadableAnswer, match=r"'fold' is no action of .*\. Legal: ") as refusal:
        read_answer(state, "fold")
    assert legal_texts(state)[0] in str(refusal.value)


# Answers -------------------------------------------------------------------------------------------------------------


def corpus() -> dict[str, tuple[backalley.Game, list[int], list[dict[str, str | None]]]]:
    """Games, legal actions and answers with what they mean (None: to be refused), by the positions of answers.jsonl."""
    found: dict[str, tuple[backalley.Game, list[int], list[dict[str, str | None]]]] = {}
    for line in (Path(__file__).parent / "answers.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        if "position" in entry:
            game = backalley.game(entry["game"], **entry.get("options", {}))
            answers: list[dict[str, str | None]] = []
            found[entry["position"]] = game, [game.action_number(name) for name in entry["legal"]], answers
        else:
            answers.append(entry)
    return found


CORPUS = corpus()


@pytest.mark.parametrize("position", CORPUS)
def test_no_right_answer_is_refused_and_no_wrong_one_accepted(position: str) -> None:
    game, legal, answers = CORPUS[position]
    for entry in answers:
        try:
            read: str | None = game.action_str(read_among(game, legal, str(entry["answer"])))
        except UnreadableAnswer:
            read = None
        assert read == entry["action"], entry["answer"]


def test_the_corpus_has_right_and_wrong_answers_of_every_game() -> None:
    assert {game.name for game, _, _ in CORPUS.values()} == set(backalley.game_names())
    meant = [entry["action"] for _, _, answers in CORPUS.values() for entry in answers]
    assert len(meant) >= 3000
    assert min(meant.count(None), len(meant) - meant.count(None)) > 1000


def test_envelopes_in_envelopes_end() -> None:
    game = backalley.game("pitch")
    for deep in ("```\n" * 5000 + "pass" + "\n```" * 5000, "\\text{" * 20_000 + "}" * 20_000, "<answer>" * 20_000):
        with pytest.raises(UnreadableAnswer):
            read_among(game, [game.action_number("pass")], deep)


HOSTILE: list[tuple[Any, str]] = [
    ("x" * 100_000_000, "The answer has 100,000,000 characters; at most 200,000 are read"),
    ('{"a":' * 39_000, "nested too deeply"),
    ('{"action":' + "[" * 150_000, "nested too deeply"),
    ("{" * 200_000, "cannot be read to its end"),
    ('{"action": ' + "9" * 100_000 + "}", "is not an action and nothing else"),
    ('{"action": ' + "9" * 4000 + "}", "Kuhn poker has no action 999"),
    ('{"action": 1e400}', '"action" is inf'),
    ("{}" * 100_000, 'no "action"'),
    ('{"action": "' + "pass " * 30_000 + '"}', "is not an action and nothing else"),
    ("\x00\x1b[2J\u202e", r"'\x00\x1b[2J\u202e' is no action"),
    ("\ud800", "is no action"),
    (True, "The answer is of type bool"),
    (None, "The answer is of type NoneType"),
    (b"pass", "The answer is of type bytes"),
    (1.0, "The answer is of type float"),
    (-1, "Kuhn poker has no action -1"),
    (10**5000, "Kuhn poker has no action a int"),
]


@pytest.mark.parametrize(("answer", "says"), HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_answered_the_refusal_is_a_short_sentence(answer: Any, says: str) -> None:
    state = backalley.game(KUHN).new_state(1)
    with pytest.raises(UnreadableAnswer) as refusal:
        read_answer(state, answer)
    assert says in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert str(refusal.value).endswith("Legal: pass, bet.")


def test_nothing_is_read_where_nobody_is_to_act() -> None:
    state = backalley.game(KUHN).new_state(1)
    state.apply(0)
    state.apply(0)
    with pytest.raises(UnreadableAnswer, match="The game is over"):
        read_answer(state, "pass")


def test_lines_are_broken_as_textwrap_breaks_them() -> None:
    """Also those that are short enough, which it never sees."""
    chance, alphabet = random.Random(4), "ab-, .  \u00a0\u2660\t\n"
    for _ in range(3000):
        line = "".join(chance.choices(alphabet, k=chance.randrange(2 * COLUMNS))) + "ab" * chance.randrange(2)
        wrapped = textwrap.wrap(
            line, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False,
            replace_whitespace=False,
        )  # fmt: skip
        assert broken(line, "  ") == wrapped, repr(line)
