"""Studies of play: speed against an earlier commit, the cost of events, sequential tests by simulation, the check
against OpenSpiel, and the check of a cluster. It may import everything but the rooms after it."""
