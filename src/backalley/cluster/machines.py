"""Who does long work: this process, or the cluster that is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .work import LOCAL, Executor


@contextmanager
def machines(cluster: str | None) -> Iterator[Executor]:
    """Return who does the work of a block: the Ray cluster at an address, or this process where none is named. Raises
    ClusterError or NotInstalled."""
    if cluster is None:
        yield LOCAL
        return
    from .ray_cluster import Cluster

    found = Cluster(cluster)
    try:
        yield found
    finally:
        found.close()
