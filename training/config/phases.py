"""The kinds of phases that a run can have, the list of them in `run.phases` with their shares of the budget, the budget
itself (seconds of training, processor time, or decisions on the tables), and the settings that name agents."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from backalley.console.errors import InvalidType, InvalidValue, did_you_mean
from backalley.envs.core.game.arguments import whole
from backalley.envs.core.rules.options import Written, declared

_OURS = "backalley.training."
_TAKEN = ("network", "league", "run", "options")
"""Sections of settings that belong to all kinds."""
_MOST = 20
"""Phases in a run."""


class PhaseKind(NamedTuple):
    """A kind of phase: a learning algorithm and its settings. A user's module declares it as `PHASE`."""

    name: str
    """Its name in `run.phases`, which is also the name of its section of settings."""
    settings: type
    """A NamedTuple: each field is `Annotated[type, option("what it is")]` with a default. Settings files may override
    the default."""
    phase: type[Any] | str
    """Its class, a `Phase`; or the import path of it, `module:Class`, which is imported when a run begins: so its
    settings can be shown without torch."""
    like: str = ""
    """The kind whose values its section takes where it gives none of its own; both have the same settings."""

    @property
    def module(self) -> str:
        """The import path of the module of its class, which declares it."""
        return self.phase.partition(":")[0] if isinstance(self.phase, str) else self.phase.__module__

    @property
    def ours(self) -> bool:
        """Whether it is part of this package."""
        return self.module.startswith(_OURS)

    @property
    def defaults(self) -> dict[str, Any]:
        """The settings that have a default in the class."""
        return dict(getattr(self.settings, "_field_defaults", {}))


KINDS: dict[str, PhaseKind] = {}
"""Every kind of phase that is registered, by its name."""


def register_phase(kind: PhaseKind | str) -> PhaseKind:
    """Let runs name a kind of phase in `run.phases`, and its settings by `NAME.SETTING`; return it.

    `kind` is a PhaseKind, or the import path of the module that declares it as `PHASE`. A module that is imported again
    replaces its earlier declaration. A run records the module, so that it can be resumed in another process. Raises
    ValueError or TypeError.
    """
    found = _imported(kind) if isinstance(kind, str) else kind
    if not isinstance(found, PhaseKind):
        raise InvalidType(
            f"A phase is registered by its PhaseKind or the import path of its module; {kind!r} was given."
        )
    if not found.name.isidentifier() or found.name in _TAKEN:
        raise InvalidValue(
            f"A kind of phase has the name {found.name!r}; it takes a word of letters, digits and _ that no section of "
            f"settings has ({', '.join(_TAKEN)})."
        )
    known = KINDS.get(found.name, found)
    if known.module != found.module:
        raise InvalidValue(f"There is a kind of phase named {found.name!r} already, of {known.module}; choose another.")
    if not (isinstance(found.settings, type) and hasattr(found.settings, "_fields")):
        raise InvalidType(f"The settings of {found.name} are {found.settings!r}; they have to be a NamedTuple class.")
    declared(found.settings)  # raises TypeError for a field without option(...)
    KINDS[found.name] = found
    Phases.takes = f"names, some with their share of the budget (a,b:0.3), out of {', '.join(KINDS)}"
    return found


def modules_of(names: Collection[str]) -> list[str]:
    """Return the modules that declare the kinds of phases of these names, without those of this package."""
    return [kind.module for kind in KINDS.values() if kind.name in names and not kind.ours]


def register_missing(modules: Sequence[str]) -> None:
    """Register the kinds of phases that these modules declare, except those already registered. Raises ValueError or
    TypeError."""
    for module in modules:
        if all(kind.module != module for kind in KINDS.values()):
            register_phase(module)


