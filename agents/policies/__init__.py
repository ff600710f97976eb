"""Learned policies: their file, how they choose an action, and the pretrained ones of the games.

Imports only the base of agents and matches.
"""
