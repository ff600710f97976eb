"""Events, information states and state tensors of a batch and an environment. (What each game tells is
`backalley.testing.check_events`'s, in `test_rules.py`.)"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import backalley
from backalley import testing
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.engine import event_log
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules.events import EVERYBODY, tell
from backalley.examples.kuhn import GAME as KUHN
from backalley.testing.histories import check_events
from tests.common.cases import GAMES

TELLING = [game for game in GAMES if game.type.events is not None]
BY_NAME = pytest.mark.parametrize("game", [KUHN.bind(), *TELLING], ids=lambda game: game.name)


def played(game: Game, steps: int, *, size: int = 5, **settings: Any) -> BatchEnv:
    """Tables in the middle of random play."""
    batch = BatchEnv(game, size, seed=3, **settings)
    play(batch, steps)
    return batch


def play(batch: BatchEnv, steps: int, seed: int = 0) -> None:
    """Random legal play on all tables; new episodes where the batch begins none itself."""
    random = np.random.default_rng(seed)
    step = batch.time_step if batch._dealt.all() else batch.reset()
    for _ in range(steps):
        over = np.flatnonzero(step.seat < 0)
        step = batch.restart(over) if len(over) else step
        step = batch.step((random.random(step.action_mask.shape) * step.action_mask).argmax(1))


def all_events(batch: BatchEnv) -> list[bytes]:
    """Every seat's events at every table."""
    rows = np.arange(batch.num_envs)
    return [batch.events(np.full_like(rows, seat)).events.tobytes() for seat in range(batch.num_seats)]


@BY_NAME
def test_keeping_events_changes_nothing_that_is_played(game: Game) -> None:
    plain, kept = played(game, 60), played(game, 60, events=True)
    for one, other in zip(plain.time_step, kept.time_step, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(plain.engine.batch.stream, kept.engine.batch.stream)


@BY_NAME
def test_threads_and_autoreset_tell_the_same(game: Game) -> None:
    one = played(game, 20, size=600, events=True)
    three = played(game, 20, size=600, events=True, num_threads=2)
    assert all_events(one) == all_events(three)
    three.close()


@BY_NAME
def test_an_environment_tells_what_its_row_of_a_batch_does(game: Game) -> None:
    batch, env = game.make_vec(1, seed=8, autoreset=False, events=True), game.make(events=True)
    step = batch.reset()
    env.reset(seed=8)
    random = np.random.default_rng(1)
    for _ in range(40):
        if step.seat[0] < 0:
            break
        shown = batch.events()
        assert shown.length[0] == len(shown.events[0])
        assert np.array_equal(shown.events[0], env.events())
        assert np.array_equal(batch.information_state_tensor()[0], env.information_state_tensor())
        assert batch.information_state_string() == env.information_state_string()
        assert np.array_equal(batch.state_tensor()[0], env.state())
        action = int(random.choice(np.flatnonzero(step.action_mask[0])))
        step = batch.step([action])
        env.step(action)


@BY_NAME
def test_events_since_the_deal_are_the_last_of_the_episode(game: Game) -> None:
    batch = played(game, 50, events=True)
    for seat in range(game.num_seats):
        whole, hand = (batch.events([seat] * 5, since=since) for since in ("episode", "deal"))
        for row in range(5):
            ours = hand.events[row, : hand.length[row]]
            assert np.array_equal(whole.events[row, whole.length[row] - len(ours) : whole.length[row]], ours)
            assert len(ours) <= whole.length[row]


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "deepcopy": copy.deepcopy,
}


@BY_NAME
@pytest.mark.parametrize("way", COPIES)
def test_copies_have_the_same_history_of_their_own(game: Game, way: str) -> None:
    batch = played(game, 30, events=True)
    twin, before = COPIES[way](batch), all_events(batch)
    play(batch, 9, seed=4)
    assert all_events(twin) == before
    play(twin, 9, seed=4)
    assert all_events(twin) == all_events(batch)


@BY_NAME
def test_rows_are_copied_with_their_history(game: Game) -> None:
    batch = played(game, 30, events=True)
    shown = [batch.events([seat] * 2, [3, 0]).events.tobytes() for seat in range(game.num_seats)]
    batch.copy_rows([3, 0], [1, 2])
    assert [batch.events([seat] * 2, [1, 2]).events.tobytes() for seat in range(game.num_seats)] == shown


@BY_NAME
def test_a_restored_table_has_its_history(game: Game) -> None:
    env = game.make(events=True)
    for decisions in (3, 9, 1):
        env.reset(seed=decisions)
        for _ in range(decisions):
            env.step(int(np.flatnonzero(env.engine.batch.mask[0])[-1]))
            if env.engine.batch.seat[0] < 0:
                env.reset(seed=decisions + 50)
        kept, shown = env.snapshot(), [env.events(agent).tolist() for agent in env.possible_agents]
        other = game.make(events=True)
        other.restore(kept)
        assert [other.events(agent).tolist() for agent in other.possible_agents] == shown


