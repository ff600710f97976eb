"""A game's rules as files that need no Python: a shared library or an object file with a C header, or WebAssembly.

It imports the games and what compiled players are written with; nothing of agents, training or the command line.
"""
