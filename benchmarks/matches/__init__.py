"""The strength of agents: evaluation, tournaments, seatings, decks from seeds.

Imports only the room before it: figures.
"""
