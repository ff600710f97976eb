"""The declaration of a game, games by name, what kernels are written with, and checks of what callers give.

Imports only the rooms before it: console, compile and rules. A game makes its environments (room api) by two late
imports.
"""
