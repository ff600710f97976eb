"""Attack an agent: look for the best response to it that can be found with a budget, `backalley attack GAME AGENT`.

Whatever is found is a lower bound of what the agent gives to an opponent who knows it: somebody else may find more.
An attack is a folder, and can be stopped at any moment; the same call goes on from there.

runs/attack-<game>-<agent>/
    attack.json              game, options, agent, budget, seed, attackers
    <attacker>/points.json   what it gained along its budget, on the deals that choose
    <attacker>/policies/1    its policies at these points, where it learns
    <attacker>/gain.json     what the chosen one gains, on other deals
    result.json              the result

Every deal is played with the response on each side in turn and the agent on all others. Equality is what the agent
itself gets in the same seats of the same deal where it plays all sides: 0 in a game whose returns sum to 0.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.policies.network import one_thread
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks.figures import attacks, results, stats
from backalley.benchmarks.figures.attacks import Attacked, Point
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.figures.stats import Estimate, Floats
from backalley.benchmarks.matches.evaluate import check_deals, check_seed
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.console.errors import InvalidValue, did_you_mean
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import check_path, read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import times

from ..config.config import Objective
from ..config.phases import Budget
from ..run.gate import Enough, gains
from ..run.run import asked_to_stop, locked
from ..train import Progress, Stopped
from .attackers import ATTACKERS, Learner, Response, Search, Spent, Task, attacker_named

DEALS = 4096
SECONDS = 600.0
"""The budget in processor seconds where none is given."""
SELECTION, PUBLISHED = 0, 1
"""Branches of the seeds: deals that choose among responses, and those of the published gains."""
_FEWEST = 2
"""Deals that an interval needs."""
_MOST_TO_SELECT = 2048
_TASK_FILE, _POINTS_FILE, _GAIN_FILE, _RESULT_FILE = "attack.json", "points.json", "gain.json", "result.json"


class AttackError(InvalidValue):
    """An attack that cannot begin or go on; the message says why and what to do."""


def attack(
    game: str | Game | GameType,
    agent: str | Path | Agent | Any,
    *,
    attackers: str | Sequence[str] | None = None,
    seconds: float | None = None,
    processor_seconds: float | None = None,
    decisions: int | None = None,
    deals: int = DEALS,
    seed: int = 0,
    out: str | Path | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total, words: None,
    log: Callable[[str], None] = lambda sentence: None,
) -> Attacked:
    """Look for the best response to `agent`, which plays all other sides and never changes; return what it gains over
    equality, at least.

    Game and agent are given as in `evaluate`. `attackers` are names of `ATTACKERS`, by default all that apply; also
    `search:N`, a search of N determinizations, which has its whole budget for the deals that tell its gain. They share
    the budget evenly: `processor_seconds` of all cores together (600 by default), `seconds` by the clock, or
    `decisions` on the tables that they learn on; what comes first ends them. Learning counts, and the play of a search
    does; measuring the others does not. Each offers four responses along its budget (a search, of three sizes); on
    half as many deals (2,048 at most) the one with the highest lower end of its interval is chosen. The published
    gains are of up to `deals` other deals, each in every seating; the best attacker is the one whose gain there has the
    highest lower end. A search is measured on
    as many as its half of the budget allows.

    `out` is the attack's folder, by default one under runs/. Where it holds a part of this attack, the call goes on
    from there. `config_overrides` are settings of training by dotted names. With `decisions` alone, the same seed gives
    the same result.

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; AttackError for a game of one seat, an unknown
    attacker, and the folder of something else; ValueError as `evaluate` and `train` do.

    >>> from backalley.examples import kuhn
    >>> found = attack(kuhn.GAME, "random", attackers=["ppo"], decisions=400_000)  # doctest: +SKIP
    >>> found.gain.low > 0.4  # doctest: +SKIP
    True
    """
    game = game_of(game)
    budget = _budget(seconds, processor_seconds, decisions)
    check_deals(deals)
    check_seed(seed)
    victim = _victim(game, agent)
    refused = {name: one.refuses(game, victim) for name, one in _named(attackers).items()}
    chosen = [name for name, why in refused.items() if not why]
    refused = {name: why for name, why in refused.items() if why}
    if not chosen:
        raise AttackError(f"No attacker is left for {name_of(victim)}: {' '.join(refused.values())}")
    for name, why in refused.items():
        log(f"No attack by {name}: {why}")
    folder = check_path(
        Path("runs") / f"attack-{_word(game.name)}-{_word(name_of(victim))}" if out is None else Path(out)
    )
    named = str(agent) if isinstance(agent, (str, Path)) else name_of(victim)
    command = ["backalley", "attack", game.spec, named, *game.option_words, *budget.words(), "--seed", str(seed)]
    try:
        with locked(folder), one_thread(), asked_to_stop(log) as asked:
            work = Work(
                game, victim, budget, deals, seed, dict(config_overrides or {}), chosen, folder, shlex.join(command),
                asked, progress, log,
            )  # fmt: skip
            found = work.run()
    finally:
        if isinstance(agent, (str, Path)):
            victim.close()
    result = Attacked(
        **of_game(game, __file__),
        agent=name_of(victim),
        seed=seed,
        deals=deals,
        selection_deals=selection_deals(deals),
        budget={name: value for name, value in vars(budget).items() if value is not None},
        attackers=found,
        refused=refused,
    )
    results.write(folder / _RESULT_FILE, result.to_json())
    return result


def _budget(seconds: float | None, processor_seconds: float | None, decisions: int | None) -> Budget:
    if (seconds, processor_seconds, decisions) == (None, None, None):
        processor_seconds = SECONDS
    budget = Budget(seconds, decisions, processor_seconds)
    if isinstance(budget.decisions, tuple):
        raise AttackError(f"decisions is {decisions!r}; an attack takes one number, and shares it out evenly.")
    return budget


def _victim(game: Game, agent: Any) -> Agent:
    """The agent that is attacked. Raises AttackError where nobody else sits at the table, or it cannot be asked."""
    if game.num_sides == 1:
        raise AttackError(
            f"{game.name} has one seat under these options, and nobody there to respond to; an agent alone is measured "
            "by evaluate, and against best play by solve."
        )
    victim = agent_of(agent, game)
    if victim.one_table:
        raise AttackError(
            f"{name_of(victim)} plays at this terminal; attack a bot, a policy, a search or your own agent."
        )
    return victim


def _named(attackers: str | Sequence[str] | None) -> dict[str, Learner | Search]:
    given = attackers.split(",") if isinstance(attackers, str) else attackers
    names = list(ATTACKERS) if given is None else list(dict.fromkeys(given))
    found = {name: one for name in names if (one := attacker_named(name))}
    known = f"there are: {', '.join(ATTACKERS)}, and search:N of N determinizations"
    for name in names:
        if name not in found:
            raise AttackError(f"There is no attacker {name!r}; {known}.{did_you_mean(name, ATTACKERS)}")
    if not names:
        raise AttackError(f"attackers names none; {known}.")
    return found


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_+.]+", "_", name)


@dataclass
class Work:
    """An attack under way, in its folder: attacker after attacker, and what each response gains."""

    game: Game
    victim: Agent
    budget: Budget
    """Of all attackers together."""
    deals: int
    seed: int
    overrides: Mapping[str, Any]
    attackers: Sequence[str]
    folder: Path
    command: str
    """The line that does it again."""
    asked: threading.Event
    """Set when it is to stop."""
    progress: Progress
    log: Callable[[str], None]
    name: str = ""
    """The attacker at work."""

    def run(self) -> list[attacks.Attacker]:
        """Let every attacker work; return what they found. Raises Stopped, AttackError and OSError."""
        self._claim()
        found = []
        for number, name in enumerate(self.attackers):
            self.log(f"Attacker {number + 1} of {len(self.attackers)}: {name}.")
            one, self.name = attacker_named(name), name
            assert one is not None
            found.append(self._attacked_by(one))
        return found

    def _claim(self) -> None:
        """Write what this attack follows from into its folder. Raises AttackError where the folder is of something
        else."""
        path = self.folder / _TASK_FILE
        task = {
            "attack on": self.game.id,
            "options": self.game.option_values,
            "agent": [name_of(self.victim), self.victim.identity],
            "budget": vars(self.budget),
            "deals": self.deals,
            "seed": self.seed,
            "overrides": self.overrides,
            "attackers": self.attackers,
        }
        if path.is_file():
            if read_json(path) != json.loads(json.dumps(task)):
                raise AttackError(f"{self.folder} holds another attack; name another folder with --out, or delete it.")
        elif any(self.folder.iterdir()):
            raise AttackError(f"{self.folder} is not an empty folder; name another one with --out.")
        else:
            durable.write_file(path, json.dumps(task, indent=1).encode())

    @property
    def _each(self) -> Budget:
        """The budget of one attacker."""
        times = (self.budget.seconds, self.budget.processor_seconds)
        seconds, processor_seconds = (None if time is None else time / len(self.attackers) for time in times)
        decisions = self.budget.decisions
        assert decisions is None or isinstance(decisions, int)
        return Budget(seconds, decisions and max(1, decisions // len(self.attackers)), processor_seconds)

    def _attacked_by(self, attacker: Learner | Search) -> attacks.Attacker:
        """Let one attacker work, and measure the response that is chosen on deals of its own."""
        folder = self.folder / _word(attacker.name)
        folder.mkdir(exist_ok=True)
        made = {"command": self.command, **results.stamp(__file__, self.game)}
        task = Task(self.game, self.victim, self.seed, folder, self._each, self.overrides, made, self._checked)
        points = self._points(attacker, task)
        chosen = max(range(len(points)), key=lambda number: points[number].gain.low)
        path = folder / _GAIN_FILE
        if not path.is_file():
            deals, gain = points[chosen].deals, points[chosen].gain  # published as it is where nothing was chosen
            if attacker.offers > 1:
                share = 0.0 if points[chosen].policy else 0.5
                deals, gain, _ = self._measured(attacker.again(task, chosen), PUBLISHED, share)
            durable.write_file(path, json.dumps({"deals": deals, "gain": gain.to_json()}).encode())
        kept = read_json(path)
        gain = Estimate(**kept["gain"])
        self.log(f"{attacker.name} gains {gain.mean:+.4f} {gain.spread(4, '+')} over {kept['deals']:,} deals.")
        return attacks.Attacker(attacker.name, points, chosen, kept["deals"], gain)

    def _points(self, attacker: Learner | Search, task: Task) -> list[Point]:
        """What the attacker's responses gain on the deals that choose; those not on disk yet are made."""
        path = task.folder / _POINTS_FILE
        points = [Point.from_json(one) for one in read_json(path)] if path.is_file() else []
        for response in attacker.responses(task, len(points)):
            points.append(self._point(response, attacker.offers, points[-1] if points else None))
            durable.write_file(path, json.dumps([point.to_json() for point in points]).encode())
        return points

    def _point(self, response: Response, offers: int, before: Point | None) -> Point:
        branch, share = (SELECTION, 0.5 / offers) if offers > 1 else (PUBLISHED, 1.0)
        deals, gain, play = self._measured(response.agent, branch, 0.0 if response.spent else share)
        spent = response.spent
        if spent is None:
            earlier = (before.processor_seconds, before.seconds) if before else (0.0, 0.0)
            spent = Spent(earlier[0] + play.processor_seconds, earlier[1] + play.seconds)
        policy = f"{self.name}/{response.policy}" if response.policy else ""
        return Point(*spent, name_of(response.agent), policy, deals, gain)

    def _measured(self, agent: Agent, branch: int, share: float) -> tuple[int, Estimate, Spent]:
        """Play an agent against the victim on the deals of a branch; with a share, for no longer than that share of the
        attacker's budget. Return the number of deals, the gain, and what playing took."""
        began = times()
        most = self.deals if branch == PUBLISHED else selection_deals(self.deals)

        def spent() -> Spent:
            now = times()
            return Spent(now.processor_seconds - began.processor_seconds, now.seconds - began.seconds)

        def progress(played: int, planned: int) -> None:
            self._checked(played, most, f"{played:,} of {most:,} deals of {name_of(agent)}")
            if share and played >= _FEWEST and spent().reaches(self._each, share):
                raise Enough

        try:
            keys = keys_of(self.seed, branch)
            gained = gains(self.game, agent, self.victim, most, keys, Objective.POINTS, progress)
        finally:
            agent.close()
        return len(gained), _estimate(gained, self.game), spent()

    def _checked(self, done: float, total: float, words: str) -> None:
        """Tell the progress. Raises Stopped where that was asked for."""
        if self.asked.is_set():
            raise Stopped(f"Stopped; all is saved in {self.folder}. The same line goes on from there.")
        self.progress(done, total, f"{self.name}, {words}")


def selection_deals(deals: int) -> int:
    """Return the deals on which responses are chosen where that many tell the published gain."""
    return max(2, min(_MOST_TO_SELECT, deals // 2))


def keys_of(seed: int, branch: int) -> Roots:
    """Return the keys of an attack's deals."""
    return roots(Space.ATTACKS, seed, branch)


def _estimate(gained: Floats, game: Game) -> Estimate:
    """The mean gain with its 95 % interval over deals."""
    bounds = game.reward_range if game.zero_sum else stats.lead_bounds(game.reward_range)
    return stats.mean_interval(gained, bounds)
