"""`GameState`: one position as a value, with chance drawn or explicit. (That it plays as the AEC environment does, is
`testing.check_state`, in `test_rules.py`.)"""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.api.states import seal
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.files.gate import pass_checksum, with_checksum
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.examples.kuhn import GAME as KUHN
from backalley.examples.leduc import GAME as LEDUC
from tests.common.cases import BY_NAME, GAMES
from tests.common.high_card import GAME as HIGH_CARD

WITH_EVENTS = [KUHN.bind(), *(game for game in GAMES if game.type.events is not None)]


def at_random(state: GameState, random: np.random.Generator) -> int:
    """A legal action, or an outcome of chance."""
    if state.is_chance:
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        return int(random.choice(outcomes, p=chances))
    return int(random.choice(state.legal_actions()))


def all_of(state: GameState) -> tuple[Any, ...]:
    """Everything that a state says."""
    said = (state.seat, state.decisions, state.returns(), state.rewards(), state.legal_actions())
    return *said, state.__reduce__()[1][-1]


Plays = Callable[[GameState], dict[int, float]]


def values(state: GameState, plays: Plays) -> tuple[float, float, int]:
    """Seat 0's expected return from here, the sum of the probabilities of all ends, and how many they are."""
    if state.is_over:
        return state.returns()[0], 1.0, 1
    chances = dict(state.chance_outcomes()) if state.is_chance else plays(state)
    value = total = 0.0
    ends = 0
    for action, chance in chances.items():
        after = state.clone()
        after.apply(action)
        found = values(after, plays)
        value, total, ends = value + chance * found[0], total + chance * found[1], ends + found[2]
    return value, total, ends


def test_a_walk_over_all_of_kuhn_poker_gives_its_value() -> None:
    """Of random play by both, as OpenSpiel has it: 1/8."""
    evenly: Plays = lambda state: dict.fromkeys(state.legal_actions(), 0.5)  # noqa: E731
    value, total, ends = values(KUHN.bind().new_state(explicit_chance=True), evenly)
    assert value == pytest.approx(1 / 8, abs=1e-12)
    assert total == pytest.approx(1, abs=1e-12)
    assert ends == 3 * 2 * 5


@kernel
def pair(card: int) -> int:
    return card // 2


def test_cards_of_one_kind_are_one_outcome_with_the_same_values() -> None:
    """Twelve cards, of which the first is seat 0's: a card and its neighbour win the same here."""
    game = HIGH_CARD.bind(seats=1)
    merged = dataclasses.replace(HIGH_CARD, card_kind=pair).bind(seats=1)
    stay = {1: 1.0}
    one, other = (made.new_state(explicit_chance=True) for made in (game, merged))
    assert one.chance_outcomes() == [(card, 1 / 12) for card in range(12)]
    assert other.chance_outcomes() == [(card, 1 / 6) for card in range(0, 12, 2)]
    other.apply(4)
    found = dict(other.chance_outcomes())
    assert found == {card: (1 if card == 5 else 2) / 11 for card in (0, 2, 5, 6, 8, 10)}

    def first(state: GameState) -> list[float]:
        """Seat 0's return, by its card; the other cards do not matter, so they are drawn."""
        gains = []
        for card, chance in state.chance_outcomes():
            after = state.clone()
            after.apply(card)
            after.draw_chance(card)
            after.apply(next(iter(stay)))
            gains.append(chance * after.returns()[0])
        return gains

    assert sum(first(game.new_state(explicit_chance=True))) == pytest.approx(0)
    assert sum(first(merged.new_state(explicit_chance=True))) == pytest.approx(0)


@BY_NAME
def test_explicit_chance_can_do_what_the_seed_does(game: Game) -> None:
    """The stream of the seed as the key gives the seed's own deal, and cards named one by one are those dealt."""
    drawn, named = game.new_state(seed=7), game.new_state(explicit_chance=True)
    assert named.is_chance
    assert named.legal_actions() == [outcome for outcome, _ in named.chance_outcomes()]
    assert not named.action_mask().any()
    assert not named.observation(0).any()
    named.draw_chance(int(rng.stream_of(7)))
    assert named.states().records.tobytes() == drawn.states().records.tobytes()
    random, state = np.random.default_rng(1), game.new_state(explicit_chance=True)
    outcome, deck = 0, []
    while state.is_chance:
        chosen = at_random(state, random)
        if state.outcome_str(chosen).startswith("start outcome"):
            outcome = chosen
        else:
            deck.append(chosen)
        state.apply(chosen)
    env = game.make()
    env.reset(options={"decks": [deck], "start_outcome": outcome})
    assert env.engine.batch.raw.tobytes() == state.states().records.tobytes()
    assert len(deck) == game.cards_drawn


