"""No row, seat or action, of whatever type and shape and however it lies in memory, reaches compiled code unchecked."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import backalley
from backalley.agents.base.agent import View
from backalley.console.errors import BackAlleyError
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game import arguments
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from tests import ROOT
from tests.common.cases import GAMES

SIZE = 6
NUMBERS = st.one_of(
    st.integers(0, SIZE - 1), st.integers(-2, 8), st.sampled_from([10_000_000, 2**31, 2**63 - 1, 2**63, -(2**63)])
)
TYPES = ["int64", "int32", "int8", "uint8", "uint64", ">i8", "float64", "float32", "bool", "object", "U3", "M8[s]"]


@st.composite
def arrays(draw: st.DrawFn, most: int = 9) -> Any:
    """Whole numbers, some far out, in arrays of any type and stride, read-only ones, matrices, and lists."""
    values = draw(st.lists(NUMBERS, max_size=most))
    kind = draw(st.sampled_from(["list", "ragged", "scalar", "none", *["array"] * 8]))
    if kind != "array":
        return {"list": values, "ragged": [values, [1, 2], 3], "scalar": 3, "none": None}[kind]
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-(2**63), 2**63 - 1)
    if any(not least <= value <= most for value in values) and dtype.kind != "O":
        values = [value % 5 for value in values]
    array = np.array(values, object).astype(dtype)
    form = draw(st.sampled_from(["plain", "strided", "reversed", "read-only", "matrix", "unaligned"]))
    if form == "strided":
        array = np.repeat(array, 2)[::2]
    elif form == "reversed":
        array = array[::-1]
    elif form == "read-only":
        array.flags.writeable = False
    elif form == "matrix":
        array = array[None, :]
    elif form == "unaligned" and dtype.kind in "iuf":
        room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
        room[:] = array
        array = room
    return array


def plain(given: Any) -> list[int] | None:
    """What a list or array of whole numbers says, by Python alone; None for anything else."""
    if isinstance(given, np.ndarray):
        if given.dtype.kind not in "iuO" or given.ndim != 1:
            return None
        given = given.tolist()
    if not isinstance(given, list) or not all(type(value) is int for value in given):
        return None
    return given


def picture(batch: BatchEnv) -> bytes:
    """All that a batch is."""
    kept = batch.engine.batch
    return b"".join(array.tobytes() for array in (kept.raw, kept.stream, kept.mask, kept.seat, kept.decisions))


METHODS = ["step", "restart", "observe", "forfeit", "reset", "copy_rows", "determinize"]
METHODS += ["states", "set_states", "save", "load"]


def rows_of(given: Any, once: bool) -> list[int] | None:
    """The rows that `given` names, each only `once`; None where it names none."""
    rows = plain(given)
    if rows is None or not all(0 <= row < SIZE for row in rows) or (once and len(set(rows)) < len(rows)):
        return None
    return rows


def expect(batch: BatchEnv, fine: bool, method: str, *given: Any, **named: Any) -> None:
    """The call must succeed where `fine`, and else be refused in a sentence, with the batch as it was."""
    before, refusal = picture(batch), ""
    try:
        getattr(batch, method)(*given, **named)
    except (TypeError, ValueError, RuntimeError) as error:
        refusal = str(error)
    assert fine == (not refusal), (method, given, named, refusal)
    assert fine or (len(refusal) > 20 and picture(batch) == before)


@given(st.sampled_from([*GAMES[:2], KUHN.bind()]), st.integers(0, 99), st.booleans(), st.data())
def throw_everything(game: Game, seed: int, autoreset: bool, data: st.DataObject) -> None:
    """Any rows, seats, actions and streams at every public method; what is taken is taken as it was said."""
    batch = BatchEnv(game, SIZE, seed=seed, autoreset=autoreset)
    batch.reset()
    for _ in range(data.draw(st.integers(1, 4))):
        mask, seats = batch.engine.batch.mask.copy(), batch.engine.batch.seat.copy()
        thrown, more = data.draw(arrays()), data.draw(st.one_of(st.none(), arrays()))
        if data.draw(st.booleans()):  # what is legal on the rows named, where they are rows
            named = range(SIZE) if more is None else plain(more) or [0]
            thrown = [int(np.argmax(mask[row % SIZE])) for row in named]
        wanted, method = plain(thrown), data.draw(st.sampled_from(METHODS))
        if method in ("states", "set_states"):
            rows = rows_of(thrown, once=method == "set_states")
            count = SIZE if thrown is None else len(rows or ())
            kept = [batch.states([0] * count)] if method == "set_states" else []
            expect(batch, rows is not None or thrown is None, method, *kept, thrown)
        elif method in ("save", "load"):
            rows = rows_of(thrown, once=method == "load")
            count = SIZE if thrown is None else len(rows or ())
            kept = [batch.save([0] * count)] if method == "load" else []
            expect(batch, rows is not None or thrown is None, method, thrown, *kept)
        elif method == "copy_rows":
            source, target = rows_of(thrown, once=False), rows_of(more, once=True)
            fine = source is not None and target is not None and len(source) == len(target)
            expect(batch, fine, method, thrown, more)
            assert not fine or np.array_equal(batch.engine.batch.mask[target], mask[source])
        elif method == "determinize":
            rows = list(range(SIZE)) if more is None else rows_of(more, once=False)
            fine = rows is not None and wanted is not None and len(rows) == len(wanted)
            fine = fine and all(0 <= key < 2**64 for key in wanted or ()) and all(seats[row] >= 0 for row in rows or ())
            expect(batch, fine, method, thrown, more)
        elif method in ("restart", "forfeit"):
            rows = rows_of(thrown, once=True)
            fine = rows is not None and (method == "restart" or all(seats[row] >= 0 for row in rows))
            expect(batch, fine, method, thrown)
        elif method == "reset":
            fine = wanted is not None and len(wanted) == SIZE and all(0 <= value < 2**64 for value in wanted)
            expect(batch, fine or thrown is None, method, streams=thrown)
        else:
            rows = list(range(SIZE)) if more is None else rows_of(more, once=method == "step")
            fine = rows is not None and wanted is not None and len(rows) == len(wanted)
            pairs = list(zip(rows or (), wanted or (), strict=True)) if fine else []
            most = game.num_actions if method == "step" else game.num_seats
            fine = fine and all(0 <= number < most for _, number in pairs)
            fine = fine and (method == "observe" or all(mask[row, action] for row, action in pairs))
            twin = copy.deepcopy(batch)
            expect(batch, fine, method, thrown, more)
            if fine and method == "step":
                twin.step(np.array(wanted, np.int64), np.array(rows, np.int64))
                assert picture(batch) == picture(twin)
            elif fine:
                for (row, seat), shown in zip(pairs, batch.observe(thrown, more), strict=True):
                    assert np.array_equal(shown, batch.engine.observe(np.array([row]), np.array([seat]))[0])
    assert np.array_equal(batch.time_step.action_mask, batch.engine.batch.mask)
    assert np.array_equal(batch.time_step.seat, batch.engine.batch.seat)


def throw(times: int) -> None:
    """That many examples, the same ones each time."""
    chosen = settings(max_examples=times, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    chosen(throw_everything)()


@pytest.mark.parametrize("times", [60, pytest.param(250, marks=pytest.mark.slow)])
def test_whatever_is_thrown_at_a_batch_is_taken_or_refused_in_a_sentence(times: int) -> None:
    """In a process of its own, since what is looked for would be its end."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    code = f"from tests.core.api.test_validation import throw; throw({times})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def kuhn(size: int = 4, **settings: Any) -> BatchEnv:
    batch = BatchEnv(KUHN.bind(first=settings.pop("first", 0)), size, seed=5, autoreset=False, **settings)
    batch.reset()
    return batch


