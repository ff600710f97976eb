"""What agents answer is checked, wherever they play: never broadcast, never rounded, and never without their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base import View
from backalley.agents.gymnasium_env import GymnasiumEnv
from backalley.agents.human import play
from backalley.agents.match import Match, play_out
from backalley.agents.rule_based import BotAgent, KernelAgent, RandomAgent
from backalley.agents.terminal import Terminal
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.kernel import kernel
from backalley.envs.core.vector import BatchEnv

GAME = backalley.game("missouri_city")


class Odd:
    """An agent that answers as it is told to, and has no name."""

    def __init__(self, answer: Callable[[View], Any]) -> None:
        self.answer = answer

    def act(self, view: View) -> Any:
        return self.answer(view)


def changed_mask(view: View) -> Any:
    view.action_mask[:] = 1
    return np.full(len(view), 3)


ODD: list[tuple[Callable[[View], Any], type[Exception], str]] = [
    (lambda view: None, TypeError, "answered None"),
    (lambda view: "hit", TypeError, "answered 'hit'"),
    (lambda view: view.action_mask.argmax(1).astype(float), TypeError, "float64; they must be whole numbers"),
    (lambda view: view.action_mask[:, 0] > 0, TypeError, "bool; they must be whole numbers"),
    (lambda view: [[0], [0, 1]], TypeError, "cannot be read as one array"),
    (lambda view: 0, ValueError, r"shape \(\)"),
    (lambda view: np.zeros(1, int), ValueError, r"shape \(1,\); it was shown 4 tables"),
    (lambda view: np.zeros((len(view), 1), int), ValueError, r"shape \(4, 1\)"),
    (lambda view: np.full(len(view), -1), IllegalAction, "cannot play -1"),
    (lambda view: np.full(len(view), 2**63, np.uint64), IllegalAction, f"cannot play {2**63}"),
    (changed_mask, IllegalAction, "cannot play 3"),
]


@pytest.mark.parametrize(("answer", "error", "says"), ODD)
def test_an_answer_that_cannot_be_played_is_refused_with_its_agents_name(
    answer: Callable[[View], Any], error: type[Exception], says: str
) -> None:
    tables = BatchEnv(GAME, 4, seed=2, autoreset=False)
    tables.reset()
    before = tables.engine.batch.raw.tobytes()
    with pytest.raises(error, match=f"The agent Odd.*{says}"):
        play_out(tables, [Odd(answer)], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]
    assert tables.engine.batch.raw.tobytes() == before


def test_whole_numbers_of_any_type_are_answers() -> None:
    for kind in (np.int8, np.uint64, np.int64):
        tables = BatchEnv(GAME, 4, seed=2, autoreset=False)
        tables.reset()
        agent = Odd(lambda view, kind=kind: view.action_mask.argmax(1).astype(kind))
        play_out(tables, [agent], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]
    tables.reset()
    listing = Odd(lambda view: view.action_mask.argmax(1).tolist())
    play_out(tables, [listing], np.zeros((4, 2), np.int64), np.zeros(4, np.uint64))  # type: ignore[list-item]


def test_in_a_match_and_in_a_seat_of_an_environment() -> None:
    lazy = Odd(lambda view: np.zeros(1, int) if len(view) > 1 else np.full(1, -1))
    match = Match(GAME, [lazy, RandomAgent()], np.array([[0, 1], [1, 0]]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"The agent Odd answered with an array of shape \(1,\)"):
        match.play(np.arange(3, dtype=np.uint64), np.zeros((3, 2), np.uint64))
    env = GymnasiumEnv(GAME, opponent=lazy)  # type: ignore[arg-type]
    with pytest.raises(IllegalAction, match=r"The agent Odd: .*cannot play -1"):
        _begin_often(env)


def _begin_often(env: GymnasiumEnv) -> None:
    """Often enough for the other seat to be the first to act."""
    for seed in range(9):
        env.reset(seed=seed)


@kernel
def never(options: Any, observation: Any, mask: Any, key: Any) -> int:
    return 99


def test_kernels_too() -> None:
    agent = KernelAgent("never", never, GAME)
    match = Match(GAME, [agent, BotAgent(GAME)], np.array([[0, 1]]))
    assert match.compiled
    with pytest.raises(IllegalAction, match=r"The agent never: .*cannot play 99"):
        match.play(np.arange(3, dtype=np.uint64), np.zeros((3, 1), np.uint64))
    tables = BatchEnv(GAME, 2, seed=0, autoreset=False)
    tables.reset()
    with pytest.raises(IllegalAction, match=r"The agent never: .*cannot play 99"):
        play_out(tables, [agent], np.zeros((2, 2), np.int64), np.zeros(2, np.uint64))


def test_bots_see_the_table_and_not_what_a_caller_wrote() -> None:
    """A batch's observations may be written to; who plays on from there is shown them anew."""
    bot, returns = BotAgent(GAME), []
    for scribble in (False, True):
        tables = BatchEnv(GAME, 64, seed=3, autoreset=False)
        step = tables.reset()
        if scribble:
            step.observation[:] = 255
            step.action_mask[:] = 1
            step.seat[:] = 1
        returns.append(play_out(tables, [bot], np.zeros((64, 2), np.int64), np.arange(64, dtype=np.uint64))[0])
    assert np.array_equal(*returns)


def test_against_a_person() -> None:
    quiet = Terminal(lambda: "hit", lambda text: None)
    with pytest.raises(IllegalAction, match=r"The agent Odd: .*cannot play 7"):
        play(GAME, [Odd(lambda view: [7])], seat=0, seed=0, terminal=quiet)  # type: ignore[list-item]
