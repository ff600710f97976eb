"""Agents shown what no table shows, in a process of its own: `python -m tests.common.agent_fuzz GAME ...`.

Every call has to answer an action that is legal in the mask it was given, or to raise ValueError or TypeError in a
sentence, and what a table did show has to be answered. A line of JSON for each agent tells what became of its calls;
the last line of standard error names the call under way, for whoever finds the process dead or cut short.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import backalley
from backalley.agents.base.agent import DirectAgent
from backalley.agents.base.keys import keys_given
from backalley.agents.registry import agent, named
from backalley.agents.search.racing import RacingAgent
from backalley.envs.core.game.game import Game

ANSWERED, REFUSED = "answered", "refused"
REAL = "a table's own"
COMPILING = 600.0
"""Seconds for the first call of an agent."""


class Shown(NamedTuple):
    """What is shown to an agent."""

    kind: str
    observation: npt.NDArray[Any]
    mask: npt.NDArray[np.int8]


def shown_by_tables(
    game: Game, random: np.random.Generator, tables: int, steps: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Observations and masks of some tables, played by the fast bots and at random in turn."""
    batch = game.make_vec(tables, seed=int(random.integers(2**31)))
    by_chance = agent("random", game)
    players = [by_chance, *(agent(f"bot:{name}", game) for name, bot in game.bots.items() if bot.fast)]
    step, observations, masks = batch.reset(), [], []
    for number in range(steps):
        observations.append(step.observation.copy())
        masks.append(step.action_mask.copy())
        player = by_chance if number % 2 else players[number // 2 % len(players)]
        step = batch.step(player.act(step.observation, step.action_mask, key=number))  # type: ignore[call-arg, arg-type]
    return np.concatenate(observations), np.concatenate(masks)


def any_mask(game: Game, random: np.random.Generator) -> npt.NDArray[np.int8]:
    """A mask of any density, never empty."""
    mask = (random.random(game.num_actions) < random.random()).astype(np.int8)
    mask[random.integers(game.num_actions)] = 1
    return mask


def changed(game: Game, shown: npt.NDArray[Any], count: int, random: np.random.Generator) -> npt.NDArray[Any]:
    """An observation with `count` numbers drawn again within their bounds."""
    low, high = game.observation_bounds
    found = shown.copy()
    for place in random.integers(len(found), size=count):
        found[place] = random.integers(int(low[place]), int(high[place]) + 1)
    return found


def mixed(
    game: Game, shown: npt.NDArray[Any], other: npt.NDArray[Any], random: np.random.Generator
) -> npt.NDArray[Any]:
    """An observation with one to three whole fields of another one."""
    places = list(game.observation_fields.values())
    found = shown.copy()
    for place in random.choice(len(places), size=int(random.integers(1, 4))):
        part = slice(places[place].start, places[place].stop)
        found[part] = other[part]
    return found


def inputs(game: Game, seed: int, rounds: int, tables: int = 64) -> Iterator[Shown]:
    """What agents are shown, in each round something of every kind; first what a table shows."""
    random = np.random.default_rng(seed)
    low, high = game.observation_bounds
    base, ones = game.observation_base, np.ones(game.num_actions, np.int8)
    zeros = np.clip(np.zeros(len(low), base), low, high)
    observations, masks = shown_by_tables(game, random, tables, steps=min(400, 40 + rounds // 4))
    yield Shown(REAL, observations[0], masks[0])
    for kind, extreme in (("all 0", zeros), ("all low", low), ("all high", high)):
        yield Shown(f"{kind}, mask of ones", extreme, ones)
        yield Shown(f"{kind}, any mask", extreme, any_mask(game, random))
    for _ in range(rounds):
        some, other = random.integers(len(observations), size=2)
        shown, mask, others = observations[some], masks[some], observations[other]
        drawn = random.integers(low.astype(np.int64), high.astype(np.int64) + 1).astype(base)
        sparse = np.where(random.random(len(low)) < random.random() ** 3, drawn, zeros)
        yield Shown(REAL, shown, mask)
        yield Shown("drawn, any mask", drawn, any_mask(game, random))
        yield Shown("drawn, a table's mask", drawn, mask)
        yield Shown("sparse, any mask", sparse, any_mask(game, random))
        for count in (1, 2, 3):
            yield Shown(f"{count} changed", changed(game, shown, count, random), mask)
        yield Shown("1 changed, any mask", changed(game, shown, 1, random), any_mask(game, random))
        yield Shown("another table's mask", shown, masks[other])
        yield Shown("any mask", shown, any_mask(game, random))
        yield Shown("mask of ones", shown, ones)
        narrow = mask * any_mask(game, random)
        yield Shown("part of its mask", shown, narrow if narrow.any() else mask)
        yield Shown("fields of another", mixed(game, shown, others, random), mask)
        yield Shown("fields of another, and its mask", mixed(game, shown, others, random), masks[other])


def became(player: Any, shown: Shown, key: int) -> str:
    """What became of one call: ANSWERED, REFUSED, or what is wrong with it."""
    try:
        action = player.act(shown.observation, shown.mask, key=key)
    except (ValueError, TypeError) as error:
        said = str(error)
        if not isinstance(error, backalley.BackAlleyError) or not said.endswith(".") or " " not in said:
            return f"raised {type(error).__name__} and no sentence: {said}"
        return REFUSED if shown.kind != REAL else f"refused what a table showed: {said}"
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    if shown.kind == REAL and isinstance(player, DirectAgent):
        rows = shown.observation[None], shown.mask[None], keys_given(key, 1)
        trusting = int(player.choose(*rows)[0])
        if trusting != action:
            return f"answered {action}, and {trusting} at the table"
    if not isinstance(action, int) or not 0 <= action < len(shown.mask) or not shown.mask[action]:
        return f"answered {action!r}, which is not legal"
    return ANSWERED


def main() -> None:
    """Exit status 1 where any call did neither."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="+")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agents", default="", help="names, comma-separated; all by default")
    parser.add_argument("--longest", type=float, default=30.0, help="seconds after which a call is taken to hang")
    given = parser.parse_args()
    wrong = sum(fuzz(backalley.game(name), given) for name in given.games)
    sys.exit(int(wrong > 0))


def fuzz(game: Game, given: argparse.Namespace) -> int:
    """Call every agent, and tell what became of it; gives how many calls did what none may."""
    # One level stands for all: each draws between agents that are called by themselves.
    twice = ("policy:", *(f"level:{level}" for level in range(1, 11) if level != 5))
    plain = [name for name in named(game) if name not in ("human", "bot") and not name.startswith(twice)]
    names = given.agents.split(",") if given.agents else plain
    cases, failed = list(inputs(game, given.seed, given.rounds)), 0
    for name in names:
        player: Any = agent(name, game)
        if isinstance(player, RacingAgent):  # a search, as which a level may play, asks for a table
            continue
        counts: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        slowest = 0.0
        for number, shown in enumerate(cases):
            print(f"{name} of {game!r}, seed {given.seed}, call {number}: {shown.kind}", file=sys.stderr)
            faulthandler.dump_traceback_later(given.longest if number else COMPILING, exit=True)
            begun = time.process_time()
            found = became(player, shown, number)
            slowest = max(slowest, time.process_time() - begun if number else 0.0)
            faulthandler.cancel_dump_traceback_later()
            counts[found if found in (ANSWERED, REFUSED) else "wrong"] += 1
            if found not in (ANSWERED, REFUSED):
                wrong[f"{shown.kind}: {found}"] += 1
        failed += wrong.total()
        row = {"game": game.name, "agent": name, "slowest": round(slowest, 4), **counts, "first": wrong.most_common(5)}
        print(json.dumps(row), flush=True)
    return failed


if __name__ == "__main__":
    main()
