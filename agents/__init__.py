"""Agents: random, rule-based, learned, searching, exact and human, all behind one interface (`base.Agent`)."""
