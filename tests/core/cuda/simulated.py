"""What tests of the device back end run in a process of its own, where Python plays the device:
`NUMBA_ENABLE_CUDASIM=1 python -m tests.core.cuda.simulated FUNCTION WORD ...`."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.envs.core.game.kernels import OVER

SEEDS = (5, 99, 1234)
"""One for each table."""


def host(step: Any) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a TimeStep, on the host."""
    return {
        name: np.asarray(getattr(one, "copy_to_host", lambda one=one: one)()) for name, one in step._asdict().items()
    }


def check(one: Any, other: Any, what: Any) -> None:
    """Two time steps, or what `Played` or States hold, are the same bytes."""
    one, other = (host(each) if hasattr(each, "_asdict") else each._arrays for each in (one, other))
    for name in one:
        assert one[name].dtype == other[name].dtype, (what, name)
        assert one[name].tobytes() == other[name].tobytes(), (what, name, one[name], other[name])


def same(spec: str, steps: str, played: str, by_bot: str, *options: str) -> None:
    """A game is played alike on both sides: step by step, in the kernel, redrawn, and from states; `played` random
    decisions end an episode at every table."""
    game = backalley.game(spec, **dict(word.split("=") for word in options))
    draw, size = np.random.default_rng(0), len(SEEDS)
    cpu, device = game.make_vec(size, seed=SEEDS), game.make_vec(size, seed=SEEDS, device="cuda")
    check(cpu.reset(), device.reset(), "reset")
    for number in range(int(steps)):
        actions = np.array([draw.choice(np.flatnonzero(mask)) for mask in cpu.time_step.action_mask])
        check(cpu.step(actions), device.step(actions.tolist() if number % 2 else actions), number)
    refused(cpu, device)
    one, other = cpu.play_random(int(played)), device.play_random(int(played))
    check(one, other, "played")
    assert (one.episodes > 0).all(), f"no table's episode ended: {one.episodes}"
    check(cpu.time_step, device.time_step, "after it")
    views(cpu, device)
    if int(by_bot):
        check(cpu.play_bot(int(by_bot)), device.play_bot(int(by_bot)), "by the bot")
        check(cpu.time_step, device.time_step, "after the bot")
    check(cpu.reset(seed=[None, 3, None]), device.reset(seed=[None, 3, None]), "reseeded")
    cpu.play_random(7)
    check(cpu.set_states(cpu.states()), device.set_states(cpu.states()), "moved to the device")
    check(cpu.states(), device.states(), "and back")
    finished(game)


def redrawn(spec: str, *options: str) -> None:
    """States are redrawn alike, within the memory that a thread has."""
    game = backalley.game(spec, **dict(word.split("=") for word in options))
    cpu, device = (game.make_vec(len(SEEDS), seed=SEEDS, device=where) for where in ("cpu", "cuda"))
    check(cpu.reset(), device.reset(), "reset")
    for _ in range(3):
        check(cpu.play_random(20), device.play_random(20), "played")
        check(cpu.determinize([1, 2, 3]), device.determinize([1, 2, 3]), "redrawn")


def refused(cpu: Any, device: Any) -> None:
    """An action that is not legal at one table changes nothing at any."""
    masks = cpu.time_step.action_mask
    actions = masks.argmax(1)
    actions[1] = masks.shape[1]
    with pytest.raises(backalley.IllegalAction) as there:
        cpu.step(actions)
    with pytest.raises(backalley.IllegalAction, match=re.escape(str(there.value))):
        device.step(actions)
    check(cpu.time_step, device.time_step, "refused")


def views(cpu: Any, device: Any) -> None:
    """What each seat may know, and states redrawn for it."""
    for seat in range(cpu.num_seats):
        seats = np.full(len(SEEDS), seat)
        assert cpu.observe(seats).tobytes() == device.observe(seats).copy_to_host().tobytes(), seat
        keys = np.arange(len(SEEDS), dtype=np.uint64) + np.uint64(seat)
        check(cpu.determinize(keys, seats=seats), device.determinize(keys, seats=seats), f"redrawn for {seat}")
    check(cpu.determinize([1, 2, 3]), device.determinize([1, 2, 3]), "redrawn for the seat to act")


