"""The speed of games, and long runs with checks at every step.

Imports only the rooms before it: figures and matches.
"""
