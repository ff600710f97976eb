"""Kinds of results that studies measure: each is known once its file is imported."""

from .learning import beliefs, comparison, guide, learners, libraries, training_speed  # noqa: F401
from .peers import peers  # noqa: F401
from .play import against, chaos, cluster_check, events_cost, mutants, openspiel_tables, sequential_checks  # noqa: F401
from .strength import cross, ladder, searches  # noqa: F401
