"""Studies of speed: against an earlier commit, where nanoseconds of a decision go, counted instructions, events, walks
through trees, games inside JAX, and what a GPU would run. It may import everything but the rooms after it."""
