"""What the players reckon with: declarations within reach, the last eight tricks solved, and the features of actions
that policies learn from.

Imports the game's state, observation and rules of declarations.
"""
