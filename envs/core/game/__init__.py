"""The declaration of a game, and games by name.

Imports only the rooms before it: console, compile and rules. A game makes its environments (room api) by two late
imports.
"""
