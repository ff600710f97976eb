"""The list of phases that a run goes through, as `run.phases` says it: which kinds there are, and how they share the
budget."""

from __future__ import annotations

import difflib
import importlib
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from backalley.envs.core.options import Written

if TYPE_CHECKING:
    from .phase import Phase

KINDS = {
    "playouts": "playouts:Playouts",
    "ppo": "trainer:Trainer",
    "plans": "plans:PlanLearner",
}
"""Every kind of phase by its name, with the module of this folder and the class in it. Modules are imported when a run
begins: settings are told of without torch."""
_MOST = 20
"""Phases in a run."""


def kind(name: str) -> type[Phase]:
    """The class of a kind of phase."""
    module, _, owner = KINDS[name].partition(":")
    found: type[Phase] = getattr(importlib.import_module(f".{module}", __package__), owner)
    return found


class Share(NamedTuple):
    """One phase of the list."""

    kind: str
    share: float | None
    """Its share of the budget; None takes an even part of what the others leave."""


@dataclass(frozen=True)
class Phases(Written):
    """The phases of a run, first to last."""

    listed: tuple[Share, ...]
    takes: ClassVar[str] = f"names, some with their share of the budget (a,b:0.3), out of {', '.join(KINDS)}"

    @classmethod
    def read(cls, given: Any) -> Self:
        """From `ppo,ppo:0.3` or `["ppo", {"ppo": 0.3}]`. Raises ValueError in a sentence."""
        items = given.strip("[] ").split(",") if isinstance(given, str) else given
        if not isinstance(items, list | tuple):
            raise ValueError("it must be a list of phases, such as [ppo].")
        if not 1 <= len(items) <= _MOST or items == [""]:
            raise ValueError(f"a run has 1 to {_MOST} phases.")
        phases = cls(tuple(_share(item) for item in items))
        stated = math.fsum(item.share for item in phases.listed if item.share is not None)
        plain = sum(item.share is None for item in phases.listed)
        if plain and stated > 1 - 1e-9:
            raise ValueError(f"the shares make {stated:g}, which leaves nothing for a phase without one.")
        if not plain and abs(stated - 1) > 1e-9:
            raise ValueError(f"the shares make {stated:g}, and must make 1; or leave one out, and it takes the rest.")
        return phases

    def written(self) -> list[Any]:
        """A list of names, and of mappings from a name to its share."""
        return [name if share is None else {name: share} for name, share in self.listed]

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def names(self) -> list[str]:
        """The kind of each phase."""
        return [item.kind for item in self.listed]

    @property
    def ends(self) -> list[float]:
        """The share of the budget that is spent when each phase ends; that of the last is 1."""
        stated = math.fsum(item.share for item in self.listed if item.share is not None)
        even = (1 - stated) / max(sum(item.share is None for item in self.listed), 1)
        shares = [even if item.share is None else item.share for item in self.listed]
        return [math.fsum(shares[: number + 1]) for number in range(len(shares) - 1)] + [1.0]


def _share(item: Any) -> Share:
    """One phase from `ppo`, `ppo:0.3` or `{"ppo": 0.3}`. Raises ValueError."""
    name, share = item, None
    if isinstance(item, str) and ":" in item:
        name, _, share = item.partition(":")
    elif isinstance(item, Mapping) and len(item) == 1:
        ((name, share),) = item.items()
    name = name.strip() if isinstance(name, str) else name
    if not isinstance(name, str) or name not in KINDS:
        near = difflib.get_close_matches(str(name), KINDS, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"{name!r} is no kind of phase; there are: {', '.join(KINDS)}.{meant}")
    return Share(name, None if share is None else _number(name, share))


def _number(name: str, given: Any) -> float:
    try:
        share = float(given) if isinstance(given, str | numbers.Real) and not isinstance(given, bool) else math.nan
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise ValueError(f"the share of {name} is {given!r}; it must be greater than 0, and 1 at most.")
    return share
