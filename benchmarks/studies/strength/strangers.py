"""The panel of strangers: simple players of other ideas than the bots', which no training meets.

A stranger scores the actions of each table and plays the legal one of the highest score, the first of equal ones.
Nothing that trains can import this file: studies are above training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, DirectAgent
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.game import Game

Scores = npt.NDArray[np.float64]
Score = Callable[[Game, Any], Scores]
"""Scores of all actions [n, A] by records [n] of observations."""
BEGINNER_ERRS = 0.3
PROBER = "search+random:4"
TRUMP = 20  # above every rank of a plain suit


class Stranger(DirectAgent):
    """Plays the legal action of the highest score."""

    is_deterministic = True

    def __init__(self, game: Game, name: str, score: Score) -> None:
        self.game, self.name, self.score = game, name, score

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return the best-scored legal action of each row."""
        assert self.game is not None
        scores = self.score(self.game, self.game.records(observation))
        best: npt.NDArray[np.int64] = np.where(action_mask == 1, scores, -np.inf).argmax(1)
        return best


class Beginner(DirectAgent):
    """Plays as the game's best bot does, but for three in ten decisions, which are random."""

    def __init__(self, game: Game) -> None:
        self.game, self.name = game, "beginner"
        self.knows, self.guesses = BotAgent(game), RandomAgent()

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return the bot's action, or a random one, for each row."""
        share = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)) * 2.0**-53
        known, guessed = (each.choose(observation, action_mask, key) for each in (self.knows, self.guesses))
        chosen: npt.NDArray[np.int64] = np.where(share < BEGINNER_ERRS, guessed, known)
        return chosen


def first(game: Game, seen: Any) -> Scores:
    """The legal action of the lowest number."""
    return np.tile(-np.arange(game.num_actions, dtype=float), (len(seen), 1))


def last(game: Game, seen: Any) -> Scores:
    """The legal action of the highest number."""
    return -first(game, seen)


# Trick games with cards as suit * 13 + rank, then jokers -------------------------------------------------------------


