"""Samples of a game's options: other values of each option, and allowed mixtures of several."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import options as option_rules
from backalley.envs.core.rules.options import OptionError

_SOME = 20
"""How far above the least value a number is, where one number stands for several."""
_MOST_TRIES = 200
"""Mixtures drawn for values that are only allowed together with certain others."""


def alternatives(game: Game, name: str) -> list[Any]:
    """Return values of one option other than its default: every choice, both ends of a range, a step beside the
    default; for several numbers the reverse order, or rising numbers where the last is repeated, and one for all where
    one is enough."""
    declared: type = game.type.Options
    kind, note = option_rules.declared(declared)[name]
    default = declared._field_defaults[name]  # type: ignore[attr-defined]
    if typing.get_origin(kind) is tuple:
        least = int(note.low or 0)
        defaults = option_rules.as_dict(game.type.Options())
        several = (least, least + 2, least + 4) if note.last_goes_on else tuple(reversed(defaults[name]))
        found: list[Any] = [several]
        if note.may_be_short:
            found.append(int(min((note.low or 0) + _SOME, note.high or math.inf)))
    elif isinstance(kind, type) and issubclass(kind, IntEnum):
        found = [member.name.lower() for member in kind]
    elif kind is bool:
        found = [True, False]
    elif kind is int:
        low = note.low if note.low is not None else 0
        high = note.high if note.high is not None else low + 8
        found = sorted({int(low), int(min(low + 1, high)), min(default + 1, int(high)), int(min(high, default + 4))})
    else:
        found = [value for value in (note.low, note.high) if value is not None]
    return [value for value in found if value != default]


def allowed(game: Game, given: Mapping[str, Any]) -> bool:
    """Return whether the game allows these options together."""
    try:
        game.type.bind(given)
    except OptionError:
        return False
    return True


def without_refused(
    game: Game, chosen: Mapping[str, Any], random: np.random.Generator, fixed: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return options without those that the game refuses beside the others and `fixed` ones, dropped in random
    order."""
    left = dict(chosen)
    while not allowed(game, {**(fixed or {}), **left}):
        del left[list(left)[int(random.integers(len(left)))]]
    return left


def mixtures(game: Game, least: int, seed: int) -> list[dict[str, Any]]:
    """Return at least `least` sets of options drawn at random, about half of them changed in each; every alternative of
    every option is in one of them, if it is allowed in any.

    Equal seeds give equal sets. An option that the game refuses beside the others is dropped from a set, in random
    order.
    """
    random = np.random.default_rng([seed, *game.name.encode()])
    values = {name: alternatives(game, name) for name in game.option_values}
    missing = {(name, value) for name, others in values.items() for value in others}
    sets: list[dict[str, Any]] = []
    tries = 0
    while len(sets) < least or (missing and tries < _MOST_TRIES):
        tries += 1
        chosen: dict[str, Any] = {}
        for name, others in values.items():
            fresh = [value for value in others if (name, value) in missing] or others
            if fresh and random.random() < 0.5:
                chosen[name] = fresh[int(random.integers(len(fresh)))]
        chosen = without_refused(game, chosen, random)
        new = missing & set(chosen.items())
        if new or len(sets) < least:
            sets.append(chosen)
            missing -= new
    return sets
