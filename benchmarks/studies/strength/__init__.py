"""How strong agents are, for the pages: ladders, cross tables and searches of all games, and the best agent of each
kind. It may import everything but the rooms after it."""
