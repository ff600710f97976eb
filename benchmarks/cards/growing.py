"""Find a strategy card: trees grown by what they lose at positions that come under best play, then under the card's
own, until the card's exact value is near enough to that of best play."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.card import CardAgent, Node, Section
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ..exact.agent_values import agent_values
from ..exact.best_play import BestPlay
from ..exact.exact import Solution
from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from ..figures.stats import NORMAL

MOST_LEAVES = 40
_MOST_RULES = 400
"""Rules of a tree before those after which all leaves play alike are left out."""
_ROUNDS, _ROUNDING = 4, 1e-9
Progress = Callable[[int, int], None]


class Size(NamedTuple):
    """A card of the curve of size against loss."""

    leaves: int
    """Lines that say what to play."""
    loss: float
    """How much less than best play it returns."""
    error: float
    """Its standard error is at most this; 0 where it is exact."""

    @property
    def upper(self) -> float:
        """The upper end of its 95 % interval, without what sums of rounded numbers add."""
        return self.loss + NORMAL * self.error - 1e-12


def _curve(files: Files) -> Iterator[Line]:
    """What cards lose, by size."""
    for found in files:
        for one in found["curve"]:
            yield {
                "game": title(found),
                "options": options(found),
                "leaves": str(one["leaves"]),
                "loss": f"{one['loss']:.6f}",
                "standard error at most": f"{one['error']:.1g}" if one["error"] else "",
            }


@dataclass(frozen=True)
class StrategyCard(OfGame, kind="card", heading="Strategy cards", tables={"card": _curve}):
    """The smallest card found that loses no more than was asked, and those below it."""

    best_return: float
    """Of best play, or of the agent."""
    deals: int
    loses: float
    least: float
    sections: list[Section]
    curve: list[Size]
    agent: str = ""
    """The agent whose play it was made of; "" for best play."""
    base: str = ""
    """The agent that plays where the card does not decide; "" where it has none."""

    @property
    def title(self) -> str:
        """What the card loses."""
        last = self.curve[-1]
        how = f" ± {NORMAL * last.error:.2g} (95 %)" if last.error else " exactly"
        of = f" of {self.agent}'s" if self.agent else " of best play's"
        return f"{super().title}: {last.leaves} leaves lose {last.loss:.6f}{how}{of} {self.best_return:+.6f}."


class Positions(NamedTuple):
    """Decisions with more than one legal action, one a row."""

    observation: npt.NDArray[Any]
    mask: npt.NDArray[np.int8]
    regret: npt.NDArray[np.float64]
    """[n, A] what each action loses; 0 where it is not legal."""


def strategy_card(
    game: Game,
    solution: Solution,
    *,
    loses: float = 0.001,
    deals: int = 5000,
    least: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> StrategyCard:
    """Find the smallest card that returns at most `loses` less than best play, in a game of one seat that
    `exact.solve` solves; `solution` is that.

    Trees grow by what they lose at the positions of `deals` deals, and every size has the value that `agent_values`
    finds with `least`. `progress(done, all)` counts deals. Raises Unsolvable, and ValueError where no card of at most
    MOST_LEAVES leaves is near enough.
    """
    if not loses >= 0:
        raise InvalidValue(f"loses is {loses}; it is how much less than best play the card may return: 0 or more.")
    best, found, card = BestPlay(game), list[Positions](), None
    for number in range(_ROUNDS):

        def tell(done: int, number: int = number) -> None:
            if progress is not None:
                progress(done + number * deals, _ROUNDS * deals)

        found.append(_met(best, card, deals, seed + number * deals, tell))
        cards = grown(game, joined(found), loses / 2 * deals * len(found))
        worths = agent_values(game, cards, solution, least=least)
        curve = [
            Size(one.size, worths.gap(worth), worth.error) for one, worth in zip(cards, worths.agents, strict=True)
        ]
        for place, (one, size) in enumerate(zip(cards, curve, strict=True)):
            if size.upper <= loses:
                return StrategyCard(
                    **of_game(game, __file__),
                    best_return=solution.best_return,
                    deals=deals * (number + 1),
                    loses=loses,
                    least=least,
                    sections=one.sections,
                    curve=curve[: place + 1],
                )
        card = cards[-1]
    raise no_card(game, loses, curve)


def no_card(game: Game, loses: float, curve: Sequence[Size]) -> InvalidValue:
    """Return the error for a game of which no card is near enough."""
    best = min(curve, key=lambda one: one.upper)
    known = f" ± {NORMAL * best.error:.2g}" if best.error else ""
    return InvalidValue(
        f"No card of {game.name} with at most {MOST_LEAVES} leaves loses at most {loses:g}: the best found loses "
        f"{best.loss:.6f}{known}. Allow more (loses), or give more deals."
    )


def joined(found: Sequence[Positions]) -> Positions:
    """Return several positions as one."""
    return Positions(*map(np.concatenate, zip(*found, strict=True)))


def _met(best: BestPlay, card: CardAgent | None, deals: int, seed: int, tell: Callable[[int], None]) -> Positions:
    """The decisions of some deals, played by a card, or by best play."""
    game, shown, masks, regrets = best.game, list[Any](), list[Any](), list[Any]()
    env = game.make()
    for deal in range(deals):
        env.reset(seed=seed + deal)
        while env.agents:
            now = env.observe(env.agent_selection)
            mask = now["action_mask"]
            action = int(mask.argmax())
            if mask.sum() > 1:
                values = best.values(env)
                shown.append(now["observation"].copy())
                masks.append(mask.copy())
                regrets.append(np.nan_to_num(np.nanmax(values) - values))
                action = int(np.nanargmax(values)) if card is None else int(card.act(now))
            env.step(action if mask.any() else None)
        tell(deal + 1)
    if not shown:
        raise InvalidValue(f"In {deals:,} deals of {game.name} there was nothing to decide; give more deals.")
    return Positions(np.array(shown), np.array(masks), np.array(regrets))


class _Split(NamedTuple):
    """A rule for a leaf: what it gains at once and, since some rules gain only with those after them, how much less the
    actions' losses vary on either side of it."""

    gain: float
    spread: float
    number: int
    least: float


