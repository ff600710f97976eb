"""What tables keep of what is played, and earlier states that agree with a redrawn present."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base import Agent, View
from backalley.agents.human import Terminal, play
from backalley.agents.rule_based import RandomAgent, random_rows
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.kernel import uncompiled
from backalley.envs.core.trail import MOST_ACTIONS, UNKNOWN, Trail
from backalley.envs.core.vector import BatchEnv
from tests import kuhn
from tests.cases import GAMES, label, marks, random_action

QUICK = ("missouri_city", "twenty_one")
BY_NAME = pytest.mark.parametrize(
    "game", [pytest.param(game, id=game.name, marks=[] if game.name in QUICK else [pytest.mark.slow]) for game in GAMES]
)
SOME = next((game for game in GAMES if game.name in QUICK), GAMES[0])
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "pitch": [{}, {"joker": "low_trump", "joker_pitch": "name"}],
    "killer_bridge": [{}, {"history": "last_trick"}],
    "twenty_one": [
        {},
        {"reshuffle": "when_empty", "back_pass_trigger": "any_card", "eight_chain": "repeat", "reward": "per_round"},
        {"episode": "session", "banks": 3, "deposit": "chosen", "auto_stand_21": False, "decline_opening_bet": True},
        {"episode": "final_round", "banker_card_open": True},
    ],
}
RECALLING = [
    pytest.param(game.bind(given), id=f"{game.name}[{label(given)}]", marks=marks(game, given))
    for game in GAMES
    if game.type.recall is not None
    for given in OPTIONS.get(game.name, [{}])
]


def keys(count: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(2).integers(2**64, size=count, dtype=np.uint64)


def replayed(trail: Trail, row: int, on: Engine) -> list[npt.NDArray[Any]]:
    """The states since the last deal of a table, the first after that deal, the last the present one."""
    start, action, length = trail.of(np.array([row]))
    on.batch.state[0] = start[0]
    states = [on.batch.state.copy()]
    for played in action[0, : length[0]]:
        on.play_one(int(played), on.fresh_deck(), stacked=True)
        assert on.acting[0] != -1, "a deal inside a trail"
        on.finish_one()
        states.append(on.batch.state.copy())
    return states


def played_at_random(batch: BatchEnv, steps: int, seed: int = 0) -> None:
    actions = np.zeros(batch.num_envs, np.int64)
    for step in range(steps):
        random_rows(batch.engine.batch.mask, keys(batch.num_envs) + np.uint64(1000 * seed + step), actions)
        batch.step(actions)


@BY_NAME
def test_what_was_played_leads_to_what_is(game: Game) -> None:
    """Through autoresets, deals in mid-episode, threads and copies; tables met in mid-game are known after a deal."""
    batch, scratch = BatchEnv(game, 520, seed=3, num_threads=2), Engine(game, 1)
    batch.reset()
    played_at_random(batch, 3)
    batch.engine.keep_trail()
    trail = batch.engine.trail
    assert trail is not None
    for again in range(18):
        played_at_random(batch, 5, again)
        known = np.flatnonzero(trail.played.length != UNKNOWN)
        for row in known[:: 1 + len(known) // 20].tolist():
            assert replayed(trail, row, scratch)[-1] == batch.engine.batch.state[row]
        if again == 6:
            batch = copy.deepcopy(batch)
            trail = batch.engine.trail
            assert trail is not None
    assert len(known)
    batch.restart(np.arange(10))
    assert (trail.played.length[:10] == 0).all()
    batch.refresh()
    assert (trail.played.length == UNKNOWN).all(), "whoever calls it has written to the arrays"


def test_the_trail_of_one_table() -> None:
    game = SOME
    env, scratch, random = AECEnv(game), Engine(game, 1), np.random.default_rng(0)
    env.engine.keep_trail()
    trail = env.engine.trail
    assert trail is not None
    longest = 0
    for episode in range(20):
        pack = [int(card) for card in random.permutation(game.deck_size)]
        env.reset(seed=episode, options={"decks": [pack, pack[::-1]][: episode % 3]} if episode % 3 else None)
        while env.engine.batch.seat[0] >= 0:
            states = replayed(trail, 0, scratch)
            assert states[-1] == env.engine.batch.state
            longest = max(longest, len(states))
            if episode == 5:
                env.restore(env.snapshot())
                assert trail.played.length[0] == UNKNOWN
                env.reset(seed=1)
                episode = 0
            env.step(random_action(env, random))
    assert longest > 3


def test_a_trail_too_long_to_keep_is_not_known() -> None:
    trail = Trail(np.zeros(2, [("reward", "f4", 2)]), np.array([True, False]))
    for number in range(MOST_ACTIONS):
        trail.play(np.arange(2), np.array([number, 0]))
    assert trail.played.length.tolist() == [MOST_ACTIONS, UNKNOWN]
    assert trail.played.action[0].tolist() == list(range(MOST_ACTIONS))
    trail.play(np.arange(2), np.zeros(2, np.int64))
    assert trail.played.length.tolist() == [UNKNOWN, UNKNOWN]
    trail.deal(np.array([1]), np.ones(1, [("reward", "f4", 2)]))
    assert trail.played.length.tolist() == [UNKNOWN, 0]
    assert (trail.played.start["reward"] == 0).all(), "handed out before the next action"


def test_nothing_is_kept_where_nobody_asks() -> None:
    game = SOME
    batch = BatchEnv(game, 4, seed=0)
    batch.reset()
    played_at_random(batch, 3)
    assert batch.engine.trail is None


def test_an_agent_that_asks_finds_it_at_a_terminal_too() -> None:
    class Asking(Agent):
        keeps_trail, found = True, None

        def act(self, view: View) -> npt.NDArray[np.int64]:
            self.found = view._played(np.arange(1))
            return view.action_mask.argmax(1)

    kuhn_poker, asking = kuhn.GAME.bind(), Asking()
    terminal = Terminal(lambda: "bet", lambda text: None, lambda: None)
    play(kuhn_poker, [asking], seat=0, seed=1, terminal=terminal)
    assert asking.found is not None
    start, action, length = asking.found
    assert start["seat"].tolist() == [0]
    assert action[0, : length[0]].tolist() == [kuhn.BET]
    lines = iter(["hint", "bet"])
    terminal = Terminal(lambda: next(lines), lambda text: None, lambda: None)
    adviser = Asking()
    play(kuhn_poker, [RandomAgent()], seat=0, seed=1, terminal=terminal, adviser=adviser)
    assert adviser.found is not None
    assert adviser.found.length.tolist() == [0]


# Earlier states -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", RECALLING)
def test_earlier_states_agree_with_a_redrawn_present(game: Game) -> None:
    """Whoever the world is drawn for saw then what they saw; the others could do what they did; the world follows."""
    assert game.type.recall is not None
    recall, random = uncompiled(game.type.recall), np.random.default_rng(4)
    env, scratch, seen, changed = AECEnv(game), Engine(game, 1), 0, 0
    # Where hands of earlier rounds lie unseen in the discards, worlds no longer tell how those rounds went.
    carries = game.option_values.get("reshuffle") == "when_empty"
    env.engine.keep_trail()
    trail = env.engine.trail
    assert trail is not None
    for episode in range(300):
        env.reset(seed=episode)
        while seen < 150 and env.engine.batch.seat[0] >= 0 and env.engine.batch.decisions[0] < 60:
            if random.random() < 0.15:
                states = replayed(trail, 0, scratch)
                actions = trail.played.action[0]
                seat = int(random.integers(game.num_seats))
                world = states[-1].copy()
                env.engine.determinize(world, np.array([seat]), random.integers(2**63, size=1).astype(np.uint64))
                recalled = [state.copy() for state in states]
                for past in recalled:
                    recall(game.options, past[0], states[-1][0], world[0], seat)
                for number, (true, past) in enumerate(zip(states, recalled, strict=True)):
                    mine = np.array([seat])
                    shown = scratch.observe(np.zeros(1, np.int64), mine, past)
                    assert (shown == scratch.observe(np.zeros(1, np.int64), mine, true)).all()
                    if number + 1 < len(states):
                        scratch.batch.state[0] = past[0]
                        scratch.show_one()
                        assert scratch.batch.mask[0, actions[number]], "what was done has to be legal"
                        seen += 1
                        changed += int(past[0] != true[0])
                assert recalled[-1] == world
                if not carries:
                    follows(game, scratch, recalled, actions)
            env.step(random_action(env, random))
    assert seen >= 150
    assert changed > 50


def follows(game: Game, scratch: Engine, recalled: list[npt.NDArray[Any]], actions: npt.NDArray[Any]) -> list[int]:
    """The actions by which all that everybody saw leads from the first of these states to the last: what happens by
    itself in one history may be a decision in another."""
    world, deck, made = recalled[-1][0], scratch.fresh_deck(), []
    scratch.batch.state[0] = recalled[0][0]
    scratch.show_one()
    before = list(zip(recalled[:-1], actions.tolist(), strict=False))
    seen = [(int(past[0].seat), action) for past, action in before if shown(game, past[0], action)]
    for seat, action in [*seen, (int(world.seat), -1)]:
        while scratch.acting[0] != seat:
            legal = np.flatnonzero(scratch.batch.mask[0]).tolist()
            unseen = [one for one in legal if not shown(game, scratch.batch.state[0], one)]
            assert len(unseen) == 1, "somebody else is to act, who cannot have acted unseen"
            made += unseen
            scratch.play_one(unseen[0], deck)
        if action >= 0:
            assert scratch.batch.mask[0, action]
            made.append(action)
            scratch.play_one(action, deck)
    assert scratch.batch.state[0] == world
    return made


def shown(game: Game, state: Any, action: int) -> bool:
    return game.type.shows is None or bool(game.type.shows(game.options, state, action))
