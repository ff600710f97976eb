"""A game's C functions as one module in LLVM's language, made in a process of its own.

There Numba prepares code for no processor at all (`translate.linked`), and the module does not depend on what this
process has compiled before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from backalley.agents.policies.policy_kinds import Player, from_json, to_json
from backalley.console.errors import InvalidCall
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game

from . import mathematics
from .functions import functions_of
from .translate import linked


def module_text(game: Game, kind: str = "c", policy: Player | None = None) -> str:
    """Return the module of the C functions, with that of a policy that is played so, or of those that JAX calls
    (`jax:MAJOR:MINOR`, the version of its interface). Raises RuntimeError where the game cannot be translated or found
    by its name."""
    words = [sys.executable, "-W", "ignore", "-m", __spec__.name, kind, game.spec]
    words += [json.dumps(game.changed_options), json.dumps(None if policy is None else to_json(policy))]
    unset = ("NUMBA_DISABLE_JIT", "BACKALLEY_WHOLE_PROGRAM", "NUMBA_BOUNDSCHECK")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    ended = subprocess.run(words, capture_output=True, env=environment)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise InvalidCall(f"{game.name} could not be translated: {said[-1] if said else ended.returncode}")
    return ended.stdout.decode()


def main(kind: str, spec: str, options: str, policy: str) -> None:
    """Print the module."""
    game = catalogue.game(spec, **json.loads(options))
    if kind != "c":
        from .jax_calls import calls_of

        _, major, minor = kind.split(":")
        functions = calls_of(game, (int(major), int(minor)))
    else:
        player = json.loads(policy)
        functions = [*functions_of(game, player and from_json(player)), *mathematics.FUNCTIONS]
    sys.stdout.write(linked(functions, game.name))


if __name__ == "__main__":
    main(*sys.argv[1:])
