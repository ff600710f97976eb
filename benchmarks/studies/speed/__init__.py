"""Studies of speed: against an earlier commit, where a decision's nanoseconds go, counted instructions, the cost of events,
walks through trees, and what a GPU would run. It may import everything but the rooms after it."""
