"""Pitch told a second time: a referee who shares no code with the game, and tables to hold against it."""

from __future__ import annotations

from typing import Any

import numpy as np

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.pitch.state import (
    BID,
    JOKER,
    NAME,
    PASS,
    PLAY,
    AllPass,
    Follow,
    GameEnd,
    GameTie,
    Joker,
    JokerPitch,
    LowRule,
    Mode,
    Teams,
)

PIPS = {8: 10, 12: 4, 11: 3, 10: 2, 9: 1}  # by rank: ten, ace, king, queen, jack


def cards_of(held: int) -> set[int]:
    return {card for card in range(JOKER + 1) if int(held) >> card & 1}


class Referee:
    """The rules told a second time, in lists and sets: it is handed the hands dealt and the actions, and never looks at
    the table."""

    def __init__(self, options: Any, dealer: int) -> None:
        self.o, self.dealer = options, dealer
        self.n = options.num_players
        self.partners = options.teams == Teams.PARTNERS
        self.side = [seat % 2 if self.partners else seat for seat in range(self.n)]
        self.score = [0] * len(set(self.side))
        self.smudge = 4 if options.joker == Joker.NONE else 5
        self.hands_over = 0
        self.rewards: list[float] | None = None

    def deal(self, hands: list[set[int]]) -> None:
        self.hands, self.dealt = [set(hand) for hand in hands], [set(hand) for hand in hands]
        self.bids: dict[int, int] = {}  # a pass is 0
        self.trump: int | None = None
        self.trick: list[tuple[int, int]] = []
        self.taken: list[list[int]] = [[] for _ in self.score]
        self.lacks: list[set[int]] = [set() for _ in range(self.n)]
        self.naming, self.pitcher = False, -1
        self.turn = (self.dealer + 1) % self.n

    @property
    def high_bid(self) -> int:
        return max(self.bids.values(), default=0)

    def suit(self, card: int) -> int:
        assert self.trump is not None
        return self.trump if card == JOKER else card // 13

    def height(self, card: int) -> float:
        if card == JOKER:
            return -1 if self.o.joker == Joker.LOW_TRUMP else 8.5
        return card % 13

    def calls(self, seat: int) -> set[int]:
        """Bids that are legal, a pass being 0."""
        found = {value for value in range(2, self.smudge + 1) if value > self.high_bid}
        if (
            seat == self.dealer
            and self.o.dealer_can_take
            and self.high_bid
            and (self.high_bid < self.smudge or self.o.smudge_takeable)
        ):
            found.add(self.high_bid)
        if seat != self.dealer or self.high_bid or self.o.all_pass == AllPass.REDEAL:
            found.add(0)
        elif self.o.all_pass == AllPass.DEALER_EXACTLY_2:
            found = {2}
        return found

    def legal(self) -> set[int]:
        if self.naming:
            return set(range(NAME, NAME + 4))
        if self.pitcher < 0:
            return {PASS if value == 0 else BID + value - 2 for value in self.calls(self.turn)}
        hand = self.hands[self.turn]
        if not self.trick:
            return {PLAY + card for card in hand}
        led = self.suit(self.trick[0][1])
        trumps = {card for card in hand if self.suit(card) == self.trump}
        following = {card for card in hand if self.suit(card) == led}
        if led == self.trump:
            playable = trumps or hand
        elif following:
            playable = following if self.o.follow == Follow.STRICT else following | trumps
        else:
            playable = trumps if self.o.must_trump_when_void and trumps else hand
        return {PLAY + card for card in playable}

    def act(self, action: int) -> None:
        seat = self.turn
        if self.naming:
            self.naming, self.trump = False, action - NAME
            self.turn = (seat + 1) % self.n
        elif self.pitcher < 0:
            self.bids[seat] = 0 if action == PASS else action - BID + 2
            self.pass_the_bid_on(seat)
        else:
            self.lay(seat, action - PLAY)

    def pass_the_bid_on(self, seat: int) -> None:
        while seat != self.dealer:
            seat = (seat + 1) % self.n
            if self.calls(seat) != {0}:
                self.turn = seat
                return
        if self.high_bid == 0:
            self.end_hand(None)
            return
        # Only the dealer can bid as much as another, who bids last.
        self.pitcher = [who for who, value in self.bids.items() if value == self.high_bid][-1]
        self.turn = self.pitcher
        side = self.side[self.pitcher]
        if self.o.game_end == GameEnd.NEXT_AUCTION and self.o.mode == Mode.MATCH and self.score[side] >= self.o.target:
            self.end_match(side)

    def end_match(self, winner: int) -> None:
        loss = -1.0 / (len(self.score) - 1)
        self.rewards = [1.0 if side == winner else loss for side in self.side]

    def lay(self, seat: int, card: int) -> None:
        self.hands[seat].remove(card)
        self.trick.append((seat, card))
        if self.trump is None:
            if card != JOKER:
                self.trump = card // 13
            elif self.o.joker_pitch == JokerPitch.NAME:
                self.naming = True
                return
            else:
                self.trump = 3
        led = self.suit(self.trick[0][1])
        followed = self.suit(card) == led
        trumped = self.suit(card) == self.trump
        if not followed and (not trumped or self.o.follow == Follow.STRICT):
            self.lacks[seat].add(led)
        if not followed and not trumped and self.o.must_trump_when_void:
            self.lacks[seat].add(self.trump)
        self.turn = (seat + 1) % self.n
        if len(self.trick) == self.n:
            best = self.trump if any(self.suit(laid) == self.trump for _, laid in self.trick) else led
            self.turn = max(
                (who for who in self.trick if self.suit(who[1]) == best), key=lambda who: self.height(who[1])
            )[0]
            self.taken[self.side[self.turn]] += [card for _, card in self.trick]
            self.trick = []
            if not self.hands[self.turn]:
                self.end_hand(self.points())

    def owner(self, piles: list[Any], card: int) -> int | None:
        return next((side for side, pile in enumerate(piles) if card in pile), None)

    def points(self) -> list[int | None]:
        """Who has High, Low, Jack, Game, Joker: a side or None."""
        trumps = [card for pile in self.taken for card in pile if self.suit(card) == self.trump]
        plain = [card for card in trumps if card != JOKER]
        high = self.owner(self.taken, max(trumps, key=self.height))
        low = None
        if plain and self.o.low == LowRule.CAPTURED:
            low = self.owner(self.taken, min(plain))
        elif plain:
            seat = self.owner(self.dealt, min(plain))
            low = None if seat is None else self.side[seat]
        assert self.trump is not None
        return [high, low, self.owner(self.taken, 13 * self.trump + 9), self.game(), self.owner(self.taken, JOKER)]

    def game(self) -> int | None:
        pips = [sum(PIPS.get(card % 13, 0) for card in pile if card != JOKER) for pile in self.taken]
        tied = [side for side, found in enumerate(pips) if found == max(pips)]
        bidder = self.side[self.pitcher]
        if len(tied) == 1:
            return tied[0]
        if self.o.game_tie == GameTie.BIDDER and bidder in tied:
            return bidder
        others = [side for side in tied if side != bidder]
        return others[0] if self.o.game_tie == GameTie.NON_BIDDER and len(others) == 1 else None

    def end_hand(self, points: list[int | None] | None) -> None:
        self.hands_over += 1
        winners = []
        if points is not None:
            winners = self.settle(points)
            self.dealer = (self.dealer + 1) % self.n
        if self.rewards is not None:
            return
        if not winners and self.hands_over == self.o.max_hands:
            self.rewards = [0.0] * self.n
            winners = [side for side, score in enumerate(self.score) if score == max(self.score)]
        if len(winners) == 1 and self.o.mode == Mode.MATCH:
            self.end_match(winners[0])

    def settle(self, points: list[int | None]) -> list[int]:
        """Score a hand; gives the side that has won the game by it, if any."""
        won = [points.count(side) for side in range(len(self.score))]
        least = 2 + (points[2] is not None) + (points[4] is not None) - (points[1] is None)
        assert sum(won) in (least, least + 1)
        bidder, bid = self.side[self.pitcher], self.high_bid
        made = won[bidder] >= bid
        change = [won[side] if side != bidder or made else -bid for side in range(len(won))]
        self.score = [score + more for score, more in zip(self.score, change, strict=True)]
        if self.o.mode == Mode.HAND:
            others = [(sum(change) - mine) / (len(change) - 1) for mine in change]
            self.rewards = [(change[side] - others[side]) / (2 * self.smudge) for side in self.side]
            return []
        if made and (self.score[bidder] >= self.o.target or (self.o.smudge_wins_game and bid == self.smudge)):
            return [bidder]
        if self.o.game_end == GameEnd.BIDDER_MUST_WIN and self.score[bidder] >= self.o.target:
            return [bidder]
        if self.o.game_end == GameEnd.FIRST_PAST:
            around = [(bidder + step) % len(won) for step in range(len(won))]
            return [side for side in around if self.score[side] >= self.o.target][:1]
        return []


