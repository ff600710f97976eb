"""The check of a game in words: no text says more than its reader may know, and every legal action can be named."""

from __future__ import annotations

import numpy as np

from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import UnreadableAnswer, legal_texts, observation_text, read_answer

from .play import EPISODES, POSITIONS


def check_texts(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check that what a seat reads stays the same when all that it cannot see is redrawn, and that the name of every
    legal action is read as that action."""
    positions = read = 0
    for number in range(episodes):
        random = np.random.default_rng(seed + number)
        state = game.new_state(seed + number, events=game.type.events is not None)
        while not state.is_over:
            if random.random() * (POSITIONS + state.decisions) < POSITIONS:
                positions += 1
                try:
                    read += _look(state, int(random.integers(2**63)))
                except (BrokenPromise, UnreadableAnswer) as error:
                    where = f"{game!r}, seed {seed + number}, decision {state.decisions}"
                    raise BrokenPromise(f"{where}: {error}") from None
            state.apply(int(random.choice(state.legal_actions())))
    return (
        f"At {positions:,} positions of {episodes} random episodes each seat read the same text with all that it "
        f"cannot see redrawn, and {read:,} legal actions were read by their names."
    )


def _look(state: GameState, key: int) -> int:
    """Check one position; return how many actions were read."""
    since = None if state.game.type.events is None else "episode"
    for seat in range(state.game.num_seats):
        other = state.determinize(seat, key)
        if observation_text(other, seat, since=since) != observation_text(state, seat, since=since):
            raise BrokenPromise(f"what seat {seat} reads shows something hidden.")
        if seat == state.seat and legal_texts(other) != legal_texts(state):
            raise BrokenPromise(f"the legal actions that seat {seat} reads show something hidden.")
    for action, name in zip(state.legal_actions(), legal_texts(state), strict=True):
        if read_answer(state, name) != action:
            raise BrokenPromise(f"{name!r} is the name of action {action}, and is read as another.")
    return len(state.legal_actions())
