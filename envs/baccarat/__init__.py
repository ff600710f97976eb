"""Baccarat: the game (`game.py`), its rule-based players (`bot.py`) and its exact odds (`odds.py`)."""