def test_a_table_that_was_set_has_no_history_until_its_next_episode() -> None:
    batch = played(KUHN.bind(), 1, events=True)
    batch.set_states(batch.states([0]), [2])
    with pytest.raises(RuntimeError, match=r"The history of table 2 is not known: its state came from outside"):
        batch.events()
    assert len(batch.events(rows=[0, 1]).events) == 2
    batch.step([1], [2])
    with pytest.raises(RuntimeError, match="history of table 2"):
        batch.information_state_tensor(rows=[2])
    batch.restart([2])
    assert batch.events(rows=[2]).length[0] == 1


def test_kuhn_in_words() -> None:
    env = KUHN.bind().make(events=True)
    env.reset(options={"decks": [["K", "J", "Q"]]})
    env.step(0)
    env.step(1)
    assert backalley.events_str(env.game, env.events("player_0")) == "you: dealt K\nyou: pass\nseat +1: bet"
    assert env.information_state_string("player_1") == "seat 1\nyou: dealt J\nseat +1: pass\nyou: bet"
    padded = np.vstack([env.events("player_1"), np.zeros((3, 3), np.int16)])
    assert backalley.events_str(env.game, padded).splitlines()[0] == "you: dealt J"
    assert backalley.event_str(env.game, [3, -1, -1]) == "table: dealt unknown"


def test_information_states_of_kuhn_are_its_information_sets() -> None:
    """Of all histories, a seat's tensors are equal if and only if its own observations and actions are; and so are its
    strings: 12 to decide at, and what it knows when others act or all is over."""
    found: dict[tuple[int, bytes], set[bytes]] = {}
    strings: dict[tuple[int, str], set[bytes]] = {}
    deciding = set()
    for deck in itertools.permutations(range(3)):
        for actions in itertools.product(range(2), repeat=3):
            env = KUHN.bind().make(events=True)
            env.reset(options={"decks": [list(deck)]})
            own: list[bytes] = [b"", b""]
            for action in (*actions, None):
                for seat, agent in enumerate(env.possible_agents):
                    own[seat] += env.observe(agent)["observation"].tobytes()
                    found.setdefault((seat, env.information_state_tensor(agent).tobytes()), set()).add(own[seat])
                    strings.setdefault((seat, env.information_state_string(agent)), set()).add(own[seat])
                if action is None or env.engine.batch.seat[0] < 0:
                    break
                acting = int(env.engine.batch.seat[0])
                deciding.add((acting, env.information_state_string()))
                own[acting] += bytes([action])
                env.step(action)
    for by in (found, strings):
        assert all(len(histories) == 1 for histories in by.values())
        assert len(by) == len({(seat, next(iter(histories))) for (seat, _), histories in by.items()})
    assert len(deciding) == 12
    assert env.information_state_tensor().shape == (9 + 1 + 3 * 4,)


@BY_NAME
def test_the_whole_table_has_the_fields_that_it_says(game: Game) -> None:
    batch = played(game, 12, events=True)
    fields, whole = backalley.state_fields(game), batch.state_tensor()
    assert whole.shape == (5, list(fields.values())[-1].stop)
    public = batch.state_tensor(public=True)
    assert np.array_equal(public, whole[:, : public.shape[1]])
    for seat in range(game.num_seats):
        seen = game.records(batch.observe([seat] * 5))
        for name in game.type.private:
            at = fields[f"seat {seat}: {name}"]
            assert np.array_equal(whole[:, at.start : at.stop].reshape(5, -1), seen[name].reshape(5, -1))
    deck = batch.state_tensor(with_deck=True)
    assert deck.shape[1] == list(backalley.state_fields(game, with_deck=True).values())[-1].stop
    assert np.array_equal(deck[:, : whole.shape[1]], whole)
    out = np.empty_like(whole)
    assert batch.state_tensor(out=out) is out
    assert np.array_equal(out, whole)


def test_events_are_written_where_the_caller_wants_them() -> None:
    batch = played(KUHN.bind(), 1, events=True)
    out = np.full((5, 4, 3), 7, np.int16)
    shown = batch.events(out=out)
    assert shown.events is out
    plain = batch.events()
    assert np.array_equal(out[:, : plain.events.shape[1]], plain.events)
    assert not out[:, plain.events.shape[1] :].any()


def read_only() -> np.ndarray[Any, Any]:
    array = np.zeros((5, 9, 3), np.int16)
    array.flags.writeable = False
    return array


