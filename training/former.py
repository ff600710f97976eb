"""PPO as another checkout of this project trains it, for comparison in one run: a process of its own does a step when
it is told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .measure import Counts

_CODE = """
import json, pathlib, sys, tempfile
import backalley
from stable_baselines3.common.logger import Logger
from backalley.agents.network_agent import one_thread
from backalley.benchmarks.results import commit
from backalley.envs.core.catalogue import game
from backalley.training import config
from backalley.training.trainer import Trainer

name, overrides, place = json.loads(sys.argv[1])
if not pathlib.Path(backalley.__file__).is_relative_to(place):
    sys.exit()  # what is installed is not what was asked for
with one_thread(), tempfile.TemporaryDirectory() as scratch:
    trainer = Trainer(game(name), config.load(game(name), None, overrides), seed=0, folder=pathlib.Path(scratch))
    trainer.model.set_logger(Logger(None, []))
    trainer.begin()
    print(commit(), flush=True)
    for _ in sys.stdin:
        trainer.step()
        print(trainer.decisions, trainer.samples, flush=True)
"""


class FormerTrainer:
    """A trainer of the sources in `checkout`; `commit` says which these are."""

    def __init__(self, checkout: Path, game: str, overrides: Mapping[str, Any] | None = None) -> None:
        """Raises ValueError in a sentence where no trainer of ours can be made there."""
        self.checkout = checkout
        place = checkout.resolve()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, json.dumps([game, dict(overrides or {}), str(place)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=place if place.is_dir() else None,
            env={**os.environ, "PYTHONPATH": str(place / "src")},
        )
        self._before = Counts()
        self.commit = self._line()

    def step(self) -> Counts:
        """One rollout and one update; what was done."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        decisions, samples = map(int, self._line().split())
        done = Counts(decisions=decisions, samples=samples)
        made, self._before = done - self._before, done
        return made

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise ValueError(f"{self.checkout} is no checkout of this project with a trainer that can be compared.")
        return line.strip()

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
