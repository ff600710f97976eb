"""A table as text, as a picture (SVG, PNG), and as a scene from one seat.

Imports only the rooms before it: console, compile, rules, game and engine.
"""
