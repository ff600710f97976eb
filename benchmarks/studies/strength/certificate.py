"""Upper bounds of what anybody gains against an agent, by best responses to samples of what a seat cannot see.

At the first position of a deal all that a seat cannot see is drawn again, as often as `worlds` says. In the game of
these worlds alone, equally likely, a best response is found by walking backwards through everything that the seat may
do. It knows that the truth is one of them, which no player knows: so on average over deals it gains what a best
response gains in the game itself, or more, and the more worlds the less it knows. With one world it sees all cards. A
world has the agent's own randomness, too. What the agent itself gains in the same worlds is taken off: that is nothing
on average over both seats, and takes the luck of the cards away. All this holds where an observation, with those before
it in the deal, shows all that a seat knows, and for agents that remember no more than they see.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.match import advance, play_out
from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import option_option
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.states import States
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.training.attack.attack import attack

from ...exact.exploit import exploitability
from ...exact.walk import TooLarge
from ...figures.formatting import Found, options
from ...figures.result_kinds import Columns, Kept, lines
from ...figures.stats import mean_interval
from ..runner import GAME, SEED, Progress, count, quiet, study, words
from .best_agents import ATTACK, BOUND

Numbers = npt.NDArray[Any]

_CELL = "{mean:+.4f} ({low:+.4f} to {high:+.4f})"
_COLUMNS: Columns = {
    "options": options,
    "agent": "`{agent}`",
    "worlds": "{worlds:,}",
    ATTACK: lambda row: _CELL.format(**row["attack"]) if row["attack"] else "",
    "best response, exactly": lambda row: "" if row["exact"] is None else f"{row['exact']:+.4f}",
    BOUND: lambda row: _CELL.format(**row["bound"]),
}


class Certificate(Kept, kind="certificate", heading="Upper bounds", tables={"certificate": lines(_COLUMNS, "points")}):
    """What nobody gains more than against an agent, by the number of worlds."""

    says = (
        "The mean return of a best response to samples of what its seat cannot see, with its 95 % interval over deals"
    )


@study(
    "certificate",
    Certificate,
    GAME,
    click.argument("agent"),
    option_option,
    words("--worlds", "1,100,1000", "Numbers of worlds."),
    count("--deals", 100, "Deals, each for both seats.", 2),
    words("--attackers", "plans,search", "Attackers where no best response can be computed."),
    count("--seconds", 30, "Processor seconds of the attack.", 1),
    SEED,
)
def certificate(
    game: Game,
    agent: str,
    *,
    worlds: Any,
    deals: int,
    attackers: Any,
    seconds: int,
    seed: int,
    progress: Progress = quiet,
) -> Found:
    """Bound from above what anybody gains against AGENT in GAME, of two seats and few decisions."""
    victim, points = agent_of(agent, game), []
    if game.num_seats != 2 or not game.zero_sum:
        raise InvalidValue(f"{game.name} is no game of two seats with opposite interests, and only those are bounded.")
    found_by = exact = None
    try:
        low, high = exploitability(game, [victim]).agents[0].held
        exact = (high - low) / 2
    except TooLarge:
        with tempfile.TemporaryDirectory() as folder:
            names, out = ",".join(attackers), Path(folder)
            found = attack(game, victim, attackers=names, processor_seconds=seconds, deals=2000, seed=seed, out=out)
            found_by = found.gain.to_json()
    for number in map(int, worlds):
        gains = np.zeros((deals, 2))
        for deal in range(deals):
            progress(deal, deals, f"{number} worlds")
            for seat in range(2):
                gains[deal, seat] = best_in_worlds(
                    game, victim, seat, number, np.random.default_rng([seed, deal, seat])
                )
        points.append(
            {"worlds": number, "exact": exact, "attack": found_by, "bound": mean_interval(gains.mean(1)).to_json()}
        )
    return {"agent": agent, "deals": deals, "points": points}


def best_in_worlds(game: Game, victim: Agent, seat: int, worlds: int, draws: np.random.Generator) -> float:
    """Return what a best response of `seat` gains in so many worlds of one deal, on average, above what the agent
    itself does there."""
    deal = BatchEnv(game, 1, seed=int(draws.integers(2**32)), autoreset=False)
    deal.reset()
    keys = draws.integers(0, 2**64, worlds, np.uint64)
    states = deal.determinize(keys, np.zeros(worlds, np.int64), np.full(worlds, seat))
    best = _best(states, keys, np.zeros(worlds, np.int64), None, victim, seat, draws)[0]
    own, _ = play_out(BatchEnv.from_states(states), [victim], np.zeros((worlds, 2), np.int64), keys)
    return float(best - own[:, seat].sum()) / worlds


def _best(
    states: States,
    keys: Numbers,
    groups: Numbers,
    actions: Numbers | None,
    victim: Agent,
    seat: int,
    draws: np.random.Generator,
) -> Numbers:
    """Return the most that each group of worlds [n] gains in sum, after the seat's `actions` there: the worlds of a
    group look alike to it so far."""
    tables = BatchEnv.from_states(states, seed=int(draws.integers(2**32)))
    gained, rows = np.zeros((len(states), 2)), np.arange(len(states))
    if actions is not None:
        gained += tables.step(actions).reward
    who = np.zeros((len(states), 2), np.int64)
    who[:, seat] = -1
    advance(tables, [victim], who, rows, keys, gained, lambda rows: None)
    value = np.bincount(groups, gained[:, seat])
    on = rows[tables.arrays.seat >= 0]
    if not len(on):
        return value
    seen = np.concatenate([groups[on, None].view(np.uint8), tables.arrays.flat[on].view(np.uint8)], axis=1)
    _, first, inside = np.unique(seen.view(f"V{seen.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    legal = tables.arrays.mask[on] == 1
    which, chosen = np.nonzero(legal)
    places = legal[first].ravel().cumsum() - 1
    below = places[inside[which] * legal.shape[1] + chosen]
    after = _best(tables.states(on[which]), keys[on[which]], below, chosen, victim, seat, draws)
    best = np.full(legal[first].shape, -np.inf)
    best[legal[first]] = after
    np.add.at(value, groups[on][first], best.max(1))
    return value
