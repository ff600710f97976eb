"""Variants of games that nobody has seen: drawn options, other words, exact values. `backalley variants`.

Imports only the rooms before it: figures, matches, speed, exact and rules_to_code.
"""
