"""Thousands of tables for self-play: a step is one decision on every table, by whichever seat is to act there.

On most tables the learner plays every seat. On a share of them (the league's) other agents play some seats: there the
agent's own action replaces the learner's, and `learned` says that the row is not a sample for the learner.

Every seat of the learner plays each episode under a random suit permutation (`suit_augmentation.py`). Observations,
masks and actions of the learner are in permuted suits; league members see the true ones.

The league are the learner's opponents, so that it does not forget how to beat bots and its own past. Members are drawn
by prioritised fictitious self-play (Vinyals et al. 2019, AlphaStar): the more a member scores against the learner, the
more often it is met.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, read_events
from backalley.agents.match import act_rows
from backalley.benchmarks.figures import stats
from backalley.benchmarks.matches.seeding import Space
from backalley.envs.core.api.tables import one_thread
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel

from ..shared.suit_augmentation import SuitNames

_MEMORY = 512
"""The approximate number of games that a member's score averages over."""
_PRIOR_GAMES = 16
"""A new member starts with this many imagined games at one half."""
_FLOOR = 0.05
"""Weight of a member whom the learner always beats: it is still met sometimes."""


@dataclass
class Member:
    """One opponent. `score` is the learner's share of the points against it: wins 1, ties one half; `games` counts all
    games."""

    agent: Agent
    past: bool
    score: float = 0.5
    games: int = 0
    retired: bool = False


class League:
    """Bots and past selves. Members keep their number (their index in `agents`) for ever; a retired one only finishes
    its present episodes."""

    def __init__(self, bots: Sequence[Agent] = (), *, keep: int = 16, per_rollout: int = 2) -> None:
        """`keep` past selves are drawn from, `per_rollout` of them during any one rollout (each costs a forward pass a
        step)."""
        self.members = [Member(agent, past=False) for agent in bots]
        self.agents: list[Agent] = list(bots)
        self.keep, self.per_rollout = keep, per_rollout
        self._meet(range(len(bots)))

    def add_past(self, agent: Agent) -> None:
        """Add a new past self. With more than `keep`, the one that the learner beats most retires."""
        self.members.append(Member(agent, past=True))
        self.agents.append(agent)
        present = [number for number, member in enumerate(self.members) if member.past and not member.retired]
        if len(present) > self.keep:
            weakest = max(present[:-1], key=lambda number: (self.members[number].score, -number))
            self.members[weakest].retired = True

    def choose(self, generator: np.random.Generator) -> None:
        """Choose the members of the rollout that begins: every bot, and `per_rollout` past selves by their weights."""
        past = [number for number, member in enumerate(self.members) if member.past and not member.retired]
        if len(past) > self.per_rollout:
            weights = self._weights(past)
            past = sorted(generator.choice(past, self.per_rollout, replace=False, p=weights).tolist())
        self._meet([number for number, member in enumerate(self.members) if not member.past] + past)

    def _meet(self, numbers: Sequence[int]) -> None:
        self.active = np.array(numbers, np.int64)
        self._edges = np.cumsum(self._weights(numbers)) if len(numbers) else np.zeros(0)

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Draw opponents for `count` tables by the weights at the rollout's beginning: member numbers [count], all -1
        (the learner itself) while the league is empty."""
        drawn = generator.random(count)
        if not len(self.active):
            return np.full(count, -1, np.int64)
        return self.active[np.minimum(np.searchsorted(self._edges, drawn, "right"), len(self.active) - 1)]

    def _weights(self, numbers: Sequence[int]) -> npt.NDArray[np.float64]:
        weights = np.array([max(1 - self.members[number].score, _FLOOR) for number in numbers])
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares

    def record(self, number: int, games: int, points: float) -> None:
        """Add games against a member, and the learner's points in them: 1 for a win, one half for a tie."""
        member = self.members[number]
        member.games += games
        member.score += (points / games - member.score) * min(games / min(member.games + _PRIOR_GAMES, _MEMORY), 1.0)

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides the members' weights, as JSON can hold it."""
        members = [
            {"name": m.agent.name, "past": m.past, "score": m.score, "games": m.games, "retired": m.retired}
            for m in self.members
        ]
        return {"members": members, "active": self.active.tolist(), "edges": self._edges.tolist()}

    def restore(self, facts: dict[str, Any], past: dict[str, Agent]) -> None:
        """Restore from `facts()`; `past` are the past selves by name. The bots must be the same as before."""
        bots = {member.agent.name: member.agent for member in self.members if not member.past}
        self.members = [
            Member(
                past[kept["name"]] if kept["past"] else bots[kept["name"]],
                kept["past"],
                kept["score"],
                kept["games"],
                kept["retired"],
            )
            for kept in facts["members"]
        ]
        self.agents = [member.agent for member in self.members]
        self.active, self._edges = np.array(facts["active"], np.int64), np.array(facts["edges"], np.float64)


