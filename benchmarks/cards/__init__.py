"""Strategy cards: the smallest decision tables that lose little against best play.

Imports figures and exact of the rooms before it.
"""
