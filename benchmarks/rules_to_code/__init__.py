"""Rules to code: how well a program that was written from a game's page plays that game. `backalley score-rules`.

A candidate runs in a process of its own and answers with plain values. May import what a program is
(`agents.programs`), and result kinds; `worker.py` runs without this package.
"""
