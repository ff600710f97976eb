"""People at one terminal: nobody is shown what another may see, and `human` plays wherever an agent is named."""

from __future__ import annotations

import itertools
import re

import pytest

import backalley
from backalley.agents.people.human import play
from backalley.agents.people.terminal import LeftTable, Terminal
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.examples.kuhn import GAME as KUHN_TYPE
from tests.common.cases import BY_NAME

KUHN = backalley.game(KUHN_TYPE)
CLEARED = "-- cleared --"


class Screen:
    """A terminal whose lines are typed beforehand, or always by `typed`, and which keeps all that it shows."""

    def __init__(self, *lines: str, hides: bool = True) -> None:
        self.lines, self.shown = list(lines), list[str]()
        self.terminal = Terminal(self.type, self.shown.append, lambda: self.shown.append(CLEARED), hides=hides)

    def type(self) -> str:
        if not self.lines:
            raise EOFError
        self.shown.append(f"> {self.lines[0]}")
        return self.lines.pop(0)


def test_the_screen_is_cleared_between_two_people_and_shows_nothing_before_they_look() -> None:
    screen = Screen("pass", "", "bet", "", "bet")
    returns = play(KUHN, [agent("human", KUHN)], seat=0, seed=1, terminal=screen.terminal)
    assert sum(returns) == 0
    parts = "\n".join(screen.shown).split(CLEARED)
    assert len(parts) == 3, "cleared before the second seat and before the first again"
    for number, (part, name) in enumerate(zip(parts, (0, 1, 0), strict=True)):
        shown = part.splitlines()
        if number:
            assert shown[1] == f"The screen is for {KUHN.seat_name(name)} alone. Press Enter to look."
            assert shown[2] == "> "
        assert all(f"(player_{name})" in line for line in shown if "seen by" in line)
        assert part.count("seen by") == 1


def test_who_plays_both_hands_may_leave_the_screen_as_it_is() -> None:
    screen = Screen("pass", "bet", "bet", hides=False)
    play(KUHN, [agent("human", KUHN)], seat=1, seed=1, terminal=screen.terminal)
    assert CLEARED not in screen.shown
    assert not any("Press Enter" in line for line in screen.shown)


def test_nothing_is_cleared_for_one_person_alone() -> None:
    screen = Screen("pass", "pass")
    play(KUHN, [agent("random", KUHN)], seat=0, seed=1, terminal=screen.terminal)
    assert CLEARED not in screen.shown


def test_leaving_in_front_of_a_cleared_screen() -> None:
    screen = Screen("pass", "q")
    with pytest.raises(LeftTable):
        play(KUHN, [agent("human", KUHN)], seat=0, seed=1, terminal=screen.terminal)


def test_a_person_may_be_one_of_an_evaluation_and_leave_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deal is finished before the other seating of it is shown; leaving is as Ctrl-C."""
    monkeypatch.setattr("builtins.input", lambda prompt: "pass")
    assert evaluate(KUHN, ["human", "random"], deals=20).deals == 20
    shown = [bets.replace(" ", "") for bets in re.findall(r"\nbets(.*)\n", capsys.readouterr().out)]
    assert "pb" in shown, "some pass of the person's was answered by a bet"
    assert all(before == "" for before, after in itertools.pairwise(shown) if after == "pb"), shown

    def leave(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", leave)
    with pytest.raises(KeyboardInterrupt):
        evaluate(KUHN, ["human", "random"], deals=3)


@BY_NAME
def test_every_game_is_played_by_people_alone(game: backalley.Game) -> None:
    """By name, always the first legal action that the screen lists."""
    listed: list[str] = []

    def first() -> str:
        return listed.pop() if listed else "?"

    def show(text: str) -> None:
        actions = [line.split(maxsplit=1)[1] for line in text.splitlines() if re.match(r" +\d+  ", line)]
        if text.startswith("Type an action") and actions:
            listed.append(actions[0])

    terminal = Terminal(first, show, lambda: None, hides=False)
    others = [agent("human", game)] if game.num_seats > 1 else []
    returns = play(game, others, seat=0, seed=5, terminal=terminal)
    assert len(returns) == game.num_seats
