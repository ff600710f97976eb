"""What a seat is handed beside its observation (keys, names of tables, counts) follows from what it was shown."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import backalley
from backalley.agents.base import keys
from backalley.agents.base.agent import View, view_of
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.rules import rng

BANKER = 1


def test_the_hash_is_siphash() -> None:
    """The last of the reference implementation's vectors of 16 bytes: key 00 to 0f, message 00 to 0f."""
    words = [int.from_bytes(bytes(range(low, low + 8)), "little") for low in (0, 8)]
    found = rng.hashed(np.uint64(words[0]), np.uint64(words[1]), words[0], words[1])
    assert int(found) == 0x3F2ACC7F57C29BDB


def test_keys_of_seats_and_decisions_differ_and_are_no_forks_of_the_stream() -> None:
    streams = np.arange(20, dtype=np.uint64)
    tables, out = keys.agent_keys(streams), np.empty(20, np.uint64)
    found = set(tables.tolist()) | set(keys.table_names(tables).tolist())
    for seat, made in itertools.product(range(3), range(3)):
        keys.decision_keys(tables, np.full(20, seat), np.full(20, made, np.int32), out)
        found |= set(out.tolist())
    assert len(found) == 20 * (2 + 9)
    with np.errstate(over="ignore"):
        forks = {int(rng.fork(stream, number)) for stream in streams for number in range(64)}
    assert not found & forks


def at_the_banker(player: list[str], actions: list[str]) -> tuple[View, BatchEnv]:
    """A table of chemin de fer where the Banker is to act, and the Player has these cards."""
    game = backalley.game("baccarat", mode="chemin", decks="home")
    tables = game.make_vec(1, seed=3, events=True, autoreset=False)
    tables.reset(options={"decks": [[player[0], "QD", player[1], "AD", "2S"]]})
    for word in actions:
        tables.step([named(game, word)])
    assert tables.time_step.seat[0] == BANKER
    return view_of(tables, np.zeros(1, np.int64), np.array([77], np.uint64)), tables


def named(game: Any, word: str) -> int:
    return next(action for action in range(game.num_actions) if game.action_str(action) == word)


def handed_out(view: View) -> dict[str, Any]:
    """Everything that a seat is handed."""
    state = view.game_state(0, 5)
    redrawn = view.determinize([0], [9])
    return {
        **{name: getattr(view, name).tolist() for name in PUBLIC},
        "text": view.table_text(0),
        "state": (state.decisions, state.information_state_string(int(view.seat[0])), state.states().records.tobytes()),
        "redrawn": (redrawn.decisions.tolist(), redrawn.records.tobytes(), redrawn.seat.tolist()),
    }


PUBLIC = ("observation", "action_mask", "seat", "decisions", "key", "table")


def test_a_banker_does_not_know_whether_the_player_was_asked() -> None:
    """Both stand: the one on five by choice, the other on six by the rule."""
    asked, _ = at_the_banker(["2C", "3C"], ["stand"])
    not_asked, _ = at_the_banker(["2C", "4C"], [])
    assert handed_out(asked) == handed_out(not_asked)
    assert asked._tables.arrays.decisions[0] == 1 + not_asked._tables.arrays.decisions[0]
