"""What vectors cannot say of Missouri City Backhand: what its bots do where the source reasons, and what a match is
worth."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks.exact.best_play import BestPlay
from backalley.benchmarks.studies.strength.stages import TABLES, stages
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.rules import cards
from backalley.envs.missouri_city import bot as bots
from backalley.envs.missouri_city import rules
from tests.common.cases import asked, by_count
from tests.common.commands import run

GAME = backalley.game("missouri_city")


def source_examples() -> list[dict[str, Any]]:
    """The vectors of the source's five examples, in their order."""
    cases = tomllib.loads((GAME.type.folder / "vectors.toml").read_text("utf-8"))["case"]
    return [case for case in cases if case["says"].startswith("Source example")]


def at_source(example: int, plays: int, **options: Any) -> AECEnv:
    """One of the source's examples, from 1, after so many plays of it."""
    case = source_examples()[example - 1]
    env = AECEnv(GAME.bind({**case["options"], **options}))
    env.reset(seed=0, options={"decks": case["decks"]})
    for action in [step["action"] for step in case["step"] if "action" in step][:plays]:
        env.step(GAME.action_number(action))
    return env


REASONED = [
    ("1a", 1, 0, "push", "19 against a shown ten"),
    ("1a", 1, 1, "push", "18 against a shown ten"),
    ("1b", 1, 2, "push", "17 against a shown ten"),
    ("1c", 1, 3, "hit", "14: even an eight, the lowest card to pass 21, makes the dealer total 18"),
    ("1d", 1, 4, "hit", "the same for red, whose backhand was the poorer choice"),
    ("1e", 1, 5, "backhand", "17 against a shown six: whatever passes 21 beats the dealer"),
    ("2a", 2, 2, "hit", "12 against a shown seven: only a ten passes 21, and makes the dealer total 17"),
    ("2b", 2, 1, "push", "20 against a shown king"),
    ("2e", 2, 4, "backhand", "20 against a shown ten"),
    ("2f", 2, 5, "backhand", "16 against a shown seven, where red's hand is level with the dealer"),
    ("3a", 3, 0, "backhand", "16 takes advantage of a shown two"),
    ("3b", 3, 1, "backhand", "15 takes advantage of it too, and stays under green's 16"),
    ("4a", 4, 0, "hit", "12 against a shown five: only a ten passes 21, and makes the dealer total 15"),
    ("4b", 4, 1, "hit", "the same for green"),
    ("4c", 4, 2, "backhand", "16 against a shown six"),
    ("4d", 4, 3, "backhand", "16 against a shown six, level with red's 16"),
    ("5a", 5, 0, "backhand", "15 takes advantage of a weak first show card, a two"),
    ("5b", 5, 1, "hit", "16: red has won with 15, which a backhand would not beat"),
    ("5b", 5, 2, "hit", "17: nothing but five cards can win"),
    ("5c", 5, 3, "hit", "20: still nothing but five cards"),
]


@pytest.mark.parametrize(("figure", "example", "plays", "action", "why"), REASONED)
def test_the_inventor_plays_as_the_source_reasons(figure: str, example: int, plays: int, action: str, why: str) -> None:
    env = at_source(example, plays)
    assert env.engine.batch.mask[0].sum() > 1, "no choice, no reasoning"
    assert asked(env, "inventor") == action, f"{figure}: {why}"


@pytest.mark.parametrize(("plays", "total"), [(1, 16), (2, 17), (3, 20)])
@pytest.mark.parametrize("bot", list(GAME.bots))
def test_nobody_calls_backhand_where_only_five_cards_can_win(bot: str, plays: int, total: int) -> None:
    """Source example 5: red has won its hand with a player total of 15, which none of green's backhands would beat."""
    env = at_source(5, plays)
    assert env.engine.batch.state[0].total[0] == total
    assert asked(env, bot) == "hit"


def score(lead: int, left: int, **options: Any) -> AECEnv:
    """The source's fifth example, with green to play on alone, in a match with that score."""
    env = at_source(5, 1, num_games=10, **options)
    state = env.engine.batch.state[0]
    state.game = 10 - left
    state.games_won[:] = max(lead, 0), max(-lead, 0)
    env.engine.show_one()
    return env


