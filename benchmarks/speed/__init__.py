"""The speed of games, the cost of agents, and samples of options.

Imports only the rooms before it: figures and matches.
"""
