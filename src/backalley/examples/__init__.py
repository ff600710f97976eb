"""Worked examples of a game: Kuhn and Leduc poker and Liar's Dice, whose values and best responses are published, to
calibrate algorithms; and Schnapsen, which people play. They may import the core only. They are not in the list of
games; their import paths find them.

>>> import backalley
>>> backalley.game("backalley.examples.kuhn")
backalley.game('backalley.examples.kuhn')
>>> backalley.game("backalley.examples.leduc").make_vec(64).reset().action_mask.shape
(64, 3)
"""
