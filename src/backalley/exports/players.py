"""A game's players as C functions: the random one, the bots, and a learned policy with its weights as constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import carray

from backalley.agents.policies.inference import Net, Rated, Room, act, rated_kernels
from backalley.agents.policies.mixture import Mixture, mixed_kernel
from backalley.agents.policies.planner import plans_of
from backalley.agents.policies.policy_kinds import (
    MixturePlayer,
    NetworkPlayer,
    OwnPlayer,
    PlansPlayer,
    Player,
    Residual,
    TablePlayer,
    features_of,
)
from backalley.agents.policies.residual import Corrected, corrected
from backalley.envs.core.api.compiled_play import random_legal
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import MEMORY, Planner

from .memory import held, on_stack, pointer_to
from .translate import Function

Maker = Callable[[], Any]


def players_of(game: Game, policy: Player | None, made: Callable[..., Function]) -> list[Function]:
    """Return them: each sees an observation and a mask, and draws by a key where it draws."""
    options, actions = game.options, game.num_actions

    def random_action(mask, key):  # type: ignore[no-untyped-def]
        return random_legal(carray(mask, (actions,)), key)

    def bot(act: Callable[..., Any]) -> Callable[..., Any]:
        def decide(observation, mask, key):  # type: ignore[no-untyped-def]
            return int(act(options, observation, carray(mask, (actions,)), key))

        return decide

    given = "observation* observation, int8* mask, uint64 key"
    drawn = "A random legal action, drawn by a key; -1 where there is none."
    found = [made("int32", "random", "int8* mask, uint64 key", drawn, random_action)]
    found += [made("int32", f"bot_{one.name}", given, one.doc, bot(one.act)) for one in game.type.bots]
    if policy is not None:
        found.append(made("int32", "policy", given, "The learned policy.", _decision(game, policy)))
    return found


def weights_of(game: Game, by: Any) -> Mapping[str, npt.NDArray[np.float32]]:
    """Return the numbers that the file holds for a policy, by their name in it; `by` is the first argument of the
    policy's kernel."""
    if isinstance(by, Planner):
        return {_name(game): by.values}
    if isinstance(by, Mixture):
        return {_name(game): np.concatenate([by.values, by.tables, by.upto])}
    return {_name(game): (by.net if isinstance(by, Corrected | Rated) else by).numbers}


def _name(game: Game) -> str:
    return f"{game.name}_weights"


def _decision(game: Game, player: Player) -> Callable[..., Any]:
    """The kernel of a policy's function: what the player's own kernel plays by is made on the stack."""
    assert not isinstance(player, OwnPlayer | TablePlayer), "torch plays the first, and tables are not written"
    actions, size, base = game.num_actions, game.observation_size, numba.from_dtype(game.observation_base)
    if isinstance(player, PlansPlayer | MixturePlayer):
        by, plan = _planner(game, player)

        def planned(observation, mask, key):  # type: ignore[no-untyped-def]
            return int(plan(by(), observation, carray(mask, (actions,)), key))

        return planned
    network, features, options = _network(game, player), features_of(player, game), game.options
    if isinstance(player, NetworkPlayer) and features is not None:
        rate = rated_kernels(features)["act_rated"]

        def rated(observation, mask, key):  # type: ignore[no-untyped-def]
            return int(rate(Rated(options, network()), observation, carray(mask, (actions,)), key))

        return rated
    if isinstance(player, NetworkPlayer):

        def decided(observation, mask, key):  # type: ignore[no-untyped-def]
            shown = carray(pointer_to(observation, base), (size,))
            return int(act(network(), shown, carray(mask, (actions,)), key))

        return decided
    margin = math.inf if player.margin is None else player.margin
    correct = corrected(game.bots[player.bot], features)

    def followed(observation, mask, key):  # type: ignore[no-untyped-def]
        shown = carray(pointer_to(observation, base), (size,))
        by = Corrected(options, network(), margin)
        return int(correct(by, (observation, shown), carray(mask, (actions,)), key))

    return followed


def _planner(game: Game, player: PlansPlayer | MixturePlayer) -> tuple[Maker, Callable[..., Any]]:
    """What makes the first argument of the kernel of plans or of their mixture, and that kernel."""
    options, classes = game.options, player.classes
    values, memory = held(_name(game)), on_stack(MEMORY, numba.int64)

    @numba.njit(inline="always")
    def empty():  # type: ignore[no-untyped-def]
        plans = carray(memory(), (1, MEMORY))
        for place in range(MEMORY):
            plans[0, place] = 0
        return plans

    if isinstance(player, PlansPlayer):

        @numba.njit(inline="always")
        def planner():  # type: ignore[no-untyped-def]
            return Planner(options, carray(values(), (classes,)), empty(), np.uint64(0))

        return planner, plans_of(game).act
    shares = classes + player.tables * player.planned
    count = shares + player.tables

    @numba.njit(inline="always")
    def mixture():  # type: ignore[no-untyped-def]
        numbers = carray(values(), (count,))
        return Mixture(options, numbers[:classes], numbers[classes:shares], numbers[shares:], empty())

    return mixture, mixed_kernel(game.type)


def _network(game: Game, player: NetworkPlayer | Residual) -> Maker:
    """What makes the Net of a network: its inputs are the observation, and of a residual the bot's action, too; or the
    features of an action."""
    features, rates = features_of(player, game), 0
    greedy = player.greedy if isinstance(player, NetworkPlayer) else True
    inputs, outputs = game.observation_size, game.num_actions
    inputs += outputs if isinstance(player, Residual) else 0
    if features is not None:
        inputs, outputs, rates = features.number, 1, game.num_actions
    sizes = np.array([inputs, *[player.width] * player.layers, outputs])
    count, widest = int(((sizes[:-1] + 1) * sizes[1:]).sum()), int(sizes.max())
    numbers = held(_name(game))
    shown = inputs if rates else 0
    units, places, values = (on_stack(widest, kind) for kind in (numba.float32, numba.int64, numba.float32))
    rated, gains = (on_stack(max(1, length), numba.float32) for length in (rates * shown, rates))

    @numba.njit(inline="always")
    def network():  # type: ignore[no-untyped-def]
        room = Room(
            carray(units(), (widest,)), carray(places(), (widest,)), carray(values(), (widest,)),
            carray(rated(), (rates, shown)), carray(gains(), (rates,)),
        )  # fmt: skip
        return Net(sizes, carray(numbers(), (count,)), greedy, room)

    return network  # type: ignore[no-any-return]
