"""Play batches of tables in compiled code, and write down their events. Nothing outside the core names this room.

Imports only the rooms before it: console, compile, rules and game.
"""