def _strength(seen: Any) -> Scores:
    """How high each card is, with trumps and jokers above all plain cards [n, cards]."""
    cards = np.arange(seen["hand"].shape[1])
    trump = (seen["trump"][:, :, None] == 1) & (cards // 13 == np.arange(5)[:, None])
    return cards % 13 + np.where(cards >= 52, 2 * TRUMP, TRUMP * trump[:, :4].any(1))


def _beating(seen: Any, strength: Scores) -> npt.NDArray[np.bool_]:
    """Which cards would win the trick as it is; all of them where nothing is led [n, cards]."""
    suit = np.arange(strength.shape[1]) // 13
    led = (seen["trick"] * seen["leader"][:, :, None]).any(1)
    follows = (led[:, :, None] & (suit[:, None] == suit)).any(1) | (strength >= TRUMP)
    best = np.where(seen["trick"].any(1) & follows, strength, -1).max(1, keepdims=True)
    beats: npt.NDArray[np.bool_] = (strength > best) & (follows | ~led.any(1, keepdims=True))
    return beats


def _cards(game: Game, at: int, values: Scores) -> Scores:
    """Scores of all actions, from those of the cards, of which the first is action `at`."""
    scores = np.zeros((len(values), game.num_actions))
    scores[:, at : at + values.shape[1]] = values[:, : game.num_actions - at]
    return scores


def _cheaply(seen: Any) -> Scores:
    """The lowest card that wins the trick, or else the lowest."""
    strength = _strength(seen)
    return np.where(_beating(seen, strength), 100 - strength, -strength)


def _pitch(values: Scores, game: Game, bids: Scores) -> Scores:
    scores = _cards(game, 5, values[:, :53])
    scores[:, :5] = bids
    return scores


def passer(game: Game, seen: Any) -> Scores:
    """Never bids unless forced, and plays the lowest card."""
    return _pitch(-_strength(seen), game, np.array([9, 4, 3, 2, 1]))


def bidder_of_three(game: Game, seen: Any) -> Scores:
    """Bids three on every hand, and plays the highest card."""
    return _pitch(_strength(seen), game, np.array([5, 4, 9, 1, 0]))


def counter_of_points(game: Game, seen: Any) -> Scores:
    """Bids the points that its longest-counting suit should bring: High with the ace or king, Low with the two, Jack
    with the jack of three, Game with two cards of ten or more; pitches that suit, and wins cheaply."""
    suits = seen["hand"][:, :52].reshape(-1, 4, 13)
    points = (suits[:, :, 11:].any(2)).astype(float) + suits[:, :, 0] + (suits[:, :, 9] * (suits.sum(2) > 2))
    points += suits[:, :, 8:].sum(2) > 1
    best = (points + suits.sum(2) / 10).argmax(1)
    bid = points.max(1).astype(int)
    bids = np.where(np.arange(5) == np.where(bid < 2, 0, bid - 1)[:, None], 9.0, np.array([5, 4, 3, 2, 1]))
    unknown = seen["trump"][:, 4:] == 1
    pitched = (np.arange(53) // 13 == best[:, None]) * 50 + np.arange(53) % 13
    scores = _pitch(np.where(unknown, pitched, _cheaply(seen)), game, bids)
    scores[:, 58:62] = np.arange(4) == best[:, None]
    return scores


# Killer Bridge: actions 0-54 bid so many tricks, 57 on play cards ----------------------------------------------------


def _tricks(game: Game, seen: Any, wanted: Scores, cards: Scores) -> Scores:
    scores = _cards(game, 57, cards)
    scores[:, :57] = np.where(np.arange(57) < 55, -np.abs(np.arange(57) - wanted[:, None]), -99)
    return scores


def _to_make(seen: Any) -> Scores:
    """The highest card while tricks are wanting, then the highest that loses."""
    strength = _strength(seen)
    wants = (seen["won"][:, 0] < seen["bid_value"][:, 0])[:, None]
    return np.where(wants, strength, np.where(_beating(seen, strength), -strength - 1, strength))


def bidder_of_none(game: Game, seen: Any) -> Scores:
    """Bids no trick, and plays the highest card that loses."""
    strength = _strength(seen)
    losing = np.where(_beating(seen, strength), -strength - 1, strength)
    return _tricks(game, seen, np.zeros(len(seen)), losing)


def even_sharer(game: Game, seen: Any) -> Scores:
    """Bids an equal share of the tricks, whatever it holds, and plays the highest card until it has them."""
    return _tricks(game, seen, np.round(seen["hand_size"] / game.num_seats), _to_make(seen))


def counter_of_honours(game: Game, seen: Any) -> Scores:
    """Bids one trick for each ace, joker and trump above the nine, and plays to make them."""
    sure = (_strength(seen) % TRUMP == 12) | (_strength(seen) >= TRUMP + 8)
    return _tricks(game, seen, (seen["hand"] * sure).sum(1).astype(float), _to_make(seen))


# Bezique: cards are type * 2 + copy, types suit * 8 + rank; declarations from action 64 -------------------------------

DECLARED = np.array([10, 20, 20, 20, 20, 40, 500, 40, 60, 80, 100, 250, 250, 250, 250, 0, 10], float)
"""Points of the declarations from action 64 on."""


def _bezique(game: Game, seen: Any, cards: Scores) -> Scores:
    scores = np.tile(np.concatenate([np.zeros(64), 1000 + DECLARED]), (len(seen), 1))
    scores[:, :64] = np.repeat(cards, 2, axis=1)
    return scores


def _types(seen: Any) -> tuple[Scores, npt.NDArray[np.bool_]]:
    """How high each type of card is, and whether it would win the trick [n, 32]; no card wins where none is led."""
    suit, led = np.arange(32) // 8, seen["led"]
    strength = np.arange(32) % 8 + TRUMP * seen["trump"][:, suit].astype(float)
    follows = (led[:, :, None] * (suit[:, None] == suit)).any(1) | (strength >= TRUMP)
    return strength, follows & (strength > (led * strength).max(1, keepdims=True)) & led.any(1, keepdims=True)


def hints_of_1875(game: Game, seen: Any) -> Scores:
    """The hints to players of the Encyclopaedia Britannica, ninth edition, volume 3 (1875), page 625: do not win a
    trick but with, or for, an ace or ten; sevens to nines of plain suits go first, trumps are kept."""
    strength, wins = _types(seen)
    brisque = np.arange(32) % 8 >= 6
    worth = wins & (brisque | (seen["led"] * brisque).any(1)[:, None]) & (strength < TRUMP)
    return _bezique(game, seen, np.where(worth, 100 + strength, -strength - 50 * wins))


def winner_of_tricks(game: Game, seen: Any) -> Scores:
    """Wins every trick that it can, as cheaply as it can, and leads its highest card."""
    strength, wins = _types(seen)
    leads = ~seen["led"].any(1)[:, None]
    return _bezique(game, seen, np.where(leads, strength, np.where(wins, 100 - strength, -strength)))


# Poker Duel: actions 0-51 discard, 52 is to stand, 53-55 assign the next card ----------------------------------------


def _duel(assigned: Scores, discarded: Scores | float = 0.0) -> Scores:
    scores = np.zeros((len(assigned), 56))
    scores[:, :52], scores[:, 52], scores[:, 53:] = discarded, 0.5, assigned
    return scores


def _alike(seen: Any, by: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Scores:
    """How many cards of each slot are like the next one [n, 3]."""
    cards = np.arange(52)
    like = (seen["next_card"][:, :, None] * (by(cards)[:, None] == by(cards))).any(1)
    found: Scores = (seen["slots"] * like[:, None]).sum(2).astype(float)
    return found


def matcher_of_ranks(game: Game, seen: Any) -> Scores:
    """Puts cards to their like, the last slot first; exchanges its lowest card where a slot has no pair."""
    nothing = (seen["category"] * seen["current_slot"]).sum(1, keepdims=True) == 0
    return _duel(_alike(seen, lambda card: card % 13) + np.arange(3) / 10, nothing * (20.0 - np.arange(52) % 13))


def matcher_of_suits(game: Game, seen: Any) -> Scores:
    """Puts suits together, and exchanges nothing."""
    return _duel(_alike(seen, lambda card: card // 13) + np.arange(3) / 10)


def high_cards_last(game: Game, seen: Any) -> Scores:
    """Puts tens and higher into the last slot, which counts most, and low cards into the first;
    exchanges nothing."""
    rank = (seen["next_card"] * (np.arange(52) % 13)).sum(1, keepdims=True)
    return _duel(np.where(rank >= 8, np.arange(3), -np.arange(3)).astype(float))


OWN: dict[str, list[Score]] = {
    "pitch": [passer, bidder_of_three, counter_of_points],
    "killer_bridge": [bidder_of_none, even_sharer, counter_of_honours],
    "bezique": [hints_of_1875, winner_of_tricks],
    "poker_duel": [matcher_of_ranks, matcher_of_suits, high_cards_last],
}
"""The strangers of some games; the others have those of every game alone."""


def strangers(game: Game, *, num_threads: int = 1) -> list[Agent]:
    """Return the panel of a game: players of its own, the first and the last legal action, a beginner, and a search of
    a few determinizations with random rollouts."""
    made: list[Agent] = [
        Stranger(game, score.__name__.replace("_", " "), score) for score in [*OWN.get(game.name, []), first, last]
    ]
    return [*made, Beginner(game), agent_of(PROBER, game, num_threads=num_threads)]
