"""What vectors cannot say of Pitch: whole games against a second telling of the rules, what a seat may imagine, and how
the bots bid."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backalley
from backalley.agents.base import view_of
from backalley.agents.registry import agent
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.core import rng, trick_hand
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.kernel import COMPILED
from backalley.envs.core.options import OptionError
from backalley.envs.core.parts import OVER
from backalley.envs.core.playthrough import load, record
from backalley.envs.core.vector import BatchEnv
from backalley.envs.pitch import bot
from backalley.envs.pitch.game import GAME
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

ROOT = Path(__file__).resolve().parents[2]
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
            loss = -1.0 / (len(self.score) - 1)
            self.rewards = [1.0 if side == winners[0] else loss for side in self.side]

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


agreed = {
    "target": st.sampled_from([7, 11, 21]),
    "low": st.sampled_from(["captured", "dealt"]),
    "game_tie": st.sampled_from(["none", "non_bidder", "bidder"]),
    "must_trump_when_void": st.booleans(),
    "dealer_can_take": st.booleans(),
    "smudge_takeable": st.booleans(),
    "all_pass": st.sampled_from(["dealer_forced_2", "redeal", "dealer_exactly_2"]),
    "follow": st.sampled_from(["or_trump", "strict"]),
    "smudge_wins_game": st.booleans(),
    "joker": st.sampled_from(["none", "low_trump", "below_jack"]),
    "joker_pitch": st.sampled_from(["spades", "name"]),
    "game_end": st.sampled_from(["bidder_must_make", "first_past", "bidder_must_win"]),
    "mode": st.sampled_from(["match", "match", "hand"]),
    "max_hands": st.sampled_from([64, 64, 5]),
}


@settings(max_examples=60 if COMPILED else 4, deadline=None)
@given(st.fixed_dictionaries({}, optional=agreed), st.integers(0, 2**31))
def test_partners_play_as_the_rules_are_told_a_second_time(given: dict[str, Any], seed: int) -> None:
    played_with_a_referee(AECEnv(GAME.bind(given)), seed)


ALONE = """
from backalley.envs.core.aec import AECEnv
from tests.games.test_pitch import GAME, played_with_a_referee
choices = [
    {},
    {"joker": "low_trump", "joker_pitch": "name", "game_tie": "bidder"},
    {"mode": "hand", "all_pass": "redeal"},
    {"low": "dealt", "game_end": "first_past", "game_tie": "non_bidder", "joker": "below_jack"},
    {"max_hands": 3},
    {"follow": "strict", "all_pass": "dealer_exactly_2", "game_end": "bidder_must_win", "joker": "low_trump"},
]
for number, given in enumerate(choices):
    for players in (3, 4, 6, 7):
        options = {"target": 7, **given, "teams": "solo", "num_players": players}
        played_with_a_referee(AECEnv(GAME.bind(options)), 10 * number + players)
