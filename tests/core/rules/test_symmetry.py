"""Renamed suits: games that a declaration says are one go on alike at every decision, and no more suit_permutations are
left."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from backalley.envs.core.compile.interfaces import CHANCE, OVER, Bot
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.engine.engine import Engine
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.symmetry import Suits, Symmetry, suit_permutations
from tests.common.cases import CASES, GAMES, label, option_sets, own_shape

SUITED = [game for game in GAMES if game.type.suits is not None]
TOGETHER: dict[str, dict[str, Any]] = {"pitch": {"joker": "below_jack", "joker_pitch": "name"}}
"""Options that name suits only together."""
SUITED_CASES = [case for case in CASES if case.values[0].type.suits is not None]
SUITED_CASES += [
    pytest.param(game.bind(given), id=f"{game.name}[{label(given)}]")
    for game in SUITED
    for given in [TOGETHER.get(game.name)]
    if given
]
BY_NAME = pytest.mark.parametrize("game", SUITED, ids=lambda game: game.name)
MOST = 1_500 if COMPILED else 60
"""Decisions of a game that are compared, at up to 24 tables each."""


class Tables:
    """One game under several suit_permutations at once, the first of which changes nothing: the same packs and actions
    by other names. Tables that notice are left behind, with what they noticed."""

    def __init__(self, game: Game, permuted: Sequence[Symmetry], seed: int) -> None:
        self.game, self.permuted = game, permuted
        self.alike, self.noticed = list(range(len(permuted))), dict[int, str]()
        self.columns = np.array([symmetry.observation for symmetry in permuted])
        self.chosen = np.array([symmetry.chosen for symmetry in permuted])
        self.random = np.random.default_rng(seed)
        self.engine = Engine(game, len(permuted))
        self.deck = self.engine.fresh_deck()
        outcome = int(self.random.integers(game.num_start_outcomes))
        for row in self.alike:
            self.engine.start_one(outcome, row)
        self.engine.batch.stream[0] = self.random.integers(2**63)
        self.deal()
        for row in self.alike:
            self.engine.show_one(row)
        self.compare()

    def deal(self) -> None:
        """What chance deals at the first table, at all that want a pack."""
        while self.engine.acting[0] == CHANCE:
            self.engine.shuffle_one(self.deck)
            cards = self.deck.cards.copy()
            for row in self.alike:
                if self.engine.acting[row] == CHANCE:
                    self.engine.deal_one(self.permuted[row].cards[cards], row)
            if self.game.name == "poker_duel":
                self.offer_alike()

    def offer_alike(self) -> None:
        """The cards of one rank are offered in the order of their suits (§3): here in that of the first table."""
        state = self.engine.batch.state
        if state["phase"][0] == 0:
            for row in self.alike:
                state["offer"][row] = self.permuted[row].cards[state["offer"][0]]

    def step(self, bot: Bot | None = None) -> None:
        """An action of the first table, a bot's or one by lot, at every table by its name there."""
        batch = self.engine.batch
        action = int(self.random.choice(np.flatnonzero(batch.mask[0])))
        if bot is not None:
            key = np.uint64(self.random.integers(2**63))
            action = int(bot.act(self.game.options, batch.observation[0], batch.mask[0], key))
        for row in self.alike:
            self.engine.apply_one(int(self.permuted[row].actions[action]), row)
        self.deal()
        for row in self.alike:
            self.engine.finish_one(row)
        self.compare()

    def compare(self) -> None:
        """Leave the tables behind at which more than names differs from the first."""
        batch, acting = self.engine.batch, self.engine.acting
        rows, seats = np.array(self.alike), np.arange(self.game.num_seats)
        seen = self.engine.observe(np.repeat(rows, len(seats)), np.tile(seats, len(rows)))
        seen = seen.reshape(len(rows), len(seats), -1)
        columns = seen != seen[0][:, self.columns[rows]].swapaxes(0, 1)
        differ = columns.any(axis=(1, 2)) | (batch.seat[rows] != batch.seat[0]) | (acting[rows] != acting[0])
        differ |= (batch.mask[rows] != batch.mask[0][self.chosen[rows]]).any(axis=1)
        differ |= (batch.reward[rows] != batch.reward[0]).any(axis=1)
        for place in np.flatnonzero(differ):
            row = int(rows[place])
            self.noticed[row] = self.difference(row, columns[place])
            self.alike.remove(row)
        self.seen = seen[0]

    def difference(self, row: int, columns: np.ndarray[Any, Any]) -> str:
        """What differs at a table where something does."""
        batch = self.engine.batch
        if batch.seat[row] != batch.seat[0] or self.engine.acting[row] != self.engine.acting[0]:
            return "who is to act"
        if not np.array_equal(batch.mask[row], batch.mask[0][self.chosen[row]]):
            return "what is legal"
        if not np.array_equal(batch.reward[row], batch.reward[0]):
            return "rewards"
        wrong = np.flatnonzero(columns.any(axis=0))
        return next(name for name, place in self.game.observation_fields.items() if wrong[0] < place.stop)


