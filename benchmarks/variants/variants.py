"""Variants by seed: for those who test how well a player, a program or a language model does in games that it cannot
have seen.

    variant = backalley.variants("pitch", 17)[0]
    variant.game, variant.rules, variant.vectors, variant.value(), variant.players()
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue
from backalley.envs.core.game import arguments
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import paragraphs

from ..figures import results
from ..figures.formatting import Line
from ..figures.result_kinds import Files, Kept
from ..rules_to_code.scripts import vector_cases
from .oracle import MOST_SETS, Value, oracle, value_of
from .renamed import Renamed, renamed

FIRST_HELD_OUT = 1_000_000
"""Seeds from here on are for tests alone: leave them out of training, and of prompts."""
HELD_OUT = Path(__file__).with_name("held_out.json")
_TABLES, _STEPS, _DIGITS = 4, 60, 16


@dataclass(frozen=True)
class Variant:
    """A game under drawn options and other words."""

    type: Renamed

    @functools.cached_property
    def game(self) -> Game:
        """The game, for everything that takes one."""
        return self.type.bind()

    @property
    def rules(self) -> dict[str, str]:
        """The rules in the variant's words, by paragraph (`§1.3`), as `paragraphs` has a page's. What its options
        settle is said by their names, in `game.changed_options` and in every observation in words."""
        return paragraphs(self.game)

    @property
    def vectors(self) -> list[dict[str, Any]]:
        """The rule vectors in the variant's words, each with all of its options."""
        return vector_cases(self.game)

    def value(self, most: int = MOST_SETS) -> Value:
        """Return what seat 0 gains, as `value_of` does."""
        return value_of(self.game, most)

    def players(self, most: int = MOST_SETS) -> dict[str, Agent]:
        """Return agents for it: the `oracle`, and a `random` one."""
        return {"oracle": oracle(self.game, most), "random": agent("random", self.game)}

    @functools.cached_property
    def play_digest(self) -> str:
        """A digest of what random play shows: the same for the game of this package under the same options."""
        return play_digest(self.game)

    @functools.cached_property
    def digest(self) -> str:
        """A digest of the options, the words, and the play."""
        about = [self.type.base.id, self.game.option_values, self.type.naming.words, self.play_digest]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def play_digest(game: Game) -> str:
    """Return a digest of observations, masks, seats and rewards of random play from a fixed seed."""
    tables, random, found = game.make_vec(_TABLES, seed=0), np.random.default_rng(0), hashlib.sha256()
    step = tables.reset()
    for _ in range(_STEPS):
        for shown in (step.observation, step.action_mask, step.seat, step.reward):
            found.update(np.ascontiguousarray(shown).tobytes())
        step = tables.step(np.array([random.choice(np.flatnonzero(mask)) for mask in step.action_mask]))
    return found.hexdigest()[:_DIGITS]


def variants(game: str, seed: int, count: int = 1) -> list[Variant]:
    """Return the variants of a game of this package with the seeds from `seed` on. Raises ValueError for another game,
    a negative seed and a count below 1."""
    first = arguments.count(seed, "seed", 0)
    return [Variant(renamed(game, first + number)) for number in range(arguments.count(count, "count", 1))]


def held_out(game: str) -> list[Variant]:
    """Return the held-out variants of a game. Raises ValueError where one is not what its published digest says: rules
    or words have changed since, and results are not to be compared."""
    kept: dict[str, str] = json.loads(HELD_OUT.read_text("utf-8")).get(game, {})
    found = [variants(game, int(seed))[0] for seed in kept]
    for variant, digest in zip(found, kept.values(), strict=True):
        if variant.digest != digest:
            raise InvalidValue(
                f"The held-out variant {variant.type.seed} of {game} has the digest {variant.digest}, and {digest} was "
                "published: this version has other rules or words. Compare results of one version only."
            )
    return found


def _lines(files: Files) -> Iterator[Line]:
    for found in files:
        for one in found["variants"]:
            value = one.get("value")
            yield {
                "game": one["title"],
                "of": one["game"],
                "seed": str(one["seed"]),
                "options": ", ".join(f"{name}={given}" for name, given in one["options"].items()),
                "digest": f"`{one['digest']}`",
                "seat 0 gains": f"{value['low']:+.6f} to {value['high']:+.6f}" if value else "",
                "by": value["by"] if value else "",
                "seconds": f"{value['processor_seconds']:.1f}" if value else "",
            }


class Variants(Kept, kind="variants", heading="Variants", tables={"variants": _lines}):
    """Variants of a game, with their values where they were asked for."""

    in_title = frozenset({"of"})

    @property
    def title(self) -> str:
        """How many there are, of what, and how many were solved."""
        every = self.found["variants"]
        values = [one["value"] for one in every if "value" in one]
        solved = sum(value["by"] != "floor" for value in values)
        solved_of = f", {solved} of {len(values)} solved" if values else ""
        spent = sum(value["processor_seconds"] for value in values)
        return f"{len(every)} variants{solved_of}" + (
            f", {spent / len(values):.2f} processor seconds each" if values else ""
        )

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what a floor is."""
        floor = any(one.get("value", {}).get("by") == "floor" for found in files for one in found["variants"])
        return ["A floor is what the best bot gains against random players, with its 95 % interval."] if floor else []


def list_variants(
    chosen: list[Variant],
    *,
    solve: bool = False,
    most: int = MOST_SETS,
    progress: Callable[[int, int], None] | None = None,
    command: str = "",
) -> Variants:
    """Return variants as a result; with `solve` with their values."""
    rows = []
    for number, variant in enumerate(chosen, 1):
        about = {"game": variant.type.base.name, "seed": variant.type.seed, "title": variant.game.title}
        about |= {"spec": variant.type.spec, "options": variant.game.changed_options, "digest": variant.digest}
        rows.append({**about, **({"value": variant.value(most)._asdict()} if solve else {})})
        if progress is not None:
            progress(number, len(chosen))
    games = [one.type.base.bind() for one in chosen[:1]]
    return Variants({"kind": Variants.kind, "command": command, "variants": rows, **results.stamp(__file__, *games)})
