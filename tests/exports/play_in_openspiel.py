"""Loads an exported game that was built for OpenSpiel, and plays it by OpenSpiel's C++; decisions are compared with the
rules in Python. A failure in C++ ends the process, so tests run it in one of its own: LIBRARY GAME."""

from __future__ import annotations

import ctypes
import importlib
import random
import sys
from typing import Any

import numpy as np

import backalley


def compare(game: backalley.Game, state: Any) -> None:
    kernels, table = game.type.kernels, bytes.fromhex(state.serialize().split()[0])
    record = (
        np.frombuffer(table[: game.state_dtype.itemsize], np.uint8).copy().view(game.state_dtype).view(np.recarray)[0]
    )
    mask = np.zeros(game.num_actions, np.int8)
    kernels.legal(game.options, record, mask)
    assert state.legal_actions() == np.flatnonzero(mask).tolist()
    for seat in range(game.num_seats):
        shown = np.zeros(1, game.observation_dtype).view(np.recarray)
        kernels.observe(game.options, record, seat, shown[0])
        seen = shown.view(game.observation_base).astype(np.float32)
        assert state.observation_tensor(seat) == seen.tolist()


def main(library: str, spec: str) -> None:
    pyspiel = importlib.import_module("pyspiel")
    ctypes.CDLL(pyspiel.__file__, ctypes.RTLD_GLOBAL)
    ctypes.CDLL(library)
    game, draw = backalley.game(spec), random.Random(3)
    loaded = pyspiel.load_game(f"backalley_native_{game.name}(rng_seed=5)")
    assert (loaded.num_players(), loaded.num_distinct_actions()) == (game.num_seats, game.num_actions)
    pyspiel.random_sim_test(loaded, num_sims=3, serialize=True, verbose=False)
    bot = pyspiel.ISMCTSBot(
        1, pyspiel.RandomRolloutEvaluator(1, 1), 2.0, 5, -1, pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT, False, True
    )
    state, decisions = loaded.new_initial_state(), 0
    while not state.is_terminal():
        action = draw.choice(state.legal_actions())
        if not state.is_chance_node() and decisions < 10:
            compare(game, state)
            action, decisions = bot.step(state.clone()), decisions + 1
        state.apply_action(action)
    assert decisions
    assert not game.zero_sum or abs(sum(state.returns())) < 1e-9
    again = pyspiel.load_game(f"backalley_native_{game.name}(rng_seed=5)").new_initial_state()
    other = pyspiel.load_game(f"backalley_native_{game.name}(rng_seed=5)").new_initial_state()
    again.apply_action(0), other.apply_action(0)
    assert again.serialize() == other.serialize()


if __name__ == "__main__":
    main(*sys.argv[1:])
