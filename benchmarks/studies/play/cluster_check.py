"""Check and measure work on a real Ray cluster: four nodes on this machine, of which some are killed on the way.

Everything is done twice, on this machine alone and on the cluster, and must come out the same to the byte.
"""

from __future__ import annotations

import os
import pickle
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from backalley.agents.registry import agent
from backalley.cluster import same_code
from backalley.cluster.ray_cluster import RANGE_SECONDS, TASKS_A_SECOND, Cluster, ClusterError, Sent, import_ray
from backalley.cluster.work import Found as Arrays
from backalley.cluster.work import Sizes
from backalley.envs.core.game.catalogue import game as game_of
from backalley.training.config import config as config_rules
from backalley.training.rollouts.rollouts import Rollouts
from backalley.training.seeds import train_seeds
from backalley.training.train import train

from ...exact.exact import solve
from ...figures.formatting import Found, Line
from ...figures.result_kinds import Columns, Files, Kept, lines
from ...matches.evaluate import evaluate
from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seeding import Space, roots
from ...matches.tournament import tournament
from ..runner import Progress, quiet, study

NODES = 4
_MEMORY = 80_000_000
_GAME, _AGENTS, _DEALS = "backhand", ["search:20", "bot"], 4000
_TAUGHT, _LEARNERS = "missouri_city", ("pitch", "killer_bridge", "bezique")
"""The game whose targets are made on the nodes, and those whose learners are timed."""
_EMPTY_TASKS = 2000
_AGENT = """
from beside import choose

class Last:
    def act(self, view):
        return choose(view.action_mask)
"""
_BESIDE = """
def choose(mask):
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)
"""
_CORES = 64
"""The cores of a machine."""


def by_name(found: Any) -> dict[str, float]:
    """Return the measures of a file by their names."""
    return {row["name"]: row["value"] for row in found["measures"]}


def _hundred(files: Files) -> Iterator[Line]:
    """What one, ten and a hundred machines of 64 cores would give, worked out from the measures."""
    for found in files:
        value = by_name(found)
        for machines in (1, 10, 100):
            cores = _CORES * machines
            most = Sizes(1).result_bytes / value["bytes_a_deal"] / value["deals_a_core_second"]
            seconds = min(max(found["range_seconds"], cores / found["tasks_a_second_aim"]), most)
            yield {
                "machines of 64 cores": f"{machines}",
                "seconds of a range": f"{seconds:.0f}",
                "tasks a second": f"{cores / seconds:,.0f}",
                "share of what the head can hand out": f"{100 * cores / seconds / value['tasks_a_second']:.0f} %",
                "deals of `search:20` a second": f"{cores * value['deals_a_core_second']:,.0f}",
                "bytes to the head a second": f"{cores * value['deals_a_core_second'] * value['bytes_a_deal']:,.0f}",
                "training runs at the same time": f"{machines}",
            }


_CHECKS: Columns = {
    "check": "{check}",
    "seconds": "{seconds:.0f}",
    "kept": lambda row: "yes" if row["kept"] else "NO",
}
_LEARN: Columns = {
    "game": "`{game}`",
    "targets that one core makes a second": "{made:,.0f}",
    "targets that one core learns from a second": "{learned:,.0f}",
    "cores that keep one learning core busy": lambda row: f"{row['learned'] / row['made']:.1f}",
}


class ClusterCheck(
    Kept,
    kind="cluster",
    heading="A cluster of four nodes",
    tables={
        "cluster": lines(_CHECKS, "checks"),
        "cluster_measures": lines({"measured": "{what}", "value": "{shown}"}, "measures"),
        "cluster_hundred": _hundred,
        "cluster_learners": lines(_LEARN, "learners"),
    },
):
    """What was checked on a Ray of four local nodes, and what was measured there."""

    in_title = frozenset()
    brief = frozenset({"cluster_measures", "cluster_hundred", "cluster_learners"})

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(row["kept"] for row in self.found["checks"])

    @property
    def title(self) -> str:
        """What came of it."""
        return "Four nodes on one machine: every promise was kept." if self.kept else "A promise was BROKEN."


