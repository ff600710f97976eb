"""Tricks: suits, winners, and deals of unseen cards against an enumeration of all that agree with what is known; the
trick hand that two games share; and redrawn hands, which hold nothing that their players have shown to lack."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import cards, record, rng, trick_hand, tricks
from backalley.envs.core.rules.options import OptionError
from tests.common.cases import determinizations_of, played


def card_set(names: str) -> int:
    return sum(1 << cards.card_number(name) for name in names.split())


def deals(unseen: int, room: list[int], may_hold: list[int]) -> set[tuple[int, ...]]:
    """Every deal that agrees, one set of cards per place, by plain search."""
    if not room:
        return {()} if unseen == 0 else set()
    numbers = [card for card in range(54) if unseen & may_hold[0] & (1 << card)]
    found = set()
    for chosen in itertools.combinations(numbers, room[0]):
        hand = sum(1 << card for card in chosen)
        found |= {(hand, *rest) for rest in deals(unseen & ~hand, room[1:], may_hold[1:])}
    return found


def sampled(unseen: int, room: list[int], may_hold: list[int], number: int, seed: int) -> Counter[tuple[int, ...]]:
    dealt = np.zeros(len(room), np.int64)
    counts: Counter[tuple[int, ...]] = Counter()
    with np.errstate(over="ignore"):
        for k in range(number):
            tricks.deal_unseen(
                np.uint64(rng.fork(np.uint64(seed), k)), unseen, np.array(room), np.array(may_hold), dealt
            )
            counts[tuple(dealt.tolist())] += 1
    return counts


ALL = (1 << 54) - 1
CLUBS, DIAMONDS, HEARTS, SPADES = (tricks.suit_set(suit, tricks.NO_TRUMP) for suit in range(4))
EIGHT = card_set("2C 3C 2D 3D 2H 3H 2S 3S")
CASES = {
    "nothing known": (EIGHT, [2, 2, 0, 4], [ALL] * 4),
    "one void": (EIGHT, [3, 3, 2], [ALL & ~CLUBS, ALL, ALL]),
    "voids in turn": (EIGHT, [2, 2, 2, 2], [CLUBS | DIAMONDS, DIAMONDS | HEARTS, HEARTS | SPADES, SPADES | CLUBS]),
    "only the two cycles": (
        card_set("2C 2D 2H 2S"),
        [1, 1, 1, 1],
        [CLUBS | DIAMONDS, DIAMONDS | HEARTS, HEARTS | SPADES, SPADES | CLUBS],
    ),
    "a number of each suit": (
        card_set("2C 3C 4C 5D 3D 2H 3H 2S LJ"),
        [1, 1, 1, 3, 3],
        [CLUBS, DIAMONDS, HEARTS, ALL, ALL & ~SPADES],
    ),
    "cards below others": (
        card_set("2S 3S 4S 5S 6S 7S 8S 9H TH"),
        [3, 3, 3],
        [card_set("2S 3S 4S TH 9H"), card_set("2S 3S 4S 5S 6S 7S"), ALL],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_unseen_cards_are_dealt_evenly_over_all_deals_that_agree(name: str) -> None:
    unseen, room, may_hold = CASES[name]
    every = deals(unseen, room, may_hold)
    number = 12 * len(every) if len(every) > 500 else 40 * len(every)
    counts = sampled(unseen, room, may_hold, number, 3)
    assert set(counts) <= every
    mean = number / len(every)
    squares = sum((counts[deal] - mean) ** 2 / mean for deal in every)
    freedom = len(every) - 1
    assert abs(squares - freedom) < 4.5 * (2 * freedom) ** 0.5 + 3, (
        f"chi-squared {squares:.0f} with {freedom} degrees of freedom"
    )


def test_the_stirred_deal_is_even_where_whole_deals_hardly_ever_agree() -> None:
    """Ten cards of which each place may hold few: one whole deal in thousands agrees, so nearly all come from the
    chain."""
    unseen = card_set("2C 3C 4C 2D 3D 4D 2H 3H 4H 2S 3S 4S")
    room, may_hold = [3, 3, 3, 3], [ALL & ~CLUBS, CLUBS | DIAMONDS, HEARTS | CLUBS, ALL & ~HEARTS]
    every = deals(unseen, room, may_hold)
    total = 12 * 11 * 10 * 9 * 8 * 7 * 6 * 5 * 4 * 3 * 2 // 6**4
    assert len(every) / total < 0.003
    number = 20 * len(every)
    counts = sampled(unseen, room, may_hold, number, 8)
    assert set(counts) <= every
    squares = sum((counts[deal] - 20) ** 2 / 20 for deal in every)
    freedom = len(every) - 1
    assert abs(squares - freedom) < 4.5 * (2 * freedom) ** 0.5


def test_a_deal_is_found_where_only_one_exists() -> None:
    """A chain of places in which every card but one has to move to let the last one in."""
    names = cards.NAMES[:30]
    unseen = card_set(" ".join(names))
    may_hold = [card_set(" ".join(names[: index + 1])) for index in range(30)]
    for seed in range(20):
        counts = sampled(unseen, [1] * 30, may_hold, 1, seed)
        assert list(counts) == [tuple(1 << index for index in range(30))]


def test_the_deal_depends_on_its_arguments_alone() -> None:
    unseen, room, may_hold = CASES["voids in turn"]
    assert sampled(unseen, room, may_hold, 5, 1) == sampled(unseen, room, may_hold, 5, 1)
    assert sampled(unseen, room, may_hold, 5, 1) != sampled(unseen, room, may_hold, 5, 2)


def test_suits_and_sets_agree() -> None:
    for trump in range(5):
        sets = [tricks.suit_set(suit, trump) for suit in range(5)]
        for card in range(54):
            assert [suit for suit in range(5) if sets[suit] >> card & 1] == [tricks.suit(card, trump)]
    assert tricks.suit_set(4, 2) == 0


def test_lowest_and_highest_cards_of_every_pair() -> None:
    for low, high in itertools.combinations_with_replacement(range(54), 2):
        both = (1 << low) | (1 << high)
        assert (tricks.lowest_card(both), tricks.highest_card(both)) == (low, high)


def test_jokers_stand_where_the_game_puts_them() -> None:
    def order(joker: int, names: str) -> list[str]:
        return sorted(names.split(), key=lambda name: tricks.strength(cards.card_number(name), joker))

    assert order(tricks.JOKERS_HIGH, "BJ LJ AS 2S") == ["2S", "AS", "LJ", "BJ"]
    assert order(tricks.JOKER_LOW, "LJ 2S 3S") == ["LJ", "2S", "3S"]
    assert order(tricks.JOKER_BELOW_JACK, "LJ TS JS") == ["TS", "LJ", "JS"]


# --- the trick hand


class Table(NamedTuple):
    num_players: int = 4
    first_dealer: int = trick_hand.RANDOM_DEALER


class Hands(trick_hand.TrickHand):
    """A table with a field of its own: without one, games' tables would be taken for its subtypes."""

    own: int = record.field("i1", doc="nothing")


