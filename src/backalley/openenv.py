"""An environment for OpenEnv: one seat of any game in words, against bots, policies and searches.

    uvicorn --factory backalley.openenv:app

serves it; `CardGame` is the environment. It needs the extra `openenv`. A client names games, agents and answers only:
no name leads to a file. This may import everything but the command line.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from backalley.console.errors import InvalidCall, NotInstalled
from backalley.envs.core.game import arguments
from backalley.envs.core.text import UnreadableAnswer, rules_text

from .llm import ANSWER, SeatInWords, named_game

try:
    from openenv.core.env_server import create_fastapi_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State
    from pydantic import Field
except ModuleNotFoundError as error:
    raise NotInstalled("backalley.openenv needs OpenEnv: pip install 'backalley[openenv]'.") from error


class AnswerAction(Action):  # type: ignore[misc]
    """What a player answers."""

    answer: str
    """The name of an action, or a text whose last JSON object is {"action": NAME}."""


class SeatObservation(Observation):  # type: ignore[misc]
    """What a player may know. `reward` is what the seat gained since the observation before; over an episode the
    rewards sum to its return."""

    text: str
    """The position in words, and after `reset` the rules and how to answer."""
    refusal: str = ""
    """Why the latest answer was not played; empty where it was."""


class SeatState(State):  # type: ignore[misc]
    """The position of an episode, without anything that the seat may not know."""

    game: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    opponent: str = ""
    seat: int = 0
    gained: float = 0.0


class CardGame(Environment):  # type: ignore[misc]
    """One seat of a game; `opponent` plays the others. What is given here may be given again with each `reset`.

    An answer that cannot be read plays nothing: the observation says why, and the player answers again. After `retries`
    such answers in a row the next one forfeits the game: the seat gets the lower bound of its `reward_range`, and the
    episode ends. With `legal` observations list the legal actions, which a player otherwise finds by the rules.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, game: str = "pitch", *, opponent: str = "bot", seat: int | str = 0, retries: int = 1, legal: bool = False
    ) -> None:
        super().__init__()
        self._given: dict[str, Any] = {"game": game, "options": {}, "opponent": opponent, "seat": seat}
        self._retries, self._legal = arguments.count(retries, "retries", 0), legal
        self._seat: SeatInWords | None = None
        self._refused = 0
        self._state = SeatState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        game: str | None = None,
        options: Mapping[str, Any] | None = None,
        opponent: str | None = None,
        seat: int | str | None = None,
        **kwargs: Any,
    ) -> SeatObservation:
        """Begin an episode, up to the seat's first decision, and return the rules and what it sees. Raises ValueError
        or TypeError for an unknown game, option, agent or seat; the episode before then goes on."""
        given = dict(self._given)
        given |= {name: one for name, one in (("opponent", opponent), ("seat", seat)) if one is not None}
        if game is not None or options is not None:
            given |= {"game": game or given["game"], "options": dict(options or {})}
        table = named_game(given["game"], given["options"])
        self._seat = SeatInWords(table, seat=given["seat"], opponent=given["opponent"], seed=seed)
        self._given, self._refused = given, 0
        self._state = SeatState(
            episode_id=episode_id or str(uuid.uuid4()), step_count=0, **{**given, "seat": self._seat.seat}
        )
        shown = self._shown(self._seat, 0.0)
        shown.text = f"{rules_text(table)}\n\n{shown.text}\n\n{ANSWER}"
        return shown

    def step(self, action: AnswerAction, timeout_s: float | None = None, **kwargs: Any) -> SeatObservation:
        """Play an answer, and then the others' actions. Raises RuntimeError before the first `reset` and after the
        end."""
        seat = self._seat
        if seat is None or seat.is_over:
            raise InvalidCall("There is no game to play in: call reset().")
        before, refusal = seat.gained, ""
        try:
            seat.act(action.answer)
            self._refused = 0
        except UnreadableAnswer as error:
            self._refused, refusal = self._refused + 1, str(error)
            if self._refused > self._retries:
                seat.forfeit()
                refusal += " That was one answer too many: the game is forfeit."
        self._state.step_count += 1
        return self._shown(seat, before, refusal)

    @property
    def state(self) -> SeatState:
        """The position of the episode."""
        return self._state

    def _shown(self, seat: SeatInWords, before: float, refusal: str = "") -> SeatObservation:
        self._state.gained = seat.gained
        text = seat.text(legal=self._legal)
        return SeatObservation(text=text, refusal=refusal, done=seat.is_over, reward=seat.gained - before)


def app() -> Any:
    """Return the application that serves `CardGame` over HTTP and WebSocket, each session with a table of its own."""
    return create_fastapi_app(CardGame, AnswerAction, SeatObservation, max_concurrent_envs=64)