class Nothing:
    """Tasks without work: what a task costs by itself. See `cluster.work.Work`."""

    sizes = Sizes(1)

    def begin(self, part: int) -> float:
        """Nothing to do."""
        return 0.0

    def do(self, part: int, low: int, high: int) -> Arrays:
        """Nothing to do."""
        return (np.array([low]),)

    def close(self) -> None:
        """Nothing to do."""


class Nodes:
    """A Ray of several nodes on this machine, with one core each."""

    def __init__(self) -> None:
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
        import_ray()
        from ray.cluster_utils import Cluster as Local

        about = {"num_cpus": 1, "object_store_memory": _MEMORY, "include_dashboard": False}
        self._local = Local(initialize_head=True, head_node_args=about)
        self._others: list[Any] = []
        for _ in range(NODES - 1):
            self.add()
        self.address = self._local.address

    def add(self) -> Any:
        """Start one more."""
        self._others.append(self._local.add_node(num_cpus=1, object_store_memory=_MEMORY))
        return self._others[-1]

    def kill(self, which: int = 0) -> None:
        """End one at once, as a machine dies."""
        self._local.remove_node(self._others.pop(which), allow_graceful=False)

    def close(self) -> None:
        """End them all."""
        self._local.shutdown()


@study("cluster-check", ClusterCheck, of=[_GAME])
def cluster_check(*, progress: Progress = quiet) -> Found:
    """Check and measure work on a Ray of four nodes, which this starts on this machine, and of which it kills some."""
    checks: list[dict[str, Any]] = []
    began = time.perf_counter()
    nodes = Nodes()
    started = time.perf_counter() - began
    every: dict[str, Callable[[Nodes, Path], bool]] = {
        "evaluate, a node killed in the middle: the same bytes": _evaluated,
        "an agent of `file.py:Class`, with what it imports: the same bytes": _sent,
        "tournament: the same bytes": lambda nodes, folder: _same(
            nodes,
            lambda cluster: tournament("missouri_city", ["bot", "bot:book", "random"], deals=2000, cluster=cluster),
        ),
        "Ctrl-C and the same call again: the same bytes": _resumed,
        "solve: the same bytes": lambda nodes, folder: _same(nodes, lambda cluster: solve("backhand", cluster=cluster)),
        "four training runs, a node killed in the middle: the same weights": _trained,
        "rollouts with targets made on the nodes, one killed in the middle: the same weights": _rolled_out,
        "a node with a changed source file: refused in a sentence": _refused,
    }
    try:
        for number, (check, does) in enumerate(every.items()):
            progress(number, len(every) + 1, check)
            before = time.perf_counter()
            with tempfile.TemporaryDirectory(prefix="backalley-check-") as folder:
                kept = does(nodes, Path(folder))
            checks.append({"check": check, "kept": kept, "seconds": time.perf_counter() - before})
        progress(len(every), len(every) + 1, "measures")
        measures = _measured(nodes, started)
    finally:
        nodes.close()
    return {
        "nodes": NODES,
        "ray": import_ray().__version__,
        "game": _GAME,
        "agents": _AGENTS,
        "range_seconds": RANGE_SECONDS,
        "tasks_a_second_aim": TASKS_A_SECOND,
        "checks": checks,
        "measures": measures,
        "learners": [_learner(name) for name in _LEARNERS],
    }


# Checks ---------------------------------------------------------------------------------------------------------------


def _same(nodes: Nodes, run: Callable[[str | None], Any]) -> bool:
    """Whether a call gives the same on the nodes and here."""
    return _without_times(run(nodes.address)) == _without_times(run(None))


def _without_times(report: Any) -> dict[str, Any]:
    """A result without when and how fast it was made."""
    left_out = {"seconds", "decisions_per_second", "command", *report.stamp}
    return {name: value for name, value in report.to_json().items() if name not in left_out}


