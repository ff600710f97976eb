"""Settings that name policies and other agents: whom a phase meets, and whose weights it begins from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from backalley.console.errors import InvalidValue
from backalley.envs.core.rules.options import Written

STANDING, FORMER = "standing", "former"
ANEW, POLICY = "anew", "policy"


@dataclass(frozen=True)
class Against(Written):
    """Agents that a phase meets and that do not learn."""

    names: tuple[str, ...]
    """Agents' names and folders; or one word: `standing`, the policy that stands when the phase begins (before any, the
    one that comes with the game, or its best bot), or `former`, all policies that stood in this run so far."""
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
class Begins(Written):
    """The weights that a phase begins from."""

    source: str
    """`anew`, `policy` or a folder."""
    takes: ClassVar[str] = "anew, policy, or the folder of a policy or run"

    @classmethod
    def read(cls, given: Any) -> Self:
        """From the word or the path. Raises ValueError."""
        if not isinstance(given, str | os.PathLike) or not os.fspath(given):
            raise InvalidValue(f"it must be {cls.takes}.")
        return cls(os.fspath(given))

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.source not in (ANEW, POLICY)

    def written(self) -> str:
        """The word or the path."""
        return self.source