print("done")
"""


@pytest.mark.slow
def test_three_to_seven_alone_play_as_the_rules_are_told_a_second_time(tmp_path: Path) -> None:
    """Line by line, so that no table size has to be compiled for it."""
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    run = subprocess.run(
        [sys.executable, "-c", ALONE], env=env, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.stdout.strip() == "done", run.stderr[-2000:]


def opened(seed: int = 3, **given: Any) -> AECEnv:
    env: AECEnv = backalley.make("pitch-v0", **given)
    env.reset(seed=seed)
    return env


def observation(env: AECEnv, seat: int) -> Any:
    flat = env.engine.observe(np.zeros(1, np.int64), np.array([seat]))
    return flat.view(env.game.observation_dtype).reshape(-1)[0]


def worlds_of(env: AECEnv, seat: int, count: int) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        keys = np.array([rng.fork(np.uint64(99), number) for number in range(count)], np.uint64)
    worlds = np.repeat(env.engine.batch.state, count)
    env.engine.determinize(worlds, np.full(count, seat), keys)
    return worlds


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
                shown = observation(env, seat)
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
            for world in worlds_of(env, seat, 8):
                imagined = [cards_of(held) for held in world.hand]
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
            worlds, room = worlds_of(env, 0, count), len(referee.hands[who])
            share = room / len(may_hold)
            for card in may_hold:
                found = int(((worlds["hand"][:, who] >> card) & 1).sum())
                assert abs(found - count * share) < 5 * math.sqrt(count * share * (1 - share)), (
                    f"seed {seed}, seat {who}"
                )
            tried += 1
            break
        if tried == 8:
            return
    raise AssertionError("too few positions")


def test_a_card_is_in_play_six_times_out_of_thirteen() -> None:
    size = 4096 if COMPILED else 64
    tables = BatchEnv(GAME.bind(), size, seed=11)
    tables.reset()
    dealt = np.bitwise_or.reduce(tables.engine.batch.state["hand"], axis=1)
    in_play = (dealt[:, None] >> np.arange(52)) & 1
    deviation = (in_play.sum(0) - size * 6 / 13) / math.sqrt(size * 6 / 13 * 7 / 13)
    assert np.abs(deviation).max() < 5
    worth = np.array([PIPS.get(card % 13, 0) for card in range(52)])
    pips = in_play @ worth
    assert abs(pips.mean() - 80 * 6 / 13) < 5 * pips.std() / math.sqrt(size)


@pytest.mark.parametrize(
    ("given", "unseen", "dealt"),
    [({}, 46, 18), ({"joker": "low_trump"}, 47, 18), ({"teams": "solo", "num_players": 7}, 46, 36)],
)
def test_how_likely_none_of_some_cards_is_in_play(given: dict[str, Any], unseen: int, dealt: int) -> None:
    game = GAME.bind(given)
    for cards in range(13):
        expected = math.comb(unseen - cards, dealt) / math.comb(unseen, dealt)
        assert bot.none_out(game.options, cards) == pytest.approx(expected, rel=1e-12)
    if not given:
        printed = [0.608696, 0.365217, 0.215810, 0.125471, 0.071698]
        assert [bot.none_out(game.options, cards) for cards in range(1, 6)] == pytest.approx(printed, abs=5e-7)
    if "joker" in given:
        assert [bot.none_out(game.options, cards) for cards in range(1, 4)] == pytest.approx(
            [0.617021, 0.375578, 0.225347], abs=5e-7
        )


@pytest.mark.parametrize("target", [1, 128, trick_hand.MOST_SCORE])
def test_a_game_to_the_least_and_to_the_greatest_target(target: int) -> None:
    """Where five hands cannot bring it, the higher score wins after them."""
    referee = played_with_a_referee(AECEnv(GAME.bind(target=target, max_hands=5)), 3)
    assert referee.hands_over < 5 if target == 1 else referee.hands_over == 5


@pytest.mark.parametrize("scores", [(0, -5), (127, 128), (-128, -129), (600, -600), (trick_hand.MOST_SCORE, -16384)])
def test_any_score_on_the_way_to_a_target_is_shown(scores: tuple[int, int]) -> None:
    env = opened()
    env.engine.batch.state["score"][0] = scores
    for seat in range(4):
        shown = observation(env, seat)
        assert (shown.score_rest >= 0).all()
        whole = 128 * shown.score_128s.astype(int) + shown.score_rest
        assert whole.tolist() == [scores[seat % 2], scores[1 - seat % 2]]


def test_before_a_deal_the_side_that_lacks_less_is_likelier_to_win() -> None:
    env = opened()
    state = env.engine.batch.state
    leaf_value = GAME.leaf_value
    assert leaf_value is not None
    found = []
    for mine in (-10, 0, 10, 21, 25):
        state[0].score[:] = (mine, 10)
        gains = [leaf_value(env.game.options, state[0], seat) for seat in range(4)]
        assert sum(gains) == pytest.approx(0)
        assert gains[0] == gains[2]
        found.append(gains[0])
    assert found[2] == pytest.approx(0)
    assert found[0] < found[1] < 0 < found[3] == found[4] < 1
    assert leaf_value(GAME.bind(mode="hand").options, state[0], 0) == 0


@pytest.mark.skipif(not COMPILED, reason="hundreds of games")
@pytest.mark.slow
def test_the_leaf_value_is_what_comes_of_the_scores() -> None:
    """Over games of `book` with itself, the mean leaf_value before the deals of each tenth is near the mean of what was
    won."""
    game = GAME.bind()
    tables = BatchEnv(game, 1024, seed=2, autoreset=False)
    player, leaf_value = agent("bot:book", game), GAME.leaf_value
    assert leaf_value is not None
    step, batch = tables.reset(), tables.engine.batch
    keys = np.arange(1024, dtype=np.uint64)
    seen, hoped = np.full(1024, -1), [[] for _ in range(1024)]  # type: ignore[var-annotated]
    won = np.zeros(1024)
    while (live := np.flatnonzero(step.seat >= 0)).size:
        for row in live[batch.state["hand_index"][live] != seen[live]]:
            seen[row] = batch.state["hand_index"][row]
            hoped[row].append(leaf_value(game.options, batch.state[row], 0))
        step = tables.step(player.act(view_of(tables.engine, live, keys)), live)
        won[live] += step.reward[live, 0]
    pairs = np.array([(hope, won[row]) for row in range(1024) for hope in hoped[row]])
    for low in np.arange(-1, 1, 0.25):
        these = pairs[(pairs[:, 0] >= low) & (pairs[:, 0] < low + 0.25)]
        assert len(these) > 200
        assert abs(these[:, 0].mean() - these[:, 1].mean()) < 0.15


@pytest.mark.skipif(not COMPILED, reason="thousands of games")
@pytest.mark.parametrize(
    ("better", "worse", "given", "deals"),
    [
        ("bot:book", "bot:careful", {}, 2_000),
        ("bot:careful", "random", {}, 200),
        ("bot:book", "random", {"mode": "hand", "low": "dealt"}, 1_000),
        ("bot:book", "bot:careful", {"joker": "below_jack", "target": 11}, 1_000),
        ("bot:book", "bot:careful", {"follow": "strict", "game_end": "bidder_must_win"}, 2_000),
        pytest.param("bot:book", "bot:careful", {"teams": "solo"}, 2_000, marks=pytest.mark.slow),
    ],
)
def test_the_better_player_wins(better: str, worse: str, given: dict[str, Any], deals: int) -> None:
    game = GAME.bind(given)
    players = [agent(better, game), agent(worse, game)]
    assert evaluate(game, players, deals=deals, seed=1).differences[0].high < 0


def test_book_still_plays_its_frozen_game() -> None:
    kept = load(GAME.folder / "playthroughs" / "book_seed-2.json")
    again = record(GAME.bind(kept["options"]), seed=2, bot="book")
    assert (again["decks"], again["moves"], again["returns"]) == (kept["decks"], kept["moves"], kept["returns"])


def test_book_bids_no_two_that_an_opposing_dealer_can_take() -> None:
    """It is bid before the dealer by the dealer's partner alone; where the dealer cannot take a bid, by anybody."""
    for can_take, bidders in ((True, {2}), (False, {1, 2, 3})):
        env, found = opened(first_dealer=0, dealer_can_take=can_take), set()
        for seed in range(300 if COMPILED else 20):
            env.reset(seed=seed)
            while env.engine.batch.state[0].phase == 0 and env.engine.batch.seat[0] != 0:
                mask = env.engine.batch.mask[0]
                action = int(bot.book(env.game.options, env.engine.batch.observation[0], mask, np.uint64(0)))
                if action == BID:
                    found.add(int(env.engine.batch.seat[0]))
                env.step(action)
        assert found == bidders


