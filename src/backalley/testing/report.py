"""Reports of checks: what they tried and found, in sentences."""

from __future__ import annotations

import textwrap
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from backalley.console.errors import BrokenPromise

NOT_TRIED = "Not tried: "
"""The beginning of a check's sentence if it had nothing to check."""


class Finding(NamedTuple):
    """The outcome of one check."""

    name: str
    kept: bool
    """False where something failed."""
    says: str
    """What was tried and how often; or what failed, with its seed and decision."""


class Report(NamedTuple):
    """The outcome of several checks; as text it is a paragraph for each."""

    subject: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(found.kept for found in self.findings)

    def __str__(self) -> str:
        width = max(len(found.name) for found in self.findings)
        lines = [f"{self.subject}:"]
        for found in self.findings:
            mark = "FAILED" if not found.kept else "-" if found.says.startswith(NOT_TRIED) else "ok"
            head = f"  {found.name:{width}}  {mark:6}  "
            lines += textwrap.wrap(
                found.says, 120, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
            )
        failed = sum(not found.kept for found in self.findings)
        lines.append(f"{failed} of {len(self.findings)} checks failed." if failed else "Every check passed.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def run(
    subject: str,
    checks: Mapping[str, Callable[..., str]],
    seed: int,
    seconds: float | None = None,
    once: Collection[str] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Call each check with its `seed`. With `seconds`, repeat those that passed with later seeds until the time is
    over, except those in `once`, which would do the same again. `progress` is called with the number of finished checks
    of the first round, the number of all, and the name of the next."""
    began, found, rounds = time.monotonic(), dict[str, Finding](), 0
    later = list(checks)
    while later and (not rounds or (seconds is not None and time.monotonic() - began < seconds)):
        for number, name in enumerate(later):
            if progress is not None and not rounds:
                progress(number, len(later), name)
            found[name] = _called(name, checks[name], seed + rounds * _STRIDE)
            if rounds and found[name].kept:
                found[name] = found[name]._replace(says=f"{found[name].says} The same with {rounds} seeds before.")
            if rounds and seconds is not None and time.monotonic() - began > seconds:
                break
        rounds += 1
        later = [name for name in later if found[name].kept and name not in once]
    return Report(subject, tuple(found.values()))


_STRIDE = 1000
"""The distance of seeds between rounds: a check numbers its episodes from its seed on."""


def _called(name: str, check: Callable[..., str], seed: int) -> Finding:
    try:
        return Finding(name, True, check(seed=seed))
    except BrokenPromise as error:
        return Finding(name, False, str(error))
    except Exception as error:  # the checked code may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return Finding(name, False, f"Seed {seed}: {type(error).__name__} in {where}: {error}")
