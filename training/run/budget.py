"""The budget of a run over all its phases: seconds of training, processor time, or decisions on the tables."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.arguments import whole

from ..config.phases import Phases


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
