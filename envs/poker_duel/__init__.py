"""Poker Duel: fifteen cards each, split into three poker hands that meet one by one."""
