"""The console: progress, errors as sentences, the notice of a compilation, Ctrl-C.

The lowest room: it imports nothing of this package.
"""