@BY_NAME
@pytest.mark.parametrize("explicit", [False, True])
def test_copies_play_on_identically_and_leave_the_original(game: Game, explicit: bool) -> None:
    random = np.random.default_rng(2)
    state = game.new_state(None if explicit else 3, explicit)
    for _ in range(200):
        if state.is_over:
            break
        before, action = all_of(state), at_random(state, random)
        copies = [state.clone(), copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
        for one in copies:
            one.apply(action)
        assert all_of(state) == before
        state.apply(action)
        assert all(all_of(one) == all_of(state) for one in copies)
    assert sum(state.returns()) == pytest.approx(0, abs=1e-6) or not game.zero_sum or not state.is_over


@pytest.mark.parametrize("game", WITH_EVENTS, ids=lambda game: game.name)
def test_the_history_is_that_of_the_environment_whoever_deals(game: Game) -> None:
    env, random = game.make(events=True), np.random.default_rng(6)
    env.reset(seed=11)
    state, dealt = game.new_state(11, events=True), game.new_state(explicit_chance=True, events=True)
    dealt.draw_chance(int(rng.stream_of(11)))
    assert not game.new_state(explicit_chance=True, events=True).events(0).size
    for step in range(60):
        for seat, agent in enumerate(env.possible_agents):
            for one in (state, dealt) if env.engine.batch.decisions[0] == 0 else (state,):
                assert np.array_equal(one.events(seat), env.events(agent))
                assert np.array_equal(one.events(seat, since="deal"), env.events(agent, since="deal"))
                assert one.information_state_string(seat) == env.information_state_string(agent)
                assert np.array_equal(one.information_state_tensor(seat), env.information_state_tensor(agent))
        if state.is_over:
            break
        if step % 5 == 0:
            state = pickle.loads(pickle.dumps(state))
        action, twin = at_random(state, random), state.clone()
        env.step(action)
        state.apply(action)
        twin.apply(action)
        assert all_of(twin) == all_of(state)


@pytest.mark.parametrize("game", WITH_EVENTS, ids=lambda game: game.name)
def test_a_determinized_state_keeps_of_the_history_what_its_seat_was_shown(game: Game) -> None:
    random, state = np.random.default_rng(7), game.new_state(seed=12, events=True)
    for _ in range(12):
        if state.is_over:
            break
        seat = state.seat
        others = [other for other in range(game.num_seats) if other != seat]
        one, two = state.determinize(seat, 1), state.determinize(seat, 2)
        assert one.information_state_string(seat) == state.information_state_string(seat)
        assert np.array_equal(one.information_state_tensor(seat), state.information_state_tensor(seat))
        assert one._entries == two._entries, "what is kept depends on the seat's knowledge alone"
        assert all_of(two.determinize(seat, 1)) == all_of(one)
        for other in others:
            assert one.information_state_string(other).splitlines()[-1].startswith("sees ")
            assert np.array_equal(one.events(other, since="deal"), two.events(other, since="deal"))
        state.apply(at_random(state, random))


@pytest.mark.parametrize("game", WITH_EVENTS, ids=lambda game: game.name)
def test_the_public_state_is_what_each_seat_was_shown(game: Game) -> None:
    """And each seat's redrawn states have the same. (That histories which a seat cannot tell apart have the same, is
    `testing.check_twins`.)"""
    random, state = np.random.default_rng(8), game.new_state(seed=13, events=True)
    for _ in range(30):
        public = [tuple(event) for event in state.public_events().tolist()]
        for seat in range(game.num_seats):
            shown = iter(
                (kind, who if who < 0 else (who + seat) % game.num_seats, what)
                for kind, who, what in state.events(seat).tolist()
            )
            others = [event for event in public if event[1] != seat]  # of itself a seat may know it by its actions
            assert all(event in shown for event in others), "in this order, and perhaps others between them"
        if state.is_over:
            break
        assert state.determinize(state.seat, 1).public_state_string() == state.public_state_string()
        state.apply(at_random(state, random))
    assert public


def test_the_public_state_in_words_names_seats() -> None:
    state = LEDUC.bind().new_state(explicit_chance=True, events=True)
    for outcome in (0, 2, 4):
        state.apply(outcome)
    state.apply(2)
    assert state.public_state_string() == "seat 0: raise"
    state.apply(1)
    assert state.public_state_string().splitlines()[-1] == "table: turned up K"


def test_a_state_without_events_has_no_history() -> None:
    state = KUHN.bind().new_state(seed=1)
    for call in (state.events, state.information_state_tensor, state.information_state_string):
        with pytest.raises(RuntimeError, match=r"No events are kept here; make .* state with events=True"):
            call(0)
    with pytest.raises(RuntimeError, match="No events are kept here"):
        state.public_state_string()
    with pytest.raises(RuntimeError, match="high_card declares no events"):
        HIGH_CARD.bind().new_state(seed=1, events=True)
    with pytest.raises(TypeError, match="events is 1; it takes True or False"):
        KUHN.bind().new_state(seed=1, events=1)  # type: ignore[arg-type]


def test_a_state_goes_into_a_batch() -> None:
    state = backalley.game("missouri_city").new_state(seed=1)
    batch = backalley.BatchEnv.from_states(state.states(), seed=0)
    assert np.array_equal(batch.time_step.observation[0], state.observation(state.seat))
    assert np.array_equal(batch.time_step.action_mask[0], state.action_mask())
    while not state.is_over:
        state.apply(state.legal_actions()[0])
    step = backalley.BatchEnv.from_states(state.states(), seed=0).time_step
    assert step.terminated[0]
    assert step.seat[0] == -2
    assert step.reward[0].tolist() == state.rewards()


def test_an_episode_that_is_cut_short_is_over() -> None:
    short = dataclasses.replace(KUHN, max_decisions=lambda options: 1).bind()
    for explicit in (False, True):
        state = short.new_state(explicit_chance=explicit)
        if explicit:
            state.draw_chance(1)
        state.apply(0)
        assert state.is_over
        assert not state.legal_actions()
        assert state.states().seat[0] == -2
        assert backalley.BatchEnv.from_states(state.states(), seed=0).time_step.truncated[0]


@BY_NAME
def test_bad_input_is_refused_in_a_sentence_before_anything_changed(game: Game) -> None:
    state, chance = game.new_state(seed=1), game.new_state(explicit_chance=True)
    if game.num_start_outcomes > 1:
        with pytest.raises(ValueError, match=f"There is no start outcome 99; {game.name} has 0"):
            chance.apply(99)
        chance.apply(0)
    chance.apply(3)
    illegal = next((action for action, legal in enumerate(state.action_mask()) if not legal), None)
    before = all_of(state), all_of(chance)
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: state.apply(game.num_actions), backalley.IllegalAction, "cannot play .* now; legal: "),
        (lambda: state.apply(-1), backalley.IllegalAction, "cannot play "),
        (lambda: state.apply(0.0), TypeError, "The action is 0.0; it must be a whole number"),
        (lambda: state.chance_outcomes(), RuntimeError, "Chance does not decide here"),
        (lambda: state.draw_chance(1), RuntimeError, "Chance does not decide here"),
        (lambda: state.outcome_str(1), RuntimeError, "Chance does not decide here"),
        (lambda: state.observation(game.num_seats), ValueError, f"Seat {game.num_seats} was asked for"),
        (lambda: state.observation("0"), TypeError, "The seat is '0'; it takes a whole number"),
        (lambda: state.determinize(-1, 0), ValueError, "Seat -1 was asked for"),
        (lambda: state.determinize(0, -1), ValueError, "whole numbers of 0 or more"),
        (lambda: state.table_str(99), ValueError, "Seat 99 was asked for"),
        (lambda: chance.determinize(0, 1), RuntimeError, "Nobody is to act here"),
        (lambda: chance.states(), RuntimeError, r"draw_chance\(\) first"),
        (lambda: chance.draw_chance(0.5), ValueError, "take one whole number each"),
        (lambda: chance.apply(game.deck_size), ValueError, f"There is no card {game.deck_size}; {game.name} has"),
        (lambda: chance.apply(-1), ValueError, "There is no card -1"),
        (lambda: chance.apply(True), TypeError, "The outcome is True; it must be a whole number"),
        (lambda: game.new_state(-1), ValueError, "The seed is -1; it must be"),
        (lambda: game.new_state("1"), ValueError, "The seed is '1'; it must be"),
        (lambda: game.new_state(1, True), ValueError, "there is no seed to give"),
        (lambda: game.new_state(1, 1), TypeError, "explicit_chance is 1; it takes True or False"),
        (backalley.GameState, TypeError, r"not made by hand: call new_state\(\)"),
    ]
    if illegal is not None:
        calls.append((lambda: state.apply(illegal), backalley.IllegalAction, "now; legal: "))
    if not game.with_replacement:
        calls.append((lambda: chance.apply(3), ValueError, "has been dealt; the pack has each card once"))
    for call, kind, message in calls:
        with pytest.raises(kind, match=message):
            call()
        assert (all_of(state), all_of(chance)) == before


