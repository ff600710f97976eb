"""Agents that search: determinizations of what a seat knows, rollouts from them, and racing between the actions.

Imports only the rooms before it: base, match and policies.
"""
