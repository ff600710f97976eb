"""Shared by several learning algorithms: a phase's interface, checkpoints, a network that learns on threads, permuted
suits.

Imports only the room before it: config.
"""
