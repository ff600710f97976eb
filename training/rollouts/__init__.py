"""Learn from rollouts: the value of each action in the true state as a target, and a network fitted to the targets.

Imports only the rooms before it: config and shared.
"""
