"""Work on a cluster: the same bytes as here, whatever is lost, late or stopped; what travels, and what is refused.

Ray is a fake of one process (`fake_ray.py`); `backalley dev study cluster-check` does the same with the real one.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import View
from backalley.agents.registry import custom_agent
from backalley.benchmarks.exact.exact import solve
from backalley.benchmarks.exact.openings import grouped_openings
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.tournament import tournament
from backalley.cluster import ray_cluster, same_code, sent_modules
from backalley.cluster.ray_cluster import Cluster, ClusterError, Ranges
from backalley.cluster.work import Sizes
from backalley.console.errors import InvalidValue, NotInstalled
from backalley.examples import kuhn
from tests.benchmarks.test_evaluate import contents
from tests.common import high_card, toy
from tests.common.commands import run
from tests.common.fake_ray import FakeRay
from tests.common.toy import TOY

KUHN = kuhn.GAME.bind()
AGENTS = ["bot", "random"]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    for name in ("_here", "_folders"):  # of processes elsewhere
        monkeypatch.setattr(ray_cluster, name, type(getattr(ray_cluster, name))())
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield FakeRay(monkeypatch)
    for folder in ray_cluster._folders:
        folder.cleanup()


def ranked(ranking: Any) -> str:
    found = ranking.to_json()
    for name in ("seconds", *ranking.stamp):
        del found[name]
    return json.dumps(found)


class First:
    """A user's own agent: an object, which travels by its module."""

    def act(self, view: View) -> npt.NDArray[np.int64]:
        return view.action_mask.argmax(1)


