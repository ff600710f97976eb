"""Ctrl-C while the program `backalley` is being loaded, which takes a second: it ends at once and without a word, since
nothing has begun that could be lost. Imported before anything else, it imports next to nothing itself."""

import os
import signal
import sys
from types import FrameType


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def _is_program() -> bool:
    """Whether this process runs the program, by `python -m backalley` or by its script; in any other, Ctrl-C is that
    one's own affair."""
    began = sys.argv[0] if sys.argv else ""
    if began == "-m":
        return ("-m", "backalley") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    return os.path.splitext(os.path.basename(began))[0] in ("backalley", "backalley-script")


def allow() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt, as ever."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_program() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
