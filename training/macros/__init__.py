"""Learn values of features for macro-actions: sequences of decisions that are planned together.

Imports only the rooms before it: config and shared.
"""
