"""Long work in ranges: done in this process (`work.py`), or by the machines of a Ray cluster (`ray_cluster.py`).

Imports the core and the console; Ray is an extra, imported only where a cluster is named.
"""
