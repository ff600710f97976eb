"""Contract tests for games and environments of your own: Back Alley tests its own games with them.
This may import everything but the command line.

>>> import backalley
>>> from backalley import testing
>>> report = testing.check_game("my_war.game")  # doctest: +SKIP
>>> print(testing.check_seeds(backalley.game("backhand")))
Each of 9 seeds gave the same episode three times; the episodes of some of them differ.
>>> testing.check_aec(lambda: backalley.make("backhand"), steps=20).ok
True

`check_game`, `check_aec` and `check_vector` return a report of all their checks. Each other check returns what it
tried, or raises BrokenPromise.
"""

from backalley.console.errors import BrokenPromise

from .aec import (
    check_aec,
    check_aec_copies,
    check_aec_ends,
    check_aec_masks,
    check_aec_observations,
    check_aec_seeds,
    check_aec_unseen,
)
from .files import check_playthroughs, check_vectors
from .game import check_game
from .histories import check_events
from .play import (
    check_bots,
    check_cards,
    check_deal,
    check_leaks,
    check_masks,
    check_play,
    check_redraws,
    check_returns,
    check_texts,
)
from .reach import check_reach
from .report import Finding, Report
from .seeds import check_batch, check_compiled, check_copies, check_seeds, check_state, check_threads
from .twins import check_twins
from .vector import check_vector

__all__ = [
    "BrokenPromise",
    "Finding",
    "Report",
    "check_aec",
    "check_aec_copies",
    "check_aec_ends",
    "check_aec_masks",
    "check_aec_observations",
    "check_aec_seeds",
    "check_aec_unseen",
    "check_batch",
    "check_bots",
    "check_cards",
    "check_compiled",
    "check_copies",
    "check_deal",
    "check_events",
    "check_game",
    "check_leaks",
    "check_masks",
    "check_play",
    "check_playthroughs",
    "check_reach",
    "check_redraws",
    "check_returns",
    "check_seeds",
    "check_state",
    "check_texts",
    "check_threads",
    "check_twins",
    "check_vector",
    "check_vectors",
]
