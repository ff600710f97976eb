"""Learn the best response to an agent by a table: for each observation that comes up, how often each action led where,
and what that brought. The response to what has been seen follows by backward induction.

Against an agent that does not change, what one seat sees is a Markov decision process where its observations have all
that it was shown. A step plays an episode on every table: the best action so far, or with EXPLORE any legal one; an
action not tried yet comes first. Small games alone: nothing is inferred from one observation to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import read_events
from backalley.agents.match import act_rows
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import TablePlayer
from backalley.envs.core.game.game import Game

from ..config.config import Config, ConfigError
from ..shared.checkpoint import Arrays
from ..shared.phase import Phase

TABLES = 512
"""Episodes of a step."""
EXPLORE = 0.5
"""The share of decisions with any legal action."""
MOST_EVENTS = 16
"""The longest episodes of the games that it attacks: tables of longer games are never full."""
GROWTH = 1.1
"""The best actions are reckoned again once there is so much more to go by."""
_AGENT, _LEARNER, _NOBODY = 0, 1, -1


class Table(Phase):
    """A table in memory. A node is an observation after a number of decisions of the seat's own in the episode."""

    def __init__(self, game: Game, config: Config, **loop: Any) -> None:
        """Like any `Phase`, with an agent to attack."""
        super().__init__(game, config, **loop)
        assert self.against is not None, "a response is learned to an agent"
        events = read_events([self.against], game)
        self.batch = game.make_vec(TABLES, seed=0, autoreset=False, events=events)
        self.entropy = self.seeds().generate_state(2).tolist()
        self.steps, self.reckoned = 0, 0
        self.numbers: dict[tuple[int, bytes], int] = {}
        self.moves: dict[tuple[int, int, int], npt.NDArray[np.float64]] = {}
        """By node, action and next node, -1 for the end: how often, and what it brought in all."""
        self.best = np.zeros(0, np.int64)

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """Raise ConfigError for games with long episodes."""
        bounds = game.max_decisions, game.type.events and game.type.events.length(game.options)
        if min((bound for bound in bounds if bound is not None), default=MOST_EVENTS + 1) > MOST_EVENTS:
            raise ConfigError(
                f"table remembers every observation, and {game.name} has episodes of more than {MOST_EVENTS} events."
            )

    def begin(self) -> None:
        """Nothing: every step deals again."""

    def step(self) -> None:
        """Play an episode on every table, and note where each decision led."""
        random, game = np.random.default_rng([*self.entropy, self.steps]), self.game
        step = self.batch.reset(streams=random.integers(2**63, size=TABLES, dtype=np.uint64))
        keys = random.integers(2**63, size=TABLES, dtype=np.uint64)
        who = (np.array(game.sides) == random.integers(game.num_sides, size=(TABLES, 1))).astype(np.int64)
        node, chosen, made = (np.full((TABLES, game.num_seats), start) for start in (_NOBODY, 0, 0))
        gained, rows, action = np.zeros((TABLES, game.num_seats)), np.arange(TABLES), np.zeros(TABLES, np.int64)
        while rows.size:
            mine = rows[who[rows, step.seat[rows]] == _LEARNER]
            theirs, at = np.setdiff1d(rows, mine), (mine, step.seat[mine])
            action[theirs] = act_rows(self.batch, [self.against], who, theirs, keys)  # type: ignore[list-item]
            found = self._nodes(made[at], step.observation[mine])
            self._note(node[at], chosen[at], found, gained[at])
            action[mine] = self._chosen(found, step.action_mask[mine], random)
            node[at], chosen[at], gained[at] = found, action[mine], 0.0
            made[at] += 1
            self.samples += len(mine)
            self.decisions += len(rows)
            step = self.batch.step(action[rows], rows)
            gained[rows] += step.reward[rows]
            over = step.terminated[rows] | step.truncated[rows]
            ended, rows = rows[over], rows[~over]
            last = node[ended].ravel()
            self._note(last, chosen[ended].ravel(), np.full(len(last), _NOBODY), gained[ended].ravel())
        self.steps += 1
        if self.samples >= GROWTH * self.reckoned:
            self.best, self.reckoned = self._best(), self.samples

    def _nodes(self, made: npt.NDArray[np.int64], shown: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The numbers of the nodes of some seats that are to act."""
        seen = zip(made.tolist(), map(bytes, shown), strict=True)
        return np.array([self.numbers.setdefault(one, len(self.numbers)) for one in seen], np.int64)

    def _note(self, *columns: npt.NDArray[Any]) -> None:
        """Add decisions, each with where it led and what it brought; those of nobody are left out."""
        for before, action, after, gain in zip(*(column.tolist() for column in columns), strict=True):
            if before != _NOBODY:
                self.moves.setdefault((before, action, after), np.zeros(2))[:] += (1.0, gain)

    def _chosen(
        self, nodes: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], random: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """The best actions so far, or any legal ones."""
        any_legal = (mask * random.random(mask.shape)).argmax(1)
        known = nodes < len(self.best)
        best = np.where(known, self.best[np.where(known, nodes, 0)], -1) if len(self.best) else np.full(len(nodes), -1)
        return np.where((random.random(len(nodes)) < EXPLORE) | (best < 0), any_legal, best)

    def _best(self) -> npt.NDArray[np.int64]:
        """The action of the highest mean at each node [n], by backward induction."""
        depth = np.array([made for made, _ in self.numbers], np.int64)
        ways, (count, total) = np.array([*self.moves]).T, np.array([*self.moves.values()]).T
        tried, brought = (np.zeros((len(depth), self.game.num_actions)) for _ in range(2))
        value, best = np.zeros(len(depth) + 1), np.full(len(depth), -1)  # the last is that of the end
        for level in range(depth.max(), -1, -1):
            here, nodes = depth[ways[0]] == level, np.flatnonzero(depth == level)
            before, action, after = ways[:, here]
            np.add.at(tried, (before, action), count[here])
            np.add.at(brought, (before, action), total[here] + count[here] * value[after])
            seen = tried[nodes]
            mean = np.divide(brought[nodes], seen, out=np.full(seen.shape, -np.inf), where=seen > 0)
            best[nodes], value[nodes] = mean.argmax(1), mean.max(1)
        return best

    # What an attack needs ---------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the table of best actions. Raises OSError."""
        nodes = {shown: node for (_, shown), node in self.numbers.items()}
        shown = np.frombuffer(b"".join(nodes), self.game.observation_base).reshape(len(nodes), -1)
        arrays = {"rows": shown, "actions": self._best()[[*nodes.values()]]}
        about = {**self.about("a table of best responses to what was seen of an agent"), **made}
        name = f"table-s{self.seed}-{self.decisions_in_short}"
        save_policy(folder, arrays, self.game, name=name, player=TablePlayer(len(nodes)), made=about)

    def summary(self) -> str:
        """Return decisions, and how many observations there are."""
        return f"{self.decisions:,} decisions, {len(self.numbers):,} observations"

    def log_values(self) -> dict[str, float]:
        """Return how many observations there are."""
        return {"table/observations": float(len(self.numbers))}

    def arrays(self) -> Arrays:
        """Return what was seen."""
        made = np.array([made for made, _ in self.numbers], np.int64)
        shown = np.frombuffer(b"".join(shown for _, shown in self.numbers), np.uint8)
        return {
            "made": made,
            "shown": shown.reshape(len(made), -1),
            "ways": np.array([*self.moves]),
            "sums": np.array([*self.moves.values()]),
            "best": self.best,
        }

    def facts(self) -> dict[str, Any]:
        """Return the counts."""
        return {name: getattr(self, name) for name in ("decisions", "samples", "steps", "reckoned")}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same game and agent."""
        seen = zip(arrays["made"].tolist(), map(bytes, arrays["shown"]), strict=True)
        self.numbers = {one: number for number, one in enumerate(seen)}
        self.moves = {tuple(way): row.copy() for way, row in zip(arrays["ways"].tolist(), arrays["sums"], strict=True)}
        self.best = arrays["best"]
        for name, value in facts.items():
            setattr(self, name, int(value))

    def close(self) -> None:
        """End the tables' threads."""
        self.batch.close()
