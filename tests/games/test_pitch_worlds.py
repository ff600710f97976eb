"""Pitch: what a seat sees and may imagine of the other hands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.pitch.state import JOKER
from tests.common.cases import determinizations_of, observed
from tests.games.pitch import PIPS, Referee, cards_of, opened


def rows(marked: npt.NDArray[Any]) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in marked]


def followed(env: AECEnv, seed: int) -> Any:
    """Random play of one hand, with a referee who agrees, yielded before every decision."""
    random, batch = np.random.default_rng(seed), env.engine.batch
    env.reset(seed=seed)
    referee = Referee(env.game.options, int(batch.state[0].dealer))
    referee.deal([cards_of(held) for held in batch.state[0].hand])
    while batch.seat[0] != OVER and referee.hands_over == 0:
        yield referee
        action = int(random.choice(np.flatnonzero(batch.mask[0])))
        referee.act(action)
        env.step(action)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"joker": "low_trump", "joker_pitch": "name", "must_trump_when_void": True},
        {"follow": "strict", "joker": "below_jack"},
    ],
)
def test_a_seat_sees_its_hand_and_all_that_has_been_laid_open(given: dict[str, Any]) -> None:
    env = opened(**given)
    for seed in range(6 if COMPILED else 1):
        for referee in followed(env, seed):
            pips = [sum(PIPS.get(card % 13, 0) for card in pile if card != JOKER) for pile in referee.taken]
            points = referee.points() if any(referee.taken) else [None] * 5
            for seat in range(4):
                shown = observed(env, seat)
                around = [(seat + offset) % 4 for offset in range(4)]
                assert rows(shown.hand[None]) == [referee.hands[seat]]
                assert rows(shown.played) == [referee.dealt[who] - referee.hands[who] for who in around]
                laid = dict(referee.trick)
                assert rows(shown.trick) == [{laid[who]} if who in laid else set() for who in around]
                assert rows(shown.void) == [referee.lacks[who] for who in around]
                assert shown.turn.tolist() == [int(who == referee.turn) for who in around]
                assert shown.dealer.tolist() == [int(who == referee.dealer) for who in around]
                column = [referee.bids[who] or 1 if who in referee.bids else 0 for who in around]
                assert np.argmax(shown.bids, axis=1).tolist() == column
                assert shown.high_bid == referee.high_bid
                assert int(np.argmax(shown.trump)) == (4 if referee.trump is None else referee.trump)
                assert shown.pips.tolist() == [pips[(seat + offset) % 2] for offset in range(2)]
                for name, owner in enumerate(points):
                    assert shown.points[name].tolist() == [
                        int(owner is not None and (seat + side) % 2 == owner) for side in range(2)
                    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"joker": "below_jack"},
        {"must_trump_when_void": True},
        {"follow": "strict"},
        {"follow": "strict", "must_trump_when_void": True},
    ],
)
def test_imagined_hands_hold_nothing_that_a_seat_has_shown_to_lack(given: dict[str, Any]) -> None:
    env, shown_voids = opened(**given), 0
    pack = set(range(env.game.deck_size))
    for seed in range(12 if COMPILED else 2):
        for number, referee in enumerate(followed(env, seed)):
            if number % 3:
                continue
            seat = number % 4
            laid = [referee.dealt[who] - referee.hands[who] for who in range(4)]
            unseen = pack - referee.hands[seat] - set().union(*laid)
            for determinization in determinizations_of(env, seat, 8):
                imagined = [cards_of(held) for held in determinization.hand]
                assert imagined[seat] == referee.hands[seat]
                others = [imagined[who] for who in range(4) if who != seat]
                assert set().union(*others) <= unseen
                assert sum(map(len, others)) == len(set().union(*others))
                for who in range(4):
                    assert len(imagined[who]) == len(referee.hands[who])
                    if who != seat and referee.lacks[who]:
                        shown_voids += 1
                        assert not {card for card in imagined[who] if referee.suit(card) in referee.lacks[who]}
    assert shown_voids > 20


@pytest.mark.parametrize("given", [{}, {"follow": "strict"}])
def test_unseen_cards_are_as_likely_in_every_place_that_may_hold_them(given: dict[str, Any]) -> None:
    """With one seat void of some suits, the cards it may still hold are equally likely there; all others before any
    void is shown."""
    env, count, tried = opened(**given), 4_000 if COMPILED else 200, 0
    for seed in range(60):
        for referee in followed(env, seed):
            void = [who for who in range(1, 4) if referee.lacks[who]]
            if referee.turn != 0 or len(void) != (tried > 1):
                continue
            laid = set().union(*(referee.dealt[who] - referee.hands[who] for who in range(4)))
            unseen = set(range(52)) - referee.hands[0] - laid
            who = void[0] if void else 1
            may_hold = sorted(card for card in unseen if not void or referee.suit(card) not in referee.lacks[who])
            determinizations, room = determinizations_of(env, 0, count), len(referee.hands[who])
            share = room / len(may_hold)
            for card in may_hold:
                found = int(((determinizations["hand"][:, who] >> card) & 1).sum())
                assert abs(found - count * share) < 5 * math.sqrt(count * share * (1 - share)), (
                    f"seed {seed}, seat {who}"
                )
            tried += 1
            break
        if tried == 8:
            return
    raise AssertionError("too few positions")
