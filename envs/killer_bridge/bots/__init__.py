"""What the players reckon with: what an observation says, chances of cards, the way to 37, and the features of actions
that policies learn from.

Imports the game's state, observation and scoring.
"""
