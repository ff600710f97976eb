"""The version of this package; it imports nothing, so that every room can read it."""

__version__ = "1.0.0"