class Unsendable(First):
    """One that holds what no process can send."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Cheat(First):
    """One that breaks the rules."""

    def act(self, view: View) -> npt.NDArray[np.int64]:
        return np.full(len(view), 1000)


@pytest.mark.slow
def test_evaluations_are_the_same_whatever_is_late_or_lost(ray: FakeRay) -> None:
    expected = contents(evaluate(KUHN, AGENTS, deals=2000, seed=9))
    seen: list[int] = []
    report = evaluate(
        KUHN, AGENTS, deals=2000, seed=9, cluster="auto", progress=lambda done, planned: seen.append(done)
    )
    assert contents(report) == expected
    assert seen == sorted(seen)
    assert seen[-1] == 2000
    order = [given[2] for given in ray.done if len(given) == 4]
    assert len(order) > 4
    assert order != sorted(order), "the fake does not mix"
    assert ray.most_waiting <= 2 * ray.cores
    assert not ray.connected
    ray.lost = 3
    assert contents(evaluate(KUHN, [First(), "random"], deals=400, cluster="auto")) == contents(
        evaluate(KUHN, [First(), "random"], deals=400)
    )
    assert ray.lost == 0
    precise = contents(evaluate(KUHN, AGENTS, precision=0.1, cluster="auto"))
    assert precise == contents(evaluate(KUHN, AGENTS, precision=0.1))


def test_tournaments_are_the_same(ray: FakeRay) -> None:
    agents = ["bot", "random", First()]
    there = ranked(tournament(KUHN, agents, deals=300, cluster="auto"))
    assert there == ranked(tournament(KUHN, agents, deals=300))
    assert {given[1] for given in ray.done if len(given) == 4} == {0, 1, 2, 3}


@pytest.mark.uncompiled
def test_exact_values_are_the_same(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    split = dataclasses.replace(TOY, enumeration_split=2)
    monkeypatch.setattr(toy, "SPLIT", split, raising=False)  # a game is pickled by its name
    game = split.bind(seats=1)
    here, there = (solve(game, cluster=cluster) for cluster in (None, "auto"))
    assert dataclasses.replace(there, seconds=0.0, stamp={}) == dataclasses.replace(here, seconds=0.0, stamp={})
    assert sum(given[3] - given[2] for given in ray.done if len(given) == 4) == len(grouped_openings(game))


@pytest.mark.slow
@pytest.mark.parametrize("base", ["bot", "self"])
def test_targets_made_elsewhere_teach_the_same_weights(ray: FakeRay, tmp_path: Path, base: str) -> None:
    pytest.importorskip("torch")
    from backalley.training.config.phases import TrainingError
    from backalley.training.train import train
    from tests.training.test_rollouts import TINY

    ray.lost = 2
    found = []
    settings = TINY | {"rollouts.base": base}
    for name, cluster in (("here", None), ("there", "auto")):
        run = train(KUHN, out=tmp_path / name, decisions=4000, config_overrides=settings, cluster=cluster)
        found.append((run.policy / "policy.safetensors").read_bytes())
    assert found[0] == found[1]
    assert ray.lost == 0
    assert len({given[2] for given in ray.done if len(given) == 4}) > 4, "the tables were not shared out"
    with pytest.raises(TrainingError, match=r"The phases ppo learn on one machine; .* --seeds"):
        train(KUHN, out=tmp_path / "ppo", decisions=100, config_overrides={"run.phases": "ppo"}, cluster="auto")


@pytest.mark.slow
def test_runs_of_several_seeds_are_made_on_machines_that_share_a_disk(ray: FakeRay, tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    from backalley.training.config.phases import TrainingError
    from backalley.training.seeds import Runs, train_seeds
    from tests.common.tiny_runs import DECISIONS, TINY, weights

    more: dict[str, Any] = {"decisions": DECISIONS, "config_overrides": TINY}
    ray.lost = 1
    for name, cluster in (("here", None), ("there", "auto")):
        train_seeds(KUHN, "0-1", out=tmp_path / name, cluster=cluster, **more)
    for seed in ("seed-0", "seed-1"):
        assert weights(tmp_path / "here" / seed) == weights(tmp_path / "there" / seed)
    with pytest.raises(TrainingError, match="on one machine"):
        train_seeds(resume=tmp_path / "there", restart=True, cluster="auto")
    runs = Runs(tmp_path / "there", [0, 1], {})
    runs.folder = tmp_path / "not here"
    with pytest.raises(ClusterError, match="a disk that all machines share"):
        runs.begin(0)


def test_ctrl_c_keeps_what_is_finished_and_the_same_call_goes_on(ray: FakeRay, tmp_path: Path) -> None:
    def stop(done: int, planned: int) -> None:
        if done > 40:
            raise KeyboardInterrupt

    keep = tmp_path / "report.json"
    part = evaluate(KUHN, AGENTS, deals=1000, cluster="auto", keep=keep, progress=stop)
    assert not part.complete
    assert 40 < part.deals < 1000
    assert ray.cancelled > 0
    assert not ray.connected
    first: list[int] = []
    whole = evaluate(KUHN, AGENTS, deals=1000, cluster="auto", keep=keep, progress=lambda *done: first.append(done[0]))
    assert first[0] > part.deals
    assert contents(whole) == contents(evaluate(KUHN, AGENTS, deals=1000))


def test_errors_of_tasks_are_those_of_one_machine(ray: FakeRay) -> None:
    with pytest.raises(ValueError, match="Cheat") as here:
        evaluate(KUHN, [Cheat(), "random"], deals=50)
    with pytest.raises(type(here.value), match="Cheat"):
        evaluate(KUHN, [Cheat(), "random"], deals=50, cluster="auto")
    with pytest.raises(ClusterError, match=r"This cannot be sent to other machines: .*file.py:Class"):
        evaluate(KUHN, [Unsendable(), "random"], deals=50, cluster="auto")
    with pytest.raises(ClusterError, match="cannot be sent to other machines: human plays one table"):
        evaluate(KUHN, ["human", "random"], deals=50, cluster="auto")


def test_other_code_is_refused_before_any_work(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    here = same_code.code()
    ray.before_task = lambda: monkeypatch.setattr(same_code, "code", lambda: {**here, "NumPy": "1.0"})
    with pytest.raises(
        ClusterError, match=r"The node 10.0.0.7 has other code.*NumPy is 1.0 there and .* here\. Install"
    ):
        evaluate(KUHN, AGENTS, deals=50, cluster="auto")
    assert all(len(given) == 1 for given in ray.done), "a range was begun"
    assert not ray.connected


def test_a_process_that_joins_later_is_asked_for_its_code(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    here = dict(same_code.code())
    sent = ray_cluster.Sent({**here, "Numba": "0"}, "digest", [], [])
    with pytest.raises(ClusterError, match="Numba is"):
        ray_cluster.do_range(sent, 0, 0, 1)


def test_the_digest_is_of_every_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [place for place, _ in same_code.sources()]
    assert len(places) == len(set(places))
    assert {"agents/match.py", "envs/core/rules/rng.py", "cluster/work.py", "training/train.py", "__init__.py"} < {
        *places
    }
    before = same_code.code()
    file = tmp_path / "match.py"
    file.write_text("changed")
    every = [(place, file if place == "agents/match.py" else path) for place, path in same_code.sources()]
    monkeypatch.setattr(same_code, "sources", lambda: iter(every))
    differing = {name for name, value in same_code.code.__wrapped__().items() if value != before[name]}
    assert differing == {"the digest of its source files"}


def test_no_cluster_in_a_sentence(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"no Ray cluster at 'nowhere'.*Could not find .*ray start"):
        Cluster("nowhere")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999"):
        with pytest.raises(ClusterError, match=r"could be reached: (nobody answers there|99999999 is no port)"):
            Cluster(address)
    with pytest.raises(ClusterError, match="it takes auto or the address"):
        Cluster("")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotInstalled, match=r"pip install 'backalley\[cluster\]'"):
        evaluate(KUHN, AGENTS, deals=50, cluster="auto")


def test_a_ray_of_the_users_own_stays(ray: FakeRay) -> None:
    ray.connected = True
    evaluate(KUHN, AGENTS, deals=50, cluster="auto")
    assert ray.connected


def test_ranges_have_no_gap_and_follow_from_what_ranges_took() -> None:
    ranges, taken = Ranges([(5, 5), (10, 5010), (0, 3)], Sizes(1000)), []
    while (one := ranges.take(4)) is not None:
        taken.append(one)
        ranges.learn(one[0], one[2] - one[1], (one[2] - one[1]) / 100, 0.0, 100)
    spans = [(low, high) for part, low, high in taken if part == 1]
    assert [low for low, _ in spans] == [10, *(high for _, high in spans[:-1])]
    assert spans[-1][1] == 5010
    sizes = [high - low for low, high in spans]
    assert sizes[0] == 16
    assert max(sizes) == 200, "two seconds each"
    assert min(sizes[3:-1]) in (99, 100), "and one second at the end"
    assert next(one for one in taken if one[0] == 2)[1:] == (0, 1)
    assert taken[-1][2] == 3


def test_results_stay_small_and_large_clusters_get_longer_ranges() -> None:
    ranges = Ranges([(0, 10**6)], Sizes(10**5))
    ranges.learn(0, 1000, 0.001, 0.5, 9_000)
    assert ranges.take(4) == (0, 0, 8000)
    ranges.learn(0, 10_000, 0.001, 0.5, 90_000)
    assert ranges.take(4) == (0, 8000, 18_000), "a result of 90,000 bytes"
    longer = Ranges([(0, 10**6)], Sizes(10**5), 10.0)
    longer.learn(0, 16, 0.4, 0.0, 10)
    assert longer.take(4) == (0, 0, 128)
    longer.learn(0, 128, 3.2, 0.0, 10)
    assert longer.take(4) == (0, 128, 128 + 800), "twenty seconds"


def test_packing_loses_nothing() -> None:
    given = (np.array([[0.1, -0.0], [np.nan, 1e300]]), np.zeros((0, 3)), np.arange(5, dtype=np.int64))
    for before, after in zip(given, ray_cluster.unpack(ray_cluster.pack(given)), strict=True):
        assert after.dtype == before.dtype
        assert after.shape == before.shape
        assert after.tobytes() == before.tobytes()


def test_a_users_modules_travel_with_what_they_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("from beside import choose\nclass Mine:\n    act = staticmethod(choose)\n")
    (tmp_path / "beside.py").write_text("def choose(view):\n    return 1\n")
    (tmp_path / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    agent = custom_agent(f"{tmp_path / 'mine.py'}:Mine", KUHN)
    pickled = pickle.dumps(agent)
    files = sent_modules.files_of(sent_modules.own_modules(pickled))
    (own,) = [place for place in files if place.startswith("mine_")]
    assert {*files} == {own, "beside.py"}
    code = (
        "import pickle, sys, tempfile\n"
        "from backalley.cluster import sent_modules\n"
        f"kept = sent_modules.arrive({files!r})\n"
        f"print(pickle.loads({pickled!r}).act(None), sys.modules['beside'].__file__)"
    )
    said, file = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path.parent
    ).stdout.split()
    assert said == "1"
    assert not file.startswith(str(tmp_path))
    monkeypatch.setattr(sent_modules, "MOST_BYTES", 10)
    with pytest.raises(InvalidValue, match="too many to send"):
        sent_modules.files_of(sent_modules.own_modules(pickled))


def test_games_and_installed_modules() -> None:
    assert sent_modules.own_modules(pickle.dumps([np.zeros(1), high_card.GAME])) == ["tests.common.high_card"]
    assert {*sent_modules.files_of(["tests.common.high_card"])} >= {"tests/__init__.py", "tests/common/high_card.py"}
    assert sent_modules.own_modules(pickle.dumps(KUHN.type)) == []  # installed with the package


def test_a_command_refuses_in_a_sentence(ray: FakeRay) -> None:
    found = run("evaluate", "backhand", "bot", "--cluster", "nowhere")
    assert found.exit_code == 2
    assert "no Ray cluster at 'nowhere'" in found.output


@pytest.mark.slow
def test_a_real_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra `cluster` is not installed")
    file = tmp_path / "check.json"
    subprocess.run(
        [sys.executable, "-m", "backalley", "dev", "study", "cluster-check", "--json", str(file)], check=True
    )
    assert all(check["kept"] for check in json.loads(file.read_text("utf-8"))["checks"])