def _evaluated(nodes: Nodes, folder: Path) -> bool:
    left = [nodes.kill]

    def killing(done: int, planned: int) -> None:
        if done and left:
            left.pop()()

    there = evaluate(_GAME, _AGENTS, deals=_DEALS, cluster=nodes.address, progress=killing)
    nodes.add()
    here = evaluate(_GAME, _AGENTS, deals=_DEALS)
    return not left and _without_times(there) == _without_times(here)


def _sent(nodes: Nodes, folder: Path) -> bool:
    (folder / "last.py").write_text(_AGENT)
    (folder / "beside.py").write_text(_BESIDE)
    sys.path.append(str(folder))
    try:
        return _same(
            nodes, lambda cluster: evaluate(_GAME, [f"{folder}/last.py:Last", "bot"], deals=500, cluster=cluster)
        )
    finally:
        sys.path.remove(str(folder))


def _resumed(nodes: Nodes, folder: Path) -> bool:
    def interrupted(done: int, planned: int) -> None:
        if done:
            raise KeyboardInterrupt

    more: dict[str, Any] = {"deals": _DEALS, "cluster": nodes.address, "keep": folder / "report.json"}
    part = evaluate(_GAME, _AGENTS, progress=interrupted, **more)
    whole = evaluate(_GAME, _AGENTS, **more)
    return not part.complete and _without_times(whole) == _without_times(evaluate(_GAME, _AGENTS, deals=_DEALS))


def _trained(nodes: Nodes, folder: Path) -> bool:
    settings = {"run.phases": "ppo", "run.evaluation_deals": 200, "run.curve_every": 0, "run.checkpoint_seconds": 2}
    timer = threading.Timer(15.0, nodes.kill)
    timer.start()
    found = []
    for name, cluster in (("there", nodes.address), ("here", None)):
        out = folder / name
        train_seeds(_GAME, "0-3", out=out, cluster=cluster, decisions=400_000, config_overrides=settings)
        found.append([path.read_bytes() for path in sorted(out.glob("seed-*/policy/policy.safetensors"))])
    timer.join()
    nodes.add()
    return found[0] == found[1] and len(set(found[0])) == 4


def _rolled_out(nodes: Nodes, folder: Path) -> bool:
    settings = {"run.phases": "rollouts", "run.evaluation_deals": 200, "run.gate_deals": 200, "run.curve_every": 0}
    found, left = [], [nodes.kill]
    for name, cluster in (("there", nodes.address), ("here", None)):
        run = train(
            _TAUGHT, out=folder / name, decisions=3_000_000, config_overrides=settings, cluster=cluster,
            progress=lambda *given: left.pop()() if left else None,
        )  # fmt: skip
        found.append((run.policy / "policy.safetensors").read_bytes())
    nodes.add()
    return not left and found[0] == found[1]


def _refused(nodes: Nodes, folder: Path) -> bool:
    for place, path in same_code.sources():
        copy = folder / "backalley" / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    with open(folder / "backalley" / "agents" / "match.py", "a", encoding="utf-8") as file:
        file.write("# changed\n")
    with mock.patch.dict(os.environ, PYTHONPATH=str(folder)):
        nodes.add()
    try:
        evaluate(_GAME, _AGENTS, deals=_DEALS, cluster=nodes.address)
    except ClusterError as error:
        return "has other code" in str(error) and "the digest of its source files" in str(error)
    finally:
        with suppress(Exception):
            nodes.kill(-1)
    return False


# Measures -------------------------------------------------------------------------------------------------------------


