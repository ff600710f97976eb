"""What compiled players and rules are written with: kernels, templates, and the kernels that a game declares.

It imports the compiler's room alone, so that machine code does not depend on the text of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compile.addresses import Address, Kept, addressed, call, laid
from ..compile.interfaces import CHANCE, MEMORY, OVER, ActionFeatures, Bot, Kernels, Planner, Plans
from ..compile.kernel import (
    COMPILED,
    Bound,
    Player,
    bind,
    bounded,
    inlined,
    kernel,
    passing,
    specialise,
    template,
    unbound,
    wrapping,
)
from ..compile.tiering import compile_from_now_on, compile_time, compiled_elsewhere, times

__all__ = [
    "CHANCE", "COMPILED", "MEMORY", "OVER", "ActionFeatures", "Address", "Bot", "Bound", "Kept", "Kernels", "Planner",
    "Plans", "Player", "addressed", "bind", "bounded", "call", "compile_from_now_on", "compile_time",
    "compiled_elsewhere", "guarded", "inlined", "kernel", "laid", "passing", "specialise", "template", "times",
    "unbound", "wrapping",
]  # fmt: skip


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a bot's kernel with bounds checks and a limit of steps (`compile/guarded.py`): most matches need none."""
    from ..compile.guarded import guarded as made

    return made(function)