@pytest.mark.parametrize(
    ("lead", "left", "options", "expected"),
    [
        (0, 1, {}, (1, 0, -1)),
        (1, 1, {}, (1, 0.5, 0)),
        (0, 1, {"stalemate": "draw"}, (1, 0, -1)),
        (1, 1, {"stalemate": "draw"}, (1, 1, 0)),
        (-1, 1, {"stalemate": "draw"}, (0, -1, -1)),
        (3, 2, {}, (1, 0, -1)),
    ],
)
def test_a_stalemate_is_worth_what_the_score_makes_of_it(
    lead: int, left: int, options: dict[str, Any], expected: tuple[float, ...]
) -> None:
    """The winner of a match that is decided still plays for the game."""
    env = score(lead, left, **options)
    assert bots.worths(env.game.options, env.engine.batch.observation[0]) == pytest.approx(expected)


@pytest.mark.parametrize("stalemate", ["replay", "draw"])
def test_before_a_deal_the_leaf_value_is_what_comes_of_the_score(stalemate: str) -> None:
    """Over matches of three games of `planner` with itself, by the score after the first."""
    game = GAME.bind(stalemate=stalemate, num_games=3)
    states, paid = by_count(game, "bot", "game", 4000 if COMPILED else 60, seed=3)
    states, paid = states[states["game"] == 1], paid[states["game"] == 1]
    hoped, theirs = (np.array([rules.leaf_value(game.options, one, seat) for one in states]) for seat in range(2))
    assert (hoped == -theirs).all()
    found = {value: paid[hoped == value].mean() for value in np.unique(hoped)}
    assert len(found) == (2 if stalemate == "replay" else 3)
    for value, mean in found.items():
        assert mean == pytest.approx(value, abs=0.08 if COMPILED else 0.8)


# Exact values at positions --------------------------------------------------------------------------------------------


def by_hand(game: Any, state: Any, action: int, dealt: tuple[int, ...] = ()) -> float:
    """What green gains by an action on average, every order of the cards left tried one by one, with best play from
    there on: the rules' own kernels, no memory, no two cards taken for alike."""
    kernels, first = game.type.kernels, int(state[0]["next_card"])
    after = state.copy()
    end = first + int(state[0]["left"].sum())
    left = [card for card in after[0]["deck"][first:end].tolist() if card not in dealt]
    after[0]["deck"][first:end] = [*dealt, *left]
    kernels.step(game.options, after[0], action)
    if int(after[0]["next_card"]) - first > len(dealt):
        return float(np.mean([by_hand(game, state, action, (*dealt, card)) for card in left]))
    if after[0]["seat"] < 0:
        return float(after[0]["reward"][0])
    mask = np.zeros(game.num_actions, np.int8)
    kernels.legal(game.options, after[0], mask)
    values = [by_hand(game, after, int(one)) for one in np.flatnonzero(mask)]
    return max(values) if after[0]["seat"] == 0 else min(values)


@pytest.mark.slow  # the solver is compiled again in each process
@pytest.mark.parametrize("options", [{}, {"stand_pat": True}, {"stalemate": "replay"}], ids=str)
def test_best_play_on_a_small_pack_is_what_every_order_of_its_stub_says(options: dict[str, Any]) -> None:
    env = AECEnv(GAME.bind(preset="tiny", **options))
    env.reset(seed=0, options={"decks": [["5S", "6S", "7S", "7C", "5D", "6C", "6D"]]})
    state, best = env.engine.batch.state[:1].copy(), BestPlay(env.game)
    values, legal = best.values(env), np.flatnonzero(env.engine.batch.mask[0])
    assert len(legal) >= 2
    assert -values[legal] == pytest.approx([by_hand(env.game, state, int(action)) for action in legal], abs=1e-12)
    assert best.goes_on == ("stalemate" in options), "a replay counts for the leaf value, which is nothing"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "plays", "seat", "action"),
    [(1, 4, 1, "hit"), (2, 2, 1, "hit"), (3, 0, 0, "backhand"), (4, 0, 1, "hit"), (5, 2, 0, "hit")],
)
def test_best_play_is_what_the_source_reasons(example: int, plays: int, seat: int, action: str) -> None:
    env = at_source(example, plays, stalemate="draw")
    said: list[tuple[int, int]] = []
    values = BestPlay(env.game).values(env, progress=lambda done, total, words: said.append((done, total)))
    assert env.engine.batch.seat[0] == seat
    assert env.game.action_str(int(np.nanargmax(values))) == action
    assert all(done <= total for done, total in said)  # none where it ends before the first report


