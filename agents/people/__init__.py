"""For people: a player at the keyboard, a terminal, watching a game, hints.

Imports only the rooms before it: base, match, policies and search.
"""
