"""Attacks: look for the best response to an agent that does not change, by several attackers.

Imports only the rooms before it: it drives phases of training against that agent, and measures what they find.
"""
