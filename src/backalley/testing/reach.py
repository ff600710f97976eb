"""What the checks of a game met, counted: a rule that nobody reaches is a rule that nobody checked."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from backalley.benchmarks.rules_to_code.scripts import vector_cases
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import COMPILED
from backalley.envs.core.rules.events import OWN
from backalley.envs.core.text import paragraphs

from .play import random_actions

_TABLES, _STEPS = (256, 400) if COMPILED else (8, 100)
_NAMED = 12
"""Names that a list of what was not reached has at most."""


def check_reach(game: Game, *, seed: int = 0) -> str:
    """Return what random play of many tables and the game's vectors reached, of how many: actions that were legal,
    fields of State and Observation that changed, own kinds of events that somebody was shown, options at other values
    than their defaults, and numbered rules of the page that a vector names. Nothing here fails."""
    declared = game.type.events
    batch = BatchEnv(game, _TABLES, seed=seed, events=declared is not None)
    random, step = np.random.default_rng(seed), batch.reset()
    records = {"State": batch.arrays.state, "Observation": game.records(step.observation)}
    first = {what: array[:1].copy() for what, array in records.items()}
    changed = {what: set[str]() for what in records}
    legal, kinds = np.zeros(game.num_actions, np.bool_), set[int]()
    for _ in range(_STEPS):
        legal |= step.action_mask.any(0)
        for what, array in records.items():
            left = set(array.dtype.names or ()) - changed[what]
            changed[what] |= {name for name in left if (array[name] != first[what][name]).any()}
        if declared is not None and len(kinds) < len(declared.kinds):
            for seat in range(game.num_seats):
                shown = batch.events(np.full(_TABLES, seat)).events[..., 0]
                kinds |= {int(kind) for kind in np.unique(shown) if kind >= OWN}
        step = batch.step(random_actions(step.action_mask, random))
        if step.reward.any():  # a state shows it until the next action alone, or the next episode
            changed["State"].add("reward")
    batch.close()
    actions = range(game.num_actions)
    said = [_counted("actions", map(game.action_str, actions), map(game.action_str, np.flatnonzero(legal).tolist()))]
    for what, array in records.items():
        said.append(_counted(f"fields of {what}", array.dtype.names or (), changed[what]))
    if declared is not None and declared.kinds:
        names = [kind.name for kind in declared.kinds]
        said.append(_counted("kinds of events", names, [names[kind - OWN] for kind in kinds]))
    cases = vector_cases(game)
    tried = {name for case in cases for name in game.type.bind(case.get("options", {})).changed_options}
    said.append(_counted("options", game.option_values, tried | game.changed_options.keys()))
    if (game.type.folder / "README.md").is_file():
        cited = {rule for case in cases for rule in re.findall(r"§\d+(?:\.\d+)*", case["rule"])}
        said.append(_counted("§", _rules(game), cited))
    return f"{'; '.join(said)}."


def _rules(game: Game) -> list[str]:
    """The numbered rules of a game's page: the paragraphs under the heading `Rules`, or that one."""
    known = paragraphs(game)
    roots = [number for number, text in known.items() if re.match(r"#+ +§\S+ +Rules", text)]
    under = [number for number in known if any(number.startswith(f"{root}.") for root in roots)]
    return [one for one in under if not any(other.startswith(f"{one}.") for other in under)] or roots


def _counted(what: str, known: Iterable[str], reached: Iterable[str]) -> str:
    names, met = list(known), set(reached)
    missing = [name for name in names if name not in met]
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    said = f" (not {', '.join(missing[:_NAMED])}{more})" if missing else ""
    return f"{len(names) - len(missing)} of {len(names)} {what}{said}"