class _Leaf(NamedTuple):
    """A leaf of a tree that grows, with its positions and its best rule."""

    section: int
    place: int
    rows: npt.NDArray[np.int64]
    split: _Split


def grown(game: Game, met: Positions, loses: float, base: tuple[str, Agent] | None = None) -> list[CardAgent]:
    """Return cards of growing size, from one leaf a section to the first that loses so little at all these positions or
    has MOST_LEAVES; `base` is that of `CardAgent`."""
    masks, which = np.unique(met.mask, axis=0, return_inverse=True)
    sections, leaves = list[Section](), list[_Leaf]()

    def leaf(section: int, place: int, rows: npt.NDArray[np.int64]) -> Node:
        legal = np.flatnonzero(masks[section])
        leaves.append(_Leaf(section, place, rows, _best_split(met, rows, legal)))
        return {"play": int(legal[met.regret[rows][:, legal].sum(0).argmin()])}

    for section, mask in enumerate(masks):
        rows = np.flatnonzero(which.reshape(-1) == section)
        sections.append({"legal": np.flatnonzero(mask).tolist(), "rules": [leaf(section, 0, rows)]})
    cards, lost = list[CardAgent](), np.inf
    for _ in range(_MOST_RULES):
        card = CardAgent(game, [{**one, "rules": _pruned(one["rules"])} for one in sections], base=base)
        if card.size > MOST_LEAVES:
            break
        if (now := _lost(card, met)) < lost:
            cards, lost = [*(one for one in cards if one.size < card.size), card], now
        chosen = max(range(len(leaves)), key=lambda one: leaves[one].split[:2])
        if lost <= loses or leaves[chosen].split.spread <= 0:
            break
        old = leaves.pop(chosen)
        _divide(sections[old.section]["rules"], old, met, leaf)
    return cards


def _pruned(rules: list[Node]) -> list[Node]:
    """The same tree without rules after which all leaves play alike."""
    found = list[Node]()

    def write(at: int) -> int:
        node, place = rules[at], len(found)
        found.append(dict(node))
        if "play" not in node:
            yes, no = write(node["yes"]), write(node["no"])
            if found[yes] == found[no]:
                found[place:] = [found[yes]]
            else:
                found[place] = {**node, "yes": yes, "no": no}
        return place

    write(0)
    return found


def _divide(rules: list[Node], old: _Leaf, met: Positions, leaf: Callable[..., Node]) -> None:
    """Put a leaf's best rule in its place, with two leaves after it."""
    yes = met.observation[old.rows, old.split.number] >= old.split.least
    first = len(rules)
    least = float(old.split.least)
    rules[old.place] = {"number": old.split.number, "least": least, "yes": first, "no": first + 1}
    for place, rows in ((first, old.rows[yes]), (first + 1, old.rows[~yes])):
        rules.append(leaf(old.section, place, rows))


def _lost(card: CardAgent, met: Positions) -> float:
    """What a card loses at all positions."""
    actions = card.choose(met.observation, met.mask, np.zeros(len(met.mask), np.uint64))
    return float(met.regret[np.arange(len(actions)), actions].sum())


def _best_split(met: Positions, rows: npt.NDArray[np.int64], legal: npt.NDArray[np.int64]) -> _Split:
    """The rule that makes a leaf lose least or, where none gains at once, parts its positions best."""
    shown, regret = met.observation[rows], met.regret[rows][:, legal]
    found, whole = _Split(0.0, 0.0, 0, 0.0), regret.sum(0)
    for number in range(shown.shape[1]):
        order = np.argsort(shown[:, number], kind="stable")
        values = shown[order, number]
        cuts = np.flatnonzero(values[1:] != values[:-1])
        if not len(cuts):
            continue
        below = regret[order].cumsum(0)[cuts]
        gains = whole.min() - below.min(1) - (whole - below).min(1)
        count = (cuts + 1)[:, None]
        means = below**2 / count + (whole - below) ** 2 / (len(rows) - count) - whole**2 / len(rows)
        spreads = means.sum(1)
        place = int((gains if gains.max() > _ROUNDING else spreads).argmax())
        gain = float(gains[place]) if gains[place] > _ROUNDING else 0.0
        if spreads[place] > _ROUNDING and (gain, spreads[place]) > found[:2]:
            found = _Split(gain, float(spreads[place]), number, float(values[cuts[place] + 1]))
    return found