@pytest.mark.parametrize("name", ["careful", "book"])
def test_a_bid_that_wins_the_game_even_if_it_is_lost_is_made(name: str) -> None:
    """With `bidder_must_win`, from target and two on: the highest of them, with any hand, and no higher one."""
    env = opened(first_dealer=3, game_end="bidder_must_win")
    for seed in range(30 if COMPILED else 3):
        for score, sure in ((23, BID), (24, BID + 1), (25, BID + 2), (400, BID + 2)):
            env.reset(seed=seed)
            env.engine.batch.state["score"][0] = (score, 0)
            shown, mask = observation(env, 0), env.engine.batch.mask[0]
            assert GAME.bind().bots[name].act(env.game.options, shown, mask, np.uint64(0)) == sure


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_players": 5}, 'partners are 4: set teams="solo"'),
        ({"teams": "solo", "num_players": 3, "first_dealer": 3}, "0..2"),
        ({"teams": "solo", "num_players": 8}, "3..7"),
        ({"joker": "high"}, "below_jack"),
        ({"target": 0}, "1..16383"),
        ({"target": 16384}, "1..16383"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        GAME.bind(given)


def test_partners_are_two_sides_and_the_lonely_one_each() -> None:
    assert GAME.bind().sides == (0, 1, 0, 1)
    assert GAME.bind(teams="solo", num_players=5).sides == (0, 1, 2, 3, 4)