# Tables ---------------------------------------------------------------------------------------------------------------

LEARNER = -1
"""In `who[table, seat]`: the learner plays the seat."""
_FEW_RETURNS = 256
"""With fewer returns than this, their spread is not known."""
_TIED = 1e-6
"""Returns closer than this are a tie: they are sums of 32-bit numbers."""


@dataclass
class Tally:
    """Counts since the last log entry: ended episodes, decisions in them, and the learner's returns by opponent (its
    own name for self-play)."""

    episodes: int = 0
    decisions: int = 0
    returns: dict[str, list[float]] = field(default_factory=dict)
    """Number and sum of the learner's returns, averaged per table."""

    def note(self, opponent: str, count: int, gained: float) -> None:
        """Add the learner's returns against an opponent."""
        kept = self.returns.setdefault(opponent, [0, 0.0])
        kept[0] += count
        kept[1] += gained


@dataclass
class CutOff:
    """Episodes truncated in one step; the critic completes their last rewards."""

    rows: npt.NDArray[np.int64]
    observation: npt.NDArray[Any]
    """[rows, seats, O] what each seat could know at the end, in its permuted suits."""


@kernel
def count_results(
    over: npt.NDArray[np.int64],
    who: npt.NDArray[np.int64],
    returns: npt.NDArray[np.float64],
    games: npt.NDArray[np.int64],
    points: npt.NDArray[np.float64],
    gained: npt.NDArray[np.float64],
    spread: npt.NDArray[np.float64],
) -> None:
    """Add up the tables `over`, by the member met (number + 1; 0 for self-play): games, the learner's points (1 a win,
    one half a tie) and its returns, averaged over its seats; `spread` takes number, sum and squares of its returns.
    Clear those tables' returns."""
    for row in over:
        member, mine, its = LEARNER, 0, 0
        my_total, its_total = 0.0, 0.0
        for seat in range(returns.shape[1]):
            value = returns[row, seat]
            returns[row, seat] = 0.0
            if who[row, seat] == LEARNER:
                mine += 1
                my_total += value
                spread[0] += 1.0
                spread[1] += value
                spread[2] += value * value
            else:
                member = who[row, seat]
                its += 1
                its_total += value
        games[member + 1] += 1
        gained[member + 1] += my_total / mine
        if its > 0:
            lead = my_total / mine - its_total / its
            points[member + 1] += 0.5 if abs(lead) < _TIED else 1.0 if lead > 0.0 else 0.0


_KEPT = ("raw", "stream", "flat", "mask", "seat", "decisions", "own_decisions")
"""What a checkpoint keeps of the tables."""


