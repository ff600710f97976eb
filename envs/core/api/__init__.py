"""The user's interface: the PettingZoo environment, the batch, their spaces, and how games are made and registered.

Imports only the rooms before it: console, compile, rules, game, engine and drawing.
"""
