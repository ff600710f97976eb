"""The strength of agents: evaluation, tournaments, seatings, decks from seeds.

Imports only the rooms before it: figures, sequential.
"""
