"""The studies: each is known, with its kind of results and its command, once its file is imported."""

from .learning import examples, guides, ismcts, learners, methods, throughput  # noqa: F401
from .peers import peers  # noqa: F401
from .play import (  # noqa: F401
    blunders,
    chaos,
    cluster_check,
    first_tables,
    mutants,
    openspiel_check,
    sequential_checks,
    small_attacks,
    soak,
)
from .speed import against, decision_parts, events_cost, gpu, in_jax, instructions, trees  # noqa: F401
from .strength import (  # noqa: F401
    certificate,
    chemin,
    cross,
    ladder,
    levels,
    mixtures,
    panel,
    poker_duel_chances,
    searches,
    stages,
)
