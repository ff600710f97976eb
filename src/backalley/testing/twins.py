"""The check of twin histories: two histories that a seat cannot tell apart hand it the same bytes everywhere.

A twin of an episode is played with a pack in which a few cards have changed places. Every seat repeats its actions as
far as they are legal; so histories differ in what the seat cannot see, in other players' decisions, and in length.
Where the seat has been shown the same (`information_state_string`), all that it is handed is compared: what it observes
and may do, its history, words, tensors, pictures, keys, counts, what a program is sent, and redrawn states.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.base.agent import View, view_of
from backalley.agents.programs.protocol import NEW_PARTS, PARTS, Question
from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.drawing.render import table_svg
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import legal_texts, observation_text

from .play import random_pack
from .report import NOT_TRIED

PAIRS, TRIES = 60, 1500
"""Twins that a check looks at, and packs that it tries at most to find them."""
_PACKS = 3
"""Packs of an episode that are given; chance decides on later ones, alike in both histories."""
_SWAPS, _HIDDEN = 3, 12
"""The most pairs of cards that change places, and the odds, 1 in so many, that another seat leaves its actions."""
_ROOT, _KEY = 77, 5
"""The key of both tables' agents, and of redrawn states."""


class Twins(NamedTuple):
    """Two tables at which `viewer` is to act, and cannot tell one from the other."""

    first: AECEnv
    second: AECEnv
    viewer: int

    @property
    def lengths(self) -> tuple[int, int]:
        """The decisions made at each of them."""
        return tuple(int(env.arrays.decisions[0]) for env in (self.first, self.second))  # type: ignore[return-value]


class _Episode(NamedTuple):
    """A history that can be repeated."""

    seed: int
    decks: list[Any]
    start_outcome: int
    actions: list[list[int]]
    """Of each seat, in order."""


def check_twins(game: Game, *, seed: int = 0, pairs: int = PAIRS, tries: int = TRIES) -> str:
    """Check that twin histories hand their seat the same bytes. Raises BrokenPromise, which names what differs."""
    if game.type.events is None:
        return f"{NOT_TRIED}the game declares no events, so nobody can say what a seat was shown."
    found = unequal = other_length = 0
    for twins in twins_of(game, seed=seed, pairs=pairs, tries=tries):
        one, other = (env.arrays.raw[0].tobytes() for env in (twins.first, twins.second))
        found, unequal = found + 1, unequal + (one != other)
        other_length += len(set(twins.lengths)) > 1
        compare(twins)
    return (
        f"{found} pairs of histories that a seat cannot tell apart handed it the same bytes; {unequal} had other "
        f"hidden parts, {other_length} were of different lengths."
    )


def twins_of(game: Game, *, seed: int = 0, pairs: int = PAIRS, tries: int = TRIES) -> Iterator[Twins]:
    """Yield up to `pairs` twins whose hidden parts differ, from `tries` packs at most. The tables are used again for
    the next pair."""
    first, second = AECEnv(game, events=True), AECEnv(game, events=True)
    random, found = np.random.default_rng(seed), 0
    for number in range(tries):
        if number % 10 == 0:
            episode = _play(first, random)
        viewer = int(random.integers(game.num_seats))
        if not episode.actions[viewer]:
            continue
        place = int(random.random() ** 4 * len(episode.actions[viewer]))  # later ones are harder to reach
        twin = episode._replace(decks=_changed(episode.decks, random, game.with_replacement))
        if not _repeat(second, twin, viewer, place, random, leaves=True):
            continue
        if not _repeat(first, episode, viewer, place, random):
            raise BrokenPromise(f"{game!r}, seed {episode.seed}: the same packs and actions led elsewhere.")
        differ = first.arrays.raw.tobytes() != second.arrays.raw.tobytes()
        twins = Twins(first, second, viewer)
        if (differ or len(set(twins.lengths)) > 1) and _information(first, viewer) == _information(second, viewer):
            yield twins
            found += 1
            if found == pairs:
                return


def _play(env: AECEnv, random: np.random.Generator) -> _Episode:
    """Play an episode at random from given packs."""
    game = env.game
    made = _Episode(
        int(random.integers(2**31)),
        [random_pack(game, random).tolist() for _ in range(_PACKS)],
        int(random.integers(game.num_start_outcomes)),
        [[] for _ in range(game.num_seats)],
    )
    _begin(env, made)
    table = env.arrays
    while table.seat[0] >= 0:
        action = int(random.choice(np.flatnonzero(table.mask[0])))
        made.actions[int(table.seat[0])].append(action)
        env.step(action)
    return made


