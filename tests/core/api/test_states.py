"""States that a batch hands out and takes back, copies of tables, and leaf values: what a search of one's own needs."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import View, view_of
from backalley.agents.base.keys import agent_keys
from backalley.benchmarks.studies.learning.guides import code_of_the_guide, program_of_the_guide
from backalley.envs.core.api.states import States, seal
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from tests.common.cases import BY_NAME, GAMES, TWO_QUICK
from tests.core.compile.test_kernels import run

LEAVES = pytest.mark.parametrize("game", [one for one in GAMES if one.type.leaf_value], ids=lambda game: game.name)


def shown(batch: BatchEnv) -> list[bytes]:
    """All that a batch shows and is."""
    kept = batch.engine.batch
    return [array.tobytes() for array in (*batch.time_step, kept.raw, kept.decisions, kept.seat, kept.mask)]


def on(batch: BatchEnv, random: np.random.Generator, steps: int) -> None:
    """Random play on all tables that are not finished."""
    step = batch.time_step
    for _ in range(steps):
        rows = np.flatnonzero(step.seat >= 0)
        step = batch.step(np.argmax(random.random((len(rows), batch.num_actions)) * step.action_mask[rows], 1), rows)


def dealt(game: Game, size: int, steps: int = 0, **settings: Any) -> BatchEnv:
    """Tables in the middle of play."""
    batch = BatchEnv(game, size, seed=5, **settings)
    batch.reset()
    on(batch, np.random.default_rng(1), steps)
    return batch


@BY_NAME
@pytest.mark.parametrize("autoreset", [True, False])
def test_states_show_again_what_they_showed_and_are_played_on_alike(game: Game, autoreset: bool) -> None:
    batch = dealt(game, 24, 0, autoreset=autoreset)
    for steps in (0, 1, 2, 9):
        on(batch, np.random.default_rng(steps), steps)
        states = batch.states()
        twin = BatchEnv.from_states(states, seed=0, autoreset=autoreset)
        assert shown(twin) == shown(batch)
        assert np.array_equal(states.seat, batch.time_step.seat)
        other = dealt(game, 24, 3, autoreset=autoreset)
        other.set_states(states[[7, 0]], [3, 20])
        for mine, its in zip(other.time_step, batch.time_step, strict=True):
            assert np.array_equal(mine[[3, 20]], its[[7, 0]])
        twin.engine.batch.stream[:] = batch.engine.batch.stream
        for one in (batch, twin):
            on(one, np.random.default_rng(7), 5)
        assert shown(twin) == shown(batch)


@BY_NAME
def test_copied_rows_play_on_identically(game: Game) -> None:
    batch = dealt(game, 6, 4)
    before = [array.copy() for array in batch.time_step]
    step = batch.copy_rows([0, 1, 2, 2], [1, 0, 4, 5])  # an exchange, and one table onto two
    rows = [1, 0, 2, 3, 2, 2]
    assert all(np.array_equal(new, old[rows]) for new, old in zip(batch.time_step, before, strict=True))
    random, live = np.random.default_rng(3), [2, 4, 5]
    for _ in range(40):  # short episodes end, and others begin
        drawn = random.random(batch.num_actions)
        step = batch.step(np.argmax(drawn * step.action_mask[live], 1), live)
        for array in (*step, batch.engine.batch.raw):
            assert array[2].tobytes() == array[4].tobytes() == array[5].tobytes()


def test_the_copy_of_a_finished_table_is_finished() -> None:
    batch = dealt(KUHN.bind(), 3, 0, autoreset=False)
    on(batch, np.random.default_rng(0), 5)
    batch.restart([0])
    step = batch.copy_rows([1], [0])
    assert step.terminated[0]
    assert step.seat[0] == OVER
    assert not step.action_mask[0].any()
    assert step.reward[0].tobytes() == step.reward[1].tobytes()
    with pytest.raises(backalley.IllegalAction, match="The game is over"):
        batch.step([0], [0])
    assert batch.restart([0]).action_mask[0].any()


def test_copies_have_the_packs_that_are_yet_to_be_dealt_and_other_chance_if_asked() -> None:
    batch = BatchEnv(KUHN.bind(), 4, seed=1, autoreset=False)
    with pytest.raises(RuntimeError, match=r"Table 0 has not been dealt"):
        batch.copy_rows([0], [1])
    batch.restart([0], options={"decks": [[2, 1, 0], [0, 1, 2]]})
    assert 0 in batch.engine.stacked
    batch.copy_rows([0], [2])
    assert len(batch.engine.stacked[2]) == len(batch.engine.stacked[0]) == 1
    assert batch.engine.stacked[2] is not batch.engine.stacked[0]
    batch.restart([1, 3])
    batch.copy_rows([1, 3], [0, 1])
    assert set(batch.engine.stacked) == {2}
    batch.set_states(batch.states([2]), [2])
    assert not batch.engine.stacked, "packs are no part of a state"
    assert batch.engine.batch.stream[0] != batch.engine.batch.stream[3]
    batch.copy_rows([0], [3])
    assert batch.engine.batch.stream[0] == batch.engine.batch.stream[3]
    batch.seed([None, None, None, 9])
    assert batch.engine.batch.stream[0] != batch.engine.batch.stream[3]


@BY_NAME
def test_a_determinized_state_follows_from_the_seats_knowledge_and_the_key_alone(game: Game) -> None:
    """Tables that differ in what the seat cannot see give the same bytes; and no reward is handed on."""
    size, random = 32, np.random.default_rng(2)
    batch = dealt(game, size, 0)
    for steps in (0, 3, 8):
        on(batch, random, steps)
        keys = random.integers(2**63, size=size).astype(np.uint64)
        for seats in (None, random.integers(game.num_seats, size=size)):
            found = batch.determinize(keys, seats=seats)
            hidden = batch.determinize(
                keys + np.uint64(1), seats=seats
            )  # what the seat cannot see is another thing here
            again = BatchEnv.from_states(hidden, seed=0).determinize(keys, seats=seats)
            assert again.records.tobytes() == found.records.tobytes()
            assert pickle.dumps(again) == pickle.dumps(found)
            which = batch.time_step.seat.astype(np.int64) if seats is None else seats
            shown = BatchEnv.from_states(found, seed=0)
            assert not shown.time_step.reward.any()
            assert np.array_equal(shown.observe(which), batch.observe(which))
            if seats is None:
                assert np.array_equal(shown.time_step.action_mask, batch.time_step.action_mask)
        view = view_of(batch, np.arange(size), agent_keys(keys))
        assert pickle.dumps(view.determinize(np.arange(size), keys)) == pickle.dumps(batch.determinize(keys))


@TWO_QUICK
def test_the_number_of_threads_changes_no_byte(game: Game) -> None:
    runs = []
    for threads in (1, 3):
        batch = BatchEnv.from_states(
            dealt(game, 1024, 2).states(), seed=3, num_threads=threads, leaf_values=True, autoreset=False
        )
        rows, random = np.arange(1024), np.random.default_rng(4)
        parts = shown(batch)
        for _ in range(8):
            on(batch, random, 2)
            batch.copy_rows(rows[:512], random.permutation(rows)[:512])
            batch.set_states(batch.states(rows[::-1]))
            parts += shown(batch)
        runs.append(parts)
        batch.close()
    assert runs[0] == runs[1]


def digest(name: str) -> str:
    """Of all that determinized, handed over and copied states of a game show."""
    batch, found = dealt(backalley.game(name), 3, 5), hashlib.sha256()
    for number in range(4):
        determinizations = batch.determinize(np.arange(3, dtype=np.uint64) + np.uint64(number))
        played = BatchEnv.from_states(determinizations, seed=number, leaf_values=True)
        on(played, np.random.default_rng(number), 12)
        found.update(b"".join(shown(played)))
        played.copy_rows([0, 1], [1, 2])
        on(batch, np.random.default_rng(number), 3)
        found.update(b"".join(shown(played)))
    return found.hexdigest()


def test_compiled_equals_uncompiled(tmp_path: Path) -> None:
    code = "from tests.core.api.test_states import digest; print(digest('missouri_city'))"
    assert run(code, tmp_path, NUMBA_DISABLE_JIT="1") == digest("missouri_city")


@LEAVES
def test_an_episode_ends_at_a_leaf_with_the_value_of_the_rest(game: Game) -> None:
    """Beside it plays a batch without leaf values: up to the leaf both are the same to the byte."""
    game = game.bind(mode="match") if game.name == "bezique" else game  # its default is one deal
    states = dealt(game, 16, 3).states()
    leaf, plain = (BatchEnv.from_states(states, seed=8, leaf_values=value) for value in (True, False))
    random, ended = np.random.default_rng(6), 0
    while (rows := np.flatnonzero(leaf.time_step.seat >= 0)).size:
        actions = np.argmax(random.random((len(rows), game.num_actions)) * leaf.time_step.action_mask[rows], 1)
        leaf.step(actions, rows)
        plain.step(actions, rows)
        for row in rows.tolist():
            mine, its = ([array[row] for array in batch.time_step] for batch in (leaf, plain))
            if not mine[5] or its[5]:
                assert all(np.array_equal(one, other) for one, other in zip(mine, its, strict=True))
                continue
            ended += 1
            record, rest = leaf.states([row]).records[0], game.type.leaf_value
            assert rest is not None
            values = [rest(game.options, record, seat) for seat in range(game.num_seats)]
            assert mine[3] == pytest.approx(its[3] + np.float32(values), abs=1e-5)
            assert not mine[4]
            assert mine[2] == OVER
            assert not mine[1].any()
    assert ended > 4


def test_states_cannot_be_altered_nor_made() -> None:
    states = dealt(KUHN.bind(), 4).states()
    assert len(states) == 4
    assert states.records.dtype == states.game.state_dtype
    for array in (states.records, states.seat, states.decisions):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
        with pytest.raises(ValueError, match="cannot set WRITEABLE"):
            array.flags.writeable = True
    with pytest.raises(AttributeError):
        states.records = np.zeros(4)  # type: ignore[misc]
    with pytest.raises(TypeError, match="States are not made by hand"):
        States()
    again = pickle.loads(pickle.dumps(states))
    assert shown(BatchEnv.from_states(again, seed=0)) == shown(BatchEnv.from_states(states, seed=0))
    with pytest.raises(ValueError, match="read-only"):
        again.records[:] = 0
    both = States.joined([states[1:3], states[0]])
    assert both.records.tobytes() == states.records[[1, 2, 0]].tobytes()
    assert repr(both) == f"<3 States of {KUHN.bind()!r}>"
    assert len(states[states.seat < 0]) == 0


def test_a_finished_table_is_not_redrawn() -> None:
    batch = dealt(KUHN.bind(), 4, 1, autoreset=False)
    on(batch, np.random.default_rng(0), 3)
    over = np.flatnonzero(batch.time_step.seat < 0)
    with pytest.raises(ValueError, match=rf"Table {over[0]}: the game is over"):
        batch.determinize([1], over[:1])


def test_states_of_another_layout_are_refused_where_they_are_unpickled() -> None:
    states = dealt(KUHN.bind(), 1).states()
    made, (kind, _, game, version, arrays) = states.__reduce__()
    other = {**arrays, "state": np.zeros(1, "i4")}
    with pytest.raises(ValueError, match="or its State has other fields now"):
        made(kind, seal(other), game, version, other)


# The guide's search ---------------------------------------------------------------------------------------------------


SEARCH = ("ismcts.py", "search.md")


def search_of_the_guide() -> Any:
    return program_of_the_guide(*SEARCH)["ISMCTS"]


def test_the_guides_search_goes_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "ismcts.py").write_text(code_of_the_guide(*SEARCH))
    assert backalley.agent(f"{tmp_path}/ismcts.py:ISMCTS", "missouri_city").name == "ismcts:64"


@pytest.mark.slow
def test_the_guides_search_beats_random_play() -> None:
    """By the whole of an interval over 150 deals, each in both seatings; an illegal action would end the match."""
    game = backalley.game("missouri_city")
    report = backalley.evaluate(game, [search_of_the_guide()(game, 48), "random"], deals=150)
    assert report.complete
    mine, other = report.agents
    assert mine.mean_return.low > 0 > other.mean_return.high


@pytest.mark.parametrize("name", ["backhand", "poker_duel", "pitch"])
def test_the_guides_search_chooses_legal_actions_whatever_else_is_in_the_view(name: str) -> None:
    game = backalley.game(name)
    batch, search = dealt(game, 5, 6), search_of_the_guide()(game, 6)
    keys = np.arange(5, dtype=np.uint64)
    for _ in range(3):
        view = view_of(batch, np.arange(5), keys)
        actions = search.act(view)
        assert batch.time_step.action_mask[np.arange(5), actions].all()
        alone = [search.act(View(batch, np.array([row]), view.key[[row]])).tolist() for row in range(5)]
        assert [action for (action,) in alone] == actions.tolist()
        batch.step(actions)


@pytest.mark.parametrize("name", ["backhand", "poker_duel", "pitch"])
def test_the_guides_search_does_not_see_what_is_hidden(name: str) -> None:
    game = backalley.game(name)
    states = dealt(game, 1, 2).determinize(range(6), [0] * 6)
    assert len({one.tobytes() for one in states.records}) > 1
    view = View(BatchEnv.from_states(states, seed=0), np.arange(6), np.full(6, 9, np.uint64))
    visits = search_of_the_guide()(game, 20).visits(view)
    assert (visits == visits[0]).all()
    assert visits[0].sum() == 20


# Saved tables --------------------------------------------------------------------------------------------------------


@BY_NAME
@pytest.mark.parametrize("delayed", [False, True])
def test_saved_tables_play_on_identically_wherever_they_are_put_back(game: Game, delayed: bool) -> None:
    batch = dealt(game, 6, 4, delayed_rewards=delayed)
    saved = pickle.loads(pickle.dumps(batch.save([4, 1, 1])))
    assert (len(saved), saved.game) == (3, game)
    before = shown(batch)
    other = BatchEnv(game, 5, seed=77, delayed_rewards=delayed)
    other.reset()
    other.load([0, 3, 2], saved)
    on(batch, np.random.default_rng(8), 3)
    assert shown(batch) != before
    batch.load([4, 1], saved[[0, 2]])
    random = np.random.default_rng(9)
    for _ in range(30):  # short episodes end, and others begin by the streams
        drawn = random.random(batch.num_actions)
        batch.step(np.argmax(drawn * batch.time_step.action_mask, 1))
        other.step(np.argmax(drawn * other.time_step.action_mask, 1))
        for rows, others in (([4, 1], [0, 3]), ([1], [2])):
            for mine, its in zip(batch.time_step, other.time_step, strict=True):
                assert mine[rows].tobytes() == its[others].tobytes()
            assert batch.engine.batch.raw[rows].tobytes() == other.engine.batch.raw[others].tobytes()
            if delayed:
                assert batch.delayed.reward[rows].tobytes() == other.delayed.reward[others].tobytes()
    if not delayed:  # the streams of choices, too
        one, two = batch.play_random(20, [4, 1]), other.play_random(20, [0, 3])
        assert all(map(np.array_equal, one, two))


def test_saved_tables_keep_packs_that_are_yet_to_be_dealt_and_finished_episodes() -> None:
    batch = BatchEnv(KUHN.bind(), 2, seed=1, autoreset=False)
    with pytest.raises(RuntimeError, match="Table 1 has not been dealt"):
        batch.save([1])
    batch.restart([0], options={"decks": [[2, 1, 0], [0, 1, 2]]})
    kept = batch.save([0])
    assert len(batch.engine.stacked[0]) == 1
    on(batch, np.random.default_rng(0), 5)
    over = batch.save([0])
    batch.restart([0])
    assert not batch.engine.stacked
    batch.load([1], kept)
    assert batch.engine.stacked.keys() == {1}
    step = batch.load([0], over)
    assert step.terminated[0]
    assert step.seat[0] == OVER
    batch.load([1], over)
    assert batch.engine.stacked.keys() == {0, 1}, "the finished episode left its second pack"
    with pytest.raises(ValueError, match="read-only"):
        kept._arrays["raw"][0, 0] = 1


def test_saved_tables_keep_their_history_however_long_it_is() -> None:
    """Whichever batch has memory for more events: it is as if all had been played there."""
    short, long = (BatchEnv(KUHN.bind(), 2, seed=3, events=True, autoreset=False) for _ in range(2))
    for batch in (short, long):
        batch.reset()
        on(batch, np.random.default_rng(1), 1)
    long.engine.make_room(500)
    histories = [batch.events([0, 1]) for batch in (short, long)]
    kept = [batch.save([1, 0]) for batch in (short, long)]
    for target in (short, long):
        for saved in kept:
            target.restart([0, 1])
            target.load([1, 0], saved)
            assert all(np.array_equal(target.events([0, 1]).events, one.events) for one in histories)
            on(target, np.random.default_rng(2), 1)
    plain = dealt(KUHN.bind(), 2)
    plain.load(None, kept[0])  # a batch that keeps no events takes the rest
    with pytest.raises(ValueError, match=r"lack what this batch keeps \(dealt, entries, filled\)"):
        long.load(None, plain.save())


def test_what_another_version_saved_is_refused() -> None:
    batch = dealt(KUHN.bind(), 3)
    saved, before = batch.save(), shown(batch)
    restored, (kind, sealed, game, version, arrays) = saved.__reduce__()
    with pytest.raises(ValueError, match=r"kept by version 1 of kuhn, and this is version 0"):
        restored(kind, sealed, game, version + 1, arrays)
    assert shown(batch) == before


@pytest.mark.parametrize("name", ["pitch", "bezique", "backhand", "poker_duel"])
@pytest.mark.parametrize("what", ["saved", "states", "game state"])
def test_what_was_altered_on_its_way_is_not_used(name: str, what: str) -> None:
    """Any byte of the tables in a pickle, changed: a sentence, and never a table, since machine code trusts them."""
    batch = backalley.make_vec(name, num_envs=2, seed=1)
    batch.reset()
    made = {"saved": batch.save, "states": batch.states, "game state": lambda: batch.game.new_state(1)}[what]()
    whole, raw = pickle.dumps(made), batch.engine.batch.raw[0].tobytes()
    if what == "game state":
        raw = made.states().records.tobytes()
    begin = whole.index(raw)
    for place in np.random.default_rng(0).integers(len(raw), size=20).tolist():
        cut = bytearray(whole)
        cut[begin + place] ^= 0x40
        with pytest.raises(ValueError, match="altered since"):
            pickle.loads(bytes(cut))
