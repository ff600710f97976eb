"""How fast games are inside JAX, beside `make_vec`: single steps, and random play whose actions are drawn inside."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import compile_from_now_on

from ...figures.formatting import Found, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ...speed.random_play import RandomPlay, draw
from ..runner import GAMES, Progress, quiet, seconds, study
from .trees import rate

TABLES, SCANNED = (1, 64, 4096), 32
"""Tables of a batch, and steps of one scan."""
_COLUMNS: Columns = {
    "game": title,
    "tables": "{tables:,}",
    "`make_vec`, `step`": "{rates[step]:,.0f}",
    "JAX, `jit` of `step`": "{rates[jax_step]:,.0f}",
    "`make_vec`, `play_random`": "{rates[play]:,.0f}",
    "JAX, `scan` of random play": "{rates[jax_play]:,.0f}",
}


class InJax(Kept, kind="jax", heading="Inside JAX", tables={"jax": lines(_COLUMNS, "rows")}):
    """Decisions a second inside JAX and by `make_vec`."""

    in_title = frozenset({"options"})
    says = "Decisions a second by processor time, of one thread of ours"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what is counted, and the version."""
        return [
            f"JAX {files[0]['jax']}. Of single steps, drawing the actions is not counted; a scan draws them itself."
        ]


@study("jax", InJax, GAMES, seconds("--seconds", 1.0, "Processor time of each figure."))
def in_jax(games: Sequence[Game], *, seconds: float, progress: Progress = quiet) -> Found:
    """Measure how fast GAMES, by default all, are inside JAX and by `make_vec`, at random play."""
    import jax

    compile_from_now_on()
    found = []
    for number, game in enumerate(games):
        for tables in TABLES:
            progress(number, len(games), f"{game.name}, {tables:,}")
            rates = {name: rate(play, seconds) for name, play in _plays(game, tables).items()}
            found.append({"game": game.id, "options": game.changed_options, "tables": tables, "rates": rates})
    return {"jax": jax.__version__, "seconds": seconds, "rows": found}


Play = Callable[[], tuple[int, float]]


def _timed(decisions: int, run: Callable[[], Any], prepare: Callable[[], Any] = int) -> Play:
    def play() -> tuple[int, float]:
        prepare()
        began = time.process_time()
        run()
        return decisions, time.process_time() - began

    return play


def _plays(game: Game, tables: int) -> dict[str, Play]:
    import jax
    import jax.numpy as jnp

    from backalley.jax import make

    ours, env, key = RandomPlay(game, tables, 1), make(game, autoreset=True), jax.random.key(0)
    at, step = [jax.vmap(env.init)(jax.random.split(key, tables))], jax.jit(jax.vmap(env.step))
    streams, drawn = np.arange(tables, dtype=np.uint64), np.zeros(tables, np.int64)

    def draw_action() -> None:
        draw(np.asarray(at[0].legal_action_mask).view(np.int8), streams, drawn)

    def decide(state: Any, key: Any) -> Any:
        return step(state, jax.random.categorical(key, jnp.where(state.legal_action_mask, 0.0, -jnp.inf))), None

    scan = jax.jit(lambda state: jax.lax.scan(decide, state, jax.random.split(key, SCANNED))[0])

    def advance(play: Callable[..., Any], *given: Any) -> None:
        at[0] = jax.block_until_ready(play(at[0], *given))

    return {
        "step": _timed(tables, ours.play_drawn, ours.draw),
        "jax_step": _timed(tables, lambda: advance(step, drawn), draw_action),
        "play": _timed(tables * SCANNED, lambda: ours.tables.play_random(SCANNED)),
        "jax_play": _timed(tables * SCANNED, lambda: advance(scan)),
    }
