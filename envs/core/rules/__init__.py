"""Building blocks for the rules of games: cards, tricks, poker hands, random numbers, options, records.

Imports only the rooms before it: console and compile.
"""
