"""The same rules on a GPU: bytes against the CPU and speeds where there is one; elsewhere, what the compiler says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from backalley.console.errors import BrokenPromise, InvalidCall
from backalley.envs.core.game.game import Game

from ...figures.formatting import Found, Line, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ..runner import GAMES, Progress, count, quiet, study

TABLES, STEPS, IN_KERNEL = 1 << 16, 20, 100
"""Tables, decisions at each that are stepped and timed, and decisions at each of a launch that plays in the kernel."""
KERNELS = {
    "step_each": "step",
    "open_each": "reset",
    "play_each": "random play",
    "observe_each": "observe",
    "determinize_each": "redraw",
}
_SPEEDS: Columns = {
    "game": title,
    "decisions compared": "{decisions:,}",
    "millions a second by `step`": "{step:.1f}",
    "drawn in the kernel": "{in_kernel:.1f}",
    "on the CPU, all cores": "{cpu:.1f}",
}


def _registers(files: Files) -> Iterator[Line]:
    """Registers of a thread, game by game."""
    for found in files:
        for game in dict.fromkeys(row["game"] for row in found["registers"]):
            rows = [row for row in found["registers"] if row["game"] == game]
            line = {"game": title({"game": game})}
            for kernel, said in KERNELS.items():
                line[said] = " / ".join(str(row["registers"]) for row in rows if row["kernel"] == kernel)
            yield line | {
                "lines of PTX, step": f"{next(row['lines'] for row in rows if row['kernel'] == 'step_each'):,}"
            }


def _bots(files: Files) -> Iterator[Line]:
    """What became of each bot."""
    for found in files:
        for row in found["bots"]:
            line = {"game": title(row), "agent": f"`{row['bot']}`", "registers": str(row.get("registers", ""))}
            yield line | {"bytes of stack": str(row.get("stack", "")), "if not, why": row.get("reason", "")}


class Gpu(
    Kept,
    kind="gpu",
    heading="On a GPU",
    tables={"gpu_registers": _registers, "gpu_bots": _bots, "gpu_speed": lines(_SPEEDS, "speeds")},
):
    """The back end for GPUs: registers as compiled, or speeds on a device."""

    in_title = frozenset({"options"})
    says = "The back end for GPUs"

    @classmethod
    def shown(cls, files: Files) -> str:
        """Speeds where they were measured."""
        return "gpu_speed" if any("speeds" in found for found in files) else "gpu_registers"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what the numbers are, and where."""
        if cls.shown(files) == "gpu_speed":
            return [f"On {files[0]['device']}, {TABLES:,} tables; every byte as on the CPU."]
        rows = [row for found in files for row in found["registers"]]
        slow = [f"{row['kernel']} of {row['game']}" for row in rows if row["stack"] or row["spills"]]
        said = (
            f"A stack frame or spills: {', '.join(dict.fromkeys(slow))}." if slow else "No stack frame and no spills."
        )
        return [f"32-bit registers of a thread for {' / '.join(dict.fromkeys(row['target'] for row in rows))}. {said}"]


