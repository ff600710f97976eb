"""How fast a tree is walked: one position forth and back, positions by the thousand, and positions as values; beside
them OpenSpiel's own Leduc poker, where it is installed. Processor time of one core, machine code at hand."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import View
from backalley.agents.base.recall import Recall
from backalley.envs.core.api.walker import Walker
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import compile_from_now_on

from ...figures.formatting import Found, changed, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ...matches.evaluate import evaluate
from ..runner import GAMES, Progress, quiet, seconds, study

NODES = 1000
"""Positions of a batch."""
_GUIDE = Path(__file__).resolve().parents[3] / "docs/guides/trees.md"
SMALL: list[tuple[str, dict[str, Any]]] = [("backalley.examples.leduc", {}), ("pitch", {"preset": "tiny"})]
"""Games in which the guide's learner is timed."""
WHAT = {
    "push": "`Path.push`",
    "key": "`Path.key`",
    "children": f"`Nodes.children`, {NODES:,} rows",
    "apply": "`GameState.apply`, with events",
    "words": "`information_state_string`",
    "reads": "decisions of an agent with `Recall`",
}


def _shown(name: str, row: Found) -> str:
    return f"{row['rates'][name]:,.0f}" if name in row["rates"] else ""


_COLUMNS: Columns = {
    "game": lambda row: "OpenSpiel's Leduc poker" if row["game"] == "openspiel" else title(row),
    **{said: partial(_shown, name) for name, said in WHAT.items()},
}


_LEARNING: Columns = {
    "game": title,
    "options": lambda row: changed(row["options"]),
    "nodes a second of this learner": "{nodes:,.0f}",
}


class Trees(
    Kept,
    kind="trees",
    heading="Positions a second",
    tables={"trees": lines(_COLUMNS, "games"), "mccfr": lines(_LEARNING, "learning")},
):
    """Positions a second in a walk through a tree."""

    in_title = frozenset({"options"})
    says = "Positions a second of one core by processor time, at random play"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what is compared with what."""
        return ["OpenSpiel's state is C++ called from Python: `apply_action` and `information_state_string`."]


@study("trees", Trees, GAMES, seconds("--seconds", 1.0, "Processor time of each figure."))
def trees(games: Sequence[Game], *, seconds: float, progress: Progress = quiet) -> Found:
    """Measure how fast the trees of GAMES are walked, by default all."""
    compile_from_now_on()
    found = []
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        found.append({"game": game.id, "options": game.changed_options, "rates": _rates(game, seconds)})
    theirs = _openspiel(seconds)
    if theirs is not None:
        found.append({"game": "openspiel", "options": {}, "rates": theirs})
    learning = []
    for spec, options in SMALL:
        game = catalogue.game(spec, **options)
        rates = _mccfr(game, seconds)
        learning.append({"game": game.id, "options": game.changed_options, "nodes": rates})
    return {"seconds": seconds, "games": found, "learning": learning}


def _mccfr(game: Game, seconds: float) -> float:
    """Nodes a second of the learner of the guide, as it is printed there."""
    page = _GUIDE.read_text("utf-8")
    block = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def learn(" in block)
    names: dict[str, Any] = {"given": Walker(game)}
    code = block.partition("\nfor step in")[0].replace('backalley.walker("backalley.examples.leduc")', "given")
    exec(code, names)  # this project's own page
    step = 0

    def learn() -> tuple[int, float]:
        nonlocal step
        began, step = time.process_time(), step + 1
        nodes: int = names["learn"](step % 2, 1000 * step, 1000)
        return nodes, time.process_time() - began

    return rate(learn, seconds)


def rate(play: Callable[[], tuple[int, float]], seconds: float) -> float:
    """Calls a second: `play` returns how many it made, and their processor time."""
    play()
    calls, spent = 0, 0.0
    while spent < seconds:
        more, took = play()
        calls, spent = calls + more, spent + took
    return calls / spent


class Reader:
    """Plays by how many events of each kind it has been shown."""

    name, reads_events = "reader", True

    def __init__(self) -> None:
        self.recall, self.decisions = Recall(16), 0

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return a legal action that follows from the counts."""
        self.decisions += len(view)
        places, new = self.recall.read(view)
        np.add.at(self.recall.state, (places[:, None], new.events[:, :, 0] % 16), 1.0)
        weights = 1 + (self.recall.state[places, 1:2] * np.arange(view.action_mask.shape[1])) % 7
        chosen: npt.NDArray[np.int64] = (view.action_mask * weights).argmax(1)
        return chosen


def _rates(game: Game, seconds: float) -> dict[str, float]:
    walker, draw = Walker(game), random.Random(0)
    path = walker.path(seed=1)

    def line() -> list[int]:
        """Play an episode at random, and take it back; its actions."""
        while not path.is_over:
            path.push(draw.choice(path.legal_actions()))
        return [path.pop() for _ in range(path.depth)][::-1]

    def push() -> tuple[int, float]:
        actions = line()
        began = time.process_time()
        for action in actions:
            path.push(action)
        took = time.process_time() - began
        while path.depth:
            path.pop()
        return len(actions), took

    def key() -> tuple[int, float]:
        began = time.process_time()
        for _ in range(1000):
            path.key  # noqa: B018 (it is what is measured)
        return 1000, time.process_time() - began

    drawn = np.random.default_rng(0)

    def children() -> tuple[int, float]:
        nodes, calls, took = walker.roots(NODES, seed=2), 0, 0.0
        while len(nodes) == NODES:
            actions = (drawn.random(nodes.mask.shape) * nodes.mask).argmax(1)
            began = time.process_time()
            nodes = nodes.children(np.arange(NODES), actions)
            calls, took = calls + NODES, took + time.process_time() - began
            nodes = nodes[~nodes.is_over]
        return calls, took

    first = game.new_state(seed=1, events=True)

    def apply() -> tuple[int, float]:
        actions, state = line(), first.clone()
        began = time.process_time()
        for action in actions:
            state.apply(action)
        return len(actions), time.process_time() - began

    def words() -> tuple[int, float]:
        state, took, calls = first.clone(), 0.0, 0
        for action in line():
            began = time.process_time()
            state.information_state_string(state.seat)
            took, calls = took + time.process_time() - began, calls + 1
            state.apply(action)
        return calls, took

    reader = Reader()

    def reads() -> tuple[int, float]:
        reader.decisions, began = 0, time.process_time()
        evaluate(game, [reader] * game.num_seats, deals=32)
        return reader.decisions, time.process_time() - began

    parts = {"push": push, "key": key, "children": children, "apply": apply, "words": words, "reads": reads}
    return {name: rate(part, seconds) for name, part in parts.items()}


def _openspiel(seconds: float) -> dict[str, Any] | None:
    try:
        import pyspiel
    except ImportError:
        return None
    game, draw = pyspiel.load_game("leduc_poker"), random.Random(0)

    def apply(words: bool) -> tuple[int, float]:
        state, took, calls = game.new_initial_state(), 0.0, 0
        while not state.is_terminal():
            action = draw.choice(state.legal_actions())
            if state.is_chance_node():
                state.apply_action(action)
                continue
            began = time.process_time()
            if words:
                state.information_state_string()
            else:
                state.apply_action(action)
            took, calls = took + time.process_time() - began, calls + 1
            if words:
                state.apply_action(action)
        return calls, took

    return {"apply": rate(lambda: apply(False), seconds), "words": rate(lambda: apply(True), seconds)}
