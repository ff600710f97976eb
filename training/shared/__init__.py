"""Shared by several learning algorithms: a phase's interface, checkpoints, averaged weights, a league of opponents,
permuted suits.

Imports only the room before it: config.
"""
