"""One training run from begin to end: loop over phases, gate, logs with the learning curve, resumption.

Imports only the rooms before it.
"""
