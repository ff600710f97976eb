"""Our own rules behind the candidates' interface, uncompiled. They score 100 %, and play the hidden games.

Kernels cite the paragraphs of the page that they are the rules of. While an action is played it is written down which
kernels run, so each step of a hidden game has the rules that it took.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from backalley.envs import core
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.reset_options import stacked_deck

from . import worker
from .scripts import public_state

_CITED = re.compile(r"§\d+(?:\.\d+)*")
_RULES = Path(core.__path__[0]).resolve().parent
_NO_RULES = {"observation", "events", "text", "bot", "game"}
"""Files of a game in which no rule of play is written down."""


class Reference:
    """A game behind the interface of candidates."""

    def __init__(self, game: Game, start_outcome: int) -> None:
        self._game, self._state = game, game.new_state(explicit_chance=True)
        self._gained, self._begun = np.zeros(game.num_seats), False
        if game.num_start_outcomes > 1:
            self._state.apply(start_outcome)

    def turn(self) -> int | str:
        """The seat to act, "deal" or "over"."""
        if self._state.is_chance:
            return "deal"
        return "over" if self._state.is_over else self._state.seat

    def deal(self, deck: list[str]) -> None:
        """Deal from a pack."""
        for card in stacked_deck(self._game, deck)[: self._game.cards_drawn].tolist():
            self._state.apply(card)
        if self._begun:
            self._gained += self._state.rewards()

    def act(self, action: str) -> None:
        """Play an action by its name."""
        self._state.apply(self._game.action_number(action))
        self._gained, self._begun = np.array(self._state.rewards()), True

    def legal(self) -> list[str]:
        """The names of the legal actions."""
        return [self._game.action_str(action) for action in self._state.legal_actions()]

    def rewards(self) -> list[float]:
        """What each seat gained by the latest action and the deals after it."""
        gained: list[float] = self._gained.tolist()
        return gained

    def state(self) -> dict[str, Any]:
        """The public values."""
        return public_state(self._game, self._state.record())

    def choose(self, draw: random.Random, bot: str | None) -> str:
        """An action: a bot's, or a random one."""
        state, game = self._state, self._game
        if bot is None:
            return game.action_str(draw.choice(state.legal_actions()))
        key = np.uint64(draw.getrandbits(63))
        shown = game.records(state.observation(state.seat)[None])[0]
        return game.action_str(int(game.bots[bot].act(game.options, shown, state.action_mask(), key)))


class Applied:
    """The kernels that run in a `with` block and are the rule of a paragraph, each as `§1.3 rules.play`."""

    def __init__(self, game: Game) -> None:
        self.rules: set[str] = set()
        self._of_knowledge = paragraphs_of_knowledge((game.type.folder / "README.md").read_text("utf-8"))
        self._known: dict[CodeType, frozenset[str]] = {}

    def __enter__(self) -> Applied:
        self.rules = set()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._known:
                self._known[code] = self._cited(code)
            self.rules |= self._known[code]

    def _cited(self, code: CodeType) -> frozenset[str]:
        """A kernel with each paragraph that its docstring cites."""
        path = Path(code.co_filename)
        doc = code.co_consts[0] if code.co_consts else None
        if not isinstance(doc, str) or path.stem in _NO_RULES or not path.resolve().is_relative_to(_RULES):
            return frozenset()
        cited = set(_CITED.findall(doc)) - self._of_knowledge
        return frozenset(f"{paragraph} {path.stem}.{code.co_name}" for paragraph in cited)


def paragraphs_of_knowledge(page: str) -> set[str]:
    """Return the paragraphs of a page about what seats know: kernels keep it in states, and nobody plays by it."""
    return set(re.findall(r"^##+ (§[\d.]+) What (?:a seat knows|is hidden|is seen)$", page, re.MULTILINE))


def hidden_game(game: Game, seed: int, bot: str | None, most: int) -> dict[str, Any]:
    """Play an episode of up to `most` decisions. Return its script, what the rules say at each step, and the kernels
    that each step took."""
    draw, applied = random.Random(seed), Applied(game)
    start_outcome = draw.randrange(game.num_start_outcomes)
    played, decks, actions = Reference(game, start_outcome), list[list[str]](), list[str]()
    steps, rules = list[dict[str, Any]](), list[list[str]]()

    def settle(action: str | None) -> None:
        with applied:
            if action is not None:
                played.act(action)
            while played.turn() == "deal":
                decks.append(_shuffled(game, draw))
                played.deal(decks[-1])
        steps.append(worker.shown(played))
        rules.append(sorted(applied.rules))

    settle(None)
    while played.turn() != "over" and len(actions) < most:
        actions.append(played.choose(draw, bot))
        settle(actions[-1])
    script = {"options": game.option_values, "start_outcome": start_outcome, "decks": decks, "actions": actions}
    return {"script": script, "steps": steps, "rules": rules}


def _shuffled(game: Game, draw: random.Random) -> list[str]:
    """The names of a shuffled pack; where cards are drawn with replacement, of as many as a deal can use."""
    places = list(range(game.deck_size))
    if game.with_replacement:
        places = draw.choices(places, k=game.cards_drawn)
    else:
        draw.shuffle(places)
    return [game.card_name(game.pack[place]) for place in places]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Play a script or a hidden game of the game that a request names."""
    script = request.get("script")
    if script is None:
        game = game_of(request["game"]).bind(request["options"])
        return hidden_game(game, request["seed"], request["bot"], request["most"])
    return worker.play(reference_of(request["game"]), script)


def reference_of(name: str) -> Callable[[dict[str, Any], int], Reference]:
    """Return what makes a game of that name from options and a start outcome, as a candidate's `Game` does."""
    return lambda options, start_outcome: Reference(game_of(name).bind(options), start_outcome)


def main() -> None:
    """Answer requests, a line each."""
    worker.answer_lines(answer)
