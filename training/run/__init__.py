"""One training run from begin to end: budget, loop over phases, gate, curve, logs, resumption.

Imports only the rooms before it.
"""
