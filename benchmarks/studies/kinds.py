"""The studies: each is known, with its kind of results and its command, once its file is imported."""

from .learning import guides, learners, methods, throughput  # noqa: F401
from .peers import peers  # noqa: F401
from .play import (  # noqa: F401
    against,
    chaos,
    cluster_check,
    decision_parts,
    events_cost,
    gpu,
    instructions,
    mutants,
    openspiel_check,
    sequential_checks,
    soak,
    trees,
)
from .strength import cross, ladder, poker_duel_chances, searches  # noqa: F401