def table(hands: str, trump: int = 3) -> Any:
    """A table at which everybody holds the cards named, hands apart by commas; seat 1 leads."""
    held = hands.split(", ")
    state = np.zeros(1, record.dtype(Hands, Table(len(held))))[0]
    trick_hand.clear_hand(state, ALL)
    state.hand[:] = [card_set(names) for names in held]
    state.trump, state.leader, state.seat = trump, 1, 1
    return state


def test_a_trick_from_its_lead_to_its_winner() -> None:
    """Seat 2 does not follow, seat 3 ruffs, seat 0 follows higher: the ruff wins, and its seat leads."""
    state = table("AC 2H, 5C 3H, KD 4H, 2S 5H")
    trick_hand.lead(state, 1, cards.card_number("5C"))
    assert (state.in_trick, state.best) == (1, 0)
    trick_hand.follow(state, 2, cards.card_number("KD"), ALL & ~CLUBS, tricks.JOKERS_HIGH)
    assert state.best == 0
    trick_hand.follow(state, 3, cards.card_number("2S"), ALL & ~CLUBS, tricks.JOKERS_HIGH)
    trick_hand.follow(state, 0, cards.card_number("AC"), ALL, tricks.JOKERS_HIGH)
    assert (state.in_trick, state.best) == (4, 2)
    assert state.trick.tolist() == [cards.card_number(name) for name in ("5C", "KD", "2S", "AC")]
    assert state.hand.tolist() == [card_set(name) for name in ("2H", "3H", "4H", "5H")]
    assert state.played.tolist() == [card_set(name) for name in ("AC", "5C", "KD", "2S")]
    assert state.may_hold.tolist() == [ALL, ALL, ALL & ~CLUBS, ALL & ~CLUBS]
    assert trick_hand.unseen_cards(state, 0, ALL) == ALL & ~card_set("2H AC 5C KD 2S")
    assert trick_hand.finish_trick(state) == 3
    assert (state.leader, state.seat, state.in_trick, state.best, state.finished) == (3, 3, 0, 0, 1)
    assert not state.trick.any()


def test_what_plays_leave_possible_adds_up() -> None:
    state = table("2H, 5C 6D, KS QS")
    trick_hand.lead(state, 1, cards.card_number("5C"))
    trick_hand.follow(state, 2, cards.card_number("KS"), ALL & ~CLUBS, tricks.JOKERS_HIGH)
    trick_hand.finish_trick(state)
    trick_hand.lead(state, 1, cards.card_number("6D"))
    trick_hand.follow(state, 2, cards.card_number("QS"), ALL & ~DIAMONDS, tricks.JOKERS_HIGH)
    assert state.may_hold[2] == ALL & ~CLUBS & ~DIAMONDS