def _changed(decks: list[list[int]], random: np.random.Generator, with_replacement: bool) -> list[list[int]]:
    """The packs with a few cards of one of them exchanged; early cards and early packs more often."""
    made = [list(deck) for deck in decks]
    deck = made[int(random.random() ** 2 * len(made))]
    for _ in range(int(random.integers(1, _SWAPS + 1))):
        one, other = (int(random.random() ** 2 * len(deck)) for _ in range(2))
        deck[one], deck[other] = deck[other], deck[one]
    if with_replacement:
        deck[one] = int(random.integers(max(deck) + 1))
    return made


def _begin(env: AECEnv, episode: _Episode) -> None:
    env.reset(seed=episode.seed, options={"decks": episode.decks, "start_outcome": episode.start_outcome})


def _repeat(
    env: AECEnv, episode: _Episode, viewer: int, place: int, random: np.random.Generator, *, leaves: bool = False
) -> bool:
    """Repeat an episode up to the viewer's decision number `place`; return whether it is reached. Where an action of
    the others is not legal, or now and then if `leaves`, they take another one."""
    _begin(env, episode)
    table, left = env.arrays, [list(actions) for actions in episode.actions]
    made = 0
    while (seat := int(table.seat[0])) >= 0:
        if seat == viewer and made == place:
            return True
        wanted = left[seat].pop(0) if left[seat] else -1
        if seat != viewer and (wanted < 0 or not table.mask[0, wanted] or (leaves and random.integers(_HIDDEN) == 0)):
            wanted = int(random.choice(np.flatnonzero(table.mask[0])))
        if wanted < 0 or not table.mask[0, wanted]:
            return False
        made += seat == viewer
        env.step(wanted)
    return False


def _information(env: AECEnv, viewer: int) -> str:
    """What makes histories of a seat equal: all that it was shown, and what it did. Where rules treat cards alike
    (`GameType.card_kind`) events tell kinds of cards, and the table shows which cards they were."""
    state = env.position()
    words = state.information_state_string(viewer)
    return words if env.game.card_kinds is None else f"{words}\n{state.table_str(viewer)}"


# What a seat is handed ------------------------------------------------------------------------------------------------


def compare(twins: Twins) -> None:
    """Compare all that both tables hand the viewer. Raises BrokenPromise, which names the first thing that differs."""
    first, second = (handed_out(env) for env in (twins.first, twins.second))
    for name, its in first.items():
        if its != second[name]:
            one, other = twins.lengths
            raise BrokenPromise(
                f"{twins.first.game!r}: seat {twins.viewer} cannot tell two histories apart, of {one} and {other} "
                f"decisions, and is handed another {name} in each:\n{_shortly(its)}\n{_shortly(second[name])}\n"
                f"It was shown:\n{_information(twins.first, twins.viewer)}"
            )


def handed_out(env: AECEnv) -> dict[str, Any]:
    """Return all that the seat to act at a table is handed, by name."""
    view = _view(env)
    seat, agent = int(view.seat[0]), env.agent_selection
    state, redrawn = view.game_state(0, _KEY), view.determinize([0], [_KEY])
    shown: dict[str, Any] = {name: getattr(view, name).tobytes() for name in _PUBLIC}
    shown |= {
        "observe() of the environment": {name: one.tobytes() for name, one in env.observe(agent).items()},
        "determinization": redrawn.records.tobytes(),
        "number of decisions of a determinization": redrawn.decisions.tolist(),
        "State record of game_state": state.states().records.tobytes(),
        "number of decisions of game_state": state.decisions,
        "history of game_state": state.history(),
        "information_state_string": state.information_state_string(seat),
        "public_state_string": env.position().public_state_string(),
        "public_state_string of game_state": state.public_state_string(),
        "information_state_tensor": state.information_state_tensor(seat).tobytes(),
        "events": env.events(agent).tolist(),
        "events of game_state": state.events(seat).tolist(),
        "events since the deal": env.events(agent, since="deal").tolist(),
        "table_text": view.table_text(0),
        "observation_text": observation_text(state, seat),
        "legal_texts": legal_texts(state),
        "picture": table_svg(env, 0, seat),
        "request to a program": json.loads(Question(_view(env), 0).line(0, frozenset(PARTS + NEW_PARTS))),
    }
    return shown


_PUBLIC = ("observation", "action_mask", "seat", "decisions", "key", "table")
"""What a View shows of itself."""


def _view(env: AECEnv) -> View:
    return view_of(env, np.zeros(1, np.int64), np.array([_ROOT], np.uint64))


def _shortly(value: object) -> str:
    text = str(value)
    return text if len(text) <= 400 else f"{text[:400]} ..."
