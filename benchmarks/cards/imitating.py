"""Find a strategy card that plays as an agent does: trees grown by what the card loses by the agent's own values, or by
how often it plays otherwise, until it loses little against the agent in matches on the same decks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.agent import Agent, View, answer, name_of
from backalley.agents.base.card import CardAgent
from backalley.agents.match import Match
from backalley.agents.registry import agent as agent_of
from backalley.agents.registry import card_base
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ..figures.result_kinds import of_game
from ..figures.stats import NORMAL
from ..matches.sample import LineUp, Sample, Series, deal_keys
from ..matches.seeding import Roots, Space, roots
from .growing import MOST_LEAVES, Positions, Size, StrategyCard, grown, joined, no_card

_ROUNDS = 2
"""Positions are met by the agent's own play, and then by the best card's, too."""


def card_of_agent(
    game: Game,
    agent: str,
    *,
    loses: float = 0.001,
    deals: int = 5000,
    actions: str = "",
    seed: int = 0,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> StrategyCard:
    """Find the smallest card that returns at most `loses` less than an agent does in its place, all other seats being
    the agent's, as far as the 95 % interval tells.

    `actions` is a phase that the game declares, or a regular expression: the card then decides where all legal actions
    have such names, and the agent, one that `card_base` takes, plays the rest. Trees grow at the positions of `deals`
    deals, by the values of an agent that has `analyse` and else by its probabilities. Each size is measured on as many
    other decks, and the one that is kept on others again. `progress(done, most)` counts the deals of
    matches, and how many there can be. Raises ValueError for
    actions that there are not, and where no card of at most MOST_LEAVES leaves is near enough.
    """
    if not loses >= 0:
        raise InvalidValue(f"loses is {loses}; it is how much less than the agent the card may return: 0 or more.")
    own = _chosen(game, actions)
    if actions:
        try:
            player = card_base(game, agent)
        except ValueError as error:
            raise InvalidValue(f"A card for some actions alone needs an agent for the rest: {error}.") from None
    else:
        player = agent_of(agent, game, num_threads=num_threads)
    base, plays, found, curve = (agent, player) if actions else None, player, list[Positions](), list[Size]()
    field = _Field(game, player, deals, num_threads, progress)
    for number in range(_ROUNDS):
        found.append(_asked(game, player, plays, own, deals, roots(Space.TRAINING, seed, number), num_threads))
        cards, curve = grown(game, joined(found), 0.0, base), []
        for card in cards:
            curve.append(field.loss(card, seed))
            if curve[-1].upper > loses or (kept := field.loss(card, seed + 1)).upper > loses:
                continue
            return StrategyCard(
                **of_game(game, __file__),
                best_return=field.mean(seed + 1),
                deals=deals * (number + 1),
                loses=loses,
                least=0.0,
                sections=card.sections,
                curve=[*curve[:-1], kept],
                agent=name_of(player),
                base=agent if actions else "",
            )
        plays = cards[-1]
    raise no_card(game, loses, curve)


def _chosen(game: Game, actions: str) -> npt.NDArray[np.bool_]:
    """Which actions [A] are a card's own."""
    if actions in game.type.phases:
        return np.isin(np.arange(game.num_actions), list(game.type.phases[actions]))
    try:
        own = np.array(
            [not actions or bool(re.fullmatch(actions, name)) for name in map(game.action_str, range(game.num_actions))]
        )
    except re.error as error:
        raise InvalidValue(f"actions is {actions!r}, which is no regular expression: {error}.") from None
    if own.sum() < 2:
        phases = f", or one of the phases {', '.join(game.type.phases)}" if game.type.phases else ""
        raise InvalidValue(
            f"actions is {actions!r}; give a regular expression that fits the names of two or more actions of "
            f"{game.name}{phases}."
        )
    return own


class _Field:
    """An agent in all seats, and cards in its place, on the same decks."""

    def __init__(
        self, game: Game, player: Agent, deals: int, num_threads: int, progress: Callable[[int, int], None] | None
    ) -> None:
        self.game, self.player, self.deals, self.num_threads, self.progress = game, player, deals, num_threads, progress
        self.alone, self.played = dict[int, Sample](), 0

    def loss(self, card: CardAgent, seed: int) -> Size:
        """How much less a card returns."""
        others = [self.player] * (self.game.num_sides > 1)
        if seed not in self.alone:
            self.alone[seed] = self._sample([self.player, *others], seed)
        lead = self.alone[seed].lead(self._sample([card, *others], seed), self.game)
        return Size(card.size, lead["mean"], (lead["high"] - lead["low"]) / 2 / NORMAL)

    def mean(self, seed: int) -> float:
        """What the agent returns in its own place."""
        return float(self.alone[seed].gains().mean()) + 0.0  # no -0

    def _sample(self, agents: Sequence[Agent], seed: int) -> Sample:
        line_up = LineUp(self.game, agents, roots(Space.EVALUATION, seed), self.deals)
        (sample,) = Series([line_up], None, num_threads=self.num_threads).play()
        self.played += self.deals
        if self.progress is not None:
            self.progress(self.played, _ROUNDS * (MOST_LEAVES + 2) * self.deals)
        return sample


class _Asking(Agent):
    """Plays as one agent does, and keeps what another thinks of each position of a card's own."""

    def __init__(self, asked: Agent, plays: Agent, own: npt.NDArray[np.bool_]) -> None:
        self.asked, self.plays, self.own, self.found = asked, plays, own, list[Positions]()
        self.reads_events = asked.reads_events or plays.reads_events

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the actions of the one that plays."""
        mask = view.action_mask
        if len(rows := np.flatnonzero((mask.sum(1) > 1) & ~mask[:, ~self.own].any(1))):
            mine = view.only(rows)
            self.found.append(Positions(mine.observation.copy(), mine.action_mask.copy(), _regrets(self.asked, mine)))
        return answer(self.plays, view)


def _asked(
    game: Game, asked: Agent, plays: Agent, own: npt.NDArray[np.bool_], deals: int, keys: Roots, num_threads: int
) -> Positions:
    """The positions of some deals that are a card's own, with what an agent thinks of each action."""
    asking, streams, tables = _Asking(asked, plays, own), np.empty(deals, np.uint64), np.empty((deals, 1), np.uint64)
    deal_keys(*keys, 0, streams, tables)
    match = Match(game, [asking], np.zeros((1, game.num_seats), np.int64), num_threads=num_threads)
    try:
        match.play(streams, tables)
    finally:
        match.close()
    if not asking.found:
        raise InvalidValue(f"In {deals:,} deals of {game.name} there was nothing to decide; give more deals.")
    return joined(asking.found)


def _regrets(agent: Agent, view: View) -> npt.NDArray[np.float64]:
    """What each action loses [n, A] by an agent's values, those that it gave up early as much as the worst; or else how
    much rarer than its most frequent action it is."""
    legal = view.action_mask != 0
    if hasattr(agent, "analyse"):
        values = np.where(legal, agent.analyse(view).value, np.nan)
        values = np.where(np.isnan(values), np.nanmin(values, axis=1, keepdims=True), values)
    else:
        try:
            values = agent.action_probabilities(view)
        except NoProbabilities:
            values = agent.action_frequencies(view)
    return np.where(legal, np.where(legal, values, -np.inf).max(1, keepdims=True) - values, 0.0)