BAD = [
    (lambda batch: batch.events(since="hand"), ValueError, "since is 'hand'; it takes 'episode' or 'deal'"),
    (lambda batch: batch.events(out=np.zeros((5, 9, 3))), TypeError, "out takes a contiguous array of int16"),
    (lambda batch: batch.events(out=[[0]]), TypeError, "out takes a contiguous array of int16"),
    (lambda batch: batch.events(out=np.zeros((5, 1, 3), np.int16)), ValueError, r"5 seats with up to 2 events take"),
    (lambda batch: batch.events(out=np.zeros((4, 9, 3), np.int16)), ValueError, r"take \(5, 2, 3\), or more"),
    (lambda batch: batch.events(out=read_only()), ValueError, "read-only"),
    (lambda batch: batch.events([2] * 5), ValueError, "Seat 2 was asked for"),
    (lambda batch: batch.events([0], [5]), ValueError, "Row 5 was asked for"),
    (lambda batch: batch.events([0.5] * 5), TypeError, "Seats are of type float64"),
    (lambda batch: batch.state_tensor(out=np.zeros((5, 12))), TypeError, "out takes an array of uint8"),
    (lambda batch: batch.state_tensor(out=np.zeros((5, 11), np.uint8)), ValueError, r"\(5, 12\) is needed"),
    (lambda batch: batch.state_tensor([7]), ValueError, "Row 7"),
    (lambda batch: batch.play_random(3), RuntimeError, "writes its events at each step"),
    (lambda batch: BatchEnv(batch.game, 2, events=1), TypeError, "events is 1; it takes True or False"),
    (lambda batch: AECEnv(batch.game, events="yes"), TypeError, "events is 'yes'"),
    (
        lambda batch: BatchEnv(batch.game, 2).reset() and BatchEnv(batch.game, 2).events(),
        RuntimeError,
        "not been dealt",
    ),
    (lambda batch: batch.game.make(events=True).events(), RuntimeError, "has not been dealt"),
    (lambda batch: played(batch.game, 1).events(), RuntimeError, "No events are kept here; make the batch"),
    (
        lambda batch: BatchEnv(batch.game, 2, events=True, leaf_values=True, autoreset=False),
        ValueError,
        "leaf_values are for searches",
    ),
    (lambda batch: backalley.events_str(batch.game, [[9, 0, 0]]), ValueError, r"kuhn has no event \[9, 0, 0\]"),
    (lambda batch: backalley.event_str(batch.game, [1, 2]), ValueError, "An event is three whole numbers"),
    (
        lambda batch: dataclasses.replace(KUHN, events=None).bind().make(events=True),
        RuntimeError,
        "kuhn declares no events",
    ),
]


@pytest.mark.parametrize(("ask", "error", "says"), BAD)
def test_what_cannot_be_shown_is_a_sentence(ask: Callable[[BatchEnv], Any], error: type[Exception], says: str) -> None:
    batch = played(KUHN.bind(), 1, events=True)
    before = all_events(batch), batch.engine.batch.raw.tobytes()
    with pytest.raises(error, match=says):
        ask(batch)
    assert (all_events(batch), batch.engine.batch.raw.tobytes()) == before


def test_the_memory_of_events_grows() -> None:
    """In a game that never ends by itself within the first memory."""
    game = next((one for one in TELLING if one.type.events.length(one.options) > 4 * event_log._FIRST_CAPACITY), None)
    if game is None:
        pytest.skip("no game here has long histories")
    batch = played(game, 10, events=True)
    first = batch.engine.history.entries.shape[1]
    play(batch, 400)
    assert batch.engine.history.entries.shape[1] >= first
    assert (batch.engine.history.filled <= batch.engine.history.entries.shape[1]).all()


# The check of a game's declaration ---------------------------------------------------------------------------------


def shown_to_all(options: Any, state: Any, log: Any) -> None:
    for seat in range(2):
        tell(log, EVERYBODY, 3, seat, int(state.card[seat]))


def changed(**parts: Any) -> GameType:
    assert KUHN.events is not None
    return dataclasses.replace(KUHN, events=KUHN.events._replace(**parts))


FAULTS = [
    (changed(deal=shown_to_all), "a deal tells seat . more than its observations show"),
    (changed(deal=None), "a deal changes what seat . observes, and the seat is shown nothing of it"),
    (dataclasses.replace(KUHN, private=()), "not declared private shows what seat . cannot see"),
    (changed(length=lambda options: 1), "showed a seat more events than its Events.length says, 1"),
    (changed(most=lambda options: 1), "wrote more events at one action than its Events.most says, 1"),
]


@pytest.mark.uncompiled
@pytest.mark.parametrize(("declared", "says"), FAULTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_fault_of_a_declaration_is_found(declared: GameType, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "_FIRST_CAPACITY", 1)
    with pytest.raises((testing.BrokenPromise, RuntimeError), match=says):
        check_events(declared.bind())


def test_a_right_declaration_passes() -> None:
    assert "each seat was shown what it then observed" in check_events(KUHN.bind())
