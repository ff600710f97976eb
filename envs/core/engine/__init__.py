"""Play batches of tables in compiled code; validate what callers pass in; read reset options; run threads.

Imports only the rooms before it: console, compile, rules and game.
"""