@study(
    "gpu",
    Gpu,
    GAMES,
    click.option("--compile", "compiled", is_flag=True, help="Compile and assemble only, which takes no GPU."),
    count("--decisions", 100_000_000, "Decisions in all that are compared with the CPU's."),
    top=True,
)
def gpu(games: Sequence[Game], *, compiled: bool, decisions: int, progress: Progress = quiet) -> Found:
    """Check on a GPU that GAMES, by default all, play byte for byte as on the CPU, and how fast; please send the file.

    Raises BrokenPromise where a byte differs, NotInstalled without numba-cuda, RuntimeError without a GPU.
    """
    if compiled:
        return _compile(games, progress)
    try:
        games[0].make_vec(1, device="cuda")
    except InvalidCall as error:
        raise InvalidCall(f"{error} `backalley dev gpu --compile` takes no GPU.") from None
    from numba import cuda

    speeds = []
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        speeds.append(_on_device(game, -(-decisions // len(games))))
    name = getattr(cuda.get_current_device(), "name", "CUDA's simulator")
    return {"device": name.decode() if isinstance(name, bytes) else name, "speeds": speeds}


def _compile(games: Sequence[Game], progress: Progress) -> Found:
    """Compile the kernels of games, and random play with each bot in its place."""
    from backalley.envs.core.cuda import ptx

    registers, bots = list[Found](), list[Found]()
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        for kernel in KERNELS:
            found = ptx.compiled(game, kernel)
            registers += [
                {"game": game.id, "kernel": kernel, "target": target, **one._asdict()} for target, one in found.items()
            ]
        for bot in game.bots.values():
            progress(number, len(games), f"{game.name}: {bot.name}")
            row: Found = {"game": game.id, "bot": bot.name}
            try:
                said = list(ptx.compiled(game, "play_each", bot.act).values())[-1]._asdict()
            except ptx.NotCompiled as error:
                said = {"reason": ptx.reason(error)}
            bots.append({**row, **said})
    return {"registers": registers, "bots": bots}


def _on_device(game: Game, decisions: int) -> Found:
    """Compare one game with the CPU, and time it."""
    cpu, device = game.make_vec(TABLES, seed=0, num_threads=0), game.make_vec(TABLES, seed=0, device="cuda")
    _same(game, "reset", cpu.reset(), device.reset())
    draw, played = np.random.default_rng(0), list[Any]()
    for _ in range(STEPS):
        chance = draw.random(cpu.time_step.action_mask.shape, np.float32)
        actions = (chance * cpu.time_step.action_mask).argmax(1)
        _same(game, "step", cpu.step(actions), device.step(actions))
        played.append(device._numbers(actions, "Actions"))  # type: ignore[attr-defined]
    keys, seats = draw.integers(2**63, size=TABLES).astype(np.uint64), np.arange(TABLES) % game.num_seats
    on = cpu.time_step.seat >= 0
    if on.all():
        one, other = cpu.determinize(keys, seats=seats), device.determinize(keys, seats=seats)
        _equal(game, "redrawn states", one.records.tobytes(), other.records.tobytes())
    _equal(game, "observe", cpu.observe(seats).tobytes(), _host(device.observe(seats)).tobytes())
    done, seconds = STEPS * TABLES, {"cpu": 0.0, "cuda": 0.0}
    timed = 0
    while done < decisions:
        results = []
        for name, batch in (("cpu", cpu), ("cuda", device)):
            began = time.perf_counter()
            results.append(batch.play_random(IN_KERNEL))
            seconds[name] += time.perf_counter() - began
        for one, other in zip(*results, strict=True):
            _equal(game, "what random play gained", one.tobytes(), other.tobytes())
        _same(game, "random play", cpu.time_step, device.time_step)
        timed += int(results[0].decisions.sum())
        done += int(results[0].decisions.sum())
    _equal(game, "states", cpu.states().records.tobytes(), device.states().records.tobytes())
    device.reset(seed=0)
    _host(device.time_step.seat)  # waits for it
    began = time.perf_counter()
    for actions in played:
        device.step(actions)
    _host(device.time_step.seat)
    stepped = time.perf_counter() - began
    rates = {"in_kernel": timed / max(seconds["cuda"], 1e-9), "cpu": timed / max(seconds["cpu"], 1e-9)}
    rates["step"] = STEPS * TABLES / stepped
    return {"game": game.id, "options": game.changed_options, "decisions": done} | {
        name: rate / 1e6 for name, rate in rates.items()
    }


def _host(array: Any) -> Any:
    return array.copy_to_host()


def _same(game: Game, what: str, one: Any, other: Any) -> None:
    for name in one._fields:
        _equal(game, f"{name} after {what}", getattr(one, name).tobytes(), _host(getattr(other, name)).tobytes())


def _equal(game: Game, what: str, one: bytes, other: bytes) -> None:
    if one != other:
        raise BrokenPromise(f"{game.name}: {what} is not on the device what it is on the CPU; please report it.")
