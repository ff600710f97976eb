"""`Recall` and `View.events`: players that remember."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.base.agent import View, view_of
from backalley.agents.base.recall import Recall


class Sums:
    """Keeps the sum and number of all events by what is new, and compares them with all of them at every decision."""

    reads_events = True

    def __init__(self, most: int = 1 << 16) -> None:
        self.recall, self.asked, self.read = Recall(2, dtype=np.int64, most=most), 0, 0

    def act(self, view: View) -> npt.NDArray[np.int64]:
        every = view.events()
        assert every is not None
        places, new = self.recall.read(view)
        self.recall.state[places, 0] += new.events.sum((1, 2), dtype=np.int64)
        self.recall.state[places, 1] += new.length
        assert (self.recall.state[places, 0] == every.events.sum((1, 2), dtype=np.int64)).all()
        assert (self.recall.state[places, 1] == every.length).all()
        self.asked, self.read = self.asked + len(view), self.read + int(new.length.sum())
        return (view.action_mask * view.action_mask.cumsum(1) % 5).argmax(1)


@pytest.mark.parametrize("most", [1 << 16, 70])
def test_what_is_new_adds_up_to_all_events_in_matches(most: int) -> None:
    """In every seat, where an agent is asked for the same deals again, and where it forgets tables meanwhile."""
    agent = Sums(most)
    one, again = (backalley.evaluate("missouri_city", [agent, agent], deals=64, seed=3) for _ in range(2))
    assert one.records() == again.records()
    assert agent.read > agent.asked > 500


def test_a_table_that_was_asked_before_is_read_from_where_it_was() -> None:
    batch, agent = backalley.make_vec("pitch", num_envs=8, seed=1, events=True), Sums()
    batch.reset()
    rows, keys = np.arange(8), np.arange(8, dtype=np.uint64)
    agent.act(view_of(batch, rows, keys))
    first = agent.read
    agent.act(view_of(batch, rows, keys))  # nothing is new
    assert agent.read == first > 0
    agent.act(view_of(batch, rows, keys[::-1].copy()))  # other tables' names: all is new
    assert agent.read == 2 * first


def test_what_cannot_be_read_is_said() -> None:
    batch, recall = backalley.make_vec("pitch", num_envs=3, seed=1), Recall(most=2)
    batch.reset()
    view = view_of(batch, np.arange(2), np.arange(3, dtype=np.uint64))
    assert view.events() is None
    with pytest.raises(RuntimeError, match="reads_events = True"):
        recall.read(view)
    with pytest.raises(RuntimeError, match="A view of 3 tables was read, and there is room for 2"):
        recall.read(view_of(batch, np.arange(3), np.arange(3, dtype=np.uint64)))
    with pytest.raises(ValueError, match="most"):
        Recall(most=0)