def play(game: Game, permuted: Sequence[Symmetry], seed: int, bot: Bot | None = None) -> Iterator[Tables]:
    """A game under the suit_permutations, decision by decision, at random or of a bot with itself."""
    tables = Tables(game, [game.symmetry_of(suit_permutations(())[0]), *permuted], seed)
    yield tables
    for _ in range(MOST):
        if tables.engine.batch.seat[0] == OVER or (permuted and len(tables.alike) == 1):
            return
        tables.step(bot)
        yield tables


def notice(game: Game, permuted: Sequence[Symmetry], seeds: Sequence[int]) -> dict[int, str]:
    """Which of the suit_permutations, by number, random games notice, and by what."""
    found: dict[int, str] = {}
    for seed in seeds:
        left = [number for number in range(len(permuted)) if number not in found]
        for tables in play(game, [permuted[number] for number in left], seed) if left else ():
            last = tables
        found |= {left[row - 1]: what for row, what in last.noticed.items()} if left else {}
    return found


@pytest.mark.parametrize("game", SUITED_CASES)
@pytest.mark.sampled
def test_games_that_differ_by_the_names_of_suits_go_on_alike(game: Game) -> None:
    """Legal actions, turns, rewards and what every seat sees."""
    assert notice(game, game.symmetries, (0, 1)) == {}


@pytest.mark.parametrize("game", SUITED_CASES)
@pytest.mark.sampled
def test_the_renamings_are_a_group(game: Game) -> None:
    """All different, and two after one another are a third."""
    found = {tuple(np.concatenate(one).tolist()) for one in game.symmetries}
    assert len(found) == len(game.symmetries)
    assert all(np.array_equal(index, np.arange(len(index))) for index in game.symmetries[0])
    for first, second in itertools.product(game.symmetries, repeat=2):
        both = (second.cards[first.cards], first.observation[second.observation], second.actions[first.actions])
        assert tuple(np.concatenate(both).tolist()) in found


def test_a_game_that_says_nothing_has_one_name_for_everything() -> None:
    for game in GAMES:
        if game.type.suits is None:
            assert [[index.tolist() for index in one] for one in game.symmetries] == [
                [list(range(size)) for size in (game.deck_size, game.observation_size, game.num_actions)]
            ]


@BY_NAME
def test_no_more_suits_can_be_renamed(game: Game) -> None:
    """Under the default rules each of the 24 suit_permutations is declared, or some game notices it."""
    assert game.type.suits is not None
    declared = suit_permutations(game.type.suits.named(game.options))
    others = [new for new in suit_permutations(()) if new not in declared]
    missed = set(range(len(others))) - set(notice(game, [game.symmetry_of(new) for new in others], range(60)))
    assert not missed, f"nothing in sixty games tells {[others[number] for number in missed]} from the game itself"


@BY_NAME
def test_whatever_is_declared_matters(game: Game) -> None:
    """A field that lost its axis, or a run of actions left out, would be noticed: games come to where each is
    needed."""
    assert game.type.suits is not None
    fields = {name for name, place in game.observation_fields.items() if place.suits is not None}
    runs = set(game.type.suits.actions)
    sets = [TOGETHER.get(game.name, {}), *option_sets(game)]
    bound = [game.bind(given) for given in sets if not own_shape(game, given)]
    variants = [one for one in bound if len(one.symmetries) > 1]
    for seed in range(120):
        # What only options together bring about is as rare as it is: every other game is theirs.
        variant = variants[0 if seed % 4 < 2 else seed // 4 % len(variants)]
        symmetry, places = variant.symmetries[1], variant.observation_fields
        for tables in play(variant, [], seed, game.rollout_bot if seed % 2 else None):
            moved = (tables.seen != tables.seen[:, symmetry.observation]).any(axis=0)
            fields -= {name for name in fields if moved[places[name].start : places[name].stop].any()}
            legal = (tables.engine.batch.mask[0] != 0) & (symmetry.actions != np.arange(game.num_actions))
            runs -= {(first, count) for first, count in runs if legal[first : first + count].any()}
        if not fields and not runs:
            return
    assert not fields | runs, "no game has anything there that renaming moves"


@BY_NAME
def test_a_wrong_declaration_is_caught(game: Game) -> None:
    assert game.type.suits is not None
    careless = dataclasses.replace(game.type, suits=Suits(lambda options: (), actions=())).bind()
    found = notice(careless, careless.symmetries[1:], range(60))
    if game.type.suits.actions or len(game.symmetries) < len(careless.symmetries):
        assert found
        assert set(found.values()) <= {"what is legal", "who is to act", "rewards", *game.observation_fields}
