"""A game under drawn options and other words, as a game like any other: the same kernels and so the same play, byte for
byte. Any process finds it by its import path, `backalley.benchmarks.variants.renamed:pitch_17`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from backalley.console.errors import InvalidValue
from backalley.envs.core.game import arguments
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import own_games
from backalley.envs.core.game.game import Game, GameType

from ..speed.option_sets import alternatives, without_refused
from .naming import ORDINARY, Naming

_CUT_DOWN = ("tiny", "small")
"""Presets that make a game small enough to be solved."""
_NAMED = re.compile(r"([a-z_]+)_(\d+)")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Renamed(GameType[Any]):
    """The type of a variant. Its options begin with those that were drawn, and all that it says is in other words."""

    base: GameType[Any]
    seed: int
    drawn: Mapping[str, Any]
    naming: Naming

    @property
    def spec(self) -> str:
        """The import path that finds it in any process."""
        return f"{__name__}:{self.base.name}_{self.seed}"

    def bind(self, given: Mapping[str, Any] | None = None, /, **options: Any) -> Game[Any]:
        """Return the variant; options that are given take the place of drawn ones. Raises OptionError."""
        return super().bind({**self.drawn, **self.without_preset({**(given or {}), **options})})

    def reworded(self, text: str) -> str:
        """Return a text in the variant's words; of a page's introduction, which names sources, the heading alone."""
        return self.naming.reworded(text.partition("\n")[0] if text.startswith("# ") else text)

    def reworded_case(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rule vector in the variant's words, with all options that it is played under."""
        kept = {"rule": case["rule"], "options": self.base.bind(case.get("options", {})).option_values}
        kept |= {"call": case["call"]} if "call" in case else {}
        return {**self.naming.everywhere(dict(case)), **kept}

    def __reduce__(self) -> tuple[Any, ...]:
        return renamed, (self.base.name, self.seed)


@functools.lru_cache(maxsize=4096)
def renamed(name: str, seed: int) -> Renamed:
    """Return the type of the variant of a game of this package that a seed draws. Raises ValueError."""
    if name not in own_games():
        raise InvalidValue(f"There are variants of {', '.join(own_games())}; {str(name)[:60]!r} is none of these.")
    seed = arguments.count(seed, "seed", 0)
    base = game_of(name)
    naming = Naming(_words_of(base), f"{name} {seed}")

    def card_number(given: str) -> int:
        return base.type.card_number(naming.original(given))

    shown = base.type.action_told
    parts = {one.name: getattr(base.type, one.name) for one in fields(GameType)}
    title = naming.reworded(" ".join(word for word in base.title.split() if word.lower() not in ORDINARY))
    return Renamed(
        **{
            **parts,
            "name": f"{re.sub(r'[^a-z]+', '_', title.lower())}_{seed}",
            "title": title,
            "action_str": lambda options, action: naming.reworded(base.type.action_str(options, action)),
            "action_told": None if shown is None else lambda options, action: naming.reworded(shown(options, action)),
            "card_name": lambda card: naming.reworded(base.type.card_name(card)),
            "card_number": card_number,
            "table": lambda options, state, seat: naming.everywhere(base.type.table(options, state, seat)),
            "seat_names": tuple(map(naming.reworded, base.type.seat_names)),
        },
        base=base.type,
        seed=seed,
        drawn=_options(base, seed),
        naming=naming,
    )


def _words_of(base: Game) -> set[str]:
    """The words of a game's title and actions."""
    texts = [base.title, *map(base.action_str, range(base.num_actions))]
    return {word for text in texts for word in re.findall(r"(?<![\w-])[a-z]+(?![\w-])", text.lower())}


def _options(base: Game, seed: int) -> dict[str, Any]:
    """Options that the game allows together: a cut-down preset where there is one, and about half of the others
    changed, one at least; sets that the game refuses are drawn again without what it refuses."""
    random = np.random.default_rng([seed, *base.name.encode()])
    presets = [base.type.presets[name].options for name in _CUT_DOWN if name in base.type.presets]
    fixed = dict(presets[int(random.integers(len(presets)))]) if presets else {}
    values = {name: alternatives(base, name) for name in base.option_values if name not in fixed}
    chosen: dict[str, Any] = {}
    while not chosen:
        half = {name: others for name, others in values.items() if others and random.random() < 0.5}
        drawn = {name: others[int(random.integers(len(others)))] for name, others in half.items()}
        chosen = without_refused(base, drawn, random, fixed)
    return {**fixed, **chosen}


def __getattr__(name: str) -> Renamed:
    """The variant of that name, such as `pitch_17`, for the import path in `Renamed.spec`."""
    found = _NAMED.fullmatch(name)
    if found is None or found[1] not in own_games():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return renamed(found[1], int(found[2]))
