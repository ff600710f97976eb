"""OpenSpiel's card games through its Python API. Observations come from its fastest observer, which writes to a NumPy
array; games that have none give the tensor of the information state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "blackjack",
    "bridge(use_double_dummy_result=false)",  # else every end is solved, which takes seconds
    "spades",
    "skat",
    "euchre",
    "hearts",
    "oh_hell",
    "gin_rummy",
    "dou_dizhu",
    "hanabi",
    "crazy_eights",
)


def drawn(outcomes: list[tuple[int, float]], left: float) -> int:
    """The outcome at which the probabilities reach `left`, 0 to 1; `random.choices` takes three times as long."""
    for outcome, probability in outcomes:
        left -= probability
        if left <= 0:
            return outcome
    return outcomes[-1][0]


def maker(name: str) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        game, chance = pyspiel.load_game(name), random.Random(0)
        mask = np.zeros(game.num_distinct_actions(), np.int8)
        observer = make_observation(game) if game.get_type().provides_observation_tensor else None

        def play() -> int:
            """An episode."""
            state, decisions = game.new_initial_state(), 0
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(drawn(state.chance_outcomes(), chance.random()))
                    continue
                legal = state.legal_actions()
                mask[:] = 0
                mask[legal] = 1
                if observer is None:
                    state.information_state_tensor(state.current_player())
                else:
                    observer.set_from(state, state.current_player())
                state.apply_action(legal[int(chance.random() * len(legal))])
                decisions += 1
            return decisions

        return play

    return make


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Every game."""
    return ((name.partition("(")[0], maker(name)) for name in GAMES)
