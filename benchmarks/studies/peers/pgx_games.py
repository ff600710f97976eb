"""PGX's card games on the processor: many tables in one compiled scan, finished ones starting again, the best of some
batch sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import pgx
from pgx.experimental import auto_reset

GAMES = ("kuhn_poker", "leduc_holdem", "sparrow_mahjong")
SIZES, STEPS = (64, 1024, 8192), 16


def maker(name: str, size: int) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        env = pgx.make(name)
        begin, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

        def decide(carry, key):  # type: ignore[no-untyped-def]
            state, seen = carry
            draw, chance = jax.random.split(key)
            noise = jax.random.gumbel(draw, state.legal_action_mask.shape)
            action = jnp.argmax(jnp.where(state.legal_action_mask, noise, -jnp.inf), 1)
            state = step(state, action, jax.random.split(chance, size))
            return (state, seen + state.observation.sum(dtype=jnp.float32)), None  # so that every observation is made

        @jax.jit
        def steps(state, key):  # type: ignore[no-untyped-def]
            return jax.lax.scan(decide, (state, jnp.float32(0)), jax.random.split(key, STEPS))[0]

        held = [jax.jit(begin)(jax.random.split(jax.random.PRNGKey(0), size)), jax.random.PRNGKey(1)]

        def play() -> int:
            """Some decisions of every table."""
            held[1], key = jax.random.split(held[1])
            held[0], seen = steps(held[0], key)
            seen.block_until_ready()
            return size * STEPS

        return play

    return make


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Every game in every batch size, of which the best counts."""
    return ((name, maker(name, size)) for name in GAMES for size in SIZES)
