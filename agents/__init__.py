"""Who plays: random, rule-based, learned, searching and exact agents, all behind one interface (`base.Agent`)."""
