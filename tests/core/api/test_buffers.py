"""Tables write to memory of the caller's, and what they hand out goes to torch and JAX without a copy."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.engine.time_step import layout_of
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from backalley.testing.play import random_actions
from tests.common.cases import BY_NAME, GAMES, TWO_QUICK

SIZE = 6
SEVERAL = backalley.game("missouri_city")  # of two seats
NO_JAX = "JAX is not installed; the tests of what it takes without a copy need it."
NO_TORCH = "torch is not installed; the tests of tensors need it."


def arrays_of(game: Game, made: Callable[..., Any]) -> dict[str, Any]:
    """A buffer for each array of a time step, full of ones."""
    found = {}
    for name, (shape, dtype) in layout_of(game, SIZE).items():
        found[name] = made(shape, dtype)
        found[name][...] = 1
    return found


def assert_plays_as_without(game: Game, buffers: dict[str, Any], **settings: Any) -> None:
    """And every step is in the buffers."""
    batch, twin = (BatchEnv(game, SIZE, seed=3, **given) for given in ({"buffers": buffers, **settings}, settings))
    step, other = batch.reset(), twin.reset()
    random = np.random.default_rng(3)
    for _ in range(40):
        for name, array in buffers.items():
            assert np.array_equal(np.asarray(array), getattr(other, name))
        assert all(np.array_equal(mine, its) for mine, its in zip(step, other, strict=True))
        actions = random_actions(other.action_mask, random)
        step, other = batch.step(actions), twin.step(actions)


@BY_NAME
def test_tables_write_to_numpy_arrays_of_the_caller(game: Game) -> None:
    assert_plays_as_without(game, arrays_of(game, np.empty))


@BY_NAME
def test_tables_write_to_torch_tensors(game: Game) -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    assert_plays_as_without(game, arrays_of(game, lambda shape, dtype: torch.from_numpy(np.empty(shape, dtype))))


@pytest.fixture
def shared() -> Iterator[Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]]:
    """Makes arrays in shared memory."""
    made: list[shared_memory.SharedMemory] = []

    def array(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        made.append(shared_memory.SharedMemory(create=True, size=size))
        return np.ndarray(shape, dtype, buffer=made[-1].buf)

    yield array
    for memory in made:
        memory.unlink()


def test_another_process_could_read_them_in_shared_memory(
    shared: Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]],
) -> None:
    assert_plays_as_without(GAMES[0], arrays_of(GAMES[0], shared))


@pytest.mark.parametrize("name", backalley.TimeStep._fields)
def test_any_of_them_may_be_given(name: str) -> None:
    game = GAMES[-1]
    assert_plays_as_without(game, {name: arrays_of(game, np.empty)[name]}, autoreset=True, num_threads=2)


def test_they_may_lie_in_one_piece_of_memory() -> None:
    """One after another, as programs do that send all of it at once; each aligned to its type."""
    game, place = GAMES[0], 0
    memory, buffers = np.full(2**16, 7, np.uint8), {}
    for name, (shape, dtype) in layout_of(game, SIZE).items():
        place += -place % dtype.itemsize
        size = int(np.prod(shape)) * dtype.itemsize
        buffers[name] = memory[place : place + size].view(dtype).reshape(shape)
        place += size
    assert_plays_as_without(game, buffers)
    assert (memory[place:] == 7).all()


def test_a_batch_with_buffers_begins_as_others_do() -> None:
    game = GAMES[0]
    buffers = arrays_of(game, np.empty)
    batch, twin = BatchEnv(game, SIZE, buffers=buffers), BatchEnv(game, SIZE)
    for name, array in buffers.items():
        assert np.array_equal(array, getattr(twin.time_step, name)), name
        assert np.shares_memory(array, getattr(batch.time_step, name))


def test_copies_have_memory_of_their_own() -> None:
    game = SEVERAL
    buffers = arrays_of(game, np.empty)
    batch = BatchEnv(game, SIZE, seed=0, buffers=buffers)
    batch.reset()
    for other in (pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):
        before = {name: array.copy() for name, array in buffers.items()}
        other.step(other.time_step.action_mask.argmax(1))
        assert all(np.array_equal(array, before[name]) for name, array in buffers.items())
        assert other.engine.batch.decisions[0] == 1


@pytest.mark.parametrize("game", [KUHN.bind(), *GAMES[:2]], ids=lambda game: game.name)
def test_what_is_written_to_a_buffer_decides_nothing(game: Game) -> None:
    """A bot, too, sees what the table shows; it trusts that as an index."""
    buffers = arrays_of(game, np.empty)
    batch, twin = BatchEnv(game, SIZE, seed=3, buffers=buffers), BatchEnv(game, SIZE, seed=3)
    for each in (batch, twin):
        each.reset()
    for steps in (1, 3):
        for array in buffers.values():
            array[...] = 1
        batch.play_bot(steps)
        twin.play_bot(steps)
        assert batch.engine.batch.raw.tobytes() == twin.engine.batch.raw.tobytes()
        for name, array in buffers.items():
            assert np.array_equal(array, getattr(twin.time_step, name)), name


@pytest.mark.parametrize("settings", [{}, {"num_threads": 2}, {"delayed_rewards": True}, {"events": True}], ids=str)
@TWO_QUICK
def test_buffers_take_turns(game: Game, settings: dict[str, Any]) -> None:
    """The tables play on as they would, and each step is left as it was in the memory that it was written to."""
    first, second = arrays_of(game, np.empty), arrays_of(game, np.empty)
    batch, twin = BatchEnv(game, SIZE, seed=3, buffers=first, **settings), BatchEnv(game, SIZE, seed=3, **settings)
    step, other = batch.reset(), twin.reset()
    random = np.random.default_rng(3)
    for now, before in [(second, first), (first, second)] * 15:
        left = {name: array.copy() for name, array in before.items()}
        step = batch.use_buffers(now)
        assert step is batch.time_step
        assert all(np.array_equal(mine, its) for mine, its in zip(step, other, strict=True))
        actions = random_actions(other.action_mask, random)
        step, other = batch.step(actions), twin.step(actions)
        for name, array in now.items():
            assert np.array_equal(array, getattr(other, name)), name
            assert np.shares_memory(array, getattr(step, name))
            assert np.array_equal(before[name], left[name]), name
    batch.use_buffers(second)
    if settings.keys() <= {"num_threads"}:
        batch.play_bot(20)
        twin.play_bot(20)
    assert all(np.array_equal(second[name], array) for name, array in twin.time_step._asdict().items())
    assert batch.engine.batch.raw.tobytes() == twin.engine.batch.raw.tobytes()


def test_a_rollout_is_written_where_it_is_kept() -> None:
    """Arrays that are not named stay where they are."""
    game, length = SEVERAL, 12
    kept = np.zeros((length + 1, SIZE, game.observation_size), game.observation_base)
    seats = np.zeros(SIZE, np.int8)
    batch, twin = BatchEnv(game, SIZE, seed=3, buffers={"seat": seats}), BatchEnv(game, SIZE, seed=3)
    step, other = batch.reset(), twin.reset()
    for place in range(length + 1):
        step = batch.use_buffers({"observation": kept[place]})
        assert np.array_equal(kept[place], other.observation)
        assert np.shares_memory(step.seat, seats)
        assert np.array_equal(seats, other.seat)
        actions = other.action_mask.argmax(1)
        other = twin.step(actions)
        batch.step(actions)
    assert np.array_equal(kept[-1], other.observation)


def test_buffers_that_were_left_are_free() -> None:
    game = SEVERAL
    first, second = arrays_of(game, np.empty), arrays_of(game, np.empty)
    batch = BatchEnv(game, SIZE, seed=0, buffers=first)
    batch.use_buffers({**first, "seat": second["seat"]})
    batch.use_buffers({"seat": second["seat"]})  # again
    with pytest.raises(ValueError, match="'seat' is memory of another batch that is still in use"):
        BatchEnv(game, SIZE, buffers={"seat": second["seat"]})
    BatchEnv(game, SIZE, buffers={"seat": first["seat"]}).close()
    batch.reset()
    before = batch.engine.batch.raw.tobytes(), {name: array.copy() for name, array in batch.time_step._asdict().items()}
    overlapping = np.frombuffer(first["observation"], np.int8)[:SIZE]
    for wrong, says in (
        ({"seat": overlapping}, "'observation' and 'seat' share memory|'seat' and 'observation'"),
        ({"seat": first["seat"], "mask": first["action_mask"]}, "no array of TimeStep"),
        ({"seat": first["seat"][:-1]}, "has shape"),
    ):
        with pytest.raises(ValueError, match=says):
            batch.use_buffers(wrong)
    assert batch.engine.batch.raw.tobytes() == before[0]
    assert all(np.array_equal(array, before[1][name]) for name, array in batch.time_step._asdict().items())
    batch.close()
    BatchEnv(game, SIZE, buffers={**first, "seat": second["seat"]}).close()


def test_a_tensor_takes_the_place_of_an_array() -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    game = SEVERAL
    batch = BatchEnv(game, SIZE, seed=0, buffers=arrays_of(game, np.empty))
    batch.reset()
    tensor = torch.from_numpy(np.zeros((SIZE, game.num_actions), np.int8)).clone()
    actions = batch.use_buffers({"action_mask": tensor}).action_mask.argmax(1)
    assert np.array_equal(tensor.numpy().argmax(1), actions)
    batch.use_buffers({"seat": np.zeros(SIZE, np.int8)})
    tensor.share_memory_()
    with pytest.raises(RuntimeError, match="torch has moved the buffer 'action_mask'"):
        batch.step(actions)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def unaligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)


ON_ARRAYS: list[tuple[str, Callable[[npt.NDArray[Any]], Any], type[Exception], str]] = [
    (
        "observation",
        lambda array: array[:-1],
        ValueError,
        r"has shape \(5, \d+\) .* these tables take shape \(6, \d+\)",
    ),
    ("observation", lambda array: array[0], ValueError, "has shape"),
    ("observation", lambda array: array.astype(np.float64), ValueError, "type float64; these tables take"),
    ("action_mask", lambda array: array.astype(np.bool_), ValueError, "type bool; .* type int8"),
    ("action_mask", np.asfortranarray, ValueError, "is not contiguous in C order, which it has to be"),
    ("seat", lambda array: np.zeros(12, np.int8)[::2], ValueError, "is not contiguous in C order"),
    ("seat", lambda array: np.broadcast_to(array[:1], 6), ValueError, "is not contiguous in C order"),
    ("seat", lambda array: array.tolist(), TypeError, "is of type list; it takes a NumPy array or a torch tensor"),
    ("seat", lambda array: None, TypeError, "is of type NoneType"),
    ("seat", lambda array: memoryview(array), TypeError, "is of type memoryview"),
    ("reward", lambda array: array.astype(">f4"), ValueError, "type >f4; these tables take .* type float32"),
    ("reward", unaligned, ValueError, "is not aligned to its type"),
    ("terminated", read_only, ValueError, "is not writable"),
    ("truncated", lambda array: array.view(np.uint8), ValueError, "type uint8; .* type bool"),
]


def assert_refused(name: str, wrong: Any, error: type[Exception], says: str) -> None:
    """And the other buffers, which are right, stay as they were."""
    game = SEVERAL
    buffers = {**arrays_of(game, np.empty), name: wrong}
    with pytest.raises(error, match=says):
        backalley.make_vec(game.name, SIZE, buffers=buffers)
    for other, array in buffers.items():
        assert other == name or (array == 1).all()


@pytest.mark.parametrize(("name", "spoil", "error", "says"), ON_ARRAYS)
def test_wrong_buffers_are_refused_before_anything_is_written(
    name: str, spoil: Callable[[npt.NDArray[Any]], Any], error: type[Exception], says: str
) -> None:
    wrong = spoil(arrays_of(SEVERAL, np.empty)[name])
    assert_refused(name, wrong, error, f"^The buffer '{name}' .*{says}")


def test_other_mistakes_are_refused_too() -> None:
    assert_refused("mask", np.zeros(3), ValueError, "buffers has 'mask', which is no array of TimeStep; it takes obs")
    with pytest.raises(TypeError, match="buffers is of type list; it takes a dictionary"):
        backalley.make_vec(GAMES[0].name, SIZE, buffers=[np.zeros(3)])  # type: ignore[call-overload]
    buffers = arrays_of(GAMES[0], np.empty)
    with pytest.raises(ValueError, match=r"'terminated' and 'truncated' share memory|'truncated' and 'terminated'"):
        backalley.make_vec(GAMES[0].name, SIZE, buffers={**buffers, "truncated": buffers["terminated"]})
    for wrong in ({"seed": -1}, {"num_threads": -1}, {"autoreset": "no"}):
        with pytest.raises((TypeError, ValueError)):
            backalley.make_vec(GAMES[0].name, SIZE, buffers=buffers, **wrong)
    assert all((array == 1).all() for array in buffers.values())


def test_wrong_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    shape = (SIZE, SEVERAL.num_seats)
    for wrong, says in (
        (torch.ones(shape, dtype=torch.float64), "type float64"),
        (torch.ones(shape, requires_grad=True), "requires a gradient"),
        (torch.ones(shape, device="meta"), "is on meta; tables are played on the CPU"),
        (torch.ones(shape[::-1]).T, "is not contiguous"),
        (torch.ones(1).expand(shape), "is not contiguous"),
        (torch.ones(shape).to_sparse(), "cannot be used as a NumPy array"),
        (torch.ones(shape, dtype=torch.bfloat16), "cannot be used as a NumPy array"),
    ):
        assert_refused("reward", wrong, (TypeError, ValueError), f"^The buffer 'reward' .*{says}")  # type: ignore[arg-type]


def test_a_tensor_that_torch_has_moved_is_never_written_to() -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    game = GAMES[0]
    tensor = torch.from_numpy(np.zeros((SIZE, game.num_actions), np.int8)).clone()
    batch = BatchEnv(game, SIZE, seed=0, buffers={"action_mask": tensor})
    actions = batch.reset().action_mask.argmax(1)
    batch.step(actions)
    before = batch.engine.batch.raw.tobytes()
    tensor.share_memory_()  # as sending it to another process does
    for call in (lambda: batch.step(actions), batch.reset, lambda: batch.play_random(1), batch.refresh):
        with pytest.raises(RuntimeError, match=r"torch has moved the buffer 'action_mask' .* share_memory_"):
            call()
    assert batch.engine.batch.raw.tobytes() == before
    again = BatchEnv(game, SIZE, seed=0, buffers={"action_mask": tensor})
    again.reset()
    tensor.share_memory_()
    again.step(actions)
    again.close()


# DLPack --------------------------------------------------------------------------------------------------------------


@BY_NAME
def test_torch_takes_a_time_step_without_a_copy(game: Game) -> None:
    """Once: the tensors then show every later step."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    batch = BatchEnv(game, SIZE, seed=0)
    tensors = [torch.from_dlpack(array) for array in batch.time_step]
    step = batch.step(batch.reset().action_mask.argmax(1))
    for array, tensor in zip(step, tensors, strict=True):
        assert tensor.data_ptr() == array.ctypes.data
        assert np.array_equal(tensor.numpy(), array)


@BY_NAME
def test_jax_takes_a_time_step_without_a_copy(game: Game) -> None:
    jax = pytest.importorskip("jax", reason=NO_JAX)
    for settings in ({}, {"buffers": {"seat": backalley.make_vec(game.name, SIZE).time_step.seat}}):
        step = BatchEnv(game, SIZE, seed=0, **settings).reset()  # type: ignore[arg-type]
        for array in step:
            there = jax.numpy.from_dlpack(array)
            assert there.unsafe_buffer_pointer() == array.ctypes.data
            assert np.array_equal(there, array)


def test_what_is_read_only_goes_to_jax_as_a_copy() -> None:
    """NumPy does not hand it to libraries that cannot promise not to write to it."""
    jax = pytest.importorskip("jax", reason=NO_JAX)
    batch = BatchEnv(GAMES[0], SIZE, seed=0)
    batch.reset()
    states = batch.states()
    with pytest.raises(BufferError, match="readonly"):
        jax.numpy.from_dlpack(states.seat)
    assert np.array_equal(jax.numpy.asarray(states.seat), states.seat)