def played_with_a_referee(env: AECEnv, seed: int) -> Referee:
    """One game of random play in which table and referee agree at every decision, and on every score."""
    random = np.random.default_rng(seed)
    env.reset(seed=seed)
    batch = env.engine.batch
    state = batch.state[0]
    referee = Referee(env.game.options, int(state.dealer))
    referee.deal([cards_of(held) for held in state.hand])
    gained = np.zeros(env.engine.num_seats)
    while batch.seat[0] != OVER:
        assert referee.rewards is None
        assert int(state.seat) == referee.turn
        assert set(np.flatnonzero(batch.mask[0]).tolist()) == referee.legal()
        hands = int(state.hand_index)
        action = int(random.choice(np.flatnonzero(batch.mask[0])))
        env.step(action)
        referee.act(action)
        gained += batch.reward[0]
        assert referee.hands_over == int(state.hand_index)
        if int(state.hand_index) > hands:
            assert referee.score == state.score.tolist()
            if batch.seat[0] != OVER:
                assert referee.dealer == int(state.dealer)
                referee.deal([cards_of(held) for held in state.hand])
    assert referee.rewards is not None
    assert np.allclose(gained, referee.rewards, atol=1e-6)
    return referee


def opened(seed: int = 3, **given: Any) -> AECEnv:
    env: AECEnv = backalley.make("pitch-v0", **given)
    env.reset(seed=seed)
    return env
