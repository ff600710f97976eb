"""What is played in one kernel is what steps would have played; packs drawn from the top are those of a whole draw."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import Bot
from backalley.envs.core.compile.kernel import passing
from backalley.envs.core.engine.batch_kernels import Deck, shuffle_deck
from backalley.envs.core.engine.batch_play import Played, random_legal
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.examples import kuhn
from tests.common import high_card
from tests.common.cases import GAMES

KUHN = kuhn.GAME.bind()
SOME = pytest.mark.parametrize("game", [KUHN, *GAMES[:2]], ids=lambda game: game.name)


def dealt(game: Game, num_envs: int, **settings: Any) -> BatchEnv:
    batch = BatchEnv(game, num_envs, seed=5, **settings)
    batch.reset()
    return batch


def everything(batch: BatchEnv) -> list[bytes]:
    return [array.tobytes() for array in (batch.engine.batch.raw, batch.engine.batch.stream, *batch.time_step)]


def by_steps(batch: BatchEnv, steps: int, act: Any, rows: npt.NDArray[np.int64]) -> Played:
    """What `play_random` and `play_bot` say they do, one step at a time."""
    played = Played(np.zeros((len(rows), batch.num_seats)), *np.zeros((2, len(rows)), np.int64))
    tables, choices = batch.engine.batch, batch._choices
    for _ in range(steps):
        on = np.flatnonzero(tables.seat[rows] >= 0)
        actions = []
        for row in rows[on]:
            with np.errstate(over="ignore"):
                choices[row] = np.uint64(rng.advance(choices[row]))
            actions.append(int(act(tables.observation[row], tables.mask[row], choices[row])))
        step = batch.step(actions, rows[on])
        played.reward[on] += step.reward[rows[on]]
        played.episodes[on] += (step.terminated | step.truncated)[rows[on]]
        played.decisions[on] += 1
    return played


@SOME
@pytest.mark.parametrize("autoreset", [True, False])
def test_what_is_drawn_in_the_kernel_is_what_steps_would_have_played(game: Game, autoreset: bool) -> None:
    rows = np.array([4, 0, 2])
    batch, twin = (dealt(game, 5, autoreset=autoreset) for _ in range(2))
    found = batch.play_random(25, rows)
    expected = by_steps(twin, 25, lambda shown, mask, key: random_legal(mask, key), rows)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert everything(batch) == everything(twin)
    assert np.all(batch.engine.batch.decisions[[1, 3]] == 0), "tables that were not named were played"
    assert not autoreset or (found.decisions == 25).all()


@SOME
def test_a_bot_plays_in_the_kernel_as_it_does_outside(game: Game) -> None:
    if not game.bots:
        pytest.skip("this game has no bots")
    name, bot = next(iter(game.bots.items()))
    batch, twin = dealt(game, 3), dealt(game, 3)
    found = batch.play_bot(12, name)
    expected = by_steps(twin, 12, lambda shown, mask, key: bot.act(game.options, shown, mask, key), np.arange(3))
    np.testing.assert_array_equal(found.reward, expected.reward)
    assert everything(batch) == everything(twin)


@SOME
def test_threads_and_the_division_into_calls_change_nothing(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    size, runs = 600, []
    for num_threads, at_once, calls in ((1, 2**18, (12,)), (2, 1, (5, 7)), (2, 3 * size, (12,))):
        monkeypatch.setattr("backalley.envs.core.api.vector._DECISIONS_AT_ONCE", at_once)
        batch = dealt(game, size, num_threads=num_threads)
        played = [batch.play_random(steps) for steps in calls]
        totals = [sum(part).tobytes() for part in zip(*played, strict=True)]  # type: ignore[arg-type, union-attr]
        runs.append(everything(batch) + totals)
        batch.close()
    assert runs[0] == runs[1] == runs[2]
    assert len({row.tobytes() for row in batch.engine.batch.raw}) > 1


def test_the_same_seed_draws_the_same_actions_in_any_row() -> None:
    batch, shifted = BatchEnv(KUHN, 6, seed=3), BatchEnv(KUHN, 3, seed=6)
    for one in (batch, shifted):
        one.reset()
        one.play_random(20)
    assert batch.engine.batch.raw[3:].tobytes() == shifted.engine.batch.raw.tobytes()
    batch.reset(seed=3)
    again = batch.play_random(20)
    other = batch.play_random(20)
    batch.reset(seed=3)
    assert np.array_equal(batch.play_random(20).reward, again.reward)
    assert not np.array_equal(other.reward, again.reward)


def test_copies_play_on_alike() -> None:
    batch = dealt(KUHN, 8)
    batch.play_random(9)
    copies = [copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))]
    batch.copy_rows([0] * 7, range(1, 8))
    assert len({row.tobytes() for row in batch.play_random(15).reward}) == 1
    found = [one.play_random(15).reward for one in copies]
    assert np.array_equal(*found)
    assert len({row.tobytes() for row in found[0]}) > 1


def test_every_legal_action_is_equally_likely() -> None:
    batch = dealt(KUHN, 4000)
    batch.play_random(1)
    bets = batch.engine.batch.state["bets"][:, 0] == 1 + kuhn.BET
    assert abs(bets.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(4000)


def test_tables_that_cannot_be_played_on_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"Table 0 has not been dealt; call reset\(\) first"):
        BatchEnv(KUHN, 2, seed=0).play_random(1)
    leafy = dealt(KUHN, 2, autoreset=False, leaf_values=True)
    with pytest.raises(RuntimeError, match=r"leaf_values ends episodes early; step\(\) does that"):
        leafy.play_random(1)
    with pytest.raises(RuntimeError, match=r"delayed_rewards books them at each step\(\); nothing else"):
        dealt(KUHN, 2, delayed_rewards=True).play_random(1)
    given = dealt(KUHN, 3)
    given.restart([1], options={"decks": [[0], [1]]})
    with pytest.raises(RuntimeError, match=r"Table 1 has given packs yet to be dealt; play it by step\(\)"):
        given.play_random(1)
    assert given.play_random(1, rows=[0, 2]).decisions.tolist() == [1, 1]
    with pytest.raises(ValueError, match="has no bot"):
        given.play_bot(1, "nobody")


@passing
def chooses_nine(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return 9


def test_a_broken_bot_is_named_and_its_action_is_not_played() -> None:
    game = dataclasses.replace(high_card.GAME, bots=(Bot("broken", chooses_nine, "Breaks."),)).bind()
    batch = dealt(game, 3)
    before = everything(batch)
    with pytest.raises(IllegalAction, match=r"The bot broken, table 0: .* cannot play 9"):
        batch.play_bot(4)
    assert everything(batch) == before


# Packs and threads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "drawn"), [(9, 1), (9, 4), (9, 8), (416, 6)])
def test_cards_drawn_from_the_top_are_those_of_a_whole_draw(size: int, drawn: int) -> None:
    deck = Deck(np.arange(size), np.zeros(drawn, np.int64), size, drawn, False)
    random = np.random.default_rng(size + drawn)
    # A word of all zeros is redrawn; the stream that has it at its k-th draw is known, since zero mixes to zero.
    redrawn = [(-place * int(rng.GAMMA)) % 2**64 for place in range(1, drawn + 1)]
    for stream in np.array([*redrawn, *random.integers(2**64, size=60, dtype=np.uint64)], np.uint64):
        cards = np.arange(size)
        with np.errstate(over="ignore"):
            expected = np.uint64(rng.draw(stream, cards, size, drawn))
            found = np.uint64(shuffle_deck(deck, stream))
        assert found == expected
        np.testing.assert_array_equal(deck.cards, cards)
        random.shuffle(deck.cards[:drawn])  # as a deal may
