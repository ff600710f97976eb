"""The templates of `backalley new-game`: `small`, any game, and `trick`, a trick game."""
