"""The exact solver: published and independent figures, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from backalley.benchmarks import results
from backalley.benchmarks.enumeration import openings
from backalley.benchmarks.exact import Unsolvable, solve
from backalley.envs.core.base import GameType
from backalley.envs.core.kernel import kernel
from backalley.envs.core.options import option
from backalley.envs.core.parts import CHANCE, OVER, Enumeration, Kernels
from backalley.envs.core.record import field
from tests.kuhn import GAME as KUHN

PACK = (1, 1, 2, 3, 3, 5)
"""Values of the six cards of a toy: draw as often as you like without passing 6, then stop; another seat then does the
same."""


class Options(NamedTuple):
    seats: Annotated[int, option("who plays", low=1, high=2)] = 2


class State:
    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", 2, "gains")
    deck: npt.NDArray[np.int8] = field("i1", len(PACK), "the pack")
    next_card: int = field("i1", doc="cards dealt")
    total: npt.NDArray[np.int8] = field("i1", 2, "sums")


class Observation:
    total: npt.NDArray[np.uint8] = field("u1", 2, "sums", high=20)


VALUES = np.array(PACK)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    for place in range(len(PACK)):
        state.deck[place] = deck[place]
    state.next_card = 1
    state.total[0] = VALUES[deck[0]]
    state.seat = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    mask[0] = 1
    mask[1] = state.next_card < len(PACK)


@kernel
def step(options: Options, state: State, action: int) -> None:
    seat = int(state.seat)
    if action == 1:
        state.total[seat] += VALUES[state.deck[int(state.next_card)]]
        state.next_card = int(state.next_card) + 1
        if int(state.total[seat]) <= 6:
            return
    if seat + 1 < options.seats:
        state.seat = seat + 1
        return
    state.seat = OVER
    mine, its = int(state.total[0]), int(state.total[1])
    mine, its = (mine if mine <= 6 else 0), (its if its <= 6 else 0)
    gain = (mine > its) - (mine < its) if options.seats == 2 else mine / 8
    state.reward[0] += gain
    state.reward[1] -= gain


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    out.total[0] = state.total[0]


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    pass


@kernel
def deck(state: State) -> npt.NDArray[np.int8]:
    return state.deck


@kernel
def next_card(state: State) -> int:
    return int(state.next_card)


@kernel
def kind(card: int) -> int:
    return int(VALUES[card])


@kernel
def key(options: Options, state: State) -> int:
    left = 0
    for place in range(state.next_card, len(PACK)):
        left += 8 ** int(VALUES[state.deck[place]])
    return ((left * 20 + int(state.total[0])) * 20 + int(state.total[1])) * 2 + int(state.seat)


TOY = GameType(
    name="toy",
    version=0,
    title="Toy",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=2,
    action_str=lambda options, action: ("stop", "draw")[action],
    table_str=lambda options, state, seat: "",
    piles=lambda options, state: {"pack": state.deck.tolist()},
    deck_size=lambda options: len(PACK),
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    enumeration=Enumeration(deck, next_card, kind, key),
)


def by_hand(seats: int, best: bool) -> Fraction:
    """The toy solved in exact fractions, from its description alone, over single cards."""

    def value(seat: int, totals: tuple[int, ...], left: tuple[int, ...]) -> Fraction:
        if seat == seats:
            mine, its = (total if total <= 6 else 0 for total in totals)
            return Fraction((mine > its) - (mine < its)) if seats == 2 else Fraction(mine, 8)
        choices = [value(seat + 1, totals, left)]
        if left:
            drawn = Fraction(0)
            for index, card in enumerate(left):
                new = tuple(total + card * (who == seat) for who, total in enumerate(totals))
                onward = seat if new[seat] <= 6 else seat + 1
                drawn += value(onward, new, left[:index] + left[index + 1 :]) / len(left)
            choices.append(drawn)
        if not best:
            return sum(choices, Fraction(0)) / len(choices)
        return max(choices) if seat == 0 else min(choices)

    first = [value(0, (card, 0), PACK[:index] + PACK[index + 1 :]) for index, card in enumerate(PACK)]
    return sum(first, Fraction(0)) / len(PACK)


@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_toy_game_has_the_value_that_fractions_give(seats: int, split: int, threads: int) -> None:
    game = dataclasses.replace(TOY, enumeration_split=split).bind()
    found = solve(game.bind({"seats": seats}), num_threads=threads)
    assert found.best_return == pytest.approx(float(by_hand(seats, best=True)), abs=1e-12)
    assert found.random_return == pytest.approx(float(by_hand(seats, best=False)), abs=1e-12)


def test_openings_cover_every_way_the_cards_can_fall_once() -> None:
    game = dataclasses.replace(TOY, enumeration_split=2).bind()
    shares: dict[tuple[int, ...], float] = {}
    for chance, cards in openings(game):
        kinds = tuple(PACK[card] for card in cards)
        assert kinds not in shares
        shares[kinds] = chance
    counted: dict[tuple[int, ...], int] = {}
    for pair in itertools.permutations(PACK, 2):
        counted[pair] = counted.get(pair, 0) + 1
    assert shares == pytest.approx({kinds: count / 30 for kinds, count in counted.items()})


def test_a_game_with_hidden_cards_is_refused_in_a_sentence() -> None:
    with pytest.raises(Unsolvable, match="kuhn cannot be solved by enumeration"):
        solve(KUHN)


def test_work_that_was_kept_is_gone_on_with(tmp_path: Path) -> None:
    game, path = dataclasses.replace(TOY, enumeration_split=2).bind(), tmp_path / "found.json"
    kept = tmp_path / "found.json.unfinished"

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise Stop

    with pytest.raises(Stop):
        solve(game, keep=path, progress=stop)
    with pytest.raises(ValueError, match="holds unfinished work of another task"):
        solve(game.bind({"seats": 1}), keep=path)
    seen: list[int] = []
    found = solve(game, keep=path, progress=lambda done, total: seen.append(done))
    assert seen
    assert min(seen) > len(list(openings(game))) // 2
    assert found.best_return == pytest.approx(float(by_hand(2, best=True)), abs=1e-12)
    assert kept.exists(), "nothing is lost before the solution is on disk"
    results.write(path, found.to_json())
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(path.read_text("utf-8"))["best_return"] == found.best_return
    kept.write_text("{")  # damaged: there is nothing in it to lose
    seen.clear()
    assert solve(game, keep=path, progress=lambda done, total: seen.append(done)).best_return == found.best_return
    assert len(seen) > 1


@pytest.mark.slow
def test_backhand_has_its_published_value() -> None:
    """The rules' figures: best play wins with probability 0.572722038, random play with 0.345877721."""
    best, drifting = solve("backhand").even_money
    assert best == pytest.approx(0.572722038, abs=5e-10)
    assert drifting == pytest.approx(0.345877721, abs=5e-10)
