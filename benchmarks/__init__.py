"""How strong and how fast: matches on the same decks, intervals, ratings, speed tables."""
