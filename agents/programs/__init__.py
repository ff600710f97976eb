"""Programs in other languages as agents, one JSON object a line, and language models through one of them.

`docs/guides/programs.md` is the protocol. May import what an agent is (`base`), and nothing else of agents.
"""
