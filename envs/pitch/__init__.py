"""Pitch: the game (`game.py`), its hands (`hands.py`), sight (`sight.py`), words (`text.py`) and rule-based players
(`bot.py`)."""
