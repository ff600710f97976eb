"""What a table in a browser tells people: tricks that stay, who took them, what was scored, how the game ended."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.rules.table import CARD
from backalley.envs.core.text import event_texts
from backalley.web import telling
from backalley.web.table import Chair, Table
from tests.common.high_card import GAME as HIGH_CARD


def played(name: str, seed: int, most: int = 500, **options: object) -> Table:
    game, random = game_of(name).bind(options), np.random.default_rng(seed)
    table = Table("t", game, {"seed": seed}, [Chair() for _ in range(game.num_seats)], "")
    while not table.over and len(table.actions) < most:
        table.play(int(random.choice(table.frames[-1].state.legal_actions())))
    return table


@pytest.mark.parametrize("name", ["bezique", "killer_bridge", "pitch"])
def test_a_finished_trick_lies_until_the_next_lead_and_the_log_says_who_took_it(name: str) -> None:
    table = played(name, 3, most=60)
    seats, whole = table.game.num_seats, 0
    for at in range(1, len(table.frames)):
        before, frame = table.frames[at - 1], table.frames[at]
        lying = telling.trick_of(table._scene(at, 0).table)
        assert lying is not None
        if len(lying.piles) < seats or before.ended is not None:
            continue
        words = table.game.action_str if before.state.seat == 0 else table.game.action_told
        word = words(table.actions[before.decisions])
        just = word.startswith("play ")
        taker = next(words for words in lying.words if words.startswith("taken by "))
        if just:
            assert lying.piles[-1].cards == (word.removeprefix("play "),)
            assert lying.piles[-1].seat == before.state.seat
            assert f"the trick is {taker}" in table._log(at, 0)
            whole += 1
        if frame.ended is None and not frame.state.is_over:
            assert taker == f"taken by seat {frame.state.seat}", "who took it leads, or may declare"
    assert whole >= 5


def test_the_log_says_what_a_hand_scored() -> None:
    table = played("pitch", 3, mode="match")
    end = next(at for at, frame in enumerate(table.frames) if frame.ended is not None)
    said = table.seen(end, 0)["events"]
    assert any(line.startswith("last hand: High ") for line in said)
    assert any(line.startswith(("you and partner: score ", "left and right: score ")) for line in said)
    assert not any("seat" in line for line in said)


@pytest.mark.parametrize("name", ["baccarat", "backhand", "buffalo_bayou", "missouri_city"])
def test_cards_that_are_shown_by_their_values_are_cards_in_the_log(name: str) -> None:
    """Those that lie on the table as the seat sees it, each once and in the order in which they came."""
    count = dict.fromkeys("TJQK", 0) | {"A": 1} | {str(value): value for value in range(2, 10)}
    shown = 0
    for seed in range(6):
        table = played(name, seed, **{"baccarat": {"num_coups": 4}}.get(name, {}))
        for at, frame in enumerate(table.frames):
            values_alone, learned = event_texts(frame.state, 0, "deal"), table._events(at, 0)
            piles = [pile.cards for place in table._table(at, 0).places for pile in place.piles]
            for before, after in zip(values_alone, learned, strict=True):
                if before == after:
                    assert not re.search(r"(dealt|draws|show card|has) \d", after), "every value has its card"
                    continue
                cards = re.findall(rf"\b{CARD.pattern}", after)
                values = [int(value) % 10 for value in re.findall(r"\d+", before)]
                assert [count[card[0]] for card in cards] == values
                assert any(set(cards) <= set(pile) for pile in piles)
                shown += 1
    assert shown > 20


def test_a_trick_is_named_before_what_its_winner_draws_and_points_when_they_change() -> None:
    said = played("bezique", 3, most=9)._log(9, 0)
    assert any(re.match("the trick is taken", line) and "draws" in after for line, after in pairwise(said))
    table = played("poker_duel", 1)
    logs = [line for at in range(len(table.frames)) for line in table._log(at, 0)]
    assert any(re.fullmatch(r"points: seat 0 \d, seat 1 \d", line) for line in logs)
    assert any(re.fullmatch(r"seat 1: assigns a card \(\d+ times\)", line) for line in logs)
    table = played("killer_bridge", 1, most=60)
    end = next(at for at, frame in enumerate(table.frames) if frame.ended is not None)
    assert [bool(re.match(r"seat \d: .*score -?\d", line)) for line in table._log(end, 0)[-4:]] == [True] * 4


def test_the_log_of_a_game_without_events_is_its_actions() -> None:
    table = Table("t", HIGH_CARD.bind(), {"seed": 1}, [Chair() for _ in range(HIGH_CARD.bind().num_seats)], "")
    while not table.over:
        table.play(int(table.frames[-1].state.legal_actions()[0]))
    assert len(table.seen(len(table.frames) - 1, 0)["events"]) >= len(table.actions) > 0


def test_scores_that_are_equal_do_not_tell_who_won() -> None:
    table = played("poker_duel", 1)
    assert "sudden death" in table._table(len(table.frames) - 1, 0).words[0]
    assert table.ending(0) == "You won."
    table = played("baccarat", 2, num_coups=3)
    assert re.fullmatch(r"You lost 10\. (The (Player|Banker) hand wins|A tie), \d to \d\.", table.ending(0))


@pytest.mark.parametrize("name", sorted({*game_names()} - {"killer_bridge"}))
def test_an_ending_is_a_sentence_that_agrees_with_the_returns(name: str) -> None:
    options = {"pitch": {"mode": "hand"}}.get(name, {})
    for seed in range(4):
        table = played(name, seed, **options)
        game = table.game
        assert table.over
        returns = table.frames[-1].returns
        for seat in range(game.num_seats):
            said = table.ending(seat)
            assert said.endswith("."), said
            rivals = [value for other, value in enumerate(returns) if game.sides[other] != game.sides[seat]] or [0.0]
            assert said.startswith("You won") == (returns[seat] > max(rivals)), (said, returns)


@pytest.mark.parametrize("name", ["backhand", "buffalo_bayou", "missouri_city"])
def test_an_ending_without_scores_says_what_decided_it(name: str) -> None:
    for seed in range(4):
        table = played(name, seed)
        places = table._table(len(table.frames) - 1, 0).places
        words = [word for place in places for pile in place.piles for word in pile.words]
        result, why = table.ending(0).removesuffix(".").split(": ")
        ended, total = why.split(", ")
        verdict = {"You won": "win", "You lost": "loss"}.get(result, "tie")
        assert f"{ended}: {verdict}" in words
        assert total in words


def test_scores_stand_in_the_ending_ones_own_first() -> None:
    assert played("bezique", 3, most=5).ending(0) == ""
    table = played("bezique", 3)
    own, other = table.ending(0), table.ending(1)
    assert own == "You won, 120 to 90."
    assert other == "You lost, 90 to 120."
    assert table.ending(None) == "Seat 0 won: seat 0 120, seat 1 90."


# What is asked --------------------------------------------------------------------------------------------------------

ASKED = {
    "backhand": {"too low", "beyond 21", "two new ones"},
    "buffalo_bayou": {"too low", "beyond 21", "two new ones"},
    "missouri_city": {"too low", "beyond 21", "two new ones", "keep what you have"},
    "baccarat": {"place a bet", "draw a card"},
    "bezique": {"lead a card", "play a card", "declare something", "win if you can, else follow"},
    "killer_bridge": {"how many tricks", "lead a card", "play a card"},
    "pitch": {"bid, or pass", "becomes trump", "lead a card", "play a card"},
    "poker_duel": {"choose a slot for", "of slot 1", "of slot 3"},
    "twenty_one": {"declare Back Passing", "bet that", "bet again", "punters with more", "take the bank"},
}
"""Of each game, words of all that is asked."""
LONG = {"missouri_city": {"stand_pat": True, "num_games": 9}, "twenty_one": {"episode": "session"}}
LONG |= {"baccarat": {"mode": "table", "num_coups": 30, "decks": 1}, "poker_duel": {"num_games": 3}}


@pytest.mark.parametrize("name", game_names())
def test_who_is_to_act_is_told_what_is_asked(name: str) -> None:
    heard = set[str]()
    for seed in range(12):
        table = played(name, seed, most=120, **LONG.get(name, {}))
        for at, frame in enumerate(table.frames):
            if frame.ended is None and not frame.state.is_over:
                scene, seat = table._scene(at, frame.state.seat), frame.state.seat
                said = telling.turn(scene.table, scene.acting, scene.turn, seat)
                assert re.fullmatch("Your turn: .*[^.]\\.", said)
                assert telling.turn(scene.table, scene.acting, scene.turn, None) == scene.turn
                heard.add(said)
    assert {words for words in ASKED[name] if any(words in said for said in heard)} == ASKED[name]


@pytest.mark.parametrize(("name", "options", "words", "action"), [
    ("pitch", {}, "or pass", "pass"),
    ("pitch", {"all_pass": "redeal"}, "or pass", "pass"),
    ("baccarat", {"num_coups": 5}, "or none", "no bet"),
    ("baccarat", {"num_coups": 5, "allow_no_bet": False}, "or none", "no bet"),
    ("killer_bridge", {"allow_board": False}, "board is", "board"),
    ("missouri_city", {"stand_pat": True, "num_games": 9}, "(stand)", "stand"),
    ("backhand", {}, "(push)", "push"),
    ("buffalo_bayou", {}, "(backhand)", "backhand"),
])  # fmt: skip
def test_what_is_asked_names_an_action_where_it_is_legal(
    name: str, options: dict[str, object], words: str, action: str
) -> None:
    for seed in range(12):
        table = played(name, seed, most=40, **options)
        for at, frame in enumerate(table.frames):
            if frame.ended is None and not frame.state.is_over:
                legal = [table.game.action_str(one) for one in frame.state.legal_actions()]
                assert (words in table._table(at, frame.state.seat).headline) == (action in legal), legal


@pytest.mark.parametrize(("name", "options", "first"), [
    ("killer_bridge", {"length": "down"}, r"hand 1 of 13: 13 cards each, .*"),
    ("missouri_city", {"num_games": 4}, r"game 1 of 4; won: .*"),
    ("poker_duel", {}, r"game 1 of 2, finished, .*"),
    ("baccarat", {"num_coups": 3}, r"8 packs, coup 1 of 3"),
    ("pitch", {}, r"hand 1, to 21, .*"),
    ("twenty_one", {"episode": "session", "banks": 9}, r"bank \d, round 1, pot \d+(, Back Passing)?"),
])  # fmt: skip
def test_after_a_deal_the_table_tells_of_that_one_and_not_of_the_next(
    name: str, options: dict[str, object], first: str
) -> None:
    table = played(name, 3, most=200, **options)
    at = next(at for at, frame in enumerate(table.frames) if frame.ended is not None)
    assert re.fullmatch(first, table._table(at, 0).words[0])
    assert re.fullmatch(r"The deal is over(\.|:) .+\.", table.seen(at, 0)["turn"])


def test_a_hand_that_is_bust_before_the_other_has_ended_is_in_the_log() -> None:
    mine = 0
    for seed in range(20):
        table = played("missouri_city", seed)
        for at, frame in enumerate(table.frames[:-1]):
            words = [word for pile in table._table(at, 0).places[0].piles for word in pile.words]
            if frame.ended is None and any(word.startswith("bust: ") for word in words):
                assert sum("bust: " in line for line in table._log(at, 0) if line.startswith("seat 0: ")) == 1
                mine += 1
    assert mine


def test_declarations_have_their_points_in_the_log() -> None:
    table, scored = played("bezique", 3), 0
    for at in range(1, len(table.frames)):
        before, after = (table._table(place, 0).places for place in (at - 1, at))
        word = next(word for word in after[0].words if word.endswith("points"))
        if word not in before[0].words and table.frames[at].decisions:
            assert table._log(at, 0).count(f"seat 0: {word}") == 1
            scored += 1
    assert scored >= 2


def test_seats_are_called_by_where_they_sit() -> None:
    assert telling.seats_called(game_of("pitch"), 1) == ["right", "you", "left", "partner"]
    assert telling.seats_called(game_of("killer_bridge"), 0) == ["you", "left", "across", "right"]
    assert telling.seats_called(game_of("missouri_city"), 1) == ["green", "you"]
    assert telling.seats_called(game_of("pitch"), None) == ["seat 0", "seat 1", "seat 2", "seat 3"]
    names = telling.seats_called(game_of("pitch"), 0)
    assert telling.by_place(("Seat 1 to act", ("seats 0 and 2",)), names) == ("Left to act", ("you and partner",))
    assert telling.by_place("seat 7", names) == "seat 7"
