"""Where Missouri City's policy loses to `planner`: what each of its actions is worth less than the best, by stage."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import DirectAgent
from backalley.agents.registry import agent
from backalley.envs.backhand_series import counting
from backalley.envs.backhand_series.state import BACKHAND, HIT, LIMIT, MAX_DRAWS, PUSH
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.kernels import bind, kernel
from backalley.envs.missouri_city.bot import OPPONENT, THIS_GAME, finished, own_stakes, stakes

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Files, Kept, lines
from ..runner import SEED, Progress, count, quiet, study

TABLES = 4096
HANDS = ("push hand", "two cards", "three cards", "four cards")


@kernel
def value_rows(options: Any, rows: npt.NDArray[Any], mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """What `planner` counts hit, backhand and push to be worth [n, 3], and whether the opponent's hand has ended."""
    for k in range(len(rows)):
        seen, chances = rows[k], np.zeros(counting.PLACES)
        stub, total, draws = counting.count_stub(seen), int(np.int64(seen.total[0])), int(np.int64(seen.draws[0]))
        out[k, 3] = finished(seen, chances)
        if not out[k, 3]:
            other, its = int(np.int64(seen.total[OPPONENT])), int(np.int64(seen.draws[OPPONENT]))
            pushes = counting.is_push_hand(seen, OPPONENT)
            counting.result_chances(options, stub, own_stakes(options, seen), its, other, pushes, chances)
        ends = stakes(options, seen, chances, THIS_GAME)
        if mask[k, PUSH]:
            out[k, HIT] = counting.push_hit_worth(stub, ends, total)
            out[k, PUSH] = counting.replacement_worth(options, stub, ends)
        else:
            worth = np.empty((MAX_DRAWS, LIMIT + 1))
            counting.ladder(stub, ends, draws, total, worth, np.empty((MAX_DRAWS, LIMIT + 1), np.bool_))
            out[k, HIT], out[k, BACKHAND] = counting.worths(stub, ends, draws, total, worth)


_COLUMNS: Columns = {
    "opponent's hand": "{opponent}",
    "own hand": "{hand}",
    "choices a game": "{choices:.4f}",
    "otherwise than `planner`": "{differs:.2%}",
    "loss a game": "{loss:.5f}",
}


class Stages(Kept, kind="stages", heading="Loss by stage", tables={"stages": lines(_COLUMNS, "rows")}):
    """What a policy loses in the stages of a game."""

    says = "Missouri City: where the policy departs from planner, and what that costs"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what a loss is."""
        games = sum(one["games"] for one in files)
        return [f"{games:,} games. A loss is by how much the best action was worth more, as `planner` counts it."]


@study("stages", Stages, count("--decisions", 2_000_000), SEED, of=["missouri_city"])
def stages(*, decisions: int, seed: int, player: str = "policy", progress: Progress = quiet) -> Found:
    """Add up what Missouri City's policy loses to `planner`, by stage of the game."""
    game = game_of("missouri_city")
    policy, planner = (cast(DirectAgent, agent(name, game)) for name in (player, "bot:planner"))
    batch, mine, found, games = BatchEnv(game, TABLES, seed=seed), np.arange(TABLES) % 2, np.zeros((2, 4, 3)), 0
    step, keys = batch.reset(), np.zeros(TABLES, np.uint64)  # neither draws its actions
    for made in range(0, decisions, TABLES):
        progress(made, decisions, f"{games} games")
        shown, mask, own = step.observation, step.action_mask, np.flatnonzero(step.seat == mine)
        actions = planner.choose(shown, mask, keys)
        actions[own] = policy.choose(shown[own], mask[own], keys[own])
        own = own[mask[own].sum(1) > 1]
        rows, out = game.records(np.ascontiguousarray(shown[own])), np.zeros((len(own), 4))
        bind(value_rows, game.options, rows, mask[own], out)(game.options, rows, mask[own], out)
        worth = np.where(mask[own, :3] == 1, out[:, :3], -np.inf)
        loss = worth.max(1) - worth[np.arange(len(own)), actions[own]]
        hand = np.where(mask[own, PUSH], 0, 1 + rows["draws"][:, 0])
        np.add.at(found, (out[:, 3].astype(int), hand), np.stack([np.ones(len(own)), loss > 0, loss], 1))
        step = batch.step(actions)
        games += int(step.terminated.sum())
    batch.close()
    part = [("goes on", 0), ("ended", 1)]
    rows_of = [(words, hand, found[k, n]) for words, k in part for n, hand in enumerate(HANDS) if found[k, n, 0]]
    rows_of += [(words, "all", found[k].sum(0)) for words, k in part]
    listed = [
        {"opponent": words, "hand": hand, "choices": n / games, "differs": other / n, "loss": lost / games}
        for words, hand, (n, other, lost) in rows_of
    ]
    return {"games": games, "rows": listed}
