"""Backhand, the card game: one seat against the deck."""