def _imported(path: str) -> PhaseKind:
    """The kind of phase that a module declares; modules in the working folder are found too."""
    from backalley.console.importing import module_at

    module = module_at(
        path,
        lambda name: InvalidValue(
            f"There is no kind of phase in {path!r}: no module {name!r} can be imported. It is looked for in the "
            "working folder, too; or call backalley.register_phase with the PhaseKind first."
        ),
    )
    found = getattr(module, "PHASE", None)
    if not isinstance(found, PhaseKind):
        raise InvalidType(f"The module {path} declares no kind of phase: it has no PhaseKind named PHASE.")
    return found


class Share(NamedTuple):
    """One phase of the list."""

    kind: str
    share: float | None
    """Its share of the budget; None takes an equal part of what the others leave."""


@dataclass(frozen=True)
class Phases(Written):
    """The phases of a run, first to last."""

    listed: tuple[Share, ...]
    takes: ClassVar[str] = ""

    @classmethod
    def read(cls, given: Any) -> Self:
        """From `ppo,ppo:0.3` or `["ppo", {"ppo": 0.3}]`. Raises ValueError."""
        items = given.strip("[] ").split(",") if isinstance(given, str) else given
        if not isinstance(items, list | tuple):
            raise InvalidValue("it must be a list of phases, such as [ppo].")
        if not 1 <= len(items) <= _MOST or items == [""]:
            raise InvalidValue(f"a run has 1 to {_MOST} phases.")
        phases = cls(tuple(_share(item) for item in items))
        stated = math.fsum(item.share for item in phases.listed if item.share is not None)
        plain = sum(item.share is None for item in phases.listed)
        if plain and stated > 1 - 1e-9:
            raise InvalidValue(f"the shares sum to {stated:g}, which leaves nothing for a phase without one.")
        if not plain and abs(stated - 1) > 1e-9:
            raise InvalidValue(f"the shares sum to {stated:g}; they must sum to 1, or leave one out to take the rest.")
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
        raise InvalidValue(f"{name!r} is no kind of phase; there are: {', '.join(KINDS)}.{did_you_mean(name, KINDS)}")
    return Share(name, None if share is None else _number(name, share))


def _number(name: str, given: Any) -> float:
    try:
        share = float(given) if isinstance(given, str | numbers.Real) and not isinstance(given, bool) else math.nan
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise InvalidValue(f"the share of {name} is {given!r}; it must be greater than 0, and 1 at most.")
    return share


# The budget -----------------------------------------------------------------------------------------------------------


class TrainingError(InvalidValue):
    """A run that cannot begin or continue; the message says why and what to do."""


