"""What every game is built from; nothing in here names a game."""
