"""Refuse to begin under a limit of address space (`ulimit -v`) that compiled code does not fit in: LLVM would end the
process in the middle of something, or wait for ever. This is imported before all that takes memory."""

from .interrupts import is_program

LEAST = 1 << 30
"""Bytes of address space. *Measured*: half of it is enough to import everything and to play Pitch from the disk's
cache; to compile a game takes more."""


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