@pytest.mark.parametrize(("size", "packet", "left"), [(4, 1, "2C 5C 8C JC"), (4, 2, "2C 3C 8C 9C"), (3, 3, "2C 3C 4C")])
def test_hands_are_dealt_from_the_dealers_left_a_packet_at_a_time(size: int, packet: int, left: str) -> None:
    state = table(", , ")
    state.dealer = 2
    assert trick_hand.deal_hands(state, np.arange(54), size, packet) == 3 * size
    assert state.hand[0] == card_set(left)
    assert [count.bit_count() for count in state.hand.tolist()] == [size] * 3


def test_seats_to_the_left() -> None:
    for seats in range(1, 8):
        for seat in range(seats):
            who = seat
            for offset in range(seats):
                assert trick_hand.offset_of(seat, who, seats) == offset
                who = trick_hand.left_of(who, seats)
            assert who == seat


def test_marked_cards_are_read_as_they_were_written() -> None:
    row = np.zeros(54, np.int8)
    trick_hand.mark_cards(card_set("2C JH BJ"), row)
    assert np.flatnonzero(row).tolist() == [0, 35, 53]
    assert trick_hand.marked_cards(row) == card_set("2C JH BJ")
    assert trick_hand.marked_place(row[1:]) == 34
    assert trick_hand.marked_place(np.zeros(3, np.int8)) == -1


@pytest.mark.parametrize(
    ("possible", "trump", "voids"),
    [
        (ALL, 4, [0, 0, 0, 0, 0]),
        (ALL & ~CLUBS, 1, [1, 0, 0, 0, 0]),
        (card_set("LJ 2H"), 4, [1, 1, 0, 1, 0]),
        (card_set("LJ 2H"), 3, [1, 1, 0, 0, 0]),
        (card_set("2H"), 4, [1, 1, 0, 1, 1]),
        (0, 2, [1, 1, 1, 1, 0]),
    ],
)
def test_voids_are_marked_by_suit_and_jokers_where_they_are_one(possible: int, trump: int, voids: list[int]) -> None:
    for places in (4, 5):
        row = np.full(places, 7, np.int8)
        trick_hand.mark_voids(possible, trump, row)
        assert row.tolist() == voids[:places]


def test_who_deals_first_is_agreed_or_drawn() -> None:
    assert (trick_hand.dealer_of(2, 0), trick_hand.dealer_of(trick_hand.RANDOM_DEALER, 3)) == (2, 3)
    assert [trick_hand.num_start_outcomes(Table(5, dealer)) for dealer in (-1, 0, 4)] == [5, 1, 1]
    trick_hand.check_first_dealer("pitch", Table(5, 4))
    with pytest.raises(OptionError, match=r"pitch option first_dealer is 5; .* 0\.\.4 or 'random'"):
        trick_hand.check_first_dealer("pitch", Table(5, 5))


TRICKS: list[tuple[str, dict[str, Any]]] = [
    ("pitch", {}),
    ("pitch", {"follow": "strict", "must_trump_when_void": True, "joker": "below_jack"}),
    ("killer_bridge", {"length": "single", "hand_size": 8}),
]
GAMES = [backalley.game(name, **given) for name, given in TRICKS]


def lacking(game: Game, episodes: int = 5) -> tuple[int, int]:
    """How many redrawn hands hold a card that their players have shown to lack, of how many that lack something."""
    env, random, wrong, many = AECEnv(game), np.random.default_rng(2), 0, 0
    for state in played(env, range(episodes), random):
        if random.random() < 0.8:
            continue
        seat, held, may_hold = int(state["seat"][0]), state["hand"][0], state["may_hold"][0]
        unseen = np.bitwise_or.reduce(np.delete(held, seat))
        for world in determinizations_of(env, seat, 4):
            others = [who for who in range(game.num_seats) if who != seat and unseen & ~may_hold[who]]
            many += len(others)
            wrong += sum(bool(world["hand"][who] & ~may_hold[who]) for who in others)
            assert [int(hand).bit_count() for hand in world["hand"]] == [int(hand).bit_count() for hand in held]
            assert world["hand"][seat] == held[seat]
    return wrong, many


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_redrawn_hand_holds_nothing_that_its_player_has_shown_to_lack(game: Game) -> None:
    wrong, many = lacking(game)
    assert wrong == 0
    assert many > 60


def careless(game: Game) -> Game:
    """A game that forgets, as it redraws, which suits a player has shown to lack."""
    redraw = game.kernels.determinize

    @kernel
    def determinize(options: Any, state: Any, seat: int, key: np.uint64) -> None:
        kept = state.may_hold.copy()
        state.may_hold[:] = -1
        redraw(options, state, seat, key)
        state.may_hold[:] = kept

    kernels = game.type.kernels._replace(determinize=determinize)
    return dataclasses.replace(game.type, kernels=kernels).bind(game.options._asdict())


@pytest.mark.uncompiled
@pytest.mark.parametrize("game", GAMES[1:], ids=repr)
def test_a_redraw_that_forgets_a_void_is_found(game: Game) -> None:
    wrong, many = lacking(careless(game), episodes=1)
    assert wrong > many // 10
