"""Games inside `jax.jit`, `jax.vmap` and `jax.lax.scan`, on the CPU, in the form that PGX's environments have.

    env = backalley.jax.make("pitch", joker="low_trump")
    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 4096))
    state = jax.jit(jax.vmap(env.step))(state, actions)

The rules are the same as everywhere: for equal streams a table plays as `make_vec`'s. Needs the extra `jax`.
"""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from backalley.console.errors import InvalidCall, NotInstalled
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.arguments import check_flags
from backalley.envs.core.game.game import Game
from backalley.exports.jax_calls import GIVEN
from backalley.exports.module import module_text
from backalley.exports.translate import object_code

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise NotInstalled("Games inside JAX need the package jax: pip install 'backalley[jax]'") from error


class State(NamedTuple):
    """A table, or many with leading axes; a pytree."""

    current_player: Any
    """The seat to act; -2 where the game is over. int8."""
    observation: Any
    """What that seat may know [O]; zeros where the game is over."""
    rewards: Any
    """What each seat gained by the latest action [N], float32."""
    terminated: Any
    """Whether it ended the game."""
    truncated: Any
    """Whether it reached the limit of decisions."""
    legal_action_mask: Any
    """Which actions are legal [A], bool; none where the game is over."""
    state: Any
    """The State record's bytes [S]."""
    stream: Any
    """The table's random stream, a 64-bit number as two uint32 [2]."""
    decisions: Any
    """Decisions of the present episode."""
    own_decisions: Any
    """How many of them each seat made [N]."""

    def replace(self, **changes: Any) -> State:
        """Return the state with these fields changed, as PGX's wrappers ask it to."""
        return self._replace(**changes)


_FIELDS = {"mask": "legal_action_mask", "seat": "current_player", "reward": "rewards"}


class Env:
    """One game; `init` and `step` are pure functions of one table, for `jax.vmap`."""

    def __init__(self, game: Game, autoreset: bool = False) -> None:
        """Raises RuntimeError where the game cannot be translated, or JAX is of a version with another interface."""
        self.game, self.autoreset = game, autoreset
        self.num_actions, self.num_players = game.num_actions, game.num_seats
        self.observation_shape = game.observation_shape
        self._calls = _registered(game)
        shapes = {
            "state": ((game.state_dtype.itemsize,), jnp.uint8),
            "stream": ((2,), jnp.uint32),
            "observation": (game.observation_shape, game.observation_base),
            "mask": ((game.num_actions,), jnp.bool_),
            "seat": ((), jnp.int8),
            "reward": ((game.num_seats,), jnp.float32),
            "terminated": ((), jnp.bool_),
            "truncated": ((), jnp.bool_),
            "decisions": ((), jnp.int32),
            "own_decisions": ((game.num_seats,), jnp.int32),
        }
        self._names = list(shapes)
        self._shapes = [jax.ShapeDtypeStruct(*given) for given in shapes.values()]

    def init(self, key: Any) -> State:
        """Begin a game on a table whose random stream is the key: one of JAX's, or two uint32."""
        words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
        return self._call("init", words[..., :2].astype(jnp.uint32))

    def step(self, state: State, action: Any, key: Any = None) -> State:
        """Play an action. One that is not legal ends the game, with the least return for that seat and 0 for the
        others. A finished table stays as it is, with rewards of 0, unless the environment was made with `autoreset`:
        then the next game begins in the same step. `key` is not used: a table has its own stream."""
        given = [getattr(state, _FIELDS.get(name, name)) for name in GIVEN]
        return self._call("step", *given, jnp.asarray(action, jnp.int32), jnp.int32(self.autoreset))

    def observe(self, state: State, player_id: Any = None) -> Any:
        """Return what the seat to act may know, as `state.observation`."""
        return state.observation

    def _call(self, name: str, *given: Any) -> State:
        call = jax.ffi.ffi_call(self._calls[name], self._shapes, vmap_method="broadcast_all")
        found = dict(zip(self._names, call(*given), strict=True))
        return State(**{_FIELDS.get(part, part): value for part, value in found.items()})


def make(game: str | Game, *, autoreset: bool = False, **options: Any) -> Env:
    """Return a game under options as an environment for JAX. Raises TypeError or ValueError for a wrong game, option or
    `autoreset`, and what `Env` raises."""
    check_flags(autoreset=autoreset)
    return Env(game.bind(**options) if isinstance(game, Game) else catalogue.game(game, **options), autoreset)


def _version() -> tuple[int, int]:
    """The version of XLA's interface, from the header that comes with JAX."""
    text = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text("utf-8")
    major, minor = (int(found) for found in re.findall(r"#define XLA_FFI_API_M(?:AJ|IN)OR (\d+)", text)[:2])
    if major != 0:
        raise InvalidCall(
            f"JAX {jax.__version__} has version {major} of XLA's interface; this package knows version 0."
        )
    return major, minor


_ENGINES: list[Any] = []
"""The owners of the machine code, which lives as long as the process."""


@functools.cache
def _registered(game: Game) -> dict[str, str]:
    """The names by which JAX knows a game's two functions."""
    major, minor = _version()
    text = module_text(game, f"jax:{major}:{minor}")
    names = {part: f"{game.name}_jax_{part}" for part in ("init", "step")}
    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features().flatten()
    here = (triple, llvm.get_host_cpu_name(), features)
    code = object_code(text, set(names.values()), *here, {}, {}, addresses="jitdefault")
    machine = llvm.Target.from_triple(triple).create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    found = {}
    for part, name in names.items():
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address(name))
        found[part] = f"backalley_{len(_ENGINES)}_{name}"
        jax.ffi.register_ffi_target(found[part], jax.ffi.pycapsule(function), platform="cpu")
    return found