def other_states() -> backalley.States:
    other = BatchEnv(GAMES[0], 2, seed=0)
    other.reset()
    return other.states()


BY_ROWS: list[Callable[..., Any]] = [
    lambda batch, row: batch.step([0], rows=[row]),
    lambda batch, row: batch.restart([row]),
    lambda batch, row: batch.observe([0], rows=[row]),
    lambda batch, row: batch.forfeit([row]),
    lambda batch, row: batch.states([row]),
    lambda batch, row: batch.determinize([0], [row]),
    lambda batch, row: batch.set_states(batch.states([0]), [row]),
    lambda batch, row: batch.copy_rows([row], [0]),
    lambda batch, row: batch.copy_rows([0], [row]),
    lambda batch, row: batch.play_random(1, rows=[row]),
    lambda batch, row: batch.actions([0], [row]),
    lambda batch, row: batch.save([row]),
    lambda batch, row: batch.load([row], batch.save([0])),
]
WHOLE = "they must be whole numbers"
LACKS = r"lack what this batch keeps \(ended, gained\)"
STREAMS = "The streams cannot be read as one array .* 4 tables take one whole number each"
REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    *(
        (partial(call, row=row), ValueError, f"Row {row} was asked for; there are 4 tables, rows 0..3")
        for call in BY_ROWS
        for row in (10_000_000, -1, 4, 2**63)
    ),
    (lambda batch: batch.step(np.zeros(3, int)), ValueError, "shape"),
    (lambda batch: batch.step(np.zeros((4, 1), int)), ValueError, "shape"),
    (lambda batch: batch.step(np.zeros(4)), TypeError, "float64"),
    (lambda batch: batch.step(np.zeros(4, bool)), TypeError, "bool"),
    (lambda batch: batch.step(["a"] * 4), TypeError, "whole numbers"),
    (lambda batch: batch.step(np.full(4, -1)), IllegalAction, "legal:"),
    (lambda batch: batch.step(np.full(4, 10**12)), IllegalAction, "no action"),
    (lambda batch: batch.step(np.full(4, 2**63, np.uint64)), IllegalAction, f"{2**63}, which is no action"),
    (lambda batch: batch.step([0, 0, 0, 10**30]), IllegalAction, f"{10**30}, which is no action"),
    (lambda batch: batch.step([[0], [0, 1], [0], [0]]), TypeError, "cannot be read as one array"),
    (lambda batch: batch.step(0), ValueError, "shape"),
    (lambda batch: batch.step(None), TypeError, "object"),
    (lambda batch: batch.step([0, 0], rows=[1, 1]), ValueError, "Row 1 was named twice"),
    (lambda batch: batch.restart([0, 1, 1]), ValueError, "Row 1 was named twice"),
    (lambda batch: batch.observe([0, 0, 0, 99]), ValueError, "Seat 99 was asked for"),
    (lambda batch: batch.actions([0]), ValueError, "4 tables take shape"),
    (lambda batch: batch.actions([0], [0, 1]), ValueError, "2 tables take shape"),
    (lambda batch: batch.actions([0], 5), ValueError, "Rows have shape"),
    (lambda batch: batch.actions([0], "0"), TypeError, "Rows are of type"),
    (lambda batch: batch.actions({}), TypeError, "Actions are of type"),
    (lambda batch: batch.play_random(0), ValueError, "steps is 0; it takes a whole number of 1 or more"),
    (lambda batch: batch.play_random(-3), ValueError, "steps is -3"),
    (lambda batch: batch.play_random(2.5), TypeError, "steps is 2.5; it takes a whole number of 1"),
    (lambda batch: batch.play_random(True), TypeError, "steps is True"),
    (lambda batch: batch.play_random(1, [0, 0]), ValueError, "Row 0 was named twice"),
    (lambda batch: batch.reset(seed=99, streams=[1, 2]), ValueError, "The streams are of type"),
    (lambda batch: batch.reset(seed=99, streams=[1, 2, 3, -3]), ValueError, "A stream is -3"),
    (lambda batch: batch.reset(seed=99, streams=[[1], [2, 3], 4, 5]), ValueError, STREAMS),
    (lambda batch: batch.reset(seed=99, streams="abc"), ValueError, "The streams are of type"),
    (lambda batch: batch.reset(seed=[1, 2], streams=[1, 2, 3, 4]), ValueError, "2 seeds were given"),
    (lambda batch: batch.reset(seed=99, streams=[1, 2, 3, 4], options={"deck": []}), ValueError, "Did you mean decks"),
    (lambda batch: batch.reset(seed=[99, 98, 97, -1]), ValueError, "A seed is -1"),
    (
        lambda batch: BatchEnv.from_states(batch.states().records),
        TypeError,
        "States are taken as .* a ndarray was given",
    ),
    (lambda batch: batch.set_states(batch.states().records), TypeError, "States are taken as"),
    (lambda batch: batch.set_states([]), TypeError, "States are taken as"),
    (lambda batch: batch.set_states([batch.states(), batch.states().records]), TypeError, "States are taken as"),
    (lambda batch: batch.set_states(other_states(), [0, 1]), ValueError, "The states are of .*, and the tables of"),
    (lambda batch: batch.set_states([batch.states(), other_states()]), ValueError, "States of one game go together"),
    (lambda batch: batch.set_states(batch.states([0, 1])), ValueError, "2 states were given for 4 tables"),
    (lambda batch: batch.set_states(batch.states([0, 1]), [1, 1]), ValueError, "Row 1 was named twice"),
    (lambda batch: batch.copy_rows([0, 1], [2]), ValueError, "2 rows were given to copy to 1"),
    (lambda batch: batch.copy_rows([0, 1], [2, 2]), ValueError, "Row 2 was named twice"),
    (lambda batch: batch.copy_rows([0.0], [1]), TypeError, WHOLE),
    (lambda batch: batch.determinize([1, 2]), ValueError, r"4 tables take one whole number each"),
    (lambda batch: batch.determinize([1.5], [0]), ValueError, "The keys are of type float64"),
    (lambda batch: batch.determinize([-1], [0]), ValueError, "A key is -1"),
    (lambda batch: batch.determinize([1], [0], [2]), ValueError, "Seat 2 was asked for"),
    (lambda batch: BatchEnv(batch.game, 2).states(), RuntimeError, "Table 0 has not been dealt"),
    (lambda batch: BatchEnv(batch.game, 2).determinize([1, 1]), RuntimeError, "Table 0 has not been dealt"),
    (lambda batch: BatchEnv(batch.game, 2, leaf_values=True), ValueError, "they go with autoreset=False"),
    (lambda batch: BatchEnv.from_states(batch.states(), leaf_values=1), TypeError, "leaf_values is 1"),  # type: ignore[arg-type]
    (lambda batch: batch.load([0, 1], batch.save([0, 1, 2])), ValueError, "3 saved tables were given for 2 tables"),
    (lambda batch: batch.load([0, 1, 1], batch.save([0, 1, 2])), ValueError, "Row 1 was named twice"),
    (lambda batch: batch.load([0.0], batch.save([0])), TypeError, "must be whole numbers"),
    (lambda batch: batch.load(None, batch.states()), TypeError, "load takes what BatchEnv.save returned; a States"),
    (lambda batch: batch.load(None, kuhn(first=1).save()), ValueError, r"of backalley.game\(.*first=1\), and these of"),
    (lambda batch: kuhn(delayed_rewards=True).load(None, batch.save()), ValueError, LACKS),
    (lambda batch: backalley.Saved(), TypeError, "not made by hand"),
]