def test_a_state_of_another_version_is_refused() -> None:
    restored, (game, version, events, kept, sealed) = KUHN.bind().new_state(seed=1).__reduce__()
    assert restored(game, version, events, kept, sealed).seat == 0
    with pytest.raises(ValueError, match="kept by version 1 of kuhn, and this is version 0"):
        restored(game, version + 1, events, kept, sealed)
    other = {**kept, "_raw": kept["_raw"] + b"0"}
    with pytest.raises(ValueError, match="were altered since they were kept"):
        restored(game, version, events, other, sealed)
    with pytest.raises(ValueError, match="its State has other fields now"):
        restored(game, version, events, other, seal(other))


def test_a_game_that_is_over_takes_no_action() -> None:
    state = KUHN.bind().new_state(seed=1)
    state.apply(0)
    state.apply(0)
    assert state.is_over
    with pytest.raises(backalley.IllegalAction, match=r"The game is over, so 0 cannot be played"):
        state.apply(0)
    assert repr(state) == f"<GameState of {KUHN.bind()!r}: over after 2 decisions>"


def test_a_banker_who_chooses_the_deposit_decides_before_any_chance() -> None:
    state = backalley.game("twenty_one", deposit="chosen").new_state(explicit_chance=True)
    plain = backalley.game("twenty_one", deposit="chosen").new_state(seed=1)
    while plain.seat >= 0 and state.seat == plain.seat and not state.is_chance:
        assert state.legal_actions() == plain.legal_actions()
        assert state.observation(state.seat).tolist() == plain.observation(plain.seat).tolist()
        state.apply(state.legal_actions()[0])
        plain.apply(plain.legal_actions()[0])
    assert state.is_chance
    assert state.decisions == 1


