"""Bezique, two players, two packs."""
