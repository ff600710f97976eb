"""The base of every game; nothing in here names a game."""
