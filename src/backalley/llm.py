"""Language models as players: legal moves, prompt and answer for any position, and a seat at a table of agents.

`legal_moves`, `make_prompt` and `parse_response` are the three functions that Kaggle's harness asks a game for;
`decide` asks a model with one explained retry. What happens to a model that gives no readable answer after that is the
harness's rule: these functions raise UnreadableAnswer and play nothing. `SeatInWords` is what the servers for MCP and
OpenEnv play at. This may import everything but the command line.

    state = backalley.game("pitch").new_state(seed=1, events=True)
    state.apply(decide(state, lambda prompt: my_model(prompt)))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent, view_of
from backalley.agents.gymnasium.single_agent import SeatTables
from backalley.agents.people.advice import hint
from backalley.agents.registry import agent, named
from backalley.console.errors import InvalidCall, InvalidValue
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.game import arguments
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import UnreadableAnswer, legal_texts, observation_text, read_answer, rules_text

ANSWER = 'Answer with a JSON object that names your action, such as {"action": "NAME"}. The last one counts.'
_SEARCH = re.compile(r"(?:mc|search(?:\+(.+?))?):\d{1,3}(?::\d{1,5})?")


def legal_moves(state: GameState) -> dict[int, str]:
    """Return the legal actions of the seat to act, each with its name."""
    return dict(zip(state.legal_actions(), legal_texts(state), strict=True))


def make_prompt(
    state: GameState,
    *,
    rules: bool = True,
    legal: bool = False,
    since: str | None = "episode",
    refusal: str = "",
) -> str:
    """Return a prompt for the seat to act: the rules, all that the seat may know, and how to answer; no advice.

    The legal actions are listed only with `legal`: to find them is part of playing. `since` is that of
    `observation_text`; `refusal` says why an answer before this one was not read. Raises RuntimeError where nobody is
    to act, and for a state made without `events=True` unless `since` is None.
    """
    if state.seat < 0:
        raise InvalidCall("Nobody is to act here, so there is nothing to ask.")
    listed = f"Your legal actions: {', '.join(legal_texts(state))}." if legal else ""
    again = f"Your last answer was not read: {refusal}" if refusal else ""
    text = observation_text(state, state.seat, since=since)
    return "\n\n".join(filter(None, [rules_text(state.game) if rules else "", text, listed, ANSWER, again]))


def parse_response(state: GameState, response: str) -> int:
    """Return the legal action that a model's answer names, as `read_answer` does; raises UnreadableAnswer."""
    return read_answer(state, response)


def decide(
    state: GameState, ask: Callable[[str], str], *, retries: int = 1, rules: bool = True, legal: bool = False
) -> int:
    """Return the action that `ask(prompt)` answers with for the seat to act. An answer that cannot be read is asked for
    again `retries` times, each time with what was wrong; then UnreadableAnswer is raised, and the harness decides.
    Raises ValueError for `retries` below 0, and as `make_prompt` does."""
    left, refusal = arguments.count(retries, "retries", 0), ""
    while True:
        response = ask(make_prompt(state, rules=rules, legal=legal, refusal=refusal))
        try:
            return parse_response(state, response)
        except UnreadableAnswer as error:
            if not left:
                raise
            left, refusal = left - 1, str(error)


def named_game(name: str, options: Mapping[str, Any] | None = None) -> Game:
    """Return a game that somebody outside this program names: one of this package, or one that this process has
    registered, under options. Raises ValueError or TypeError for any other name or option."""
    if name not in game_names():
        raise InvalidValue(f"There is no game {str(name)[:60]!r} here; the games are {', '.join(game_names())}.")
    return game_of(name, **(options or {}))


def named_agent(name: str, game: Game) -> Agent:
    """Return an agent that somebody outside this program names: a bot, a policy that comes with the game, the planner,
    or a search of up to 999 determinizations. Raises ValueError for any other name: none leads to a file or to code."""
    known = [one for one in named(game) if one != "human"]
    search = _SEARCH.fullmatch(name)
    if name not in known and not (search and search[1] in (None, *known)):
        raise InvalidValue(
            f"There is no agent {name[:60]!r} here; name {', '.join(known)}, search:48:1000 (determinizations and "
            "milliseconds) or search+AGENT:48:1000."
        )
    return agent(name, game)


class SeatInWords:
    """One table in words: a seat of the caller's, and agents in the others, who play at once.

    `seat` is a number or "random"; `opponent` names the agents of the other seats as `named_agent` takes them, one for
    all. Equal seeds give equal cards and opponents; None draws one.
    """

    def __init__(self, game: Game, *, seat: int | str = 0, opponent: str = "bot", seed: int | None = None) -> None:
        other = named_agent(opponent, game) if game.num_seats > 1 else agent("random", game)
        self._tables = SeatTables(game, 1, seat, other, events=True)
        self._tables.seed(seed)
        self._tables.begin(np.zeros(1, np.int64))
        self._return = float(self._tables.collect()[0])
        self.game = game

    @property
    def seat(self) -> int:
        """The caller's seat."""
        return int(self._tables.seat[0])

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended; before that it is the caller's turn."""
        return bool(self._tables.over[0])

    @property
    def gained(self) -> float:
        """What the caller's seat has gained since the beginning: its return, once the episode is over."""
        return self._return

    @property
    def state(self) -> GameState:
        """The position, as a copy; what was gained before does not count in it."""
        return self._tables.tables.position()

    def text(self, *, since: str | None = "episode", legal: bool = False) -> str:
        """Return all that the caller's seat may know, in words; with `legal` its legal actions, too. `since` is that of
        `observation_text`."""
        state = self.state
        shown = observation_text(state, self.seat, since=since)
        if self.is_over:
            return f"{shown}\nYour return: {self.gained:+g}."
        return f"{shown}\nYour legal actions: {', '.join(legal_texts(state))}." if legal else shown

    def act(self, answer: str | int) -> int:
        """Play the action that an answer names, and then the others' until it is the caller's turn again; return its
        number. Raises UnreadableAnswer, and nothing has changed then."""
        action = read_answer(self.state, answer)
        self._tables.step([action])
        self._return += float(self._tables.collect()[0])
        return action

    def forfeit(self) -> None:
        """End the episode as a harness may after answers that could not be read: the seat gets the lower bound of
        `reward_range` as its last reward, the others 0."""
        self._return += float(self._tables.tables.forfeit([0]).reward[0, self.seat])

    def hint(self, adviser: str = "bot") -> str:
        """Return what an agent would play here, who sees what the caller's seat may know; a search adds the value of
        each action. Raises ValueError for an unknown agent and where the episode is over."""
        if self.is_over:
            raise InvalidCall("The game is over: there is nothing to advise.")
        view = view_of(self._tables.tables, np.zeros(1, np.int64), np.zeros(1, np.uint64))
        return hint(named_agent(adviser, self.game), view, 0)
