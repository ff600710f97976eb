"""One seat as a Gymnasium environment; agents play the other seats.

Imports all rooms of agents before it, including the registry of agents.
"""