def test_a_history_is_what_was_applied_and_none_of_it_is_handed_on_by_a_redraw() -> None:
    state, applied = KUHN.bind().new_state(explicit_chance=True), []
    while not state.is_over:
        applied.append(state.legal_actions()[-1])
        state.apply(applied[-1])
        with pytest.raises((ValueError, RuntimeError)):
            state.apply(99)
        assert state.history() == applied
        if state.seat >= 0:
            assert state.determinize(state.seat, 3).history() == []
    assert len(applied) > 3
    again = pickle.loads(pickle.dumps(state))
    assert again.history() == applied == state.clone().history()
    replayed = KUHN.bind().new_state(explicit_chance=True)
    for action in again.history():
        replayed.apply(action)
    assert all_of(replayed) == all_of(state)


# As text -------------------------------------------------------------------------------------------------------------


@BY_NAME
@pytest.mark.parametrize("explicit", [False, True])
def test_a_state_is_serialized_wherever_it_is(game: Game, explicit: bool) -> None:
    """Chance nodes, drawn chance and all: the state of the text is equal, and plays on identically."""
    random, events = np.random.default_rng(9), game.type.events is not None
    state = game.new_state(None if explicit else 5, explicit, events=events)
    for step in range(60):
        if step % 4 == 0 or state.is_over:
            again = backalley.deserialize_state(backalley.serialize_state(state))
            assert all_of(again) == all_of(state)
            assert again.game == state.game
        if state.is_over:
            break
        if state.is_chance and step % 3:
            state.draw_chance(step)
        else:
            state.apply(at_random(state, random))


def test_a_text_that_is_no_state_is_refused_in_a_sentence() -> None:
    state = backalley.game("pitch", preset="tiny").new_state(seed=2)
    state.apply(state.legal_actions()[0])
    text = backalley.serialize_state(state)
    assert backalley.deserialize_state(text).game == state.game

    def changed(**entries: Any) -> str:
        return json.dumps(with_checksum({**pass_checksum(json.loads(text)), **entries}))

    first = json.loads(text)["moves"][0]
    refused: list[tuple[Any, type[Exception], str]] = [
        (b"{}", TypeError, "takes a text; a bytes was given"),
        ("{", ValueError, "it is not JSON"),
        (text.replace('"events": false', '"events": true'), ValueError, "its checksum is another"),
        (changed(moves=[first, 1000]), ValueError, "cannot play"),
        (changed(moves=[-5]), ValueError, "Chance does not decide here"),
        (changed(moves=[-1 - 2**64]), ValueError, "a whole number of"),
        (changed(moves=["0"]), ValueError, "a whole number of"),
        (changed(stream=-1), ValueError, "stream is -1; it takes"),
        (changed(game="backalley.examples.kuhn"), ValueError, "that is known here"),
        (changed(version=99), ValueError, "version 99"),
        (changed(options={"joker": "wild5"}), ValueError, "joker is 'wild5'"),
        (changed(state="00"), ValueError, "has an entry 'state'"),
    ]
    for given, kind, message in refused:
        with pytest.raises(kind, match=message):
            backalley.deserialize_state(given)


def test_a_state_without_a_beginning_is_not_serialized() -> None:
    state = backalley.game("missouri_city").new_state(seed=1)
    env = state.game.make()
    env.reset(seed=1)
    for one in (state.determinize(0, 1), env.position()):
        with pytest.raises(RuntimeError, match="so what led to it is not known"):
            backalley.serialize_state(one)
    with pytest.raises(TypeError, match="takes a GameState; a AECEnv was given"):
        backalley.serialize_state(env)
