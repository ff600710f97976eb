"""The back end for GPUs, without one: simulated, and compiled."""