class SeatTables:
    """B tables of a game, and their latest step per seat, for a rollout along seats.

    acted [B] who decided; learned [B] whether that was the learner; reward [B, N] what each seat gained; ended [B]
    whether the episode is over; cut_off the truncated ones, or None.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seed: int = 0,
        league: League | None = None,
        league_share: float = 0.0,
        one_side: bool = False,
        num_threads: int = 1,
        symmetry: bool = True,
        win_shares: bool = False,
    ) -> None:
        """On `league_share` of the tables league members play some seats; a game of one seat ignores it. With
        `one_side` the learner has one side there, a seat or the seats of partners, and one member all others.
        `symmetry` permutes suits. With `win_shares` the only reward of an episode, at its end, is each seat's share of
        the win minus the share expected by chance."""
        self.league = league or League()
        events = read_events(self.league.agents, game)
        self.tables = BatchEnv(game, num_envs, seed=0, num_threads=num_threads, autoreset=False, events=events)
        self.game, self.num_seats = game, self.tables.num_seats
        shared = round(num_envs * league_share) if self.num_seats > 1 else 0
        self._league_rows = np.arange(shared)
        self._sides, self._one_side = np.array(game.sides), one_side
        self.who = np.full((num_envs, self.num_seats), LEARNER, np.int64)
        self.returns = np.zeros((num_envs, self.num_seats))
        self._keys = np.zeros(num_envs, np.uint64)
        self._rows = np.arange(num_envs)
        self.names = SuitNames(game, num_envs, permuted=symmetry)
        self._win_shares, self._chance = win_shares, 1 / max(game.num_sides, 2)
        # Two arrays in turn: Stable-Baselines3 stores an observation after the next step, when a single array would
        # already hold the next one.
        self._shown = [np.zeros((num_envs, game.observation_size), game.observation_base) for _ in range(2)]
        self._latest = 0
        self._mask = np.zeros((num_envs, game.num_actions), np.int8)
        self._actions = np.zeros(num_envs, np.int64)
        self._chosen: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        """The tables where members are to act, and their actions, once they have chosen."""
        self._spread = np.zeros(3)
        """Number, sum and sum of squares of the learner's returns, seat by seat."""
        self.tally = Tally()
        self.acted = np.zeros(num_envs, np.int8)
        self.learned = np.ones(num_envs, np.bool_)
        self.reward = np.zeros((num_envs, self.num_seats), np.float32)
        self.ended = np.zeros(num_envs, np.bool_)
        self.cut_off: CutOff | None = None
        self.generator = np.random.default_rng(0)
        self._seed, self.num_envs = seed, num_envs

    @property
    def lock(self) -> Any:
        """The tables' lock; see `one_thread`."""
        return self.tables.lock

    @one_thread
    def reset(self) -> npt.NDArray[Any]:
        """Begin new episodes on every table; return the learner's observations [B, O]."""
        decks, league, names = np.random.SeedSequence([int(Space.TRAINING), self._seed]).spawn(3)
        self.generator = np.random.default_rng(league)
        self.names.generator = np.random.default_rng(names)
        self.league.choose(self.generator)
        self._chosen = None
        self._seat_members(self._league_rows)
        self.names.draw(self._rows, self.who == LEARNER)
        self.returns[:] = 0
        self.tables.reset(streams=decks.generate_state(self.num_envs, np.uint64).astype(np.uint64))
        return self._show()

    @property
    def league_tables(self) -> int:
        """On how many tables league members play."""
        return len(self._league_rows)

    def begin_rollout(self) -> None:
        """Choose the members that league tables starting from now on will meet."""
        if len(self._league_rows):
            self.league.choose(self.generator)

    def _seat_members(self, rows: npt.NDArray[np.int64]) -> None:
        """For the episodes that begin on league tables: seat one member at 1..N-1 seats, chosen at random, or at all
        sides but one."""
        if not len(rows):
            return
        number = self.league.draw(self.generator, len(rows))
        if self._one_side:
            met = self._sides != self.generator.integers(0, self.game.num_sides, (len(rows), 1))
        else:
            many = self.generator.integers(1, self.num_seats, (len(rows), 1))
            met = np.argsort(self.generator.random((len(rows), self.num_seats)), axis=1) < many
        self.who[rows] = np.where(met, number[:, None], LEARNER)
        self._keys[rows] = self.generator.integers(0, 2**64, len(rows), np.uint64)

    def _show(self) -> npt.NDArray[Any]:
        self._latest = 1 - self._latest
        time_step, which = self.tables.time_step, self._names_of_acting()
        self.names.observations(time_step.observation, which, self._shown[self._latest])
        self.names.masks(time_step.action_mask, which, self._mask)
        return self._shown[self._latest]

    def _names_of_acting(self) -> npt.NDArray[np.int64]:
        return self.names.number[self._rows, self.tables.time_step.seat]

    @one_thread
    def observe(self, seats: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return what `seats[k]` may know at table `rows[k]`, in its permuted suits."""
        found = self.tables.observe(seats, rows)
        shown = np.empty_like(found)
        self.names.observations(found, self.names.number[rows, seats], shown)
        return shown

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions are legal now [B, A]: a view, overwritten by the next step."""
        return self._mask.view(np.bool_)

    @one_thread
    def members_act(self) -> None:
        """Let the league's members choose their actions, which `step` then plays: they do not depend on the learner's,
        so another thread may call this meanwhile. Otherwise `step` does."""
        others = np.flatnonzero(~self.learner_acts())
        self._chosen = others, act_rows(self.tables, self.league.agents, self.who, others, self._keys)

    @one_thread
    def play(self, actions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Play the learner's actions [B], one decision on every table, and return the learner's observations [B, O];
        actions of rows where a league member is to act are ignored. Finished tables begin a new episode."""
        np.copyto(self._actions, actions, casting="unsafe")
        time_step = self.tables.time_step
        self._actions[:] = self.names.actions(self._actions, self._names_of_acting())
        np.copyto(self.acted, time_step.seat)
        np.copyto(self.learned, self.learner_acts())
        if self._chosen is None:
            self.members_act()
        assert self._chosen is not None
        others, chosen = self._chosen
        self._actions[others], self._chosen = chosen, None
        self.tables.step(self._actions)
        np.copyto(self.reward, time_step.reward)
        self.returns += self.reward
        if self._win_shares:
            self.reward[:] = 0
        np.logical_or(time_step.terminated, time_step.truncated, out=self.ended)
        self.cut_off = None
        over = np.flatnonzero(self.ended)
        if len(over):
            if self._win_shares:
                self._pay_shares(over)
            if time_step.truncated.any():
                self.cut_off = self._last_observations(np.flatnonzero(time_step.truncated))
            self._count(over)
            self._seat_members(over[over < len(self._league_rows)])
            self.names.draw(over, self.who[over] == LEARNER)
            self.tables.restart(over)
        return self._show()

    def _pay_shares(self, over: npt.NDArray[np.int64]) -> None:
        """Turn the returns of the tables `over` into shares of the win, and pay them. Nobody wins a truncated episode;
        the critic estimates its value."""
        self.returns[over] = stats.win_shares(self.returns[over], self.game.sides) - self._chance
        whole = over[self.tables.time_step.terminated[over]]
        self.reward[whole] = self.returns[whole]

    def _last_observations(self, rows: npt.NDArray[np.int64]) -> CutOff:
        seats = np.tile(np.arange(self.num_seats), len(rows))
        observation = self.observe(seats, np.repeat(rows, self.num_seats))
        return CutOff(rows, observation.reshape(len(rows), self.num_seats, -1))

    def _count(self, over: npt.NDArray[np.int64]) -> None:
        """Count the episodes that have just ended, and clear their returns."""
        names = ["", *(agent.name for agent in self.league.agents)]
        games, points, gained = np.zeros(len(names), np.int64), np.zeros(len(names)), np.zeros(len(names))
        count_results(over, self.who, self.returns, games, points, gained, self._spread)
        for number in np.flatnonzero(games).tolist():
            count = int(games[number])
            self.tally.note(names[number], count, float(gained[number]))
            if number:
                self.league.record(number - 1, count, float(points[number]))
        self.tally.episodes += len(over)
        self.tally.decisions += int(self.tables.arrays.decisions[over].sum())

    def return_spread(self) -> float:
        """Return the standard deviation of the learner's returns so far; the rules' own bound until enough have been
        seen."""
        seen, total, squares = self._spread.tolist()
        if seen < _FEW_RETURNS and self._win_shares:
            return 1.0
        if seen < _FEW_RETURNS:
            return float(max(abs(bound) for bound in self.game.reward_range)) or 1.0
        variance = squares / seen - (total / seen) ** 2
        return math.sqrt(variance) if variance > 1e-12 else 1.0

    def learner_acts(self) -> npt.NDArray[np.bool_]:
        """Return at which tables the learner is to act [B]."""
        acts: npt.NDArray[np.bool_] = self.who[self._rows, self.to_act()] == LEARNER
        return acts

    def to_act(self) -> npt.NDArray[np.int8]:
        """The seat to act at each table [B]."""
        return self.tables.time_step.seat

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays that the next step depends on."""
        batch = self.tables.arrays
        kept = {name: getattr(batch, name) for name in _KEPT}
        return kept | self._own_arrays()

    def _own_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"who": self.who, "keys": self._keys, "returns": self.returns, "names": self.names.number}

    def facts(self) -> dict[str, Any]:
        """Return the rest, as JSON can hold it."""
        return {
            "spread": self._spread.tolist(),
            "tally": asdict(self.tally),
            "generator": self.generator.bit_generator.state,
            "names": self.names.generator.bit_generator.state,
            "league": self.league.facts(),
        }

    @one_thread
    def restore(
        self, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any], past: dict[str, Agent]
    ) -> npt.NDArray[Any]:
        """Restore from `arrays()`, `facts()` and the league's past selves by name; return the observations [B, O] to
        continue from."""
        self.reset()
        self.league.restore(facts["league"], past)
        batch = self.tables.arrays
        for name, array in arrays.items():
            target = self._own_arrays().get(name)
            np.copyto(getattr(batch, name) if target is None else target, array, casting="no")
        self.tables.refresh()
        self._spread[:] = facts["spread"]
        self.tally = Tally(**facts["tally"])
        self.generator.bit_generator.state = facts["generator"]
        self.names.generator.bit_generator.state = facts["names"]
        return self._show()

    def close(self) -> None:
        """End the worker threads."""
        self.tables.close()
