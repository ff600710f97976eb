"""A whole round's decisions taken in one go, by features whose values are learned.

Imports the game's bots.
"""
