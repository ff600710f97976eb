"""Proximal policy optimisation in self-play.

Imports only the rooms before it: config and shared.
"""