def finished(game: Any) -> None:
    """Without autoreset a finished table stays as it is."""
    cpu, device = (game.make_vec(3, seed=1, autoreset=False, device=where) for where in ("cpu", "cuda"))
    for batch in (cpu, device):
        batch.reset()
    long = 5000 if game.max_decisions is None else 10
    check(cpu.play_random(long), device.play_random(long), "to the end")
    check(cpu.time_step, device.time_step, "at the end")
    check(cpu.states(), device.states(), "at the end")
    if (cpu.time_step.seat == OVER).any():
        with pytest.raises(backalley.IllegalAction, match="is over"):
            device.step(np.zeros(3, np.int64))


def arrays() -> None:
    """Arrays on the device are taken without a copy, and kept as long as somebody has them."""
    from backalley.envs.core.cuda import device_array

    batch: Any = backalley.make_vec("backhand", 4, seed=1, device="cuda")
    step = batch.reset()
    taken = [np.from_dlpack(one) for one in step]
    torch = sys.modules.get("torch") or __import__("importlib").import_module("torch")
    mask = torch.from_dlpack(step.action_mask)
    assert len(device_array._held) == len(step) + 1
    step = batch.step(mask.argmax(1))
    for name, one in zip(step._fields, taken, strict=True):
        assert one.tobytes() == host(step)[name].tobytes()
        assert one.shape == getattr(step, name).shape
    assert mask.numpy().tobytes() == taken[1].tobytes()
    del taken, mask, one
    assert len(device_array._held) == 0
    step.seat.__dlpack__(stream=2)  # a capsule that nobody takes
    assert len(device_array._held) == 0
    assert repr(step.seat) == "<DeviceArray of shape (4,) and type int8>"


def sentences() -> None:
    """What only a batch on the CPU has says what to do."""
    batch: Any = backalley.make_vec("backhand", 4, seed=1, device="cuda")
    with pytest.raises(RuntimeError, match="call reset"):
        batch.step([0] * 4)
    step = batch.reset()
    for name in ("events", "copy_rows", "for_kernels", "delayed", "position"):
        with pytest.raises(AttributeError, match=f"no '{name}': leave out device='cuda'"):
            getattr(batch, name)
    assert not hasattr(batch, "no_such_name")
    for setting in ({"events": True}, {"num_threads": 2}, {"delayed_rewards": True}, {"buffers": {}}):
        with pytest.raises(ValueError, match=f"no {next(iter(setting))}: leave out"):
            backalley.game("backhand").make_vec(4, device="cuda", **setting)
    with pytest.raises(TypeError, match="autoreset is 'no'"):
        backalley.game("backhand").make_vec(4, device="cuda", autoreset="no")
    with pytest.raises(ValueError, match="options was given"):
        batch.reset(options={"decks": []})
    with pytest.raises(ValueError, match="rows was given"):
        batch.step([0], rows=[1])
    for wrong in ([0] * 3, [0.5] * 4, step.reward):
        with pytest.raises((TypeError, ValueError), match="whole numbers"):
            batch.step(wrong)
    with pytest.raises(ValueError, match="has seats"):
        batch.observe([7] * 4)
    with pytest.raises(TypeError, match="keep what states"):
        __import__("copy").deepcopy(batch)
    with pytest.raises(ValueError, match="one for each"):
        batch.set_states(batch.states()[:2])


def measured() -> None:
    """`backalley dev gpu` compares both sides and counts what it compared, and refuses a byte that differs."""
    from backalley.benchmarks.studies.speed import gpu

    gpu.TABLES, gpu.STEPS, gpu.IN_KERNEL = 3, 4, 5
    games = [backalley.game(name) for name in ("backhand", "missouri_city")]
    found = gpu.gpu(games, compiled=False, decisions=50)
    rows = found.to_json()["speeds"]
    assert [row["game"] for row in rows] == [game.id for game in games]
    assert all(row["decisions"] == 27 and row["step"] > 0 for row in rows)
    assert "every byte as on the CPU" in str(found.figures())
    other: Any = type(games[0].make_vec(1, device="cuda"))
    other.seed = other._set_streams = lambda self, *given: None
    with pytest.raises(AssertionError, match="is not on the device what it is on the CPU"):
        gpu.gpu(games[1:], compiled=False, decisions=50)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
