"""Template. `game.py` declares the game: read it first."""

VERSION = 0
"""Goes up when a change of rules alters what is played."""
