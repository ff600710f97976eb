"""The speed of other libraries' card games, each in a virtual environment of its own, beside ours: `peers.py` makes the
environments and runs `pace.py` in each. It may import every room of benchmarks."""
