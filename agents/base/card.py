"""`card:FILE`: a strategy card, the decision table that `backalley card` finds, as an agent.

A card has a section for each set of legal actions, and in it a tree of rules over single numbers of the observation. It
is data alone: what a file holds passes the gate before anybody uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue, one_line
from backalley.envs.core.files.gate import (
    CHECK,
    OF_A_GAME,
    Either,
    ListOf,
    Number,
    OneOf,
    Optional,
    Text,
    Whole,
    game_in,
    pass_checksum,
    pass_gate,
    with_checksum,
)
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.record import Place, places

from .agent import Agent, DirectAgent, answer, check_view

Node = dict[str, Any]
"""`{"play": action}`, or `{"number", "least", "yes", "no"}`: whether a number of the observation is at least `least`,
and the places of the rules that follow, both later in their list."""
Section = dict[str, Any]
"""`{"legal": actions, "rules": nodes}`; the first node is where to begin."""
KIND = "strategy_card"
_MOST = 1000
_SUITS = ["clubs", "diamonds", "hearts", "spades"]
_PLACE = Whole(0, 10**6)
_NODE = Either(({"play": _PLACE}, {"number": _PLACE, "least": Number(), "yes": _PLACE, "no": _PLACE}))
_SECTION = {"legal": ListOf(_PLACE, _MOST), "rules": ListOf(_NODE, _MOST)}
_CARD = {
    "kind": OneOf([KIND]),
    **OF_A_GAME,
    "sections": ListOf(_SECTION, _MOST),
    "base": Optional(Text(200)),
    CHECK: Optional(Text(64)),
}


class CardAgent(DirectAgent):
    """Plays by a card: at each set of legal actions by its section's rules. Where the card has no section, as at forced
    actions, its base plays, or the first legal action where it has none."""

    def __init__(
        self, game: Game, sections: list[Section], name: str = "card", base: tuple[str, Agent] | None = None
    ) -> None:
        """`base` is an agent under the name by which `agent` finds it again. Raises ValueError, in a clause, for
        sections that are not of this game."""
        self.name, self.game, self.sections, self.base = name, game, sections, base
        self.identity = [sections, base and base[0], base and base[1].identity]
        self.is_deterministic = base is None or base[1].is_deterministic
        self.reads_events = base is not None and base[1].reads_events
        for section in sections:
            _check(game, section)

    @property
    def size(self) -> int:
        """The number of leaves of all trees: the lines that say what to play."""
        return sum("play" in node for section in self.sections for node in section["rules"])

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return the card's action for each row; the first legal one where it has no section."""
        actions = self._chosen(observation, action_mask)
        return np.where(actions < 0, action_mask.argmax(1), actions)

    def act(self, view: Any, action_mask: npt.ArrayLike | None = None, *, key: npt.ArrayLike | None = None) -> Any:
        """Return one legal action for each table of a View; see `DirectAgent.act`. A base needs a View."""
        if self.base is None:
            return super().act(view, action_mask, key=key)
        check_view(self, view, action_mask)
        actions = self._chosen(view.observation, view.action_mask)
        if len(rest := np.flatnonzero(actions < 0)):
            actions[rest] = answer(self.base[1], view.only(rest))
        return actions

    def _chosen(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        """The card's action for each row; -1 where it has no section."""
        actions = np.full(len(action_mask), -1)
        for section in self.sections:
            legal = np.zeros(action_mask.shape[1], bool)
            legal[section["legal"]] = True
            _follow(section["rules"], observation, np.flatnonzero(((action_mask != 0) == legal).all(1)), actions)
        return actions

    def to_json(self) -> dict[str, Any]:
        """The card as its file holds it."""
        assert self.game is not None
        about = {"game": self.game.name, "version": self.game.version, "options": self.game.option_values}
        base = {} if self.base is None else {"base": self.base[0]}
        return with_checksum({"kind": KIND, **about, "sections": self.sections, **base})

    def words(self) -> list[str]:
        """The card in words, a rule a line."""
        assert self.game is not None
        names, flags = number_names(self.game), _flags(self.game)

        def asked(node: Node) -> str:
            name, least = names[node["number"]], node["least"]
            return name if flags[node["number"]] and 0 < least <= 1 else f"{name} at least {least:g}"

        lines = list[str]()
        for section in self.sections:
            lines.append(f"Of {', '.join(map(self.game.action_str, section['legal']))}:")
            lines += _said(self.game, asked, section["rules"], 0, 1)
        return lines

    def meanings(self) -> list[str]:
        """What the numbers on the card mean, in the words of the game's table of observations."""
        assert self.game is not None
        asked = {node["number"] for section in self.sections for node in section["rules"] if "number" in node}
        declared = places(self.game.type.Observation, self.game.options)
        return [
            f"{name.replace('_', ' ')}: {place.doc}"
            for name, place in declared.items()
            if any(place.start <= number < place.stop for number in asked)
        ]


def number_names(game: Game) -> list[str]:
    """Return a name for every number of the flat observation: its field, and where the field has several, which."""
    found = list[str]()
    for name, place in places(game.type.Observation, game.options).items():
        axes = _entries(game, name, place)
        for index in np.ndindex(place.shape):
            which = ", ".join(axis[one] for axis, one in zip(axes, index, strict=True) if len(axis) > 1)
            found.append(f"{name.replace('_', ' ')}{f' ({which})' if which else ''}")
    return found


def _flags(game: Game) -> list[bool]:
    """Whether each number of the flat observation is 0 or 1, so that its name alone asks for 1."""
    declared = places(game.type.Observation, game.options).values()
    return [
        one.code[0] in "iu" and (one.low, one.high) == (0, 1) for one in declared for _ in range(one.start, one.stop)
    ]


def _entries(game: Game, name: str, place: Place) -> list[list[str]]:
    """What a field's entries are called, axis by axis."""
    declared = game.type.entries.get(name, ())
    axes: list[Sequence[str]] = [()] * (len(place.shape) - len(declared)) + [*declared]
    if place.suits is not None and not axes[place.suits] and place.high == 1:  # other bounds: a list of numbers
        size = place.shape[place.suits]
        axes[place.suits] = _SUITS if size <= len(_SUITS) + 1 else [game.card_name(card) for card in range(size)]
    return [
        [*axis[:size], *(str(one + 1) for one in range(len(axis), size))]
        for axis, size in zip(axes, place.shape, strict=True)
    ]


def _said(game: Game, asked: Callable[[Node], str], rules: list[Node], at: int, depth: int) -> Iterator[str]:
    node, indent = rules[at], "  " * depth
    if "play" in node:
        yield f"{indent}{game.action_str(node['play'])}"
        return
    yield f"{indent}{asked(node)}:"
    yield from _said(game, asked, rules, node["yes"], depth + 1)
    yield f"{indent}otherwise:"
    yield from _said(game, asked, rules, node["no"], depth + 1)


def _follow(
    rules: list[Node], observation: npt.NDArray[Any], rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> None:
    """Write to `actions` what the rules play at some rows. A rule's successors come later, so each is met once."""
    here = {0: rows}
    for place, node in enumerate(rules):
        mine = here.get(place, rows[:0])
        if "play" in node:
            actions[mine] = node["play"]
            continue
        yes = observation[mine, node["number"]] >= node["least"]
        here[node["yes"]], here[node["no"]] = mine[yes], mine[~yes]


def _check(game: Game, section: Section) -> None:
    """Raise ValueError, in a clause, for rules that this game cannot be played by, or that do not form a tree."""
    legal, rules = section["legal"], section["rules"]
    if not rules or not legal or max(legal) >= game.num_actions:
        raise InvalidValue(f"a section needs rules, and legal actions below {game.num_actions}")
    followed = [place for node in rules if "number" in node for place in (node["yes"], node["no"])]
    if sorted(followed) != list(range(1, len(rules))):
        raise InvalidValue("the rules of a section form no tree: each but the first follows one other")
    for place, node in enumerate(rules):
        if "play" in node:
            if node["play"] not in legal:
                raise InvalidValue(f"rule {place} plays action {node['play']}, which is not legal in its section")
        elif min(node["yes"], node["no"]) <= place:
            raise InvalidValue(f"rule {place} is followed by one that comes before it")
        elif node["number"] >= game.observation_size:
            raise InvalidValue(f"rule {place} reads number {node['number']}; seats see {game.observation_size}")


def card_agent(game: Game, file: str, *more: str, based_on: Callable[[Game, str], Agent]) -> CardAgent:
    """Return the agent of a card's file; `based_on` makes the agent of its base's name, and refuses, by ValueError in a
    clause, what a file may not name. Raises OSError, and ValueError for a file that is no card of this game."""
    path = Path(":".join([file, *more]))
    try:
        found = read_json(path)
        pass_gate(found, _CARD)
        made_for = game_in(pass_checksum(found))
        base = (found["base"], based_on(made_for, found["base"])) if "base" in found else None
        made = CardAgent(made_for, found["sections"], f"card:{path.stem}", base)
    except ValueError as error:
        raise InvalidValue(f"{one_line(str(path))} cannot be played as a strategy card: {error}.") from None
    if made_for != game:
        raise InvalidValue(f"{one_line(str(path))} is a card for {made_for!r}, not for {game!r}.")
    return made
