"""What a game is worth: fairness by seat, the house's edge and fair pay, skill and luck, the course of a game, options;
and what the decisions of a recorded game have lost.

Imports only the rooms before it: figures, sequential, matches, speed and exact.
"""
