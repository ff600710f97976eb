"""Killer Back Alley Bridge Substitute: rules in README.md, code in game.py, rule-based players in bot.py."""