def _measured(nodes: Nodes, started: float) -> list[dict[str, Any]]:
    before = time.perf_counter()
    cluster = Cluster(nodes.address)
    connected = time.perf_counter() - before
    try:
        rates, driver = _tasks(cluster)
        there = _played_on(cluster)
    finally:
        cluster.close()
    deals = _deals_a_core_second()
    sent = Sent(same_code.code(), "0" * 64, [], [b"0" * 28])

    def row(name: str, what: str, value: float, digits: int = 0, unit: str = "") -> dict[str, Any]:
        return {"name": name, "what": what, "value": value, "shown": f"{value:,.{digits}f}{unit}"}

    return [
        row("start_seconds", f"start of {NODES} nodes", started, 1, " s"),
        row("connect_seconds", "connecting, and comparing the code of every node", connected, 1, " s"),
        row("tasks_a_second", "tasks without work, a second", rates),
        row("driver_milliseconds", "processor time of the command for one of them", driver, 2, " ms"),
        row("bytes_a_task", "what a task is told: names and numbers", len(pickle.dumps((sent, 0, 0, 1000))), 0, " B"),
        row("bytes_put", f"{' against '.join(_AGENTS)}: put once for all tasks", there["put"], 0, " B"),
        row("bytes_a_deal", "the results of a deal", there["back"] / there["deals"], 1, " B"),
        row("deals_a_task", "deals of a task", there["deals"] / there["tasks"]),
        row("deals_a_core_second", "deals a second of one core", deals),
    ]


def _tasks(cluster: Cluster) -> tuple[float, float]:
    """Tasks a second, and milliseconds of this process for each: medians of three turns."""
    list(cluster.in_order(Nothing(), [(0, 50)]))  # starts the processes
    rates, driver = [], []
    for _ in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        assert [done.low for done in cluster.in_order(Nothing(), [(0, _EMPTY_TASKS)])] == list(range(_EMPTY_TASKS))
        rates.append(_EMPTY_TASKS / (time.perf_counter() - wall))
        driver.append(1000 * (time.process_time() - processor) / _EMPTY_TASKS)
    return statistics.median(rates), statistics.median(driver)


def _played_on(cluster: Cluster) -> dict[str, int]:
    """What deals cost in bytes and tasks."""
    game = game_of(_GAME)
    agents = [agent(name, game, num_threads=1) for name in _AGENTS]
    counted = {"tasks": "tasks", "put": "bytes_put", "back": "bytes_back"}
    before = {name: getattr(cluster, counter) for name, counter in counted.items()}
    line_up = LineUp(game, agents, roots(Space.EVALUATION, 0))
    sample = Sample(line_up.seatings)
    play(Deals([line_up]), [sample], [10 * _DEALS], lambda part: None, cluster)
    return {"deals": sample.deals} | {name: getattr(cluster, counted[name]) - before[name] for name in counted}


def _deals_a_core_second() -> float:
    evaluate(_GAME, _AGENTS, deals=100)
    before = time.process_time()
    evaluate(_GAME, _AGENTS, deals=_DEALS)
    return _DEALS / (time.process_time() - before)


def _learner(name: str) -> dict[str, Any]:
    """How many targets a core makes a second of processor time, and how many a learner of one core takes in."""
    game = game_of(name)
    config = config_rules.load(game, None, {"run.phases": "rollouts"})
    with tempfile.TemporaryDirectory(prefix="backalley-check-") as scratch:
        phase = Rollouts(game, config, seed=0, folder=Path(scratch), num_threads=1)
        phase.begin()
        phase.step()
        made, learned = [], []
        making = _timed(phase, "_target")
        for _ in range(5):
            before, count, spent = time.process_time(), phase.counts()["targets"], making[0]
            phase.step()
            count = phase.counts()["targets"] - count
            made.append(count / (making[0] - spent))
            learned.append(count / (time.process_time() - before - (making[0] - spent)))
        phase.close()
    return {"game": game.id, "made": statistics.median(made), "learned": statistics.median(learned)}


def _timed(phase: Rollouts, name: str) -> Sequence[float]:
    """Time a method of a phase; the sum is in what is returned."""
    original, spent = getattr(phase, name), [0.0]

    def timed() -> None:
        before = time.process_time()
        original()
        spent[0] += time.process_time() - before

    setattr(phase, name, timed)
    return spent
