"""Compile kernels to machine code, cache that code on disk, and fill in templates once for each game.

Imports only the console.
"""
