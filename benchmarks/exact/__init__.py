"""Exact values of games: expectimax, equilibria, exploitability, the value of agents.

Imports only the rooms before it: figures, matches and speed.
"""
