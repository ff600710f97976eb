"""Whether this process had the machine to itself: what is measured by the clock is wrong where it had not."""

from __future__ import annotations

import os
import time
from pathlib import Path

from backalley.console.errors import BackAlleyError

MOST = 0.15
"""Cores that others may use on average: what a machine's own services take."""
_STAT = Path("/proc/stat")
_IDLE, _WAITING, _GUEST = 3, 4, 8
"""Places of idle time, of waiting for disks, and of times counted twice in a line of it."""


class NotAlone(BackAlleyError):
    """A measurement by the clock on a machine that others used."""


class Alone:
    """Watches who uses the processor from its making on. Where the system does not tell (only Linux does) it says
    nothing."""

    def __init__(self) -> None:
        self._began = _times()

    def others(self) -> float:
        """Return how many cores others have used on average; a host that gave this machine less time is one of them."""
        (busy, own, clock), now = self._began, _times()
        elapsed = now[2] - clock
        return max(0.0, (now[0] - busy) - (now[1] - own)) / elapsed if elapsed > 0 and now[0] else 0.0

    def check(self) -> None:
        """Raise NotAlone where others used more than MOST."""
        used = self.others()
        if used > MOST:
            raise NotAlone(
                f"Others used {used:.2f} cores while this was measured by the clock, and {MOST} is the most at which "
                "rates are right. Nothing was written; measure again on an idle machine."
            )


def _times() -> tuple[float, float, float]:
    """Seconds: of all cores in use (0 where the system does not tell), of this process and its ended children, and of
    the clock."""
    own = os.times()
    used = own.user + own.system + own.children_user + own.children_system
    try:
        spent = [int(one) for one in _STAT.read_text("ascii").split("\n", 1)[0].split()[1:]]
        busy = (sum(spent[:_GUEST]) - spent[_IDLE] - spent[_WAITING]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        busy = 0.0
    return busy, used, time.perf_counter()
