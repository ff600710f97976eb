"""The games, one folder each, and the core that every game is built from."""