@pytest.mark.parametrize(("call", "error", "says"), REFUSED)
def test_what_is_refused_is_refused_in_a_sentence_and_changes_nothing(
    call: Callable[[BatchEnv], Any], error: type[Exception], says: str
) -> None:
    batch = kuhn()
    batch.step([0] * 4)
    before = picture(batch), [array.tobytes() for array in batch.time_step]
    with pytest.raises(error, match=says):
        call(batch)
    assert before == (picture(batch), [array.tobytes() for array in batch.time_step])


def test_determinizations_of_a_view_are_of_its_own_tables() -> None:
    batch = BatchEnv(GAMES[0], 3, seed=0)
    batch.reset()
    view = View(batch, np.arange(2), np.zeros(2, np.uint64))
    keys = np.zeros(1, np.uint64)
    assert len(view.determinize(np.array([1], np.int32), keys)) == 1
    view.seat[:] = 100  # an agent's own copy
    view.determinize(np.array([1]), keys)
    for which, error in ((np.array([2]), ValueError), (np.array([-1]), ValueError), (np.array([0.0]), TypeError)):
        with pytest.raises(error, match="of a view"):
            view.determinize(which, keys)
    with pytest.raises(ValueError, match="a key for"):
        view.determinize(np.array([0, 1]), keys)


