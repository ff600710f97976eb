"""Studies of play: chaos, sequential tests by simulation, planted leaks, the check against OpenSpiel, and the check of
a cluster. It may import everything but the rooms after it."""
