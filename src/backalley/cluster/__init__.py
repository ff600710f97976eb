"""Long work in ranges: done in this process (`work.py`), or by the machines of a Ray cluster (`ray_cluster.py`).

Imports the core and the console; Ray is an extra, imported only where a cluster is named.
"""

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
