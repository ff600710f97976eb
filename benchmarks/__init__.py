"""Measure strength and speed: matches on the same decks, intervals, ratings, speed tables."""
