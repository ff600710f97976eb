"""What comes before all that takes long, or much memory; it imports next to nothing itself.

Ctrl-C while the program `backalley` is loading, which takes a second, ends it at once and silently, since nothing can
be lost. Under a limit of address space (`ulimit -v`) that compiled code does not fit in it does not begin: LLVM would
end the process in the middle of something, or wait for ever.
"""

import os
import signal
import sys
from types import FrameType

LEAST = 1 << 30
"""Bytes of address space. *Measured*: half of it is enough to import everything and to play Pitch from the disk's
cache; to compile a game takes more."""


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def is_program() -> bool:
    """Whether this process runs the program, by `python -m backalley` or by its script; other programs handle Ctrl-C
    themselves."""
    began = sys.argv[0] if sys.argv else ""
    if began == "-m":
        return ("-m", "backalley") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    return os.path.splitext(os.path.basename(began))[0] in ("backalley", "backalley-script")


def allow_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_program() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)


def check() -> None:
    """Raise MemoryError under a lower limit; the command line ends with the sentence alone."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST:
        said = (
            f"This process may use {limit >> 20:,} MiB of address space, and Back Alley takes {LEAST >> 20:,} MiB. "
            f"Raise the limit: ulimit -v {LEAST >> 10}, or ulimit -v unlimited."
        )
        raise SystemExit(f"Error: {said}") if is_program() else MemoryError(said)


check()