def test_whole_numbers_are_those_of_python_and_of_arrays_of_one() -> None:
    for fine in (3, np.int8(3), np.uint64(3), np.array(3), np.array([3]), np.array([[3]], np.uint8)):
        assert arguments.whole(fine) == 3
        assert type(arguments.whole(fine)) is int
    for bad in (
        3.0,
        "3",
        None,
        True,
        np.True_,
        np.float32(3),
        np.array([3, 3]),
        np.array([]),
        np.datetime64(3, "s"),
        [3],
    ):
        assert arguments.whole(bad) is None
    assert arguments.whole(np.uint64(2**63)) == 2**63


def test_an_illegal_action_is_a_value_error_and_nothing_else() -> None:
    assert issubclass(IllegalAction, ValueError)
    assert not issubclass(IllegalAction, TypeError)


ODD: list[Any] = [["book"], {}, {1}, object(), b"book", 3.5, True, ("book",), np.zeros(2), lambda: 0, float("nan")]


def test_odd_arguments_of_every_method_are_refused_in_our_own_words() -> None:
    """Each argument of each public method, one at a time: never Python's own words, such as "unhashable type"."""
    batch = backalley.make_vec("backhand", num_envs=2, seed=1, events=True)
    batch.reset()
    tried = 0
    for name, _ in inspect.getmembers(type(batch), inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        method = getattr(batch, name)
        parameters = inspect.signature(method).parameters.values()
        needed = [one for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        given: dict[str, Any] = {"steps": 1, "keys": [1, 2], "actions": [0, 0], "streams": None}
        fill = {one.name: given.get(one.name, 0) for one in needed}
        for one in parameters:
            for odd in ODD if one.kind is not one.VAR_KEYWORD else ():
                tried += 1
                try:
                    method(**{**fill, one.name: odd})
                except BackAlleyError:
                    pass
                except Exception as error:
                    raise AssertionError(f"{name}({one.name}={odd!r}): {type(error).__name__}: {error}") from error
    assert tried > 200


def test_a_search_asks_for_its_table() -> None:
    env = backalley.make("missouri_city")
    env.reset(seed=1)
    shown = env.observe(env.agent_selection)
    for agent in ("search:2", "mc:2"):
        with pytest.raises(TypeError, match="redraws what is hidden, so it needs the table and not an observation"):
            backalley.agent(agent, "missouri_city").act(shown["observation"], shown["action_mask"])


def test_an_unknown_option_is_reported_in_our_words() -> None:
    with pytest.raises(TypeError, match="pitch has no option 'history'; it has: ") as refused:
        backalley.make_vec("pitch-v0", history=True)
    assert "__init__" not in str(refused.value)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of memory there")
@pytest.mark.parametrize("words", [["-c", "import backalley"], ["-m", "backalley", "games"]])
def test_a_limit_that_compiled_code_does_not_fit_in_is_a_sentence(words: list[str]) -> None:
    limited = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)); "
    limited += "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    ended = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "This process may use 300 MiB of address space, and Back Alley takes 1,024 MiB." in ended.stderr
    assert ("Traceback" in ended.stderr) == (words[0] == "-c")


def test_a_buffer_belongs_to_one_batch() -> None:
    like = backalley.make_vec("backhand", num_envs=2)
    mine = {"observation": np.zeros_like(like.time_step.observation)}
    first = backalley.make_vec("backhand", num_envs=2, buffers=mine)
    with pytest.raises(ValueError, match="'observation' is memory of another batch that is still in use"):
        backalley.make_vec("backhand", num_envs=2, buffers=mine)
    first.close()
    second = backalley.make_vec("backhand", num_envs=2, buffers=mine)
    del second
    gc.collect()
    backalley.make_vec("backhand", num_envs=2, buffers=mine)
