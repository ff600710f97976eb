"""Ctrl-C while the program `backalley` is loading, which takes a second: the program ends at once and silently, since
nothing can be lost. This is imported before anything else, and imports next to nothing itself."""

import os
import signal
import sys
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def is_program() -> bool:
    """Whether this process runs the program, by `python -m backalley` or by its script; other programs handle Ctrl-C
    themselves."""
    began = sys.argv[0] if sys.argv else ""
    if began == "-m":
        return ("-m", "backalley") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    return os.path.splitext(os.path.basename(began))[0] in ("backalley", "backalley-script")


def allow() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_program() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