@dataclass(frozen=True)
class Budget:
    """When a run is finished: after that many seconds of training, decisions on the tables, or seconds of all cores
    together (`processor_seconds`), whichever comes first. `decisions` counts the whole run's, or in a tuple those of
    each phase."""

    seconds: float | None = None
    decisions: int | tuple[int, ...] | None = None
    processor_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "processor_seconds"):
            time = getattr(self, name)
            if time is None:
                continue
            real = isinstance(time, numbers.Real) and not isinstance(time, bool)
            if not real or not 0 < time < math.inf:
                raise TrainingError(f"{name} is {time!r}; a budget is a number greater than 0.")
            object.__setattr__(self, name, float(time))
        if self.decisions is not None:
            given: Any = self.decisions
            counts = list(given) if isinstance(given, list | tuple) and given else [given]
            for count in counts:
                if (whole(count) or 0) <= 0:
                    shown = given if len(counts) > 1 else counts[0]
                    raise TrainingError(
                        f"decisions is {shown!r}; a budget is a whole number greater than 0, or one for each phase."
                    )
            plain = tuple(int(count) for count in counts)
            object.__setattr__(self, "decisions", plain if len(plain) > 1 else plain[0])

    def check(self, phases: Phases) -> None:
        """Raise TrainingError for decisions of phases that the run does not have."""
        if isinstance(self.decisions, tuple) and len(self.decisions) != len(phases):
            count = f"{len(phases)} phase{'' if len(phases) == 1 else 's'}"
            raise TrainingError(
                f"decisions is {_listed(self.decisions)}, and the run has {count} ({', '.join(phases.names)}); give a "
                "number for each, or one for all."
            )

    def ended(self, phases: Phases, seconds: float, decisions: Sequence[int], processor_seconds: float = 0.0) -> bool:
        """Return whether the present phase is at its end: given the run's `seconds` and `processor_seconds` so far, and
        the decisions of each phase so far, those of the present phase last. No phase ends before its first step."""
        number = len(decisions) - 1
        end = phases.ends[number]
        by_time = self.seconds is not None and seconds >= self.seconds * end
        by_time |= self.processor_seconds is not None and processor_seconds >= self.processor_seconds * end
        if isinstance(self.decisions, tuple):
            by_count = decisions[number] >= self.decisions[number]
        else:
            by_count = self.decisions is not None and sum(decisions) >= self.decisions * end
        return decisions[number] > 0 and (by_time or by_count)

    def progress(self, seconds: float, decisions: int, processor_seconds: float = 0.0) -> tuple[float, float]:
        """Return how much of the run is done and how much there is in all, in the unit of the nearest limit."""
        planned = sum(self.decisions) if isinstance(self.decisions, tuple) else self.decisions
        limits = [(seconds, self.seconds), (decisions, planned), (processor_seconds, self.processor_seconds)]
        return max(((done, limit) for done, limit in limits if limit), key=lambda pair: pair[0] / pair[1])

    def words(self) -> list[str]:
        """Return the budget as options of the command line."""
        words = ["--seconds", f"{self.seconds:g}"] if self.seconds else []
        words += ["--processor-seconds", f"{self.processor_seconds:g}"] if self.processor_seconds else []
        return words + (["--decisions", _listed(self.decisions)] if self.decisions else [])


def _listed(decisions: int | Sequence[int]) -> str:
    return str(decisions) if isinstance(decisions, int) else ",".join(map(str, decisions))


# Policies and other agents: whom a phase meets, and whose weights it begins from -------------------------------------

STANDING, FORMER = "standing", "former"
ANEW, POLICY = "anew", "policy"


@dataclass(frozen=True)
class Against(Written):
    """Agents that a phase meets and that do not learn."""

    names: tuple[str, ...]
    """Agents' names and folders; or one word: `standing`, the current policy when the phase begins (before any, the
    one that comes with the game, or its best bot), or `former`, all policies that were current in this run so far."""
    takes: ClassVar[str] = "standing, former, or agents' names separated by commas"

    @classmethod
    def read(cls, given: Any) -> Self:
        """From `bot:book,runs/mine`, or a list. Raises ValueError."""
        items = given.split(",") if isinstance(given, str) else given
        if not isinstance(items, list | tuple) or not all(isinstance(item, str | os.PathLike) for item in items):
            raise InvalidValue("it must name agents, separated by commas.")
        names = tuple(name for name in (os.fspath(item).strip() for item in items) if name)
        if len(names) > 1 and {STANDING, FORMER} & {*names}:
            raise InvalidValue(f"{STANDING} and {FORMER} stand alone; name agents, or one of these words.")
        return cls(names)

    @property
    def by_name(self) -> bool:
        """Whether it names agents."""
        return bool(self.names) and self.names not in ((STANDING,), (FORMER,))

    def written(self) -> str:
        """The names, separated by commas."""
        return ",".join(self.names)


@dataclass(frozen=True)
class Word(Written):
    """A word or a path."""

    source: str

    @classmethod
    def read(cls, given: Any) -> Self:
        """From the word or the path. Raises ValueError."""
        if not isinstance(given, str | os.PathLike) or not os.fspath(given):
            raise InvalidValue(f"it must be {cls.takes}.")
        return cls(os.fspath(given))

    def written(self) -> str:
        """The word or the path."""
        return self.source


class Begins(Word):
    """The weights that a phase begins from: `anew`, `policy` or a folder."""

    takes: ClassVar[str] = "anew, policy, or the folder of a policy or run"

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.source not in (ANEW, POLICY)
