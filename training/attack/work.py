"""An attack under way, in its folder: attacker after attacker, and what each response gains."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent, name_of
from backalley.benchmarks.figures import attacks, results
from backalley.benchmarks.figures.attacks import Point
from backalley.benchmarks.figures.stats import Estimate
from backalley.console.errors import InvalidValue
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.game import Game

from ..run.budget import Budget
from ..train import Progress, Stopped
from .attackers import ATTACKERS, SIZES, Attacker, Response, Task
from .gains import PUBLISHED, SELECTION, estimate, gains_of, keys_of
from .learning import Spent, reached

POINTS = 4
"""Responses that a learning attacker offers along its budget."""
_MOST_TO_SELECT = 2048
_TASK_FILE, _POINTS_FILE, _GAIN_FILE = "attack.json", "points.json", "gain.json"


class AttackError(InvalidValue):
    """An attack that cannot begin or go on; the message says why and what to do."""


def selection_deals(deals: int) -> int:
    """Return the deals on which responses are chosen where that many tell the published gain."""
    return max(2, min(_MOST_TO_SELECT, deals // 2))


class Setting(NamedTuple):
    """What an attack follows from."""

    game: Game
    victim: Agent
    budget: Budget
    """Of all attackers together."""
    deals: int
    seed: int
    overrides: Mapping[str, Any]
    attackers: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it: two attacks are the same if these are."""
        return {
            "attack on": self.game.id,
            "options": self.game.option_values,
            "agent": [name_of(self.victim), self.victim.identity],
            "budget": vars(self.budget),
            "deals": self.deals,
            "seed": self.seed,
            "overrides": dict(self.overrides),
            "attackers": self.attackers,
        }

    @property
    def each(self) -> Budget:
        """The budget of one attacker."""
        times = (self.budget.seconds, self.budget.processor_seconds)
        seconds, processor_seconds = (None if time is None else time / len(self.attackers) for time in times)
        decisions = self.budget.decisions
        assert decisions is None or isinstance(decisions, int)
        return Budget(seconds, decisions and max(1, decisions // len(self.attackers)), processor_seconds)


@dataclass
class Work:
    """An attack under way."""

    setting: Setting
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
        for number, name in enumerate(self.setting.attackers):
            self.log(f"Attacker {number + 1} of {len(self.setting.attackers)}: {name}.")
            self.name = name
            found.append(self._attacked_by(ATTACKERS[name]))
        return found

    def _claim(self) -> None:
        """Write what this attack is into its folder. Raises AttackError where the folder is of something else."""
        path, task = self.folder / _TASK_FILE, json.dumps(self.setting.to_json(), indent=1)
        if path.is_file():
            if read_json(path) != json.loads(task):
                raise AttackError(f"{self.folder} holds another attack; name another folder with --out, or delete it.")
        elif any(self.folder.iterdir()):
            raise AttackError(f"{self.folder} is not an empty folder; name another one with --out.")
        else:
            durable.write_file(path, task.encode())

    def _attacked_by(self, attacker: Attacker) -> attacks.Attacker:
        """Let one attacker work, and measure the response that is chosen on deals of its own."""
        folder, setting = self.folder / attacker.name, self.setting
        folder.mkdir(exist_ok=True)
        made = {"command": self.command, **results.stamp(__file__, setting.game)}
        task = Task(
            setting.game, setting.victim, setting.seed, folder, setting.each, POINTS, setting.overrides, made,
            self._checked,
        )  # fmt: skip
        points = self._points(attacker, task)
        chosen = max(range(len(points)), key=lambda number: points[number].gain.low)
        path = folder / _GAIN_FILE
        if not path.is_file():
            share = 0.0 if points[chosen].policy else 0.5
            deals, gain, _ = self._measured(attacker.again(task, chosen), PUBLISHED, share)
            durable.write_file(path, json.dumps({"deals": deals, "gain": gain.to_json()}).encode())
        kept = read_json(path)
        gain = Estimate(**kept["gain"])
        self.log(f"{attacker.name} gains {gain.mean:+.4f} {gain.spread(4, '+')} over {kept['deals']:,} deals.")
        return attacks.Attacker(attacker.name, points, chosen, kept["deals"], gain)

    def _points(self, attacker: Attacker, task: Task) -> list[Point]:
        """What the attacker's responses gain on the deals that choose; those not on disk yet are made."""
        path = task.folder / _POINTS_FILE
        points = [Point.from_json(one) for one in read_json(path)] if path.is_file() else []
        for response in attacker.responses(task, len(points)):
            points.append(self._point(response, points[-1] if points else None))
            durable.write_file(path, json.dumps([point.to_json() for point in points]).encode())
        return points

    def _point(self, response: Response, before: Point | None) -> Point:
        share = 0.0 if response.spent else 0.5 / len(SIZES)
        deals, gain, play = self._measured(response.agent, SELECTION, share)
        spent = response.spent
        if spent is None:
            earlier = (before.processor_seconds, before.seconds) if before else (0.0, 0.0)
            spent = Spent(earlier[0] + play.processor_seconds, earlier[1] + play.seconds)
        policy = f"{self.name}/{response.policy}" if response.policy else ""
        return Point(*spent, name_of(response.agent), policy, deals, gain)

    def _measured(self, agent: Agent, branch: int, share: float) -> tuple[int, Estimate, Spent]:
        """Play an agent against the victim on the deals of a branch; with a share, for no longer than that share of the
        attacker's budget. Return the number of deals, the gain, and what playing took."""
        setting, started, used = self.setting, time.perf_counter(), time.process_time()
        most = setting.deals if branch == PUBLISHED else selection_deals(setting.deals)

        def spent() -> Spent:
            return Spent(time.process_time() - used, time.perf_counter() - started)

        def on_batch(played: int) -> bool:
            self._checked(played, most, f"{played:,} of {most:,} deals of {name_of(agent)}")
            return bool(share) and reached(spent(), setting.each, share)

        try:
            gained = gains_of(setting.game, agent, setting.victim, keys_of(setting.seed, branch), most, on_batch)
        finally:
            agent.close()
        return len(gained), estimate(gained, setting.game), spent()

    def _checked(self, done: float, total: float, words: str) -> None:
        """Tell the progress. Raises Stopped where that was asked for."""
        if self.asked.is_set():
            raise Stopped(f"Stopped; all is saved in {self.folder}. The same line goes on from there.")
        self.progress(done, total, f"{self.name}, {words}")