DEAL = "TC 6S 2H 5D TH 6H KD"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Give a deal (--deck) or a recorded game (--from)."),
        (["--deck", DEAL], "chance decides one of 2 things in missouri_city: say which (--start-outcome 0..1)"),
        (["--deck", "TC 6S 2H", "--start-outcome", "1"], "The table takes 7 cards so far, and 3 were given"),
        (
            ["--deck", DEAL, "--moves", "hit", "--start-outcome", "1"],
            "The table takes 8 cards so far, and 7 were given",
        ),
        (["--deck", DEAL, "--moves", "push", "--start-outcome", "1"], "push"),
        (["--deck", "TC 6S 2X", "--start-outcome", "1"], "2X"),
        (["--deck", DEAL, "--start-outcome", "2"], "start_outcome is 2"),
        (["--deck", DEAL, "--start-outcome", "1", "--objective", "win"], "solved for the reward, and not for win"),
        (["--moves", "hit"], "go with --deck"),
        (["--decisions", "1"], "goes with --from"),
        (["--from", "GAME", "--deck", DEAL], "--from has deal and options already"),
        (["--from", "GAME"], "is over by then; --decisions takes fewer."),
        (["--from", "GAME", "--decisions", "999"], "999 were asked for"),
        (["--from", "nowhere.json"], "cannot be read as a playthrough"),
    ],
)
def test_positions_that_cannot_be_solved_are_refused_in_a_sentence(words: list[str], sentence: str) -> None:
    recorded = next((GAME.type.folder / "playthroughs").glob("*.json"))
    done = run("solve", "missouri_city", *(str(recorded) if w == "GAME" else w for w in words))
    assert done.exit_code in (1, 2)
    assert sentence in " ".join(done.output.split())
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_a_position_of_a_recorded_game_is_solved_from_the_command_line(tmp_path: Path) -> None:
    recorded = GAME.type.folder / "playthroughs" / "planner_seed-21.json"
    moves, path = json.loads(recorded.read_bytes())["moves"], tmp_path / "found.json"
    words = ["solve", "missouri_city", "--from", str(recorded), "--decisions", str(len(moves) - 1), "--json", str(path)]
    done = run(*words)
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_bytes())
    values = [one["value"] for one in found["actions"]]
    assert values == sorted(values, reverse=True)
    assert moves[-1].partition(": ")[2] in [one["action"] for one in found["actions"]]
    assert f"--from {recorded} --decisions {len(moves) - 1}" in found["command"]
    assert "exactly" in done.output


# A smaller pack, §3.7 -----------------------------------------------------------------------------------------------


def test_a_deck_of_a_smaller_pack_is_named_by_its_cards() -> None:
    """Also where chance decides card by card, and there only cards of the pack."""
    game = GAME.bind(preset="tiny")
    env = AECEnv(game)
    env.reset(seed=0, options={"decks": [["7S", "5C"]]})
    assert game.piles(env.engine.batch.state[0])["show"][1:] == [cards.card_number("5C"), cards.card_number("7S")]
    for unknown in ("4S", "8C"):
        with pytest.raises(ValueError, match=f"has no card '{unknown}' under these options"):
            env.reset(seed=0, options={"decks": [[unknown]]})
    state = game.new_state(explicit_chance=True)
    assert [state.outcome_str(card) for card, _ in state.chance_outcomes()] == ["5C", "6C", "7C"]
    state.apply(0)
    assert [chance for _, chance in state.chance_outcomes()] == [4 / 11, 4 / 11, 3 / 11]
    with pytest.raises(ValueError, match="The card 5C has been dealt"):
        state.apply(0)


@pytest.mark.skipif(not COMPILED, reason="thousands of tables")
def test_the_study_of_stages_finds_no_loss_in_what_it_counts_by() -> None:
    def departs(player: str) -> dict[tuple[str, str], float]:
        found = stages(decisions=10 * TABLES, seed=0, player=player)
        return {(row["opponent"], row["hand"]): row["differs"] for row in found.to_json()["rows"]}

    assert not any(departs("bot:planner").values())
    assert departs("bot:book")["ended", "all"] > 0
