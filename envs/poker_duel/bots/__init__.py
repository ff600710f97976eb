"""What the bots reckon with: chances of hands, splits, exchanges; and what measured their tables.

Imports the game's state, observation and rules; `planning.py` and `tune.py` import `bot.py`, too.
"""
